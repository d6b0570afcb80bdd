"""The packages of npm that `make` installs, pinned: `python -m tests.support.node_pins` writes node_packages.txt.

Rules
1. What is wanted is named in two places with its exact version: devDependencies of rrcollect/web/package.json, which
   build and type the browser client, and `DRIVERS`, with which the tests drive browsers.
2. node_packages.txt lists the whole tree that npm makes of it, as `name@version integrity`, without addresses.
   machine.sh installs these names (`node_pins.py names`) without running their scripts, and compares what npm fetched
   with the list before anything is used (`node_pins.py check FOLDER`).
3. A line that ends with `if=WORD` is for machines of that name (`uname -m`), or, `if=old-node`, for those whose own
   Node is too old.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "support" / "node_packages.txt"
DRIVERS = {"puppeteer-core": "24.43.1"}
NODE = "22.23.3"
MACHINES = {"x64": "x86_64", "arm64": "aarch64"}
HEADER = "# Made by `python -m tests.support.node_pins`; machine.sh installs and compares: name@version integrity\n"


def wanted() -> dict[str, str]:
    """Name and version of what is named in rule 1."""
    package = json.loads((ROOT / "rrcollect" / "web" / "package.json").read_text(encoding="utf-8"))
    return {**package["devDependencies"], **DRIVERS}


def pinned(*here: str) -> dict[str, str]:
    """The list for a machine to which these words apply: the integrity by "name@version"."""
    lines = [line.split() for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    apply = {f"if={word}" for word in here}
    return {name: integrity for name, integrity, *conditions in lines if set(conditions) <= apply}


def installed(folder: Path) -> dict[str, str]:
    """What npm fetched into a folder, in the same form; a package below another one by its whole place."""
    found = json.loads((folder / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {
        f"{place.removeprefix('node_modules/')}@{one['version']}": one.get("integrity", "unknown")
        for place, one in found.items()
    }


def checked(folder: Path, *here: str) -> str:
    """What differs between a folder and the list, in a sentence; "" if nothing does."""
    found, wanted = installed(folder), pinned(*here)
    differ = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    return (
        f"npm fetched what node_packages.txt does not pin: {' '.join(differ)}; nothing of it is used" if differ else ""
    )


def asked(name: str, field: str) -> str:
    """What the registry says of a package."""
    return subprocess.run(["npm", "view", name, field], capture_output=True, text=True, check=True).stdout.strip()


def tree() -> list[str]:
    """The lines of the list, as npm resolves what is wanted today."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{name}@{version}" for name, version in wanted().items()]
        command = ["npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", *names]
        subprocess.run(command, check=True)
        found = installed(Path(folder))
    assert not any("node_modules" in name for name in found), "two versions of one package: the list cannot say so"
    lines = [f"{name} {integrity}" for name, integrity in found.items() if not name.startswith("@esbuild/")]
    version = wanted()["esbuild"]
    for cpu, machine in MACHINES.items():
        program, old = f"@esbuild/linux-{cpu}@{version}", f"node-linux-{cpu}@{NODE}"
        lines.append(f"{program} {asked(program, 'dist.integrity')} if={machine}")
        lines.append(f"{old} {asked(old, 'dist.integrity')} if={machine} if=old-node")
    return sorted(lines)


def main(arguments: list[str]) -> int:
    """Write the list; or, for machine.sh, say the names or check a folder."""
    match arguments:
        case ["names", *here]:
            print(*pinned(os.uname().machine, *here))
        case ["check", folder, *here]:
            if told := checked(Path(folder), os.uname().machine, *here):
                sys.stderr.write(f"{told}\n")
                return 1
        case _:
            LIST.write_text(HEADER + "".join(f"{line}\n" for line in tree()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
