"""`rrcollect randomise`: by the published matrix, once, whole or not at all, and no truth is ever shown."""

import csv
import gzip
import json
import math
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrcollect import Design
from server_agg import read_packed
from server_agg.cli.main import main
from tests.support.command_line import SIGNED, json_of, refused, run, signed_survey

HIDDEN = "secret-7Q"
ASKED = ["--column", "doped", "--question", "doped", *SIGNED]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    signed_survey(folder)
    return folder


@pytest.fixture
def desk(published, tmp_path, monkeypatch, capsys):
    for name in ("survey.signed.json", "publisher.pem.pub"):
        shutil.copy(published / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_csv(path, truths, word=lambda t: "yes" if t else "no", sport="cycling"):
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["sport", "doped"])
        writer.writerows([sport, word(t)] for t in truths)


def errors_off(ones, n, design, holders):
    """How many standard errors a count of ones lies from what the matrix says of so many true yeses."""
    yes, no = float(design.p11), float(1 - design.p00)
    mean = holders * yes + (n - holders) * no
    spread = math.sqrt(holders * yes * (1 - yes) + (n - holders) * no * (1 - no))
    return abs(ones - mean) / spread


# ---- what comes out -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_answers_follow_the_published_matrix_and_truths_as_answers_would_be_seen(desk, capsys):
    truths = [i < 6000 for i in range(20_000)]
    write_csv(desk / "t.csv", truths)
    said = json_of(capsys, "randomise", "t.csv", *ASKED, "--segment", "sport", "--out", "o.jsonl")
    reports = [json.loads(line) for line in (desk / "o.jsonl").read_text().splitlines()]
    assert said["answers"] == len(reports) == len({r["id"] for r in reports}) == 20_000
    assert said["ones"] == sum(r["answer"] == "1" for r in reports)
    assert {r["segments"]["sport"] for r in reports} == {"cycling"}
    design = Design("3/4", "3/4")
    assert errors_off(said["ones"], 20_000, design, 6000) < 6.6  # false alarm: below 1e-10
    assert errors_off(sum(truths), 20_000, design, 6000) > 6.6  # planted: the truths sent as they are
    answers = np.array([int(r["answer"]) for r in reports])
    assert errors_off(answers[:6000].sum(), 6000, design, 6000) < 6.6  # row by row: those who have it
    assert errors_off(answers[::-1][:6000].sum(), 6000, design, 6000) > 6.6  # planted: the rows turned round
    assert json_of(capsys, "tally", "o.jsonl", *SIGNED)["summary"]["accepted"] == 20_000


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl.gz", ".parquet", ".rrbits"])
def test_every_output_is_counted_in_full(desk, capsys, ending):
    write_csv(desk / "t.csv", [True, False] * 500)
    out = f"o{ending}"
    said = json_of(capsys, "randomise", "t.csv", *ASKED, "--out", out)
    counted = json_of(capsys, "tally", out, *SIGNED)
    assert counted["summary"]["accepted"] == 1000
    assert sum(entry["counts"][0] for entry in counted["tallies"]) == said["ones"]
    if ending == ".rrbits":
        assert read_packed(out).ones == said["ones"]


def test_bits_alone_for_a_bare_epsilon(desk, capsys):
    write_csv(desk / "t.csv", [True] * 4000 + [False] * 4003)
    said = json_of(capsys, "randomise", "t.csv", "--column", "doped", "--epsilon", "1", "--out", "o.bits")
    bits = np.frombuffer((desk / "o.bits").read_bytes(), np.uint8)
    assert (bits.size, int(np.bitwise_count(bits).sum())) == (1001, said["ones"])
    assert errors_off(said["ones"], 8003, Design.from_wire(said["design"]), 4000) < 6.6


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, True]),
        pa.array([1, 0, 1], pa.int8()),
        pa.array([1.0, 0.0, 1.0]),
        pa.array([1.0, 0.0, 1.0], pa.float32()),
        pa.array(["Yes", "no", " TRUE "]),
        pa.array(["yes", "no", "yes"]).dictionary_encode(),
    ],
    ids=["bool", "int", "float", "float32", "text", "categories"],
)
def test_columns_of_parquet(desk, capsys, column):
    pq.write_table(pa.table({"doped": column}), "t.parquet")
    assert json_of(capsys, "randomise", "t.parquet", *ASKED, "--out", "o.csv")["answers"] == 3


def test_what_pandas_writes_for_a_column_that_once_had_a_gap(desk, capsys):
    (desk / "t.csv").write_text("doped\n1.0\n0.0\n1.0\n")
    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", "o.csv")["answers"] == 3


def test_a_large_file_is_read_in_pieces(desk, capsys, monkeypatch):
    from server_agg.cli import truths

    monkeypatch.setattr(truths, "PIECE", 64)
    write_csv(desk / "t.csv.gz", [True] * 1000)
    sizes = [len(piece.truths) for piece in truths.pieces(desk / "t.csv.gz", "doped")]
    assert (max(sizes), sum(sizes)) == (64, 1000)
    assert json_of(capsys, "randomise", "t.csv.gz", *ASKED, "--out", "o.rrbits")["answers"] == 1000
    pq.write_table(pa.table({"doped": [True] * 1000}), "t.parquet")
    assert max(len(piece.truths) for piece in truths.pieces(desk / "t.parquet", "doped")) == 64


# ---- one draw -------------------------------------------------------------------------------------------------------


def test_a_column_is_drawn_once_unless_told_otherwise(desk, capsys):
    write_csv(desk / "t.csv", [True] * 50)
    assert main(["randomise", "t.csv", *ASKED, "--out", "a.jsonl"]) == 0
    capsys.readouterr()
    before = (desk / "a.jsonl").read_bytes()
    refused(capsys, 3, "--draw-again", "randomise", "t.csv", *ASKED, "--out", "b.jsonl")
    assert not (desk / "b.jsonl").exists()
    refused(capsys, 2, "doped, pressed, fixed", "randomise", "t.csv", "--column", "doped", "--question", "foo", *SIGNED,
            "--out", "b.jsonl")  # fmt: skip  # what was typed wrong is told first
    said = refused(capsys, 4, "exists already", "randomise", "t.csv", *ASKED, "--draw-again", "--out", "a.jsonl")
    assert "--force" not in said  # which this command does not have
    (desk / "folder.jsonl").mkdir()
    refused(capsys, 4, "is a folder", "randomise", "t.csv", *ASKED, "--draw-again", "--out", "folder.jsonl")
    assert (desk / "a.jsonl").read_bytes() == before
    assert main(["randomise", "t.csv", *ASKED, "--draw-again", "--out", "b.jsonl"]) == 0
    receipt = [json.loads(line) for line in (desk / "t.csv.drawn").read_text().splitlines()]
    assert [drawn["out"] for drawn in receipt] == ["a.jsonl", "b.jsonl"]
    assert {"column", "round", "out"} == set(receipt[0])  # no truth, no digest of truths
    (desk / "t.csv.drawn").write_text("nonsense\n")
    capsys.readouterr()
    refused(capsys, 3, "not a receipt", "randomise", "t.csv", *ASKED, "--out", "c.jsonl")


@pytest.mark.parametrize("out", ["o.jsonl", "o.csv", "o.parquet", "o.rrbits"])
def test_a_file_without_rows_is_not_a_draw(desk, capsys, out):
    write_csv(desk / "t.csv", [])
    pq.write_table(pa.table({"doped": pa.array([], pa.bool_())}), "t.parquet")
    before = {path.name for path in desk.iterdir()}
    for name in ("t.csv", "t.parquet"):
        refused(capsys, 2, "the file has no rows", "randomise", name, *ASKED, "--out", out)
    assert {path.name for path in desk.iterdir()} == before  # no answers, no receipt
    write_csv(desk / "t.csv", [True] * 50)
    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", out)["answers"] == 50


def test_help_says_what_it_means_to_hold_the_truths(capsys):
    with pytest.raises(SystemExit):
        main(["randomise", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("whoever runs it sees them", "no ledger", "draws anew", "fresh random id", "twice as much"):
        assert words in said


# ---- mistakes: one line, nothing written, nothing shown -------------------------------------------------------------


@pytest.mark.parametrize("cell", ["", "NaN", "None", HIDDEN, "2", "1.5", "0.00001", "yes no"])
def test_a_cell_that_is_not_a_truth_is_named_by_place_only(desk, capsys, cell):
    write_csv(desk / "t.csv", range(30), lambda i: cell if i == 20 else "yes")
    said = refused(capsys, 2, "row 21, column 'doped'", "randomise", "t.csv", *ASKED, "--out", "o.jsonl")
    assert HIDDEN not in said
    assert sorted(p.name for p in desk.iterdir()) == ["publisher.pem.pub", "survey.signed.json", "t.csv"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, None]),
        pa.array([1, 7]),
        pa.array([1.0, math.nan]),
        pa.array(["yes", HIDDEN]),
        pa.array([b"yes", b"no"]),
        pa.array(["yes", None]),
    ],
    ids=["null", "seven", "float", "word", "bytes", "null text"],
)
def test_a_parquet_column_that_is_not_a_truth_is_refused(desk, capsys, column):
    pq.write_table(pa.table({"doped": column}), "t.parquet")
    said = refused(capsys, 2, "'doped'", "randomise", "t.parquet", *ASKED, "--out", "o.jsonl")
    assert HIDDEN not in said
    assert "7" not in said.replace("7Q", "")
    assert not (desk / "o.jsonl").exists()
    assert not (desk / "t.parquet.drawn").exists()


def damaged(desk):
    write_csv(desk / "t.csv", [True] * 3000)
    (desk / "t.csv.gz").write_bytes(gzip.compress((desk / "t.csv").read_bytes())[:-20])
    (desk / "flat.csv.gz").write_bytes((desk / "t.csv").read_bytes())
    pq.write_table(pa.table({"doped": [True] * 3000}), desk / "t.parquet")
    whole = (desk / "t.parquet").read_bytes()
    (desk / "short.parquet").write_bytes(whole[: len(whole) // 2])
    (desk / "latin.csv").write_bytes("sport,doped\nrún,yes\n".encode("latin-1"))
    (desk / "quote.csv").write_bytes(b'sport,doped\n"run"x,yes\n')
    (desk / "empty.csv").write_bytes(b"")
    (desk / "twice.csv").write_bytes(b"doped,doped\nyes,no\n")
    (desk / "short.csv").write_bytes(b"sport,doped\nrun\n")
    (desk / "bad-sport.csv").write_text(f"sport,doped\n{HIDDEN},yes\n")
    (desk / "folder.csv").mkdir()


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["absent.csv", *ASKED], 4, "check the name"),
        (["folder.csv", *ASKED], 4, "not a folder"),
        (["t.txt", *ASKED], 2, ".parquet"),
        (["t.csv.gz", *ASKED], 4, "cut off"),
        (["flat.csv.gz", *ASKED], 4, "cut off"),
        (["short.parquet", *ASKED], 4, "cut off"),
        (["latin.csv", *ASKED], 4, "damaged"),
        (["quote.csv", *ASKED], 4, "damaged"),
        (["empty.csv", *ASKED], 2, "the file is empty"),
        (["twice.csv", *ASKED], 2, "named twice"),
        (["short.csv", *ASKED], 2, "row 1"),
        (["t.csv", *ASKED[2:], "--column", "doping"], 2, "'sport', 'doped'"),
        (["t.parquet", *ASKED[2:], "--column", "doping"], 2, "'doped'"),
        (["t.csv", "--column", "doped", "--question", "q9", *SIGNED], 2, "doped, pressed, fixed"),
        (["t.csv", *ASKED, "--round", "1"], 2, "--round"),
        (["t.csv", *ASKED, "--segment", "country"], 2, "sport"),
        (["bad-sport.csv", *ASKED, "--segment", "sport"], 2, "row 1, column 'sport'"),
        (["t.csv", "--column", "doped"], 2, "--survey"),
        (["t.csv", *ASKED, "--epsilon", "1"], 2, "without --epsilon"),
        (["t.csv"], 2, "--column"),
        (["t.csv", *ASKED[:-1], "t.csv"], 3, "key"),
    ],
)
def test_mistakes(desk, capsys, words, code, hint):
    damaged(desk)
    before = {path.name for path in desk.iterdir()}
    assert HIDDEN not in refused(capsys, code, hint, "randomise", *words, "--out", "o.jsonl")
    assert {path.name for path in desk.iterdir()} == before


def test_invalid_outputs_are_refused(desk, capsys):
    write_csv(desk / "t.csv", [True] * 10)
    refused(capsys, 2, ".rrbits", "randomise", "t.csv", *ASKED, "--out", "o.txt")
    refused(capsys, 2, "one segment", "randomise", "t.csv", *ASKED, "--segment", "sport", "--out", "o.rrbits")
    refused(capsys, 4, "folder", "randomise", "t.csv", *ASKED, "--out", "no/such/o.jsonl")
    (desk / "t.csv.drawn").mkdir()
    code, _, err = run(capsys, "randomise", "t.csv", *ASKED, "--draw-again", "--out", "o.jsonl")
    assert (code, "no receipt can be kept" in err, (desk / "o.jsonl").exists()) == (4, True, False)
