"""The environment of a part, in `.venv-reach/NAME`.

Rules
1. All is installed by one call of pip, so that what the project allows and what the part asks for agree.
2. `made.json` says what was installed and is written last: an environment without it, or of another list, is made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.assurance.evidence import ROOT
from tests.reach.part import Part

ENVIRONMENTS = ROOT / ".venv-reach"
MACHINE = ("sh", str(ROOT / "tests" / "support" / "machine.sh"))


def requirements(part: Part) -> list[str]:
    """What pip is asked for.

    >>> requirements(Part("moto", "S3", (), packages=("moto[server]",), extras=("batch",)))[1:]
    ['moto[server]']
    """
    return [f"{ROOT}[{','.join(sorted({*part.extras, 'quick'}))}]", *part.packages]


def made(part: Part, folder: Path = ENVIRONMENTS) -> Path:
    """The Python of the part's environment, which is made if it is not there; of a part that is `here`, this one."""
    place = folder / part.name
    python, stamp = place / "bin" / "python", place / "made.json"
    if part.tools:
        subprocess.run([*MACHINE, "tools", *part.tools], check=True, cwd=ROOT)
    if part.here:
        return Path(sys.executable)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: project["optional-dependencies"][name] for name in part.extras}
    wanted = json.dumps([requirements(part), project["dependencies"], extras])
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        sys.stderr.write(f"{part.name}: making {place}\n")
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        editable, *packages = requirements(part)
        install = [str(python), "-m", "pip", "install", "--quiet", "--editable", editable, *packages]
        subprocess.run(install, check=True)
        stamp.write_text(wanted, encoding="utf-8")
    if part.node:
        subprocess.run([*MACHINE, "node_packages", str(place / "node"), *part.node], check=True, cwd=ROOT)
    return python


def variables(part: Part, python: Path) -> dict[str, str]:
    """The variables that the part's command runs with."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(ROOT),
        "REACH_PART": part.name,
        "REACH_NODE": str(python.parents[1] / "node"),
    }
