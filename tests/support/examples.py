"""Running an example as its reader does: a process of its own, in an empty folder, with nothing of the test's.

Rules
1. The process has its own home, its own folder for temporary files and its own working folder, all under one root.
2. Whatever Python code in it (and in the Python processes it starts) opens for writing, makes, renames or removes is
   noted by an audit hook of the interpreter; what lies outside the root fails the test.  Engines that write by
   themselves (DuckDB, Spark's Java) are given their folders by the environment or by the example.
3. Nothing is left in the folder for temporary files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SECONDS = 280
QUICK_JAVA = "-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for a process that lives for seconds

STDIN = {"survey_app.py": "y\ny\nd\n"}  # what is typed
ARGUMENTS = {"choose_epsilon.py": ("pictures",)}

WATCH = """
import os, sys

LOG = os.open(os.environ["WATCH_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate", "sqlite3.connect"}


def note(path):
    if isinstance(path, (str, bytes, os.PathLike)):
        name = os.path.abspath(os.fsdecode(path).removeprefix("file:").partition("?")[0])
        os.write(LOG, (name + "\\n").encode())


def hook(event, args):
    if event == "open" and args[2] & WRITING:
        note(args[0])
    elif event in ("os.remove", "os.rmdir") and args[1] != -1:
        pass  # below a folder that is open: shutil.rmtree, which noted the folder itself
    elif event in CHANGES:
        for path in args[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
            note(path)


sys.addaudithook(hook)
"""


@dataclass(frozen=True)
class ExampleRun:
    """What an example said, where it ran, and which paths it changed."""

    code: int
    out: str
    err: str
    folder: Path
    changed: tuple[Path, ...]


Runner = Callable[[str], ExampleRun]  # the fixture `ran`: an example by name, run once


def names() -> list[str]:
    """The examples that are one file, but for demo.py: that is `make demo`, and needs no page."""
    return sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "demo.py")


def environment(root: Path) -> dict[str, str]:
    """The environment of rule 1, with the hook of rule 2."""
    for name in ("home", "tmp", "cwd", "watch"):
        (root / name).mkdir(exist_ok=True)
    (root / "watch" / "sitecustomize.py").write_text(WATCH)
    inherited = {name: value for name, value in os.environ.items() if name in ("PATH", "JAVA_HOME", "LANG")}
    below = os.environ.get("PYTHONPATH")
    return {
        "PYTHONIOENCODING": "utf-8",
        **inherited,
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "SPARK_LOCAL_DIRS": str(root / "home" / "spark"),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={root / 'home'} {QUICK_JAVA}",
        "PYTHONPATH": os.pathsep.join([str(root / "watch"), *([below] if below else [])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "WATCH_LOG": str(root / "changed.log"),
    }


def outside(root: Path) -> list[Path]:
    """What was changed and does not lie under the root; devices do not count."""
    changed = [Path(line) for line in (root / "changed.log").read_text().splitlines()]
    return [path for path in changed if not path.is_relative_to(root) and not path.is_relative_to("/dev")]


def run(script: Path, root: Path, *arguments: str, typed: str = "") -> ExampleRun:
    """Run a script in the root's working folder; it must stay inside, and leave no temporary file behind."""
    settings = environment(root)
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=root / "cwd",
        env=settings,
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert outside(root) == [], f"{script.name} wrote outside its folder"
    assert sorted((root / "tmp").iterdir()) == [], f"{script.name} left temporary files"
    changed = tuple(Path(line) for line in (root / "changed.log").read_text().splitlines())
    return ExampleRun(done.returncode, done.stdout, done.stderr, root / "cwd", changed)
