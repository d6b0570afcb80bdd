"""The owner's commands when something is wrong: what is blamed, what is advised, and the exit code --help promises."""

import json
import socket
import sys
from dataclasses import replace

import pytest

from rrcollect import Design, Report
from server_agg import Tallies, Tally, TallyKey, write_reports
from server_agg.cli.main import main
from server_agg.cli.sources import read_envelope, read_keys
from server_agg.collect.stored_report import incoming
from server_agg.collect.stores import open_store
from tests.support.command_line import PROGRAM, SIGNED, at_a_terminal, json_of, refused, run, signed_survey

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
    store = open_store(folder / "reports.sqlite3")
    store.take([incoming(one.row) for one in made])
    store.close()
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
        (["tally", "night.jsonl", *SIGNED, "--memory", "foo"], 2, "--memory is 'foo'; allowed: a number with its unit"),
        (["tally", "night.jsonl", *SIGNED, "--memory", "1KB"], 4, "more memory"),
        (["tally", "night.jsonl", *SIGNED, "--refused-to", "absent/r.csv"], 4, "absent/r.csv cannot be written"),
        (["tally", "none.parquet", *SIGNED], 3, "not a readable Parquet file"),
        (["tally", "absent.jsonl", *SIGNED], 4, "there is no file 'absent.jsonl'"),
        (["tally", "absent*.jsonl", *SIGNED], 4, "names no file of reports"),
        (["tally", "night.jsonl", "--survey", "cut.json", "--key", "publisher.pem.pub"], 3, "cut.json: "),
        (["serve", "--survey", "cut.json", "--key", "publisher.pem.pub"], 3, "cut.json: "),
        (["serve", "--store", "."], 4, "cannot be opened"),
        (["serve", "--store", "postgresql://absent/reports"], 5, "rrcollect[postgres]"),
        (["export", "out.csv", "--store", "absent.sqlite3"], 4, "there is no database absent.sqlite3"),
        (["export", "out.csv", "--store", "reports.sqlite3", "--survey", "zzz"], 2, "--survey is 'zzz'"),
        (["keygen", "publisher.pem"], 4, "exists already"),
        (["keygen", "absent/x.pem"], 4, "cannot be written"),
        (["keygen", ""], 4, "is a folder"),
        (["publish", "absent.toml", "--key", "publisher.pem", "--out", "o.json"], 4, "absent.toml"),
        (["publish", ".", "--key", "publisher.pem", "--out", "o.json"], 4, "directory"),
        (["publish", "survey.toml", "--key", "absent.pem", "--out", "o.json"], 4, "absent.pem"),
        (["publish", "survey.toml", "--key", "survey.toml", "--out", "o.json"], 3, "survey.toml"),
    ],
)
def test_a_mistake_is_blamed_on_what_is_wrong(desk, capsys, monkeypatch, words, code, hint):
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "a token for the tests")
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as where the extra is not installed
    monkeypatch.delitem(sys.modules, "server_agg.collect.postgres_store", raising=False)
    if words[0] == "serve":
        with socket.create_server(("127.0.0.1", 0)) as free:
            words = [*words, "--port", free.getsockname()[1]]
    before = {path.name for path in desk.iterdir()}
    said = refused(capsys, code, hint, *words)
    assert "lenient" not in said  # it would help in none of these
    assert {path.name for path in desk.iterdir()} - before <= {"rrcollect.sqlite3"}


def test_a_folder_is_not_replaced_even_if_forced(desk, capsys):
    (desk / "folder.svg").mkdir()
    for more in ([], ["--force"]):
        refused(capsys, 4, "is a folder", "plot", "switch", "--out", "folder.svg", *more)


def test_export_of_one_survey_by_its_digest(desk, capsys):
    survey, _ = read_envelope(desk / "survey.signed.json", read_keys([desk / "publisher.pem.pub"]))
    words = ["export", "one.jsonl", "--store", "reports.sqlite3", "--survey", survey.digest]
    assert json_of(capsys, *words)["reports"] == 40


@pytest.mark.needs("matplotlib")
def test_the_segments_named_are_those_of_all_questions(desk, capsys):
    keys = [TallyKey("0" * 64, "a", HALF), TallyKey("0" * 64, "b", HALF, (("dept", "sales"),))]
    (desk / "two.json").write_text(Tallies({key: Tally(HALF, 500, 200) for key in keys}).to_json())
    refused(capsys, 2, "a segment that was declared: dept", "estimate", "two.json", "--by", "foo")
    refused(capsys, 2, "none was", "estimate", "two.json", "--question", "a", "--by", "dept")
    assert [one["question"] for one in json_of(capsys, "estimate", "two.json", "--by", "dept")] == ["b"]
    code, out, _ = run(capsys, "plot", "segments", "two.json", "--question", "b", "--by", "dept", "--out", "s.svg")
    assert (code, out) == (0, "s.svg: b, round 0, by dept\n")
    code, out, _ = run(capsys, "plot", "region", "--epsilon", "1", "--out", "r.svg")
    assert (code, "--" in out, "ε = 1, δ = 0 and prevalence 0.1" in out) == (0, False, True)


def test_a_margin_from_which_nothing_is_learned(capsys):
    _, out, _ = run(capsys, "plan", "--epsilon", "1", "--n", "3")
    assert out.startswith("±100.00 points: nothing is learned")
    assert json_of(capsys, "plan", "--epsilon", "1", "--n", "3")["margin"] == 1
    _, out, _ = run(capsys, "plan", "--epsilon", "1", "--n", "5")
    assert "nothing" not in out
    assert json_of(capsys, "plan", "--epsilon", "1", "--n", "5")["margin"] < 1


@pytest.mark.process
@pytest.mark.parametrize(("pair", "hint"), [("sport=chess", "allowed: sport=athletics"), ("country=x", "sport")])
def test_a_group_the_survey_has_not_is_told_before_anything_is_asked(desk, capsys, pair, hint):
    words = ["answer", "survey.signed.json", "--key", "publisher.pem.pub", "--ledger", "l.sqlite3", "--segment", pair]
    shown, code = at_a_terminal([*PROGRAM, *words], [])
    assert code == 2
    assert shown.count("\n") == 1
    assert hint in shown
    assert main([*words[:-1], "sport"]) == 2
