"""Every example does what it says, in a process of its own; `running` says how, and that it writes nowhere else.

All in one group, so that one worker runs each example once.  Where an example draws at random its checks allow 6.6
standard errors: together about 20 such comparisons, false-alarm rate below 1e-9 per run.
"""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rrcollect
import server_agg
from rrcollect import Design, optimal_design
from tests.support.examples import EXAMPLES, ExampleRun, Runner, names, outside, run

SIGMAS = 6.6


@pytest.mark.parametrize("name", [*names(), *(path.name for path in EXAMPLES.glob("demo.py"))])
def test_it_runs_says_something_and_complains_of_nothing(ran: Runner, name: str) -> None:
    result = ran(name)
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) >= 10
    if name != "nightly_batch_spark.py":  # Spark talks about itself
        assert result.err == ""


@pytest.mark.parametrize("name", names())
def test_it_is_short_and_says_for_whom_it_is_and_how_to_run_it(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    described = re.match(r'(# %% \[markdown\]\n)?"""(.+?)"""', text, re.DOTALL)
    assert described is not None
    assert re.search(r"\b(for|For) (who|dev|survey|aud|the)", described[2])
    assert "Shows" in described[2]
    assert f"python examples/{name}" in described[2]
    assert len(text.splitlines()) <= 120


def private_names(text: str) -> list[str]:
    """What a script takes from the project that is not one of its public names."""
    public = {"rrcollect": set(rrcollect.__all__), "server_agg": set(server_agg.__all__)}
    called, found = {}, []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            called |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in public}
            found += [
                alias.name for alias in node.names if alias.name.partition(".")[0] in public.keys() - {alias.name}
            ]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in public:
            taken = public.get(node.module, set())
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name not in taken]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in called:
            module = called[node.value.id]
            found += [] if node.attr in public[module] else [f"{module}.{node.attr}"]
    return found


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.name)
def test_it_uses_public_names_only(path: Path) -> None:
    assert private_names(path.read_text(encoding="utf-8")) == []


def test_the_search_for_private_names_can_find_some() -> None:
    assert private_names("from rrcollect.answer.ledger.ledger import Ledger") == [
        "rrcollect.answer.ledger.ledger.Ledger"
    ]
    assert private_names("from server_agg import estimate, text_table") == ["server_agg.text_table"]
    assert private_names("import rrcollect.design.yes_no") == ["rrcollect.design.yes_no"]
    assert private_names("import rrcollect as rr\nrr.Client, rr.Ledger") == ["rrcollect.Ledger"]


def test_the_watch_sees_what_leaves_the_folder(tmp_path: Path) -> None:
    """The planted bugs: scripts that open, make or connect to something outside, or start somebody who does."""
    root, script, stray = tmp_path / "root", tmp_path / "script.py", str(tmp_path / "stray")
    root.mkdir()
    opening = f"open({stray!r}, 'w').close()"
    for bug in (
        opening,
        f"import os; os.close(os.open({stray!r}, os.O_CREAT | os.O_RDWR))",
        f"import os; os.mkdir({stray!r} + '-folder')",
        f"import sqlite3; sqlite3.connect({stray!r}).close()",
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {opening!r}])",
    ):
        script.write_text(bug)
        with pytest.raises(AssertionError, match="outside its folder"):
            run(script, root)
        (root / "changed.log").unlink()
    script.write_text("import tempfile; tempfile.mkdtemp()")
    with pytest.raises(AssertionError, match="left temporary files"):
        run(script, root)


def test_a_script_that_stays_inside_is_let_be(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("open('here', 'w').close(); print(open('/dev/null', 'w').name)")
    result = run(script, tmp_path)
    assert (result.code, result.out) == (0, "/dev/null\n")
    assert outside(tmp_path) == []


# ---- what each example shows --------------------------------------------------------------------------------------


def sent(result: ExampleRun) -> str:
    found = re.search(r"> doped\n“(yes|no)” was sent or may have been sent, in 2 reports", result.out)
    assert found is not None, result.out
    return found[1]


def test_the_survey_app_asks_declines_delivers_and_remembers(ran: Runner) -> None:
    first = ran("survey_app.py")
    assert "A copy altered on the way is refused: BadSignature" in first.out
    assert "the truth is not read, nothing is spent" in first.out
    assert "drawn so far" in first.out
    assert (
        "at most 3 times as likely as the other.\nFor your whole life" in first.out
    )  # one of two, asked by two surveys
    assert "> pressed" not in first.out
    # one request and one reply are lost; which of them a pass ends with, and how many passes it takes, is a matter of
    # the reports' moments
    passes = re.findall(r"Delivered (\d), waiting (\d)(?: \(simulated: the (?:request|reply) was lost\))?\n", first.out)
    assert len(passes) >= 2, first.out
    assert sum(int(delivered) for delivered, _ in passes) == 2, first.out
    assert passes[-1][1] == "0"
    assert first.out.count(" was lost)") == len(passes) - 1, first.out
    assert "The collector was sent 3 requests and has 2 reports." in first.out
    second = run(EXAMPLES / "survey_app.py", first.folder.parent, typed="y\nn\ny\n")
    assert "Take part?" not in second.out  # nothing is open
    assert sent(second) == sent(first)
    assert "at most 3 times as likely as the other.\nFor your whole life" in second.out


def test_the_survey_app_takes_no_for_an_answer(tmp_path: Path) -> None:
    result = run(EXAMPLES / "survey_app.py", tmp_path, "elsewhere", typed="n\n")
    assert result.code == 0
    assert result.out.endswith("Nothing was asked, nothing was sent.\n")
    assert "drawn so far" not in result.out
    assert {path.name for path in result.folder.iterdir()} == {"elsewhere"}


def rows_of(text: str) -> dict[str, tuple[int, float, float, float]]:
    """The lines of a segment table: n, and estimate, low and high as shares."""
    found = re.findall(r"^(\S+) +(\d+) +([\d.]+)(?: %)? +([\d.]+) +([\d.]+)(?: +95 % exact)?$", text, re.MULTILINE)
    return {name: (int(n), *(float(x) / 100 for x in rest)) for name, n, *rest in found}  # type: ignore[misc]


def near(rows: dict[str, tuple[int, float, float, float]], truths: dict[str, float], design: Design) -> bool:
    """Every estimate lies in its bar and near its truth; the table rounds to tenths of a percent."""
    return set(rows) == set(truths) and all(
        low <= value <= high and abs(value - truths[name]) <= SIGMAS * 0.5 / (float(design.c) * math.sqrt(n)) + 0.0005
        for name, (n, value, low, high) in rows.items()
    )


def test_telemetry_finds_crashes_answers_once_and_sees_the_release(ran: Runner) -> None:
    out = ran("telemetry.py").out
    said = re.findall(r"^  week (\d): ended (\w+), file (found|not found): (.+)$", out, re.MULTILINE)
    assert [week for week, *_ in said] == [str(w) for w in range(8)]
    assert all((found == "found") == (ending != "well") for _, ending, found, _ in said)
    assert {ending for _, ending, *_ in said} == {"well", "raising", "killed"}
    assert sorted(told for *_, told in said) == ["not asked (NotDrawn)"] * 7 + ["randomised, delivered 1"]
    rows, design = rows_of(out), optimal_design(2)
    assert sum(row[0] for row in rows.values()) == 400_000
    assert near(rows, {str(w): 0.05 if w < 4 else 0.09 for w in range(8)}, design)
    assert not near(rows, {str(w): 0.05 for w in range(8)}, design)  # the check can fail
    found = re.search(r"^week 4: \+([\d.]+) points in one week \(bar: \+([\d.]+) to", out, re.MULTILINE)
    assert found is not None  # 4 points are 10 standard errors
    assert "slope +" in out


@pytest.mark.parametrize(("ending", "left"), [("well", False), ("raising", True), ("killed", True)])
def test_the_crash_hook_tells_a_bad_end_from_a_good_one(tmp_path: Path, ending: str, left: bool) -> None:
    hook, running = EXAMPLES / "shared" / "crash_hook.py", tmp_path / "running"
    done = subprocess.run([sys.executable, hook, running, ending], capture_output=True, check=False, cwd=tmp_path)
    assert running.exists() is left
    assert (done.returncode == 0) is not left
    assert (b"a defect" in done.stderr) is (ending == "raising")  # the traceback is still printed


def test_the_tour_ends_at_the_truth(ran: Runner) -> None:
    out, design = ran("tour.py").out, optimal_design("ln 3")
    rows = rows_of(out)
    assert near(rows, {"amateur": 0.10, "elite": 0.40}, design)
    assert not near(rows, {"amateur": 0.40, "elite": 0.10}, design)  # the check can fail
    found = re.search(r"Elite, in truth 40 %: ([\d.]+) % \(95 % exact interval ([\d.]+)–([\d.]+) %\), n = 1000", out)
    assert found is not None
    assert float(found[2]) < float(found[1]) < float(found[3])
    assert "Asked again, the same report: True" in out
    assert "Delivered: 1, after one lost request" in out
    assert "Answers for ±3 points: 4332" in out


NIGHTS = """\
north     4500        30.0  26.5  33.5
south     3000        10.0   6.0  14.1
(merged)  1812        40.0  34.3  45.6
"""
TUESDAY = (
    "2,786 rows read: 2,500 accepted, 250 repeated, 36 refused "
    "(5 unknown_survey, 20 wrong_design, 7 undeclared_segment, 4 conflicting_id)"
)


def test_the_nightly_batch_accounts_for_every_row_and_may_be_run_again(ran: Runner) -> None:
    result = ran("nightly_batch_duckdb.py")
    assert f"Tuesday: {TUESDAY}\n" in result.out
    assert NIGHTS in result.out
    assert "as one batch, the same integers: True" in result.out
    assert "Tuesday's job run again, the same bytes: True" in result.out
    assert len((result.folder / "nights" / "refused.csv").read_text().splitlines()) == 37
    assert run(EXAMPLES / "nightly_batch_duckdb.py", result.folder.parent).out == result.out


def test_spark_gives_the_integers_of_duckdb(ran: Runner) -> None:
    out = ran("nightly_batch_spark.py").out
    assert f"Tuesday on Spark:  {TUESDAY}\nTuesday on DuckDB: {TUESDAY}\nthe same integers: True\n" in out
    total = "Both nights together\n"
    block = out.partition(total)[2].partition("refused rows in ")[0]
    assert block
    assert block in ran("nightly_batch_duckdb.py").out.partition(total)[2]
    assert out.endswith("4 conflicting_id, 7 undeclared_segment, 5 unknown_survey, 20 wrong_design\n")


def test_choosing_epsilon_prints_prices_and_draws(ran: Runner, tmp_path: Path) -> None:
    result = ran("choose_epsilon.py")
    assert "ε = ln 3   flips  25.0%   1% ->   2.9%   10% ->  25.0%   50% ->  75.0%" in result.out  # 1/9 · 3 = 1/3
    assert re.search(r"^1\.099 +0\.75 +0\.107 of a direct one +3649 +414 +8\.81$", result.out, re.MULTILINE)
    assert "the least ε that reaches ±0.03 is 1.216" in result.out
    assert "Of 3000 respondents about 120 would be exposed for certain." in result.out
    for name in ("price.png", "feasible.png", "switch.png"):
        picture = (result.folder / "pictures" / name).read_bytes()
        assert picture.startswith(b"\x89PNG\r\n")
        assert len(picture) > 20_000
    nowhere = run(EXAMPLES / "choose_epsilon.py", tmp_path)
    assert (nowhere.code, nowhere.out, nowhere.err.count("\n")) == (1, "", 1)


def test_the_published_survey_is_reproduced(ran: Runner) -> None:
    out = ran("published_survey.py").out
    lines = out.splitlines()
    for what, count, value, error, ends in (
        ("barbet [1]", "33 yes of 189", "1.2", "4.2", "0.0 to 10.5"),
        ("bulbul [1]", "56 yes of 189", "19.4", "5.0", "9.8 to 30.0"),
        ("partridge [1]", "31 yes of 189", "-0.4", "4.1", "0.0 to 9.6"),
        ("simulated [2]", "640 yes of 1000", "26.6667", "2.5311", "21.7 to 31.8"),
    ):
        at = lines.index(f"{what}: {count}, the only count that gives the printed estimate")
        assert lines[at + 1].startswith(f"    printed  {value} %, standard error ")
        assert lines[at + 2] == f"    ours     {value} %, standard error {error}, {ends} % (exact, guaranteed)"
    for what, wald in (("barbet", "9.3"), ("partridge", "7.5")):  # what the source prints, by our own numbers
        assert f"{what} [1]: ±1.96 standard errors end at {wald} %" in out
    assert "[3] by its own formulas  0.140, standard error 0.0466" in out


def test_the_audit_reads_designs_exactly_and_refutes_the_leaking_box_only(ran: Runner) -> None:
    """The example's bound is above the true ε with probability 1e-9 at most; vendor B is its planted bug."""
    out = ran("audit_a_design.py").out
    for promise in ("ε = 1.6094 = ln(5)", "ε = 0.8473 = ln(7/3)", "ε = 2.7726 = ln(16)", "ε = 3.6109 = ln(37)"):
        assert promise in out
    assert '"ε = 1.6"? False.  "ε = 1.61"? True.' in out
    assert "keeps ε = 1? False" in out
    bounds = dict(re.findall(r"^  vendor (.): ε is at least ([\d.]+): ", out, re.MULTILINE))
    assert 0.8 < float(bounds["A"]) <= 1
    assert 1.3 < float(bounds["B"]) <= 1.54  # the majority of three draws: ε = 1.53
    assert out.count("the claim is refuted") == 1


@pytest.mark.parametrize("name", ["flask_server.py", "fastapi_server.py", "django_server.py"])
def test_a_web_server_has_one_ledger_per_person_and_its_own_collector(ran: Runner, name: str) -> None:
    """What each prints is on the page; here: nobody's name lies where it was served, nor does the token."""
    result = ran(name)
    assert "Ledgers: 4 with a name on the disk: 0" in result.out
    kept = [
        path for path in result.folder.rglob("*") if path.is_file() and name.removesuffix("_server.py") in str(path)
    ]
    assert len([path for path in kept if path.suffix == ".sqlite3"]) == 5  # ana's, ben's, eva's, dan's, the reports
    assert not any(word in path.read_bytes() for path in kept for word in (b"@example.org", b"the owner's"))
