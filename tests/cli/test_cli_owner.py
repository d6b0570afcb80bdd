"""The owner's commands when something is wrong: what is blamed, what is advised, and the exit code --help promises."""

import io
import json
import socket
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rrcollect import Design, Report
from server_agg import Tallies, Tally, TallyKey, open_store, write_reports
from tests.inside.collect import Catalogue, incoming
from tests.support.collector_running import expired, publication, report
from tests.support.command_line import (
    PROGRAM,
    SIGNED,
    at_a_terminal,
    json_of,
    main,
    read_envelope,
    read_keys,
    refused,
    run,
    signed_survey,
)
from tests.support.devices import KEY, question

HALF = Design("3/4", "3/4")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("owner")
    signed_survey(folder)
    survey, envelope = read_envelope(folder / "survey.signed.json", read_keys([folder / "publisher.pem.pub"]))
    made = [
        Report(
            survey=survey.digest,
            question="doped",
            design=survey.question("doped").design,
            answer=str(i % 2),
            id=f"{i:032x}",
        )
        for i in range(40)
    ]
    write_reports(folder / "night.jsonl", made)
    store = open_store(folder / "reports.sqlite3", keep_rows=True)
    Catalogue(store.shelf).publish(envelope, [key.raw.hex() for key in read_keys([folder / "publisher.pem.pub"])])
    store.take([incoming(one.row) for one in made])
    assert store.fold() == 40
    store.disconnect()
    store = open_store(folder / "counts.sqlite3")
    Catalogue(store.shelf).publish(envelope, [key.raw.hex() for key in read_keys([folder / "publisher.pem.pub"])])
    store.take([incoming(one.row) for one in made])
    assert store.fold() == 40
    store.disconnect()
    write_reports(folder / "others.jsonl", [replace(one, survey="0" * 64) for one in made])
    (folder / "cut.json").write_bytes(envelope[:-10])
    (folder / "none.parquet").write_bytes(b"PAR1 and no more")
    return folder


@pytest.fixture(autouse=True)
def here(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)


@pytest.mark.engine
def test_a_tally_of_nothing_but_refused_reports_does_not_look_like_success(capsys):
    code, out, _ = run(capsys, "tally", "others.jsonl", *SIGNED, "--json")
    assert code == 3
    summary = json.loads(out)["summary"]
    assert (summary["rows"], summary["accepted"]) == (40, 0)
    assert run(capsys, "tally", "others.jsonl", "night.jsonl", *SIGNED)[0] == 0


@pytest.mark.engine
@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (
            ["tally", "night.jsonl", *SIGNED, "--memory", "foo"],
            2,
            "--memory is 'foo': use a number with its unit",
        ),
        (["tally", "night.jsonl", *SIGNED, "--memory", "1KB"], 4, "more memory"),
        (["tally", "night.jsonl", *SIGNED, "--refused-to", "absent/r.csv"], 4, "absent/r.csv cannot be written"),
        (["tally", "none.parquet", *SIGNED], 3, "not a readable Parquet file"),
        (["tally", "absent.jsonl", *SIGNED], 4, "there is no file 'absent.jsonl'"),
        (["tally", "absent*.jsonl", *SIGNED], 4, "names no file of reports"),
        (["tally", "night.jsonl", "cut.json", "--trust", "publisher.pem.pub"], 3, "cut.json: "),
        (["serve", "cut.json", "--trust", "publisher.pem.pub"], 3, "cut.json: "),
        (["serve", "--store", "."], 4, "cannot be opened"),
        (["serve", "--store", "postgresql://absent/reports"], 5, "rrcollect[postgres]"),
        (
            ["store", "export", "--out", "out.csv", "--store", "reports.sqlite3"],
            2,
            "a name ending in .json (counts) or .parquet (rows)",
        ),
        (["store", "close", "zzz", "--store", "reports.sqlite3"], 2, "digest is 'zzz'"),
        (["store", "ingest", "--store", "absent.sqlite3"], 4, "no database absent.sqlite3"),
        (
            ["store", "export", "--out", "out.csv", "--store", "absent.sqlite3"],
            4,
            "there is no database absent.sqlite3",
        ),
        (["store", "export", "--out", "out.csv", "--store", "reports.sqlite3", "zzz"], 2, "SURVEY is 'zzz'"),
        (["keygen", "--out", "publisher.pem"], 4, "exists already"),
        (["keygen", "--out", "absent/x.pem"], 4, "cannot be written"),
        (["keygen", "--out", ""], 4, "is a folder"),
        (["publish", "absent.toml", "--key", "publisher.pem", "--out", "o.json"], 4, "absent.toml"),
        (["publish", ".", "--key", "publisher.pem", "--out", "o.json"], 4, "directory"),
        (["publish", "survey.toml", "--key", "absent.pem", "--out", "o.json"], 4, "absent.pem"),
        (["publish", "survey.toml", "--key", "survey.toml", "--out", "o.json"], 3, "survey.toml"),
    ],
)
def test_a_mistake_is_blamed_on_what_is_wrong(desk, capsys, monkeypatch, words, code, hint):
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "a token for the tests")
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as where the extra is not installed
    monkeypatch.delitem(sys.modules, "server_agg.collect.store.postgres", raising=False)
    if words[0] == "serve":
        with socket.create_server(("127.0.0.1", 0)) as free:
            words = [*words, "--port", free.getsockname()[1]]
    before = {path.name for path in desk.iterdir()}
    said = refused(capsys, code, hint, *words)
    assert "lenient" not in said  # it would help in none of these
    assert {path.name for path in desk.iterdir()} - before <= {"rrcollect.sqlite3", "rrcollect.sqlite3.keys"}


@pytest.mark.engine
def test_a_database_without_rows_points_to_its_counts(capsys):
    for words in (["tally", "counts.sqlite3"], ["estimate", "sqlite:///counts.sqlite3"]):
        refused(capsys, 4, "rows of 0 of the 40 reports that were counted; `rrcollect store export", *words, *SIGNED)


def test_reports_whose_key_is_lost_are_given_up_only_if_that_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "a token for the tests")
    started = []
    monkeypatch.setattr("server_agg.collect.serve.serve", lambda *_, **how: started.append(how))
    where = str(tmp_path / "lost.sqlite3")
    store = open_store(where)
    store.take([incoming(report("0" * 64).row)])
    store.disconnect()
    for key in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"):  # the folder may hold those of other tests
        key.unlink()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    refused(capsys, 4, "serve --discard-unreadable", "serve", "--store", where, "--port", port)
    assert not started
    assert main(["serve", "--store", where, "--port", port, "--discard-unreadable"]) == 0
    again = open_store(where)
    assert (len(started), again.epochs.waiting()) == (1, [])
    again.disconnect()


def test_a_folder_is_not_replaced_even_if_forced(desk, capsys):
    (desk / "folder.svg").mkdir()
    for more in ([], ["--force"]):
        refused(capsys, 4, "is a folder", "design", "--plot", "folder.svg", *more)


def test_export_of_one_survey_by_its_digest(desk, capsys):
    survey, _ = read_envelope(desk / "survey.signed.json", read_keys([desk / "publisher.pem.pub"]))
    words = ["store", "export", "--out", "one.parquet", "--store", "reports.sqlite3", survey.digest]
    assert json_of(capsys, *words)["reports"] == 40


def test_lines_on_standard_input_are_judged_and_counted_once(desk, capsys, monkeypatch):
    lines = (desk / "night.jsonl").read_bytes()
    good, other = lines.splitlines()[0], (desk / "others.jsonl").read_bytes().splitlines()[0]
    fresh = [good.replace(b'"id":"0', b'"id":"f'), good.replace(b'"id":"00', b'"id":"ee')]
    sent = b"\n".join(
        [good, *fresh, other, b"x" * 20_000, b"", b"{}", fresh[0].replace(b'"answer":"0"', b'"answer":"1"')]
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(sent)))
    code, out, _ = run(capsys, "store", "ingest", "--store", "reports.sqlite3", "--json")
    refused = {"conflicting_id": 1, "malformed": 2, "unknown_survey": 1}
    assert (code, json.loads(out)) == (3, {"new": 2, "known": 1, "refused": refused})
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    code, out, _ = run(capsys, "store", "ingest", "--store", "reports.sqlite3")
    assert (code, out) == (0, "0 new, 40 known, 0 refused\n")


@pytest.mark.process
def test_a_survey_that_is_over_is_closed_and_estimates_stay_the_same(tmp_path, capsys):
    made = expired(minimum=2, expires="2026-01-01T00:00:00Z", segments={"sport": ["ski"]})
    where = tmp_path / "a.sqlite3"
    store = open_store(where, keep_rows=True)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    rows = [report(made.digest, answer=str(number % 2), segments={"sport": "ski"}).row for number in range(20)]
    store.take([incoming(row) for row in rows])
    store.fold()
    before = store.tallies()
    store.disconnect()

    def held():
        files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        return [row.id.encode() in files for row in rows], [bytes.fromhex(row.id) in files for row in rows]

    assert held() == ([True] * 20, [True] * 20)  # the search can fail: rows and ids
    refused(
        capsys,
        2,
        "a survey that is over",
        "store",
        "close",
        made.digest,
        "--store",
        str(where),
        "--grace",
        "30000",
    )
    code, out, _ = run(capsys, "store", "close", made.digest, "--store", str(where))
    assert (code, out) == (0, "closed: the counts of 20 reports stay; ids, rows and tickets are gone\n")
    again = open_store(where)
    assert again.tallies() == before
    again.disconnect()
    assert held() == ([False] * 20, [False] * 20)


def test_a_release_prints_what_strangers_see(tmp_path, capsys):
    made = publication(question(rounds=2), minimum=10, segments={"sport": ["ski"]})
    where = tmp_path / "a.sqlite3"
    store = open_store(where)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    store.take([incoming(report(made.digest, answer=str(number % 2)).row) for number in range(9)])
    store.disconnect()
    words = ["store", "release", made.digest, "--store", str(where)]
    code, out, _ = run(capsys, *words)
    assert (code, out) == (0, "0 answers were added\nnothing is released yet\n")
    store = open_store(where)
    store.take([incoming(report(made.digest, answer=str(number % 2)).row) for number in range(34)])
    store.disconnect()
    said = json_of(capsys, *words, "--headline", "1")
    assert (said["number"], said["added"], said["results"]["answers"]) == (1, 40, 40)
    assert said["results"]["headline"] == 0
    code, out, _ = run(capsys, *words)
    assert code == 0
    for wanted in (
        "0 answers were added",
        "q1, round 1: 3 answers wait, because crowds of 10 are published whole",
        "(release 1). Nothing changes before the next one.",
        "one person can send many answers",
    ):
        assert wanted in out
    assert json_of(capsys, *words, "--headline", "whole")["results"]["headline"] is None
    for bad in ("0", "x", "-1", ""):
        refused(capsys, 2, "--headline", *words, f"--headline={bad}")
    refused(capsys, 2, "a round of the survey", *words, "--headline", "3")
    refused(capsys, 2, "digest is 'zzz'", "store", "release", "zzz", "--store", str(where))


@pytest.mark.parametrize(("expected", "warned"), [("359", True), ("360", False), ("100000", False)])
def test_publishing_warns_of_groups_that_will_not_be_shown(desk, capsys, expected, warned):
    """Three sports and not declared, two ages and not declared: 12 cells, of crowds of 30."""
    text = (desk / "survey.toml").read_text()
    head, _, rest = text.partition("[segments]")
    assert rest
    questions = rest[rest.index("[[questions]]") :]
    cells = '[segments]\nsport = ["run", "ski", "golf"]\nage = ["young", "old"]\n\n'
    (desk / "cells.toml").write_text(head + cells + questions)
    words = ["publish", "cells.toml", "--key", "publisher.pem", "--out", f"c{expected}.json", "--expect", expected]
    code, _, err = run(capsys, *words)
    assert code == 0
    assert ("make 12 cells" in err) is warned
    refused(capsys, 2, "--expect", *words[:-2], "--expect", "0", "--force")


@pytest.mark.needs("matplotlib")
def test_the_segments_named_are_those_of_all_questions(desk, capsys):
    keys = [TallyKey("0" * 64, "a", HALF), TallyKey("0" * 64, "b", HALF, (("dept", "sales"),))]
    (desk / "two.json").write_text(Tallies({key: Tally(HALF, 500, 200) for key in keys}).to_json())
    refused(capsys, 2, "a segment that was declared: dept", "estimate", "two.json", "--by", "foo")
    refused(capsys, 2, "none was", "estimate", "two.json", "--question", "a", "--by", "dept")
    assert [one["question"] for one in json_of(capsys, "estimate", "two.json", "--by", "dept")] == ["b"]
    code, out, _ = run(capsys, "estimate", "two.json", "--question", "b", "--by", "dept", "--plot", "s.svg")
    assert (code, out.startswith("b, round 0, by dept\n"), out.endswith("picture: s.svg\n")) == (0, True, True)
    code, out, _ = run(capsys, "design", "--epsilon", "1", "--plot", "r.svg")
    assert (code, out.endswith("picture: r.svg\n")) == (0, True)


def test_a_margin_from_which_nothing_is_learned(capsys):
    _, out, _ = run(capsys, "plan", "--epsilon", "0.1", "--n", "3")
    assert out.startswith("±100.00 points: nothing is learned")
    assert json_of(capsys, "plan", "--epsilon", "0.1", "--n", "3")["margin"] == 1
    _, out, _ = run(capsys, "plan", "--epsilon", "1", "--n", "5")
    assert "nothing" not in out
    assert json_of(capsys, "plan", "--epsilon", "1", "--n", "5")["margin"] < 1


@pytest.mark.process
@pytest.mark.parametrize(("pair", "hint"), [("sport=chess", "use sport=athletics"), ("country=x", "sport")])
def test_a_group_the_survey_has_not_is_told_before_anything_is_asked(desk, capsys, pair, hint):
    words = ["answer", "survey.signed.json", "--trust", "publisher.pem.pub", "--ledger", "l.sqlite3", "--segment", pair]
    shown, code = at_a_terminal([*PROGRAM, *words], [])
    assert code == 2
    assert shown.count("\n") == 1
    assert hint in shown
    assert main([*words[:-1], "sport"]) == 2
