"""Newer interpreters than the one that everything is developed with: the quick tests, in an environment of each."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXTRAS = ".[cli,plot,batch,server,quick]"  # as `make quick`


def interpreters(version: str) -> list[str]:
    """Programs that are said to be this version: on the PATH, or one of pyenv's."""
    by_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python{version}"), *map(str, sorted(by_pyenv.glob(f"{version}.*/bin/python{version}")))]
    return [name for name in named if name]


def is_it(program: str, version: str) -> bool:
    asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_the_quick_tests_pass(version: str, tmp_path: Path) -> None:
    found = [program for program in interpreters(version) if is_it(program, version)]
    assert found, f"CPython {version} is needed, on the PATH or by pyenv"
    given = {name: value for name, value in os.environ.items() if name != "REACH_PART"}  # parts are not for them
    environment = {**given, "PYTHON": found[0]}
    machine = ("sh", "tests/support/machine.sh", "packages", str(tmp_path / "env" / "quick.stamp"), EXTRAS)
    subprocess.run(machine, cwd=ROOT, env=environment, check=True)
    quick = (str(tmp_path / "env" / "bin" / "python"), "-m", "pytest", "--quick", "-q", "-n", "2")
    done = subprocess.run(quick, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert " passed" in done.stdout
    assert "failed" not in done.stdout
