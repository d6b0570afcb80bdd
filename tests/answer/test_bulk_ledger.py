"""The bulk ledger: one reservation per person, attribute and round, before the first random byte, whatever happens."""

import hashlib
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrcollect import AnswerRefused, BulkLedger, LedgerError, ParameterError, Policy, Promise
from rrcollect.answer.ledger.bulk import BulkLedgerFile
from rrcollect.errors import AlreadyAnswered, LedgerCorrupt, LedgerNewer, LedgerRestored, LedgerUnavailable
from rrcollect.publish.texts import fingerprint
from tests.support.ledger_crashing import reservation_stopped
from tests.support.stopping import full_at, race

LN3, POLICY = Promise.of("ln 3", 0), Policy()
PEOPLE = [f"person-{i}" for i in range(40)]
NAME = "bulk.sqlite3"


def ledger(folder):
    return BulkLedger(folder / NAME)


def new(folder, ids, attribute="P/doped", round=0, **how):
    """Who may be drawn, as a list of booleans."""
    return ledger(folder).reserve(attribute, round, ids, LN3, POLICY, **how).new.tolist()


# ---- who is drawn ---------------------------------------------------------------------------------------------------


def test_only_people_who_were_not_drawn_are_new(tmp_path):
    assert new(tmp_path, PEOPLE[:20]) == [True] * 20
    reserved = ledger(tmp_path).reserve("P/doped", 0, PEOPLE[30:9:-1], LN3, POLICY)
    assert reserved.new.tolist() == [True] * 11 + [False] * 10  # 30 to 20 are new, 19 to 10 are not
    assert reserved[1:] == (10, 0, 0)
    assert new(tmp_path, PEOPLE[:20], "P/pressed") == [True] * 20
    assert new(tmp_path, PEOPLE[:20], round=1) == [True] * 20
    assert new(tmp_path, PEOPLE[:31]) == [False] * 31
    assert new(tmp_path, []) == []
    assert [run.people for run in ledger(tmp_path).runs()] == [20, 11, 20, 20]  # a run without anybody is not kept


def test_one_person_has_one_spelling(tmp_path):
    assert new(tmp_path, ["7", "\u00e9ve"]) == [True, True]
    for spelled in (7, np.int64(7), " 7 ", "e\u0301ve"):
        assert new(tmp_path, [spelled]) == [False]
    assert new(tmp_path, ["07", "EVE"]) == [True, True]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["a", "b", " a"], "the id in row 3 is 'that of row 1 again'"),
        (["x", "a", "b", "b", "a"], "the id in row 4 is 'that of row 3 again'"),
        ([7, "b", "7"], "the id in row 3 is 'that of row 1 again'"),
        (["a", " \t"], "the id in row 2 is 'empty'"),
        (["a", None], "the id in row 2 is 'of another kind, not shown'"),
        (["a", 7.0], "the id in row 2 is 'of another kind, not shown'"),
        (["a", True], "the id in row 2 is 'of another kind, not shown'"),
    ],
)
def test_ids_that_do_not_name_one_person_each_are_refused_by_row_and_nobody_is_reserved(tmp_path, ids, said):
    with pytest.raises(ParameterError, match=said):
        new(tmp_path, ids)
    assert ledger(tmp_path).runs() == []


@pytest.mark.parametrize(
    "wrong",
    [{"attribute": ""}, {"attribute": None}, {"round": -1}, {"round": True}, {"round": 10**9}, {"again": " "}],
)
def test_what_is_not_a_reservation_is_refused(tmp_path, wrong):
    with pytest.raises(ParameterError):
        new(tmp_path, ["a"], **wrong)
    assert ledger(tmp_path).runs() == []


def test_pieces_hashed_one_by_one_are_the_same_people(tmp_path):
    mine = ledger(tmp_path)
    people = np.concatenate([mine.keyed(PEOPLE[:9]), mine.keyed(PEOPLE[9:], first=10)])
    assert mine.reserve("P/doped", 0, people, LN3, POLICY).new.all()
    assert not any(new(tmp_path, PEOPLE))
    with pytest.raises(ParameterError, match="the id in row 12 is 'empty'"):
        mine.keyed(["a", ""], first=11)


# ---- what it costs --------------------------------------------------------------------------------------------------


def test_rounds_are_debited_and_whoever_is_above_a_cap_is_left_out(tmp_path):
    assert [new(tmp_path, ["ann"], round=r) for r in range(6)] == [[True]] * 4 + [[False]] * 2  # 3^4 = 81
    reserved = ledger(tmp_path).reserve("P/doped", 4, ["ann", "ben"], LN3, POLICY)
    assert (reserved.new.tolist(), reserved.drawn_before, reserved.over_budget) == ([False, True], 0, 1)
    others = [new(tmp_path, ["ann"], f"P/{name}", again="a test") for name in "aaaabbbb"]
    assert others == [[True]] * 6 + [[False]] * 2  # 3^10 = 59049, for life


def test_an_opt_in_is_recorded_debited_and_ends_at_the_cap(tmp_path):
    new(tmp_path, ["ann", "ben"])
    reserved = ledger(tmp_path).reserve("P/doped", 0, ["ann", "cem"], LN3, POLICY, again="the disk broke")
    assert (reserved.new.tolist(), reserved[1:]) == ([True, True], (0, 0, 1))
    kept = ledger(tmp_path).runs()
    assert [run.because for run in kept] == [None, "the disk broke"]
    assert kept[1].at.startswith("20")
    assert kept[1].at.endswith("+00:00")
    assert [new(tmp_path, ["ann"], again="again") for _ in range(3)] == [[True]] * 2 + [[False]]


COSTS = [Promise.of("ln 3", 0), Promise.of("ln 9", 0), Promise.of("1/2", 0), Promise.of(0, "1/300")]
RUN = st.tuples(
    st.sampled_from("ab"), st.integers(0, 2), st.sets(st.integers(0, 7)), st.sampled_from(COSTS), st.booleans()
)


@settings(max_examples=25)
@given(st.lists(RUN, max_size=9))
def test_a_book_kept_person_by_person_says_the_same(tmp_path_factory, runs):
    folder, book = tmp_path_factory.mktemp("book"), []
    for attribute, round_, people, cost, again in runs:
        expected = []
        for person in sorted(people):
            debits = [(a, c) for a, r, p, c in book if p == person]
            before = any((a, r, p) == (attribute, round_, person) for a, r, p, _ in book)
            own, life = [c for a, c in debits if a == attribute], [c for _, c in debits]
            fits = sum((c.delta for c in life), cost.delta) <= POLICY.lifetime_delta
            fits &= sum((c.delta for c in own), cost.delta) <= POLICY.attribute_delta
            for costs, cap in ((own, POLICY.attribute_epsilon), (life, POLICY.lifetime_epsilon)):
                after = cost.epsilon
                for earlier in costs:
                    after = after + earlier.epsilon
                fits &= after <= cap
            expected.append(fits and (again or not before))
        reserved = ledger(folder).reserve(
            attribute, round_, sorted(people), cost, POLICY, again="a test" if again else None
        )
        assert reserved.new.tolist() == expected
        assert reserved.drawn_before + reserved.over_budget == expected.count(False)
        book += [(attribute, round_, p, cost) for p, drawn in zip(sorted(people), expected, strict=True) if drawn]


def test_a_disclosing_answer_is_charged_to_delta(tmp_path):
    cost = Promise.of(0, Fraction(1, 150))
    policy = Policy(allow_disclosure=True)
    taken = [ledger(tmp_path).reserve("P/doped", r, ["ann"], cost, policy).new.tolist() for r in range(2)]
    assert taken == [[True], [False]]


# ---- tables without ids ---------------------------------------------------------------------------------------------


def test_a_table_is_drawn_once_and_one_mark_in_common_is_enough(tmp_path):
    ledger(tmp_path).reserve_table({"its path": "/a", "its shape": "3 rows"})
    for marks in ({"its path": "/a", "its shape": "4 rows"}, {"its path": "/b", "its shape": "3 rows"}):
        (known,) = [kind for kind, text in marks.items() if text in ("/a", "3 rows")]
        with pytest.raises(AnswerRefused, match=f"recognised by: {known}\\)"):
            ledger(tmp_path).reserve_table(marks)
    ledger(tmp_path).reserve_table({"its path": "/b", "its shape": "4 rows"})
    ledger(tmp_path).reserve_table({"its path": "3 rows", "its shape": "/a"})  # another kind is another mark
    ledger(tmp_path).reserve_table({"its path": "/a"}, again="the file was cut off")
    assert [run.because for run in ledger(tmp_path).runs()] == [None, None, None, "the file was cut off"]
    with pytest.raises(ParameterError, match="without marks"):
        ledger(tmp_path).reserve_table({})


def test_a_table_is_not_drawn_with_ids_and_then_without_or_the_other_way_round(tmp_path):
    new(tmp_path, ["ann"], table={"its path": "/a"})
    assert new(tmp_path, ["ann", "ben"], table={"its path": "/a"}) == [False, True]  # by ids a table may grow
    with pytest.raises(AnswerRefused, match="drawn from before"):
        ledger(tmp_path).reserve_table({"its path": "/a"})
    ledger(tmp_path).reserve_table({"its path": "/b"})
    with pytest.raises(AnswerRefused, match="drawn from before"):
        new(tmp_path, ["dan"], table={"its path": "/b"})
    assert new(tmp_path, ["dan"], table={"its path": "/b"}, again="other people") == [True]


# ---- two at once, and a crash ---------------------------------------------------------------------------------------


def taken_by_many(folder, processes, one_ledger=True):
    """How often each of 40 people was reserved by processes that all ask for 30 of them at the same moment."""

    def reserving(child):
        own = folder if one_ledger else folder / str(child)
        own.mkdir(exist_ok=True)
        asked = [(child * 7 + i) % 40 for i in range(30)]
        mask = new(own, [PEOPLE[i] for i in asked])
        return bytes(i for i, mine in zip(asked, mask, strict=True) if mine)

    drawn = np.zeros(40, int)
    for people in race(processes, reserving):
        for person in people:
            drawn[person] += 1
    return drawn


@pytest.mark.process
@pytest.mark.parametrize("fresh", [True, False], ids=["making_the_ledger", "ledger_there"])
def test_programs_at_once_never_reserve_the_same_person(tmp_path, fresh):
    if not fresh:
        ledger(tmp_path)
    assert (taken_by_many(tmp_path, 12) == 1).all()


@pytest.mark.process
def test_the_race_catches_programs_that_do_not_share_a_ledger(tmp_path):
    """The planted bug: every program keeps a ledger of its own."""
    assert (taken_by_many(tmp_path, 4, one_ledger=False) > 1).any()


@pytest.mark.process
def test_a_kill_at_any_line_leaves_everybody_reserved_or_nobody(tmp_path):
    """Every seventh line; all of them in tests/assurance/ledger."""
    counts, fault = reservation_stopped(tmp_path, stride=7)
    assert fault == ""
    assert len(counts) == 2  # some kills came before the reservation was on disk, some after
    assert counts.total() > 100 // 7


@pytest.mark.process
def test_a_full_disk_reserves_nobody(tmp_path):
    new(tmp_path, ["before"])
    size = (tmp_path / NAME).stat().st_size

    def work() -> bytes:
        try:
            return bytes(new(tmp_path, [f"{i}" for i in range(5000)]))
        except LedgerError as error:
            return type(error).__name__.encode()

    assert full_at(size, work) == (0, b"LedgerUnavailable")
    assert all(new(tmp_path, [f"{i}" for i in range(5000)]))


# ---- the file -------------------------------------------------------------------------------------------------------


def test_the_file_is_its_owners_and_holds_no_id_and_no_digest_that_needs_no_key(tmp_path):
    ids = [f"patient-{i:03}@example.org" for i in range(50)]
    mine = ledger(tmp_path)
    mine.reserve("P/doped", 0, ids, LN3, POLICY, table={"its path": "/data/club/truths.csv"})
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert mine.keyed(ids[:1]).tobytes() in kept  # planted: what is there is found in this way
    for text in [*ids, "/data/club/truths.csv"]:
        spelled = [text.encode()]
        for name in ("md5", "sha1", "sha256", "sha512", "blake2b"):
            digest = hashlib.new(name, text.encode()).digest()
            spelled += [digest[:8], digest.hex()[:16].encode()]
        assert not any(form in kept for form in spelled)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_ledgers_have_two_keys(tmp_path):
    (tmp_path / "other").mkdir()
    assert ledger(tmp_path).keyed(["ann"]).tobytes() != ledger(tmp_path / "other").keyed(["ann"]).tobytes()


def test_a_symlink_is_the_same_ledger(tmp_path):
    new(tmp_path, ["ann"])
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / NAME).symlink_to(tmp_path / NAME)
    assert new(tmp_path / "away", ["ann"]) == [False]
    assert [path.name for path in (tmp_path / "away").iterdir()] == [NAME]


def altering(statement):
    def damage(folder):
        with closing(sqlite3.connect(folder / NAME)) as connection:
            connection.execute(statement)
            connection.commit()

    return damage


def restore_old(folder):
    shutil.copy(folder / "old", folder / NAME)


def remove_ledger(folder):
    (folder / NAME).unlink()


def remove_guard(folder):
    (folder / f"{NAME}.guard").unlink()


def another_ledger(folder):
    (folder / "elsewhere").mkdir()
    new(folder / "elsewhere", ["x"])
    new(folder / "elsewhere", ["y"])
    shutil.copy(folder / "elsewhere" / NAME, folder / NAME)


def another_program(folder):
    (folder / NAME).unlink()
    altering("CREATE TABLE notes (text)")(folder)


def a_device_s_ledger(folder):
    from tests.inside.answer import Ledger

    for path in (folder / NAME, folder / f"{NAME}.guard"):
        path.unlink()
    Ledger(folder / NAME)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (restore_old, LedgerRestored),
        (remove_ledger, LedgerRestored),
        (remove_guard, LedgerRestored),
        (another_ledger, LedgerRestored),
        (altering("DELETE FROM runs WHERE seq = 2"), LedgerCorrupt),
        (altering("DELETE FROM runs WHERE seq = 1"), LedgerCorrupt),
        (altering("UPDATE runs SET people = x''"), LedgerCorrupt),
        (altering("UPDATE runs SET epsilon = '0' WHERE seq = 2"), LedgerCorrupt),
        (altering("UPDATE runs SET because = 'a reason' WHERE seq = 2"), LedgerCorrupt),
        (altering("UPDATE secret SET key = zeroblob(32)"), LedgerCorrupt),
        (altering("DELETE FROM secret"), LedgerCorrupt),
        (altering("PRAGMA application_id = 7"), LedgerCorrupt),
        (altering("PRAGMA user_version = 99"), LedgerNewer),
        (another_program, LedgerCorrupt),
        (a_device_s_ledger, LedgerCorrupt),
        (lambda folder: (folder / NAME).write_bytes(b"not a database " * 500), LedgerCorrupt),
    ],
)
def test_a_bulk_ledger_that_cannot_be_trusted_is_not_used(tmp_path, damage, error):
    new(tmp_path, PEOPLE[:10])
    shutil.copy(tmp_path / NAME, tmp_path / "old")
    new(tmp_path, PEOPLE[10:20])
    damage(tmp_path)
    with pytest.raises(error):
        new(tmp_path, PEOPLE)


def test_no_byte_of_the_file_can_be_changed_into_a_second_draw(tmp_path):
    new(tmp_path, PEOPLE, table={"its path": "/a"})
    whole, refused = (tmp_path / NAME).read_bytes(), 0
    for place in range(0, len(whole), 31):
        data = bytearray(whole)
        data[place] ^= 0x10
        for path in tmp_path.glob(f"{NAME}-*"):
            path.unlink()
        (tmp_path / NAME).write_bytes(data)
        try:
            assert not any(new(tmp_path, PEOPLE))
        except LedgerError:
            refused += 1
    assert refused > 30  # the rest is empty space


def test_a_ledger_replaced_while_in_use_is_refused(tmp_path):
    mine = ledger(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    ledger(tmp_path)
    with pytest.raises(LedgerError):
        mine.reserve("P/doped", 0, PEOPLE, LN3, POLICY)


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(LedgerUnavailable):
        BulkLedger(tmp_path / "no" / "such" / "folder.sqlite3")


def test_an_older_schema_is_brought_forward_and_keeps_its_draws(tmp_path, monkeypatch):
    new(tmp_path, PEOPLE)
    later = ["CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('made')"]
    monkeypatch.setattr(BulkLedgerFile, "steps", [*BulkLedgerFile.steps, later])
    assert not any(new(tmp_path, PEOPLE))
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT text FROM notes").fetchall() == [("made",)]


# ---- names and words, as on a device --------------------------------------------------------------------------------


def test_the_same_words_under_other_names_are_drawn_once(tmp_path):
    """Five names, one question, 40 people: five draws of each before."""
    asked = frozenset(map(fingerprint, ["Ever doped?", "Jemals gedopt?"]))
    assert all(new(tmp_path, PEOPLE, "P/a0", fingerprints=asked))
    for name in ("P/a1", "P/a2", "P/a3", "P/a4"):
        for again in (None, "the disk broke"):
            with pytest.raises(AlreadyAnswered, match="these words were answered before, for the attribute 'P/a0'"):
                new(tmp_path, PEOPLE, name, fingerprints={fingerprint("EVER doped")}, again=again)
    assert [run.people for run in ledger(tmp_path).runs()] == [40]


def test_an_alias_is_the_same_attribute_for_good(tmp_path):
    asked = {fingerprint("Ever doped?")}
    assert all(new(tmp_path, PEOPLE[:20], "P/a", fingerprints=asked))
    assert new(tmp_path, PEOPLE[:21], "P/b", fingerprints=asked, aliases=["P/a"]) == [False] * 20 + [True]
    assert new(tmp_path, PEOPLE[:21], "P/b") == [False] * 21  # the alias is not declared any more
    assert new(tmp_path, PEOPLE[:21], "P/a") == [False] * 21
    spent = Policy(attribute_epsilon="ln 3")
    assert ledger(tmp_path).reserve("P/b", 1, PEOPLE[:1], LN3, spent).over_budget == 1  # spent under the other name
