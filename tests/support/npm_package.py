"""The npm package of rrcollect/web: packed, and installed into an empty project without the network."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.documents.blocks import blocks_of
from tests.documents.wire_example import KEY, SURVEY
from tests.inside.publish import seal
from tests.support.element import WEB, built, changed

ROOT = Path(__file__).resolve().parents[2]
README = (WEB / "README.md").read_text(encoding="utf-8")
(SESSION,) = [block.text for block in blocks_of(README) if block.language == "js"]


def run(*command: str | Path, cwd: Path) -> str:
    """What a command printed; an AssertionError with all it said if it failed."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def packed(folder: Path) -> Path:
    """The tarball, in this folder, of the client with what is built of it."""
    made = changed(folder / "packed", {})
    shutil.copytree(built(), made / "dist")
    (told,) = json.loads(run("npm", "pack", "--json", "--pack-destination", folder, cwd=made))
    return folder / told["filename"]


def new_project(folder: Path) -> Path:
    """A project that has nothing but the package, and the survey that the README's session reads."""
    tarball = packed(folder)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    (folder / "survey.signed.json").write_bytes(seal(SURVEY.payload(), [KEY]))
    run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{tarball.name}", cwd=folder)
    return folder
