"""The runner: a failure fails, a planted bug nobody caught fails, recorded pieces are not run again, stale ones are."""

from __future__ import annotations

import json

import pytest

from tests.assurance import __main__ as runner
from tests.assurance import mutation
from tests.assurance.check import Check, Outcome, Part
from tests.assurance.evidence import ROOT, Evidence, essence, version
from tests.assurance.page import page
from tests.assurance.pieces import checks, run_side_by_side


@pytest.fixture
def project(tmp_path):
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "module.py").write_text("x = 1")
    (tmp_path / "tests" / "assurance" / "sample").mkdir(parents=True)
    (tmp_path / "tests" / "assurance" / "sample" / "check.py").write_text("CHECK = 1")
    return tmp_path


def sample(calls, *, passed=True, caught=True):
    def work(piece, step):
        calls.append(piece)
        step(1, 2)
        return Outcome(passed, {"things": 10, "least margin": 5 - piece})

    parts = [Part("search", work, pieces=3), Part("planted", lambda i, s: Outcome(caught), planted=True)]
    return Check(1, "sample", "Sample", "All is well.", ("judged",), lambda size: parts)


def run(check, project):
    evidence = Evidence(check, project / "results", project)
    for part in check.parts(runner.Size.SMALL):
        for piece in range(part.pieces):
            if not evidence.done(part, piece):
                runner.run_piece(check, part, piece, evidence)
    return evidence


def test_pieces_add_up_and_are_not_run_again(project, capsys):
    calls = []
    check = sample(calls)
    evidence = run(check, project)
    run(check, project)
    assert calls == [0, 1, 2]
    rows = evidence.rows(check.parts(runner.Size.SMALL))
    assert rows[0]["outcome"].figures == {"things": 30, "least margin": 3}
    text = page([(check, rows)])
    assert "1 of 1 parts held, 1 of 1 planted bugs were caught" in text
    assert "| 1 | search | held | 30 things; 3 least margin |" in text
    assert "| 1 | planted bugs | 1 of 1 caught | |" in text
    assert "sample: search [3/3]: held" in capsys.readouterr().err


def test_rows_of_all_pieces_are_one_table_of_the_check(project):
    def work(piece, step):
        return Outcome(True, rows={f"client {piece}": {"claimed": "1", ("audited", "verdict")[piece]: "2"}})

    parts = [Part("search", work, pieces=2), Part("planted", lambda i, s: Outcome(True), planted=True)]
    check = Check(1, "sample", "Sample", "All is well.", ("judged",), lambda size: parts)
    lines = page([(check, run(check, project).rows(parts))]).splitlines()
    start = lines.index("|  | claimed | audited | verdict |")
    assert lines[start + 1 : start + 5] == [
        "| --- | ---: | ---: | ---: |",
        "| client 0 | 1 | 2 |  |",
        "| client 1 | 1 |  | 2 |",
        "",
    ]


def test_a_change_of_the_sources_makes_evidence_stale(project):
    calls = []
    check = sample(calls)
    evidence = run(check, project)
    before = version(check, project)
    (project / "judged" / "module.py").write_text("x = 2")
    assert version(check, project) != before
    text = page([(check, evidence.rows(check.parts(runner.Size.SMALL)))])
    assert "for an earlier version of judged/module.py" in text
    assert "| 1 | search | held, older sources | 30 things; 3 least margin |" in text
    assert "| 1 | planted bugs | 1 of 1 caught, 1 of them of older sources | |" in text
    counted = "0 of 1 parts held, 0 of 1 planted bugs were caught; 2 more are recorded for earlier versions of files"
    assert counted in " ".join(text.split())
    run(check, project)
    assert calls == [0, 1, 2] * 2


def test_a_part_with_sources_of_its_own_goes_stale_alone(project):
    calls = []
    mine = Part("mine", lambda i, s: calls.append("mine") or Outcome(True), sources=("other.py",))
    theirs = Part("theirs", lambda i, s: calls.append("theirs") or Outcome(True), planted=True)
    check = Check(1, "sample", "Sample", "All is well.", ("judged",), lambda size: [mine, theirs])
    (project / "other.py").write_text("y = 1")
    run(check, project)
    (project / "judged" / "module.py").write_text("x = 2")
    run(check, project)
    (project / "other.py").write_text("y = 2")
    evidence = run(check, project)
    assert calls == ["mine", "theirs", "theirs", "mine"]
    assert not any(row["stale"] for row in evidence.rows([mine, theirs]))


def test_what_failed_and_what_is_missing_is_said(project):
    check = sample([], passed=False, caught=False)
    evidence = run(check, project)
    text = page([(check, evidence.rows(check.parts(runner.Size.SMALL)))])
    assert text.count("**FAILED**") == 2
    assert "| 1 | planted bugs | 0 of 1 caught | |\n| 1 | planted bug: planted | **FAILED** | |" in text
    assert "0 of 1 parts held, 0 of 1 planted bugs" in text
    pieces = json.loads(evidence.path.read_text())
    del pieces["pieces"]["search/1"]
    evidence.path.write_text(json.dumps(pieces))
    text = page([(check, evidence.rows(check.parts(runner.Size.SMALL)))])
    assert "not finished (1 of 3 pieces missing)" in text


def test_what_could_not_be_decided_is_neither_held_nor_failed(project):
    silent = Part("service", lambda piece, step: Outcome(False, {"asked": 1}, "not decided: no reply"))
    check = Check(1, "sample", "Sample", "All is well.", ("judged",), lambda size: [silent])
    text = page([(check, run(check, project).rows([silent]))])
    assert "| 1 | service | **not decided** | 1 asked |" in text
    assert "* service: not decided: no reply" in text
    assert "0 of 1 parts held" in text


@pytest.mark.parametrize(("passed", "caught", "code"), [(True, True, 0), (False, True, 1), (True, False, 1)])
def test_the_exit_code(project, monkeypatch, passed, caught, code):
    check = sample([], passed=passed, caught=caught)
    monkeypatch.setattr(runner, "checks", lambda names=None: [check])
    monkeypatch.setattr(runner, "NAMES", ["sample"])
    monkeypatch.setattr(runner, "Evidence", lambda check, folder: Evidence(check, folder, project))
    assert runner.main(["sample", "--small"]) == code


def test_an_unknown_check_is_a_mistake(capsys):
    with pytest.raises(SystemExit) as stopped:
        runner.main(["nonesuch"])
    assert stopped.value.code == 2
    assert "unknown check 'nonesuch'" in capsys.readouterr().err


def test_what_a_file_does_is_judged_not_what_it_says(tmp_path):
    file = tmp_path / "module.py"

    def does(text):
        file.write_text(text)
        return essence(file)

    plain = does("def f(x):\n    return x + 1\n")
    said = """'A module.'
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import json
CHECK = Check(1)
def f(x):
    'It adds.'
    return x + 1  # one
"""
    assert does(said) == plain
    assert does("from typing import TYPE_CHECKING, Any") == does("from typing import Any") != plain
    assert does("def f(x):\n    return x + 2\n") != plain
    assert does("def f(x):\n    if not TYPE_CHECKING:\n        x = 2\n    return x + 1\n") != plain
    (tmp_path / "data.json").write_text("1")
    before = essence(tmp_path / "data.json")
    (tmp_path / "data.json").write_text("1 ")
    assert essence(tmp_path / "data.json") != before


def test_every_python_reads_the_same_in_a_file(tmp_path):
    """Otherwise what one version recorded would look stale to the next.  The text is Python 3.11's."""
    file = tmp_path / "module.py"
    file.write_text("class A:\n    def f(self): pass\n")
    arguments = "arguments(posonlyargs=[], args=[arg(arg='self')], kwonlyargs=[], kw_defaults=[], defaults=[])"
    function = f"FunctionDef(name='f', args={arguments}, body=[Pass()], decorator_list=[])"
    written = f"ClassDef(name='A', bases=[], keywords=[], body=[{function}], decorator_list=[])"
    assert essence(file).decode() == f"Module(body=[{written}], type_ignores=[])"


@pytest.mark.process
def test_pieces_side_by_side_find_what_they_find_alone():
    (check,) = checks(["promise"])
    pieces = [(check, part, 0) for part in check.parts(runner.Size.SMALL)]
    beside = {part.name: ran[0] for (_, part, _), ran in run_side_by_side(pieces, runner.Size.SMALL, 2)}
    assert beside == {part.name: part.run(0, lambda done, total: None) for _, part, _ in pieces}


def test_the_page_of_the_mutants_says_what_was_not_run_or_has_changed():
    assert [
        path for module, tests in mutation.TESTED.items() for path in (module, *tests) if not (ROOT / path).exists()
    ] == []
    first, second = list(mutation.TESTED)[:2]
    found = {"mutants": 50, "killed": 46, "survived": 3, "not reached": 1, "date": "2026-01-01"}
    record = {first: {**found, "digest": mutation.digest(first)}, second: {**found, "digest": "another"}}
    rows = [line for line in mutation.page(record).splitlines() if line.startswith("| `")]
    assert rows[0] == f"| `{first}` | 50 | 46 | 3 | 1 | 92 | 2026-01-01 |"
    assert rows[1].endswith("| 2026-01-01, changed since |")
    assert rows[2].endswith("| not run | | | | | |")
    assert len(rows) == len(mutation.TESTED)
