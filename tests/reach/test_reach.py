"""The runner of `make reach`: what fails, is left out or runs too long did not hold; the page says what is recorded."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.reach import __main__ as runner
from tests.reach.environment import requirements
from tests.reach.page import page
from tests.reach.part import Part, by_pytest
from tests.reach.rows import NOT_RUN, PARTS
from tests.reach.running import recorded
from tests.support.marks import RARE

CASES = (  # of parametrised tests
    "", "[postgres-kill]", "[.csv]", "[optimal]", "[1]", "[2]", "[regression_and_lie_detection]", "[390]", "[1280]",
    "[firefox]", "[open]", "[bigint]", "[a1-b1-p00 = 1, p11 = 1]",
)  # fmt: skip


def here(part: Part) -> Path:
    """This environment, in place of one that would have to be made."""
    return Path(sys.executable)


def suite(folder: Path, body: str) -> tuple[str, ...]:
    """A command that runs one test with this body."""
    (folder / "test_planted.py").write_text(f"import pytest\ndef test_one():\n    {body}\n")
    return ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(folder))


@pytest.mark.process
@pytest.mark.parametrize(
    ("body", "held", "said"),
    [
        ("assert True", True, "1 passed"),
        ("assert False", False, "1 failed"),
        ("pytest.skip('no engine')", False, "1 skipped"),
    ],
)
def test_a_part_holds_if_its_tests_ran_and_passed(tmp_path: Path, body: str, held: bool, said: str) -> None:
    part = Part("planted", "A planted part", suite(tmp_path, body), told=("pytest",))
    assert runner.reach([part], here, tmp_path, tmp_path / "reach.md", (part,)) is held
    found = json.loads((tmp_path / "planted.json").read_text())
    assert (found["held"], found["said"]) == (held, said)
    assert found["versions"]["pytest"] == pytest.__version__
    text = (tmp_path / "reach.md").read_text()
    assert ("**FAILED**" in text) is not held
    assert f"**{int(held)} of 1 parts held.**" in text


@pytest.mark.process
@pytest.mark.parametrize(
    ("run", "said"),
    [
        (("-c", "print('all is well'); raise SystemExit(3)"), "all is well"),
        (("-m", "pytest", "-q", "-c", "/dev/null", "-k", "absent"), "1 deselected"),
        (("-c", "import time; time.sleep(60)"), "stopped after 1 s"),
    ],
)
def test_a_command_that_fails_runs_nothing_or_never_ends_did_not_hold(
    tmp_path: Path, run: tuple[str, ...], said: str
) -> None:
    suite(tmp_path, "assert True")
    run = (*run, str(tmp_path)) if "pytest" in run else run
    part = Part("planted", "A planted part", run, timeout=1 if "sleep" in run[-1] else 60)
    assert not runner.reach([part], here, tmp_path, tmp_path / "reach.md", (part,))
    assert said in json.loads((tmp_path / "planted.json").read_text())["said"]


def test_the_page_is_what_the_results_say() -> None:
    """If not: python -m tests.reach --page"""
    assert runner.PAGE.read_text(encoding="utf-8") == page(PARTS, recorded(PARTS), NOT_RUN)


def test_parts_have_names_of_their_own_and_files_that_exist() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)
    named = [one.partition("::")[0] for part in PARTS for one in part.run if one.startswith("tests/")]
    assert [one for one in named if not (runner.ROOT / one).exists()] == []
    stray = {path.stem for path in runner.RESULTS.glob("*.json")} - {part.name for part in PARTS}
    assert stray == set()


def test_a_part_asks_for_the_project_and_its_own_packages() -> None:
    part = Part("x", "X", by_pytest("test_x.py"), packages=("a", "b>=1"), extras=("spark", "batch"))
    project, *packages = requirements(part)
    assert project.endswith("[batch,quick,spark]")
    assert packages == ["a", "b>=1"]


def test_an_unknown_part_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        runner.main(["nonesuch"])
    assert stopped.value.code == 2
    assert "unknown part 'nonesuch'" in capsys.readouterr().err


def test_what_the_tests_leave_out_is_a_part_that_reads_the_same_files() -> None:
    parts = {part.name: part for part in PARTS}
    for name, rare in ((name, one) for name, places in RARE.items() for one in places):
        file, _, test = rare.replace(r"\.", ".").partition("::")
        assert file in parts[name].run or "*" in file, name
        if file.endswith(".py"):
            defined = re.findall(r"^def (test_\w+)", (runner.ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            cases = [f"{one}{case}" for one in defined for case in CASES]
            assert [one for one in cases if re.match(test, one)] != [], rare
    assert {part.name for part in PARTS if part.here} <= set(RARE)
