"""What a release is made of, in dist/.  Run: make release, or python -m tests.release [FOLDER]

Rules
1. What a package index would refuse, or would show wrongly, is found here: twine's strict check, one version in all
   files, a wheel that can be built from the source distribution alone, the built element of these sources in all.
2. Nothing is uploaded and no tag is made: that takes an account and a decision.  The lines to run are printed, and
   before them what is still undecided.
3. `SHA256SUMS` is written last; a folder without it is not a release.
"""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.assurance.dependencies.packages import bill_faults, bill_of_materials, run_time
from tests.assurance.evidence import ROOT

SUMS = "SHA256SUMS"
LINES = """To publish it (docs/releasing.md says what these need):
  git tag --sign v{version} && git push origin v{version}
  {python} -m twine upload {folder}/rrcollect-{version}.tar.gz {folder}/rrcollect-{version}-py3-none-any.whl
  npm publish --access public {folder}/rrcollect-{version}.tgz
"""


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version that each file says."""
    patterns = {
        "rrcollect/__init__.py": r'^__version__ = "([^"]+)"',
        "rrcollect/web/package.json": r'"version": "([^"]+)"',
        "CITATION.cff": r"^version: (\S+)",
        "CHANGELOG.md": r"^## (\S+)",
    }
    found = {}
    for name, pattern in patterns.items():
        told = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = told[1] if told else "none"
    return found


def undecided(root: Path = ROOT) -> list[str]:
    """What a person has to write down before the first upload."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    missing = []
    if "urls" not in project:
        missing.append("[project.urls] in pyproject.toml: where source, documents and issues are")
    if "repository" not in json.loads((root / "rrcollect" / "web" / "package.json").read_text(encoding="utf-8")):
        missing.append('"repository" in rrcollect/web/package.json')
    if "(unreleased)" in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        missing.append('a date for "(unreleased)" in CHANGELOG.md')
    return missing


def refuse_unready(root: Path = ROOT) -> None:
    """Ends the program if no release can be made of this checkout, before anything is touched."""
    if len(set(versions(root).values())) != 1:
        raise SystemExit(f"the files do not say one version: {versions(root)}")
    if runpy.run_path(str(root / "rrcollect" / "web" / "__init__.py"))["folder"]().name != "dist":
        raise SystemExit("rrcollect/web/dist is not there, or was made of other sources: run `make element` first")


def make(folder: Path) -> list[Path]:
    """Build and check everything; the files, the sums last."""
    refuse_unready()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run(sys.executable, "-m", "build", "--outdir", folder, ROOT)  # the wheel is built from the source distribution
    _run(sys.executable, "-m", "twine", "check", "--strict", *sorted(folder.iterdir()))
    _run("npm", "pack", "--silent", "--pack-destination", folder, cwd=ROOT / "rrcollect" / "web")
    packages = run_time()
    bill = bill_of_materials(packages)
    if faults := bill_faults(bill, packages):
        raise SystemExit(f"the bill of materials is wrong: {'; '.join(faults)}")
    text = json.dumps(bill, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "sbom.json").write_text(text + "\n", encoding="utf-8")
    made = sorted(folder.iterdir())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    (folder / SUMS).write_text(sums, encoding="utf-8")
    return [*made, folder / SUMS]


def _run(*command: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def main(arguments: list[str]) -> None:
    """Make a release in a folder, and say what is left to do."""
    folder = Path(arguments[0]) if arguments else ROOT / "dist"
    for path in make(folder.resolve()):
        sys.stdout.write(f"{path.stat().st_size:>9,}  {path.name}\n")
    for one in undecided():
        sys.stdout.write(f"Not decided yet: {one}\n")
    version = versions()["rrcollect/__init__.py"]
    sys.stdout.write(LINES.format(version=version, folder=folder, python=sys.executable))


if __name__ == "__main__":
    main(sys.argv[1:])
