"""A bare machine made ready by `tests/support/machine.sh`, with a PATH, a Python and an apt-get that are made up."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import node_pins

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tests" / "support" / "machine.sh"
NEEDED = ("sh", "cat", "cmp", "cp", "dirname", "ls", "mkdir", "rm", "touch")  # of the real machine

PYTHON = f"""#!/bin/sh
case "$*" in
  *ensurepip*) test -e "$BIN/python3-venv" ;;
  *version_info*) test ! -e "$BIN/old" ;;
  *platform*) cat "$BIN/old" ;;
  "-m venv "*) mkdir -p "$3/bin"; cp "$BIN/.environment" "$3/bin/python" ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
ENVIRONMENT = """#!/bin/sh
echo "$*" >> "$BIN/.log"
case "$*" in
  "-m pip --version") test ! -e "$BIN/no-pip" ;;
  *--editable*) if test -e "$BIN/kill"; then rm "$BIN/kill"; kill -9 $PPID; fi; test ! -e "$BIN/offline" ;;
esac
"""
APT = """#!/bin/sh
echo "apt-get $* [$DEBIAN_FRONTEND]" >> "$BIN/.log"
test "$1" = install || exit 0
for package; do
  case $package in -*|install|*=*|unheard-of) continue ;; nodejs) package=node ;; esac
  cp "$BIN/sh" "$BIN/$package"
done
"""


class Machine:
    """A folder with a checkout's pyproject.toml, and all programs there are."""

    def __init__(self, folder: Path, user: int, without: tuple[str, ...] = ()) -> None:
        self.folder, self.bin, self.environment = folder, folder / "bin", folder / ".venv"
        self.bin.mkdir()
        (folder / "pyproject.toml").write_text("[project]\n")
        for name in NEEDED:
            (self.bin / name).symlink_to(shutil.which(name))
        made = {"python3": PYTHON, ".environment": ENVIRONMENT, "apt-get": APT, "id": f"#!/bin/sh\necho {user}\n"}
        for name, text in made.items():
            if name not in without:
                (self.bin / name).write_text(text)
                (self.bin / name).chmod(0o755)

    def has(self, *names: str) -> None:
        for name in names:
            (self.bin / name).touch(mode=0o755)

    def run(self, *words: str, python: str = "python3") -> subprocess.CompletedProcess[str]:
        set_ = {"PATH": str(self.bin), "BIN": str(self.bin), "PYTHON": python}
        command = ["/bin/sh", str(SCRIPT), *words]
        return subprocess.run(command, cwd=self.folder, env=set_, capture_output=True, text=True, check=False)

    def packages(self) -> subprocess.CompletedProcess[str]:
        return self.run("packages", ".venv/test.stamp", ".[test]")

    def log(self) -> list[str]:
        """What apt-get and pip were asked since the last look."""
        path = self.bin / ".log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


@pytest.fixture
def kim(tmp_path):
    return Machine(tmp_path, user=1000)


@pytest.fixture
def root(tmp_path):
    return Machine(tmp_path, user=0)


LINE = "  apt-get update\n  apt-get install --yes --no-install-recommends"


def test_a_user_is_told_everything_that_is_missing_in_one_message(kim):
    kim.has("curl")
    done = kim.run("tools", "node", "curl", "java", "setpriv", "strace")
    missing = "python3-venv nodejs default-jre-headless util-linux strace"
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"This machine is not ready.\nIt lacks: {missing}. On Debian, root installs it by:\n{LINE} {missing}\n"
    )
    assert kim.log() == []
    done = kim.packages()
    assert (done.returncode, done.stderr.count("It lacks: python3-venv.")) == (1, 1)
    assert not kim.environment.exists()


def test_what_is_there_is_not_asked_for(kim):
    kim.has("python3-venv", "node", "curl")
    done = kim.run("tools", "node", "curl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_root_is_told_what_is_installed_and_then_it_is(root):
    root.has("curl")
    done = root.run("tools", "node", "curl", "strace")
    assert done.returncode == 0, done.stderr
    missing = "python3-venv nodejs strace"
    assert done.stdout == f"This machine lacks: {missing}. Installing:\n{LINE} {missing}\n"
    assert root.log() == [
        "apt-get update -qq []",
        f"apt-get install --yes --no-install-recommends {missing} -qq -o Dpkg::Use-Pty=0 [noninteractive]",
    ]
    done = root.run("tools", "node", "curl", "strace")
    assert (done.returncode, done.stdout, root.log()) == (0, "", [])


def test_a_tool_that_no_package_brought_is_told(root):
    done = root.run("tools", "unheard-of", "strace")
    assert done.returncode == 1
    assert "It lacks: unheard-of." in done.stderr


@pytest.mark.parametrize("user", [0, 1000])
def test_a_machine_without_apt(tmp_path, user):
    done = Machine(tmp_path, user, without=("apt-get",)).run("tools", "strace")
    assert done.returncode == 1
    assert "It lacks: python3-venv strace." in done.stderr


@pytest.mark.parametrize("what", ["CPython 3.9.2", "PyPy 3.11.1"])
def test_another_python_is_refused_by_name_and_nothing_is_installed(root, what):
    (root.bin / "old").write_text(what)
    done = root.run("tools", "strace")
    assert done.returncode == 1
    assert f"CPython 3.11 or newer is needed, and python3 is {what}." in done.stderr
    assert "It lacks: strace." in done.stderr
    assert root.log() == []


def test_the_version_that_is_asked_for_is_the_project_s():
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()
    assert "sys.version_info < (3, 11)" in SCRIPT.read_text()


def test_a_machine_without_python(tmp_path):
    bare = Machine(tmp_path, user=1000, without=("python3",))
    assert "It lacks: python3 python3-venv strace." in bare.run("tools", "strace").stderr
    assert "python3.12 is not there" in bare.run("tools", python="python3.12").stderr


def test_the_environment_is_made_once_and_its_packages_again_when_the_project_changes(kim):
    kim.has("python3-venv")
    upgrade, install = "-m pip install --quiet --upgrade pip", "-m pip install --quiet --editable .[test]"
    done = kim.packages()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in kim.log() if "--version" not in line] == [upgrade, install]
    assert (kim.environment / "test.stamp").read_text() == (kim.folder / "pyproject.toml").read_text()
    done = kim.packages()
    assert (done.returncode, done.stdout, kim.log()) == (0, "", ["-m pip --version"])
    (kim.folder / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    kim.packages()
    assert kim.log() == ["-m pip --version", install]
    assert not (kim.environment / "half-made").exists()


def half_made(machine):
    (machine.environment / "half-made").touch()


def without_pip(machine):
    (machine.bin / "no-pip").touch()


def without_python(machine):
    (machine.environment / "bin" / "python").unlink()


@pytest.mark.parametrize("spoil", [half_made, without_pip, without_python])
def test_an_environment_that_is_not_whole_is_made_anew(kim, spoil):
    kim.has("python3-venv")
    kim.packages()
    left = kim.environment / "left"
    left.touch()
    kim.packages()
    assert left.exists()  # a whole one is kept
    spoil(kim)
    assert kim.packages().returncode == 0
    assert not left.exists()
    assert (kim.environment / "test.stamp").exists()


def test_an_installation_that_was_killed_is_done_anew(kim):
    kim.has("python3-venv", "kill")
    done = kim.packages()
    assert done.returncode == -9
    assert (kim.environment / "half-made").exists()
    left = kim.environment / "left"
    left.touch()
    done = kim.packages()
    assert done.returncode == 0, done.stderr
    assert not left.exists()
    assert not (kim.environment / "half-made").exists()


def test_an_installation_that_fails_leaves_no_stamp(kim):
    kim.has("python3-venv", "offline")
    assert kim.packages().returncode != 0
    assert not (kim.environment / "test.stamp").exists()
    os.remove(kim.bin / "offline")
    assert kim.packages().returncode == 0


def test_make_looks_at_the_machine_before_it_does_anything():
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", "--dry-run", "test"]  # also where the tests were started by make
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=True)
    first, second, third, fourth = done.stdout.splitlines()[:4]
    tools = "chromium chromium-headless-shell firefox-esr WebKitWebDriver Xvfb libatomic pg_ctl curl sqlite3 setpriv"
    assert f"machine.sh tools strace java node npm {tools}" in first
    assert "machine.sh packages .venv/test.stamp '.[test]'" in second
    assert "machine.sh pinned_packages .venv/node" in third
    assert "pytest" in fourth


def test_packages_of_npm_are_installed_once_and_again_if_others_are_wanted(kim):
    (kim.bin / "npm").write_text('#!/bin/sh\necho "npm $*" >> "$BIN/.log"\ntest ! -e "$BIN/offline"\n')
    (kim.bin / "npm").chmod(0o755)
    kim.has("offline", "node")
    assert kim.run("node_packages", ".venv/node", "driver@1").returncode != 0  # and leaves no stamp
    os.remove(kim.bin / "offline")
    for wanted, many in (("driver@1", 2), ("driver@1", 0), ("driver@2", 1)):
        assert kim.run("node_packages", ".venv/node", wanted).returncode == 0
        said = kim.log()
        assert len(said) == many
        assert all(line.startswith("npm install --prefix .venv/node ") for line in said)


def test_an_old_node_gets_a_newer_one_beside_the_packages(kim):
    for name, text in {"npm": 'echo "npm $*" >> "$BIN/.log"', "node": "exit 1"}.items():
        (kim.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (kim.bin / name).chmod(0o755)
    for many in (1, 0):
        assert kim.run("node_packages", ".venv/node", "driver@1").returncode == 0
        assert [line.endswith("driver@1 node@22.23.3") for line in kim.log()] == [True] * many
    kim.has("node")
    (kim.bin / "node").write_text("#!/bin/sh\n")
    assert kim.run("node_packages", ".venv/node", "driver@1").returncode == 0
    assert [line.rpartition(" ")[2] for line in kim.log()] == ["driver@1"]


NPM = """#!/bin/sh
echo "npm $*" >> "$BIN/.log"
test ! -e "$BIN/offline" || exit 1
mkdir -p .venv/node/node_modules
cp fetched.json .venv/node/node_modules/.package-lock.json
"""


def fetched(**changes):
    """What npm keeps of the pinned packages, some of them with another integrity."""
    packages = {}
    for name, integrity in node_pins.pinned(os.uname().machine).items():
        place, _, version = name.rpartition("@")
        packages[f"node_modules/{place}"] = {"version": version, "integrity": changes.get(place, integrity)}
    return packages


def test_pinned_packages_are_installed_once_and_compared_before_anything_is_used(kim):
    (kim.bin / "npm").write_text(NPM)
    (kim.bin / "npm").chmod(0o755)
    kim.has("offline", "node")
    other = {"node_modules/other": {"version": "1.0.0", "integrity": "sha512-x"}}
    for packages, hint in ((fetched(esbuild="sha512-x"), "esbuild@0"), (fetched() | other, "other@1.0.0")):
        (kim.folder / "fetched.json").write_text(json.dumps({"packages": packages}))
        done = kim.run("pinned_packages", ".venv/node")
        assert (done.returncode, (kim.environment / "node" / "installed").exists()) == (1, False)
        (kim.bin / "offline").unlink(missing_ok=True)
        done = kim.run("pinned_packages", ".venv/node")
        assert (done.returncode, (kim.environment / "node").exists()) == (1, False)
        assert hint in done.stderr
    kim.log()
    (kim.folder / "fetched.json").write_text(json.dumps({"packages": fetched()}))
    for many in (1, 0):
        done = kim.run("pinned_packages", ".venv/node")
        assert (done.returncode, done.stderr) == (0, "")
        said = kim.log()
        assert len(said) == many
        assert all("--ignore-scripts" in line and line.endswith(" zod@3.25.76") for line in said)


def test_the_pins_are_in_step_with_what_is_wanted():
    every, machines = node_pins.pinned(), node_pins.MACHINES.values()
    for name, version in node_pins.wanted().items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is not exact"
        assert f"{name}@{version}" in every
    for machine in machines:
        here = node_pins.pinned(machine, "old-node")
        assert sum(name.startswith("@esbuild/") for name in here) == 1
        assert sum(name.startswith("node-linux-") for name in here) == 1
        names = [name.rpartition("@")[0] for name in here]
        assert len(set(names)) == len(names)
        assert all(integrity.startswith("sha512-") for integrity in here.values())
    text = node_pins.LIST.read_text()
    assert "python -m tests.support.node_pins" in text
    assert "://" not in text


def test_the_gate_is_three_commands():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("#", "set", "cd"))] == [
        "make lint",
        "make test",
        "make demo",
    ]
