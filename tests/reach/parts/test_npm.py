"""The npm package as its users' tools see it: publint, arethetypeswrong, and a strict TypeScript project.

The session of its README is compiled as it stands.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.npm_package import SESSION, new_project, packed, run

NODE = Path(os.environ["REACH_NODE"]) / "node_modules"
BIN = NODE / ".bin"
STRICT = ("--strict", "--noEmit", "--target", "es2022", "--module", "nodenext")
PAGE = """import { RRSurvey } from "rrcollect/rr-survey";
const survey: RRSurvey = document.createElement("rr-survey") as RRSurvey;
survey.addEventListener("answered", (event) => console.log((event as CustomEvent).detail.question));
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project with the package, and the types of Node."""
    new_project(tmp_path)
    (tmp_path / "node_modules" / "@types").mkdir()
    for name in ("@types/node", "undici-types"):
        shutil.copytree(NODE / name, tmp_path / "node_modules" / name)
    return tmp_path


def test_publint_finds_nothing(tmp_path: Path) -> None:
    assert "All good!" in run(BIN / "publint", "run", packed(tmp_path), "--strict", cwd=tmp_path)


def test_the_types_are_right_for_every_way_of_importing_an_es_module(tmp_path: Path) -> None:
    tarball = packed(tmp_path)
    run(BIN / "attw", tarball, "--profile", "esm-only", cwd=tmp_path)
    with pytest.raises(AssertionError, match="dynamic import"):  # by require() it does not work: the check can fail
        run(BIN / "attw", tarball, "--no-emoji", cwd=tmp_path)


def test_the_session_compiles_in_a_strict_project_and_a_wrong_call_does_not(project: Path) -> None:
    (project / "session.mts").write_text(SESSION)
    (project / "page.mts").write_text(PAGE)
    run(BIN / "tsc", *STRICT, "session.mts", "page.mts", cwd=project)
    (project / "planted.mts").write_text(SESSION.replace('"q1", () => true', '"q1", () => [1]'))
    with pytest.raises(AssertionError, match="planted.mts"):
        run(BIN / "tsc", *STRICT, "planted.mts", cwd=project)
