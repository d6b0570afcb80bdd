"""What the image in deploy/ installs, pinned with hashes: `python -m tests.support.image_pins` writes both files.

Rules
1. deploy/constraints.txt has everything that `EXTRAS` of pyproject.toml need, for the image's Python on each of
   `MACHINES`; deploy/constraints-build.txt has what builds the wheel.  Each line is a name, a version and the hash of
   one wheel per machine, without addresses.
2. The Dockerfile installs them with --require-hashes and --no-deps: nothing else, and nothing that was exchanged.
3. Wheels come from PyPI, whatever else pip is configured to look at.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = ("server", "postgres")
MACHINES = ("x86_64", "aarch64")
GLIBC = (17, 28, 34, 39)  # 2.41 in the image


def wanted(*extras: str) -> list[str]:
    """What pyproject.toml asks for with these extras; extras of its own are followed."""
    found = list(PROJECT["project"]["dependencies"])
    left = list(extras)
    while left:
        for requirement in PROJECT["project"]["optional-dependencies"][left.pop()]:
            own = re.fullmatch(r"rrcollect\[(.*)\]", requirement)
            left += own[1].split(",") if own else []
            found += [] if own else [requirement]
    return found


def files() -> dict[str, list[str]]:
    """What each file is made of."""
    return {"constraints.txt": wanted(*EXTRAS), "constraints-build.txt": PROJECT["build-system"]["requires"]}


def python_of_the_image() -> str:
    """The version in the Dockerfile.

    >>> python_of_the_image()
    '3.12'
    """
    (version,) = set(re.findall(r"^FROM python:(\d+\.\d+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE))
    return version


def resolved(requirements: list[str], machine: str) -> dict[tuple[str, str], str]:
    """The hash of every wheel that pip would install on a machine, by name and version."""
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC]
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:",
        "--implementation=cp", f"--python-version={python_of_the_image()}", *platforms,
    ]  # fmt: skip
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PIP_") or name == "PIP_CERT"}
    with tempfile.TemporaryDirectory() as folder:
        places = [f"--target={folder}/there", f"--report={folder}/report.json"]
        plain["PIP_CONFIG_FILE"] = os.devnull
        subprocess.run([*command, *places, *requirements], env=plain, check=True)
        report = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
    return {
        (one["metadata"]["name"].lower().replace("_", "-"), one["metadata"]["version"]): (
            one["download_info"]["archive_info"]["hashes"]["sha256"]
        )
        for one in report["install"]
    }


def pinned(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each package of a file."""
    text = (DEPLOY / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {words[0].split("==")[0]: (words[0].split("==")[1], words[1:]) for words in lines}


def main() -> None:
    """Write both files."""
    for name, requirements in files().items():
        hashes: dict[tuple[str, str], set[str]] = {}
        for machine in MACHINES:
            for package, digest in resolved(requirements, machine).items():
                hashes.setdefault(package, set()).add(digest)
        lines = ["# Made by `python -m tests.support.image_pins` from pyproject.toml: do not edit."]
        for (package, version), digests in sorted(hashes.items()):
            lines.append(f"{package}=={version} " + " ".join(f"\\\n    --hash=sha256:{one}" for one in sorted(digests)))
        (DEPLOY / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
