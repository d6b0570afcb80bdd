"""`rrcollect randomise`: by the published matrix, once, whole or not at all, and no truth is ever shown."""

import csv
import gzip
import hashlib
import json
import math
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrcollect
from rrcollect import BulkLedger, Design
from server_agg import read_packed
from server_agg.cli import gateway
from tests.support.accounts import LEDGER, living_in, reserved
from tests.support.command_line import PROGRAM, SIGNED, json_of, main, refused, run, signed_survey
from tests.support.stopping import in_child

HIDDEN = "secret-7Q"
ASKED = ["--column", "doped", "--id", "person", "--question", "doped", *SIGNED]
BITS = ["--column", "doped", "--epsilon", "1"]


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
    living_in(monkeypatch, home(tmp_path))
    return tmp_path


def home(desk):
    return desk.parent / f"{desk.name}-home"


def write_csv(path, truths, word=lambda t: "yes" if t else "no", sport=lambda i: "cycling", first=0):
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "sport", "doped"])
        writer.writerows([f"p{first + i}", sport(i), word(t)] for i, t in enumerate(truths))


def kept():
    """The ledger of this test, in its fixed place."""
    return BulkLedger(home(Path.cwd()) / LEDGER)


def people():
    """How many were reserved, run by run."""
    return reserved(home(Path.cwd()))


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
    write_csv(desk / "t.csv", truths, sport=lambda i: "cycling" if i < 6000 else "swimming")
    said = json_of(capsys, "randomise", "t.csv", *ASKED, "--by", "sport", "--out", "o.jsonl")
    reports = [json.loads(line) for line in (desk / "o.jsonl").read_text().splitlines()]
    assert said["answers"] == len(reports) == len({r["id"] for r in reports}) == 20_000
    assert said["ones"] == sum(r["answer"] == "1" for r in reports)
    design = Design("3/4", "3/4")
    assert errors_off(said["ones"], 20_000, design, 6000) < 6.6  # false alarm: below 1e-10
    assert errors_off(sum(truths), 20_000, design, 6000) > 6.6  # planted: the truths sent as they are
    ones = {sport: sum(r["answer"] == "1" for r in reports if r["segments"]["sport"] == sport)
            for sport in ("cycling", "swimming")}  # fmt: skip
    assert errors_off(ones["cycling"], 6000, design, 6000) < 6.6  # each with their own: those who have it
    assert errors_off(ones["swimming"], 14_000, design, 0) < 6.6
    assert errors_off(ones["swimming"] * 6 / 14, 6000, design, 6000) > 6.6  # planted: the answers of the others
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
    said = json_of(capsys, "randomise", "t.csv", *BITS, "--out", "o.bits")
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
    pq.write_table(pa.table({"person": [1, 2, 3], "doped": column}), "t.parquet")
    assert json_of(capsys, "randomise", "t.parquet", *ASKED, "--out", "o.csv")["answers"] == 3


def test_what_pandas_writes_for_a_column_that_once_had_a_gap(desk, capsys):
    (desk / "t.csv").write_text("person,doped\na,1.0\nb,0.0\nc,1.0\n")
    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", "o.csv")["answers"] == 3


def test_a_large_file_is_read_in_pieces(desk, capsys, monkeypatch):
    from server_agg import columns

    monkeypatch.setattr(columns, "PIECE", 64)
    write_csv(desk / "t.csv.gz", [True] * 1000)
    sizes = [len(piece.cells["doped"]) for piece in columns.file_rows(desk / "t.csv.gz", ["doped"])]
    assert (max(sizes), sum(sizes)) == (64, 1000)
    assert json_of(capsys, "randomise", "t.csv.gz", *ASKED, "--out", "o.rrbits")["answers"] == 1000
    assert people() == [1000]
    pq.write_table(pa.table({"doped": [True] * 1000}), "t.parquet")
    assert max(len(piece.cells["doped"]) for piece in columns.file_rows(desk / "t.parquet", ["doped"])) == 64


# ---- one draw, by ids -----------------------------------------------------------------------------------------------


def test_only_new_people_are_drawn_and_the_others_are_counted(desk, capsys):
    write_csv(desk / "may.csv", [True] * 50)
    assert json_of(capsys, "randomise", "may.csv", *ASKED, "--out", "a.jsonl")["answers"] == 50
    write_csv(desk / "june.csv", [True] * 2000)
    code, out, _ = run(capsys, "randomise", "june.csv", *ASKED, "--out", "b.jsonl")
    assert code == 0
    assert "1,950 new, 50 drawn before: left out" in out
    assert len((desk / "b.jsonl").read_text().splitlines()) == 1950
    for ending in ("jsonl", "rrbits"):
        refused(capsys, 3, "nobody is left to draw (2,000 drawn before: left out)", "randomise", "june.csv", *ASKED,
                "--out", f"c.{ending}")  # fmt: skip
        assert not (desk / f"c.{ending}").exists()
    assert people() == [50, 1950]


def test_what_was_typed_wrong_is_told_first_and_no_output_is_overwritten(desk, capsys):
    write_csv(desk / "t.csv", [True] * 50)
    again = ["--draw-again", "--because", "a test"]
    assert main(["randomise", "t.csv", *ASKED, "--out", "a.jsonl"]) == 0
    capsys.readouterr()
    before = (desk / "a.jsonl").read_bytes()
    refused(capsys, 2, "doped, pressed, fixed", "randomise", "t.csv", "--column", "doped", "--id", "person",
            "--question", "foo", *SIGNED, "--out", "b.jsonl")  # fmt: skip
    said = refused(capsys, 4, "exists already", "randomise", "t.csv", *ASKED, *again, "--out", "a.jsonl")
    assert "--force" not in said  # which this command does not have
    (desk / "folder.jsonl").mkdir()
    refused(capsys, 4, "is a folder", "randomise", "t.csv", *ASKED, *again, "--out", "folder.jsonl")
    assert (desk / "a.jsonl").read_bytes() == before
    assert people() == [50]


def test_a_second_draw_needs_a_reason_which_is_recorded_and_debited(desk, capsys):
    write_csv(desk / "t.csv", [True] * 50)
    assert main(["randomise", "t.csv", *ASKED, "--out", "0.jsonl"]) == 0
    capsys.readouterr()
    for words in (["--draw-again"], ["--because", "lost"], ["--draw-again", "--because", " "]):
        refused(capsys, 2, "together with --draw-again", "randomise", "t.csv", *ASKED, *words, "--out", "1.jsonl")
    again = ["--draw-again", "--because", "the disk broke"]
    for number in (1, 2, 3):
        code, out, _ = run(capsys, "randomise", "t.csv", *ASKED, *again, "--out", f"{number}.jsonl")
        assert code == 0
        assert "0 new, 50 drawn again" in out
        assert "recorded: the disk broke" in out
    refused(capsys, 3, "50 above their budget", "randomise", "t.csv", *ASKED, *again, "--out", "4.jsonl")  # 3^4 = 81
    assert [run.because for run in kept().runs()] == [None, *["the disk broke"] * 3]


def test_rounds_are_bounded_by_the_survey_and_debited(desk, capsys):
    write_csv(desk / "t.csv", [True] * 20)
    words = ["t.csv", "--column", "doped", "--id", "person", "--question", "pressed", *SIGNED]
    for round_ in (0, 1):
        assert json_of(capsys, "randomise", *words, "--round", round_, "--out", f"{round_}.csv")["answers"] == 20
        refused(capsys, 3, "20 drawn before", "randomise", *words, "--round", round_, "--out", "again.csv")
    refused(capsys, 2, "--round", "randomise", *words, "--round", 2, "--out", "2.csv")
    assert [(run.attribute.split("/")[1], run.round) for run in kept().runs()] == [
        ("pressed-to-dope", 0),
        ("pressed-to-dope", 1),
    ]


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (["a", "b", "a"], "row 3 is 'that of row 1 again'"),
        (["a", "", "c"], "row 2 is 'empty'"),
        (["a", "b", "  "], "row 3 is 'empty'"),
    ],
)
def test_ids_that_are_empty_or_stand_twice_are_refused_by_row(desk, capsys, cells, hint):
    (desk / "t.csv").write_text("person,doped\n" + "".join(f"{cell},yes\n" for cell in cells))
    refused(capsys, 2, f"t.csv, the id in {hint}", "randomise", "t.csv", *ASKED, "--out", "o.jsonl")
    pq.write_table(pa.table({"person": [c.strip() or None for c in cells], "doped": [True] * 3}), "t.parquet")
    refused(capsys, 2, f"t.parquet, the id in {hint}", "randomise", "t.parquet", *ASKED, "--out", "o.jsonl")
    assert people() == []


def test_a_person_is_the_same_in_every_kind_of_file(desk, capsys):
    (desk / "t.csv").write_text("person,doped\n7,yes\n8,no\n")
    pq.write_table(pa.table({"person": [7, 8, 9], "doped": [True] * 3}), "t.parquet")
    pq.write_table(pa.table({"person": [7.0, 8.0], "doped": [True] * 2}), "float.parquet")
    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", "a.csv")["answers"] == 2
    said = json_of(capsys, "randomise", "t.parquet", *ASKED, "--out", "b.csv")
    assert (said["answers"], said["drawn_before"]) == (1, 2)
    refused(capsys, 2, "a text or a whole number", "randomise", "float.parquet", *ASKED, "--out", "c.csv")


def test_reports_need_a_column_of_ids(desk, capsys):
    write_csv(desk / "t.csv", [True] * 5)
    without = ["--column", "doped", "--question", "doped", *SIGNED]
    refused(capsys, 2, "--id is None", "randomise", "t.csv", *without, "--out", "o.jsonl")
    refused(capsys, 2, "another column", "randomise", "t.csv", *without, "--id", "doped", "--out", "o.jsonl")
    refused(capsys, 2, "'who' is missing", "randomise", "t.csv", *without, "--id", "who", "--out", "o.jsonl")
    refused(capsys, 2, "together with SURVEY", "randomise", "t.csv", *BITS, "--id", "person", "--out", "o.bits")


# ---- one draw, without ids ------------------------------------------------------------------------------------------


def test_a_column_cannot_be_drawn_twenty_times_for_a_majority_vote(desk, capsys):
    write_csv(desk / "t.csv", [i % 2 == 0 for i in range(500)])
    for round_ in range(21):
        said = refused(capsys, 2, "together with SURVEY", "randomise", "t.csv", *BITS, "--round", round_,
                       "--out", f"{round_}.bits")  # fmt: skip
        assert "--round" in said
    assert main(["randomise", "t.csv", *BITS, "--out", "0.bits"]) == 0
    capsys.readouterr()
    for number in range(1, 21):
        refused(capsys, 3, "drawn from before", "randomise", "t.csv", *BITS, "--out", f"{number}.bits")
    packed = ["--column", "doped", "--question", "pressed", *SIGNED]
    for round_ in (0, 1):
        refused(capsys, 3, "drawn from before", "randomise", "t.csv", *packed, "--round", round_, "--out", "o.rrbits")
    assert sorted(path.name for path in desk.glob("*bits")) == ["0.bits"]


def symlinked(desk):
    (desk / "other.csv").symlink_to(desk / "t.csv")
    return "other.csv"


def hard_linked(desk):
    os.link(desk / "t.csv", desk / "other.csv")
    with (desk / "other.csv").open("a") as file:
        file.write("p999,cycling,yes\n")  # neither its path nor its shape is the same
    return "other.csv"


def copied(desk):
    shutil.copy(desk / "t.csv", desk / "other.csv")
    return "other.csv"


def packed_by_gzip(desk):
    (desk / "other.csv.gz").write_bytes(gzip.compress((desk / "t.csv").read_bytes()))
    return "other.csv.gz"


def as_parquet(desk):
    from pyarrow.csv import read_csv

    pq.write_table(read_csv(desk / "t.csv"), desk / "other.parquet")
    return "other.parquet"


def by_another_way(desk):
    (desk / "sub").mkdir()
    return "sub/../t.csv"


def grown(desk):
    (desk / "new.csv").write_text((desk / "t.csv").read_text() + "p999,cycling,yes\n")
    (desk / "new.csv").replace(desk / "t.csv")  # neither its inode nor its shape is the same
    return "t.csv"


@pytest.mark.parametrize(
    ("other", "known"),
    [
        (symlinked, "its path"),
        (hard_linked, "its place on the disk"),
        (copied, "the same columns and as many rows"),
        (packed_by_gzip, "the same columns and as many rows"),
        (as_parquet, "the same columns and as many rows"),
        (by_another_way, "its path"),
        (grown, "its path"),
    ],
)
def test_the_same_table_under_another_name_is_not_drawn_again(desk, capsys, other, known):
    write_csv(desk / "t.csv", [True] * 50)
    assert main(["randomise", "t.csv", *BITS, "--out", "a.bits"]) == 0
    capsys.readouterr()
    name = other(desk)
    refused(capsys, 3, known, "randomise", name, *BITS, "--out", "b.bits")
    refused(capsys, 3, known, "randomise", name, *ASKED, "--out", "b.jsonl")  # nor with ids
    code, out, _ = run(capsys, "randomise", name, *BITS, "--draw-again", "--because", "more people", "--out", "b.bits")
    assert code == 0
    assert "once more" in out
    assert "recorded: more people" in out
    assert [run.because for run in kept().runs()] == [None, "more people"]


def test_another_column_or_other_people_are_another_table(desk, capsys):
    (desk / "t.csv").write_text("person,doped,fixed\na,yes,no\nb,no,no\n")
    (desk / "u.csv").write_text("person,doped,fixed\nc,yes,no\nd,no,no\ne,no,no\n")
    for words in (["t.csv", "--column", "doped"], ["t.csv", "--column", "fixed"], ["u.csv", "--column", "doped"]):
        assert main(["randomise", *words, "--epsilon", "1", "--out", f"{'-'.join(words)}.bits"]) == 0


def test_a_table_drawn_by_ids_is_not_drawn_without_them(desk, capsys):
    write_csv(desk / "t.csv", [True] * 50)
    assert main(["randomise", "t.csv", *ASKED, "--out", "a.jsonl"]) == 0
    capsys.readouterr()
    refused(capsys, 3, "drawn from before", "randomise", "t.csv", *BITS, "--out", "b.bits")


# ---- at once, and cut off -------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("words", [ASKED, BITS], ids=["ids", "bits"])
def test_runs_at_once_draw_everybody_once(desk, words):
    write_csv(desk / "t.csv", [True] * 3000)
    outs = [f"{i}.{'jsonl' if words is ASKED else 'bits'}" for i in range(4)]
    (home(desk) / LEDGER).parent.mkdir(parents=True)
    place = ["--ledger", str(home(desk) / LEDGER)]
    started = [subprocess.Popen([*PROGRAM, "randomise", "t.csv", *words, *place, "--out", out],
                                stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for out in outs]  # fmt: skip
    assert sorted(process.wait() for process in started) == [0, 3, 3, 3]
    assert sum((desk / out).exists() for out in outs) == 1
    assert len(kept().runs()) == 1


@pytest.mark.process
@pytest.mark.parametrize("words", [ASKED, BITS], ids=["ids", "bits"])
def test_a_run_killed_after_the_reservation_is_not_repeated_without_the_opt_in(desk, capsys, monkeypatch, words):
    write_csv(desk / "t.csv", [True] * 50)
    out = "o.jsonl" if words is ASKED else "o.bits"

    def killed_at_the_first_draw() -> bytes:
        def kill(*_: object, **__: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(rrcollect, "randomise_many", kill, raising=False)
        return bytes([main(["randomise", "t.csv", *words, "--out", out])])

    assert in_child(killed_at_the_first_draw) == (-signal.SIGKILL, b"")
    assert not (desk / out).exists()
    assert len(kept().runs()) == 1  # reserved before the first random byte
    said = refused(capsys, 3, '--draw-again --because "…"', "randomise", "t.csv", *words, "--out", out)
    assert "drawn" in said
    assert json_of(capsys, "randomise", "t.csv", *words, "--draw-again", "--because", "killed", "--out", out)["answers"]
    assert [run.because for run in kept().runs()] == [None, "killed"]


@pytest.mark.process
def test_a_full_disk_after_the_reservation_says_who_is_reserved(desk, capsys):
    write_csv(desk / "t.csv", [True] * 4000)

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    (home(desk) / LEDGER).parent.mkdir(parents=True)
    place = ["--ledger", str(home(desk) / LEDGER)]
    words = [*PROGRAM, "randomise", "t.csv", *ASKED, *place, "--out", "o.jsonl"]
    done = subprocess.run(words, preexec_fn=small_disk, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (4, 2), done.stderr
    assert "4,000 people are reserved and have no answers" in done.stderr
    assert people() == [4000]
    assert not list(desk.glob("*o.jsonl"))


@pytest.mark.parametrize(
    ("place", "reserved"), [("no/such/o.jsonl", []), ("o.jsonl", [30])], ids=["a folder that is not there", "a fault"]
)
def test_what_can_be_known_before_is_told_before_anybody_is_reserved(desk, capsys, monkeypatch, place, reserved):
    def failing(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("server_agg.cli.gateway.write_whole", failing)
    write_csv(desk / "t.csv", [True] * 30)
    said = refused(capsys, 4, "cannot be written", "randomise", "t.csv", *ASKED, "--out", place)
    assert ("30 people are reserved" in said) == bool(reserved)
    assert people() == reserved


# ---- what the ledger and the outputs tell ---------------------------------------------------------------------------


def rows_of_the_ledger():
    with closing(sqlite3.connect(kept().path)) as connection:
        return connection.execute("SELECT * FROM runs").fetchall()


@pytest.mark.parametrize("words", [ASKED, BITS], ids=["ids", "bits"])
def test_nothing_in_the_ledger_depends_on_a_truth(desk, capsys, words):
    """Not even a keyed digest: whoever has the key and knows all truths but one could test that one."""
    (home(desk) / LEDGER).parent.mkdir(parents=True)
    fresh, seen = kept().path.parent, []
    shutil.copytree(fresh, desk / "fresh")
    truths = desk / "t.csv"
    for truth in (True, False):
        shutil.rmtree(fresh)
        shutil.copytree(desk / "fresh", fresh)  # the same key
        write_csv(truths, [truth, True, False], word=lambda t: "1" if t else "0")
        assert main(["randomise", "t.csv", *words, "--out", f"{truth}{'.csv' if words is ASKED else '.bits'}"]) == 0
        seen.append(rows_of_the_ledger())
        assert len(seen[-1]) == 1
    assert seen[0] == seen[1]
    kinds = b"".join(path.read_bytes() for path in fresh.iterdir())
    for text in [truths.read_bytes(), b"p0", b"p1", str(truths).encode()]:
        assert text not in kinds or len(text) < 4
        for name in ("md5", "sha1", "sha256", "blake2b"):
            assert hashlib.new(name, text).digest()[:8] not in kinds


HALF = 10_000
# The first half of the roster is told from the second.  In a uniformly drawn order the number X of the first half's
# people among HALF given places is hypergeometric with mean HALF/2, and P(|X − HALF/2| ≥ t) ≤ 2·exp(−2t²/HALF)
# [Hoeffding 1963, section 6]: below 1e-9 for t = 328.
FAR = 328


def off(first_half_here):
    return abs(int(np.sum(first_half_here)) - HALF // 2)


def sports_of(path):
    if path.suffix == ".parquet":
        said = [json.loads(s)["sport"] for s in pq.read_table(path)["segments"].to_pylist()]
    elif path.suffix == ".csv":
        with path.open(newline="") as file:
            said = [json.loads(row["segments"])["sport"] for row in csv.DictReader(file)]
    else:
        said = [json.loads(line)["segments"]["sport"] for line in path.read_text().splitlines()]
    return np.array([sport == "cycling" for sport in said])


def two_questions(desk, capsys, ending):
    """Two questions put to one roster: of each line, whether it is about somebody of the roster's first half."""
    write_csv(desk / "t.csv", [True] * 2 * HALF, sport=lambda i: "cycling" if i < HALF else "swimming")
    found = []
    for question in ("doped", "fixed"):
        words = ["--column", "doped", "--id", "person", "--question", question, *SIGNED, "--by", "sport"]
        assert main(["randomise", "t.csv", *words, "--out", f"{question}{ending}"]) == 0
        found.append(sports_of(desk / f"{question}{ending}"))
    return found


@pytest.mark.long
@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_two_questions_of_one_roster_cannot_be_joined_by_position(desk, capsys, ending):
    doped, fixed = two_questions(desk, capsys, ending)
    assert off(doped[:HALF]) < FAR
    assert off(fixed[:HALF]) < FAR
    assert off(fixed[doped]) < FAR  # the lines of one file say nothing about the same lines of the other


@pytest.mark.long
def test_the_check_of_order_sees_reports_in_the_order_of_the_roster(desk, capsys, monkeypatch):
    """The planted bug: fresh ids, but the rows go out as they came in."""
    shuffled = gateway.shuffled_ids
    monkeypatch.setattr(gateway, "shuffled_ids", lambda n: (shuffled(n)[0], np.arange(n)))
    doped, fixed = two_questions(desk, capsys, ".jsonl")
    assert off(doped[:HALF]) == off(fixed[doped]) == HALF // 2


def test_packed_answers_of_a_survey_are_shuffled_and_bits_alone_say_that_they_are_not(desk, capsys):
    """All yes, then all no.  Given how many answers say yes, where they stand is uniform if the order is."""
    write_csv(desk / "t.csv", [True] * HALF + [False] * HALF)

    def yes_in_the_first_half(path):
        bits = np.unpackbits(np.frombuffer(path.read_bytes()[-HALF // 4 :], np.uint8), bitorder="little")
        return abs(int(bits[:HALF].sum()) - int(bits.sum()) / 2)

    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", "o.rrbits")["order"] == "drawn afresh"
    assert yes_in_the_first_half(desk / "o.rrbits") < FAR
    words = ["--column", "doped", "--id", "person", "--question", "fixed", *SIGNED]
    code, out, _ = run(capsys, "randomise", "t.csv", *words, "--out", "o.bits")
    assert (code, "in the order of the rows" in out) == (0, True)
    assert yes_in_the_first_half(desk / "o.bits") > FAR  # and the check sees it


def test_reports_leave_in_the_order_of_their_ids(desk, capsys):
    write_csv(desk / "t.csv", [True] * 500)
    assert main(["randomise", "t.csv", *ASKED, "--out", "o.jsonl"]) == 0
    ids = [json.loads(line)["id"] for line in (desk / "o.jsonl").read_text().splitlines()]
    assert ids == sorted(set(ids))


# ---- no draw --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["o.jsonl", "o.csv", "o.parquet", "o.rrbits"])
def test_a_file_without_rows_is_not_a_draw(desk, capsys, out):
    write_csv(desk / "t.csv", [])
    pq.write_table(pa.table({"person": pa.array([], pa.string()), "doped": pa.array([], pa.bool_())}), "t.parquet")
    before = {path.name for path in desk.iterdir()}
    for name in ("t.csv", "t.parquet"):
        refused(capsys, 2, "the file has no rows", "randomise", name, *ASKED, "--out", out)
    assert {path.name for path in desk.iterdir()} == before  # no answers
    assert people() == []
    write_csv(desk / "t.csv", [True] * 50)
    assert json_of(capsys, "randomise", "t.csv", *ASKED, "--out", out)["answers"] == 50


def test_help_says_what_it_means_to_hold_the_truths(capsys):
    with pytest.raises(SystemExit):
        main(["randomise", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("anyone who runs it sees them", "keyed hashes", "before the first random byte", "fresh random id",
                  "twice as much", "not of the file", "--draw-again --because REASON"):  # fmt: skip
        assert words in said


# ---- mistakes: one line, nothing written, nothing shown -------------------------------------------------------------


@pytest.mark.parametrize("cell", ["", "NaN", "None", HIDDEN, "2", "1.5", "0.00001", "yes no"])
def test_a_cell_that_is_not_a_truth_is_named_by_place_only(desk, capsys, cell):
    write_csv(desk / "t.csv", range(30), lambda i: cell if i == 20 else "yes")
    said = refused(capsys, 2, "row 21, column 'doped'", "randomise", "t.csv", *ASKED, "--out", "o.jsonl")
    assert HIDDEN not in said
    assert sorted(p.name for p in desk.iterdir()) == ["publisher.pem.pub", "survey.signed.json", "t.csv"]
    assert people() == []


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
    pq.write_table(pa.table({"person": ["a", "b"], "doped": column}), "t.parquet")
    said = refused(capsys, 2, "'doped'", "randomise", "t.parquet", *ASKED, "--out", "o.jsonl")
    assert HIDDEN not in said
    assert "7" not in said.replace("7Q", "")
    assert not (desk / "o.jsonl").exists()
    assert people() == []


def damaged(desk):
    write_csv(desk / "t.csv", [True] * 3000)
    (desk / "t.csv.gz").write_bytes(gzip.compress((desk / "t.csv").read_bytes())[:-20])
    (desk / "flat.csv.gz").write_bytes((desk / "t.csv").read_bytes())
    pq.write_table(pa.table({"person": np.arange(3000), "doped": [True] * 3000}), desk / "t.parquet")
    whole = (desk / "t.parquet").read_bytes()
    (desk / "short.parquet").write_bytes(whole[: len(whole) // 2])
    (desk / "latin.csv").write_bytes("person,sport,doped\na,rún,yes\n".encode("latin-1"))
    (desk / "quote.csv").write_bytes(b'person,sport,doped\na,"run"x,yes\n')
    (desk / "empty.csv").write_bytes(b"")
    (desk / "twice.csv").write_bytes(b"person,doped,doped\na,yes,no\n")
    (desk / "short.csv").write_bytes(b"person,sport,doped\na,run\n")
    (desk / "bad-sport.csv").write_text(f"person,sport,doped\na,{HIDDEN},yes\n")
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
        (["latin.csv", *ASKED], 3, "not text in utf-8"),
        (["quote.csv", *ASKED], 3, "not a table"),
        (["empty.csv", *ASKED], 2, "it is empty"),
        (["twice.csv", *ASKED], 2, "named twice"),
        (["short.csv", *ASKED], 3, "line 2: 2 cells under a head of 3"),
        (["t.csv", *ASKED[2:], "--column", "doping"], 2, "'person', 'sport', 'doped'"),
        (["t.parquet", *ASKED[2:], "--column", "doping"], 2, "'doped'"),
        (["t.csv", "--column", "doped", "--id", "person", "--question", "q9", *SIGNED], 2, "doped, pressed, fixed"),
        (["t.csv", *ASKED, "--round", "1"], 2, "--round"),
        (["t.csv", *ASKED, "--by", "country"], 2, "sport"),
        (["bad-sport.csv", *ASKED, "--by", "sport"], 2, "row 1, column 'sport'"),
        (["t.csv", "--column", "doped"], 2, "give SURVEY"),
        (["t.csv", *ASKED, "--epsilon", "1"], 2, "it names the design"),
        (["t.csv"], 2, "--column"),
        (["t.csv", *ASKED[:-1], "t.csv"], 3, "key"),
    ],
)
def test_mistakes(desk, capsys, words, code, hint):
    damaged(desk)
    before = {path.name for path in desk.iterdir()}
    assert HIDDEN not in refused(capsys, code, hint, "randomise", *words, "--out", "o.jsonl")
    assert {path.name for path in desk.iterdir()} == before
    assert people() == []


def test_invalid_outputs_are_refused(desk, capsys):
    write_csv(desk / "t.csv", [True] * 10)
    refused(capsys, 2, ".rrbits", "randomise", "t.csv", *ASKED, "--out", "o.txt")
    refused(capsys, 2, "one segment", "randomise", "t.csv", *ASKED, "--by", "sport", "--out", "o.rrbits")
    refused(capsys, 4, "folder", "randomise", "t.csv", *ASKED, "--out", "no/such/o.jsonl")
    refused(
        capsys, 4, "folder.sqlite3", "randomise", "t.csv", *ASKED, "--ledger", "no/folder.sqlite3", "--out", "o.csv"
    )
    assert people() == []
    assert not (desk / "o.csv").exists()


# ---- names and words ------------------------------------------------------------------------------------------------


def asked_again(published, desk, *changes):
    """The same survey under another name, with what else is changed in its file, published with the same key."""
    text = (published / "survey.toml").read_text()
    for old, new in (('name = "clean-sport"', 'name = "again"'), *changes):
        assert old in text
        text = text.replace(old, new, 1)
    (desk / "again.toml").write_text(text)
    words = ["again.toml", "--key", str(published / "publisher.pem"), "--out", "again.signed.json"]
    assert main(["publish", *words, "--force"]) == 0
    return [word.replace("survey.signed", "again.signed") for word in ASKED]


@pytest.mark.parametrize("wordless", [False, True], ids=["as it is", "planted: words are not looked at"])
def test_five_names_for_the_same_words_are_one_draw(published, desk, capsys, monkeypatch, wordless):
    """What a gateway's command did before: five surveys, five attribute names, one question, five draws of each."""
    if wordless:
        monkeypatch.setattr("rrcollect.answer.ledger.bulk.check_words", lambda *_: None)
    write_csv(desk / "t.csv", [True] * 20)
    for number in range(5):
        again = asked_again(published, desk, ('attribute = "doped"', f'attribute = "name-{number}"'))
        main(["randomise", "t.csv", *again, "--out", f"{number}.jsonl"])
    assert people() == ([20] * 5 if wordless else [20])


def test_an_alias_is_said_by_an_option(published, desk, capsys):
    """The same words under another attribute are refused; `--alias` says that both are one, and draws nobody again."""
    write_csv(desk / "t.csv", [True] * 20)
    assert main(["randomise", "t.csv", *ASKED, "--out", "a.jsonl"]) == 0
    again = asked_again(published, desk, ('attribute = "doped"', 'attribute = "enhanced"'))
    capsys.readouterr()
    said = refused(capsys, 3, "these words were answered before", "randomise", "t.csv", *again, "--out", "b.jsonl")
    assert "--alias NAME" in said
    write_csv(desk / "t.csv", [True] * 22)
    alias = ["--alias", "Example Institute/doped"]
    assert json_of(capsys, "randomise", "t.csv", *again, *alias, "--out", "b.jsonl")["drawn_before"] == 20
    refused(capsys, 3, "22 drawn before", "randomise", "t.csv", *again, "--out", "c.jsonl")  # one for good
    refused(capsys, 3, "22 drawn before", "randomise", "t.csv", *ASKED, "--out", "c.jsonl")
    assert people() == [20, 2]


# ---- which ledger it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variables", [{}, {"HOME": "elsewhere"}, {"HOME": "elsewhere", "XDG_DATA_HOME": "other"}])
def test_by_hand_and_by_cron_it_is_one_ledger(desk, capsys, monkeypatch, variables):
    """The place depended on $HOME and $XDG_DATA_HOME, which differ under cron and sudo: everybody was drawn twice."""
    write_csv(desk / "t.csv", [True] * 20)
    monkeypatch.setenv("HOME", str(desk / "by-hand"))
    monkeypatch.setenv("XDG_DATA_HOME", str(desk / "by-hand" / "data"))
    assert main(["randomise", "t.csv", *ASKED, "--out", "a.jsonl"]) == 0
    capsys.readouterr()
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(desk / folder))
    refused(capsys, 3, "20 drawn before", "randomise", "t.csv", *ASKED, "--out", "b.jsonl")
    assert people() == [20]


def test_the_ledger_is_named_before_anybody_is_reserved(desk, capsys, monkeypatch):
    write_csv(desk / "t.csv", [True] * 3)
    told = []
    reserve = BulkLedger.reserve

    def watched(*given, **named):
        told.append(capsys.readouterr().err)
        return reserve(*given, **named)

    monkeypatch.setattr(BulkLedger, "reserve", watched)
    for number in range(2):
        main(["randomise", "t.csv", *ASKED, "--out", f"{number}.jsonl"])
    path = home(desk) / LEDGER
    assert f"ledger {path}, new: it knows nobody who was drawn before\n" in told[0]
    assert f"ledger {path}, 1 run before\n" in told[1]


def test_an_account_without_a_home_names_its_ledger(desk, capsys, monkeypatch):
    def nobody(number):
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    write_csv(desk / "t.csv", [True] * 3)
    refused(capsys, 2, "always the same --ledger FILE", "randomise", "t.csv", *ASKED, "--out", "a.jsonl")
    assert main(["randomise", "t.csv", *ASKED, "--ledger", "mine.sqlite3", "--out", "a.jsonl"]) == 0
