"""The quick loop leaves out what it says, and nothing else; a process is noticed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import quick
from tests.support.marks import MARKS
from tests.support.quick import ROOT, SLOW, Quick, StartedAProcess, missing


def test_every_place_with_marks_exists() -> None:
    gone = []
    for place in MARKS:
        file, _, test = place.partition("::")
        path, name = ROOT / file, test.partition("[")[0]
        if not path.exists() or (name and f"def {name}" not in path.read_text(encoding="utf-8")):
            gone.append(place)
    assert gone == []
    assert {mark.name for marks in MARKS.values() for mark in marks} <= {*SLOW, "needs"}


def test_a_file_is_left_out_if_it_cannot_be_loaded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()

    def lacking(**files: str) -> list[str]:
        quick.imported.cache_clear()
        for name, text in files.items():
            (tmp_path / "tests" / f"{name}.py").write_text(text)
        return missing(tmp_path / "tests" / "test_a.py")

    assert lacking(test_a="import pytest, json\nfrom tests import helper", helper="") == []
    assert lacking(helper="import no_such_oracle.part") == ["no_such_oracle"]
    assert lacking(helper="from no_such_oracle import judge") == ["no_such_oracle"]
    assert lacking(helper="try:\n    import no_such_oracle\nexcept ImportError:\n    pass") == ["no_such_oracle"]
    later = "if TYPE_CHECKING:\n    import no_such_oracle\ndef f():\n    import no_such_oracle"
    assert lacking(helper=later) == []
    assert lacking(test_a="import no_such_oracle", helper="from tests import test_a") == ["no_such_oracle"]
    quick.imported.cache_clear()


def test_a_process_started_by_a_quick_test_is_an_error() -> None:
    watching = Quick({})
    watching.testing = True
    try:
        with pytest.raises(StartedAProcess, match="mark the test"):
            subprocess.run([sys.executable, "-c", ""], check=True)
    finally:
        watching.testing = False


def test_files_that_are_marked_as_a_whole_are_not_read() -> None:
    plugin = Quick({"tests/batch/": [pytest.mark.engine], "tests/cli/": [pytest.mark.needs("pytest")]})
    assert plugin.pytest_ignore_collect(ROOT / "tests" / "batch" / "test_x.py") is True
    assert plugin.pytest_ignore_collect(ROOT / "tests" / "cli" / "test_cli.py") is None


@pytest.mark.process
def test_ctrl_c_works_in_tests_that_a_script_starts_in_the_background(tmp_path) -> None:
    """A shell script starts background jobs with SIGINT ignored, and Python then installs no handler of its own."""
    interrupted = (
        "import signal, subprocess, sys\n"
        "import pytest\n"
        "def test_here():\n"
        "    with pytest.raises(KeyboardInterrupt):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "def test_in_a_process():\n"
        "    code = 'import signal; signal.raise_signal(signal.SIGINT)'\n"
        "    ended = subprocess.run([sys.executable, '-c', code], stderr=subprocess.DEVNULL)\n"
        "    assert ended.returncode == -signal.SIGINT\n"
    )
    (tmp_path / "test_interrupted.py").write_text(interrupted)
    plain = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(tmp_path),
    ]
    background = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]

    def ends_with(*options: str) -> int:
        command = [*background, *plain, *options, str(tmp_path / "test_interrupted.py")]
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False).returncode

    assert ends_with("-p", "tests.conftest") == 0
    assert ends_with() == 1  # the planted bug: tests that bring no handler
