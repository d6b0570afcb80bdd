"""The contract of a store, on SQLite and on a real PostgreSQL server."""

import sqlite3
import threading
import time

import psycopg
import pyarrow.parquet as pq
import pytest

from rrcollect import ParameterError
from rrcollect.errors import MissingExtra, NewerSchema
from server_agg import Tallies, open_store, tally_reports
from server_agg.collect.store.epochs import Epochs
from server_agg.errors import (
    DataUnavailable,
    EpochKeyMissing,
    Refusal,
    StoreError,
    StoreUnavailable,
    UnfitDatabase,
)
from tests.inside.collect import STEPS, IncomingReport, PublishedSurvey, ReportOutcome, SqliteDatabase, incoming
from tests.inside.collect import postgres as postgres_store
from tests.inside.collect import sqlite as sqlite_store
from tests.inside.publish import ReportRow, known_as
from tests.support.collector_crashing import ids_of
from tests.support.collector_running import DIGEST, LARGE, TABLES, report
from tests.support.devices import survey
from tests.support.kept_rows import kept_rows
from tests.support.waiting import until


def arrival(ticket=None, survey=DIGEST, **changes):
    made = report(survey, **changes)
    return IncomingReport(made.row._replace(ticket=None if ticket is None else made.id), ticket)


def hashed(text):
    """The hash of some ticket, as a collector knows it."""
    return known_as(text, "q1", 0)


@pytest.mark.parametrize("folded", [False, True])
def test_a_report_is_stored_once_and_other_content_is_a_conflict(store, folded):
    first, other = arrival(), arrival()
    assert store.take([first, other]) == [ReportOutcome.NEW] * 2
    assert not folded or store.fold() == 2
    assert store.take([first]) == [ReportOutcome.SAME]
    for change in ({"answer": "0"}, {"round": 1}, {"segments": '{"a":"b"}'}, {"design": "{}"}):
        assert store.take([IncomingReport(first.row._replace(**change))]) == [ReportOutcome.CONFLICTING_ID]
    found, n = ids_of(store)
    assert (sorted(found), n) == (sorted([first.id, other.id]), 2)


def test_of_an_id_that_was_folded_without_its_row_only_the_id_is_known(where):
    store = open_store(where)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    first = arrival()
    store.take([first, arrival()])
    assert store.fold() == 2
    assert store.take([first, IncomingReport(first.row._replace(answer="0"))]) == [ReportOutcome.SAME] * 2
    assert (store.tallies().n, kept_rows(store)) == (2, [])
    store.disconnect()


def test_a_row_of_a_survey_by_invitation_is_marked_as_admitted_and_has_no_ticket():
    made = report(DIGEST, ticket="5ec4e7" + "0" * 26).row
    kept, ticket = incoming(made)
    assert (kept.ticket, ticket) == (made.id, known_as("5ec4e7" + "0" * 26, "q1", 0))
    plain = report(DIGEST).row
    assert incoming(plain) == (plain, None)


@pytest.mark.parametrize("folded", [False, True])
def test_one_batch_with_everything_in_it(store, folded):
    old, new, twice = arrival(), arrival(answer="0"), arrival()
    store.take([old, arrival()])
    assert not folded or store.fold() == 2
    changed = IncomingReport(twice.row._replace(answer="0"))
    outcomes = store.take([old, new, twice, twice, changed])
    assert outcomes == [
        ReportOutcome.SAME,
        ReportOutcome.NEW,
        ReportOutcome.NEW,
        ReportOutcome.SAME,
        ReportOutcome.CONFLICTING_ID,
    ]
    assert len(set(ids_of(store)[0])) == ids_of(store)[1] == 4


def test_every_column_comes_back_as_it_went_in(store):
    secret = "5ec4e7" + "0" * 26
    made = report(DIGEST, segments={"sport": "ski ' \" ; DROP TABLE reports; --"}, round=3, answer="0", ticket=secret)
    arrived = [incoming(made.row), incoming(made.row._replace(id="0" * 32, ticket="ab" * 16))]
    store.shelf.add_invites(DIGEST, [one.ticket for one in arrived])
    assert store.take(arrived) == [ReportOutcome.NEW] * 2
    assert sorted(store.epochs.waiting()) == sorted(arrived)
    assert store.fold() == 2
    found = kept_rows(store)
    assert sorted(found) == sorted(one.row for one in arrived)
    assert made.row in [row._replace(ticket=secret) for row in found]
    assert "5ec4e7" not in "".join(map(str, found))


def test_what_is_not_ripe_waits_and_everything_ripe_is_folded_at_once(store):
    few, many = [arrival(question="q2")], [arrival(round=1) for _ in range(5)]
    store.take(few + many)
    assert store.fold() == 5
    assert (store.tallies().n, store.epochs.waiting()) == (5, few)
    assert store.fold() == 0
    large = [arrival(survey=LARGE) for _ in range(999)]
    store.take(large)
    assert store.fold() == 0
    store.take([arrival(survey=LARGE), arrival(question="q2")])
    assert store.fold() == 1002
    assert (store.tallies().n, store.epochs.waiting()) == (1007, [])
    assert store.take([*few, *many, *large[:9]]) == [ReportOutcome.SAME] * 15


def test_many_that_wait_on_after_a_fold_are_still_known_one_by_one(store):
    """They lie in several places, before all that come later."""
    many = [arrival(survey=LARGE) for _ in range(450)]
    assert set(store.take([*many, arrival(), arrival()])) == {ReportOutcome.NEW}
    for _ in range(2):
        assert store.fold() == 2
        with store.database.reading() as cursor:
            contents = cursor.execute("SELECT COUNT(*) FROM intake").fetchone()[0]
        assert contents == 3
        assert set(store.take(many[::-1])) == {ReportOutcome.SAME}
        changed = IncomingReport(many[7].row._replace(answer="0"))
        later = [arrival(), changed, arrival()]
        assert store.take(later) == [ReportOutcome.NEW, ReportOutcome.CONFLICTING_ID, ReportOutcome.NEW]
    assert store.fold() == 2
    assert sorted(store.epochs.waiting()) == sorted(many)
    assert store.take([arrival(survey=LARGE) for _ in range(600)]) == [ReportOutcome.NEW] * 600
    assert (store.fold(), store.tallies().n, store.epochs.waiting()) == (1050, 1056, [])


def test_a_fold_destroys_the_key_that_reports_waited_under_and_makes_another(store):
    def keys():
        return {path.name: path.read_bytes() for path in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")}

    before = keys()
    store.take([arrival()])
    assert store.fold() == 0
    assert keys() == before
    store.take([arrival()])
    assert store.fold() == 2
    after = keys()
    assert (len(before), len(after)) == (1, 1)
    assert not set(before) & set(after)
    assert all(len(secret) == 32 for secret in after.values())
    assert {path.stat().st_mode & 0o777 for path in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")} == {
        0o600
    }


def test_without_its_key_a_database_takes_nothing_unless_what_waits_is_given_up(where):
    store = open_store(where)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    store.take([arrival()])
    store.disconnect()
    (key,) = store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")
    key.unlink()
    with pytest.raises(EpochKeyMissing, match="1 reports wait under a key that is not in"):
        open_store(where)
    again = open_store(where, discard_unreadable=True)
    assert (again.epochs.waiting(), again.take([arrival()])) == ([], [ReportOutcome.NEW])
    again.disconnect()
    (key,) = store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")
    key.write_bytes(bytes(32))
    with pytest.raises(EpochKeyMissing, match="1 reports wait"):
        open_store(where)


def test_a_key_that_goes_away_meanwhile_is_a_trouble_that_names_no_folder(where):
    first, second = open_store(where), open_store(where)
    for path in first.epochs.keys.folder.glob(f"{first.epochs.name}.*.key"):
        path.unlink()
    with pytest.raises(StoreUnavailable, match=r"^the key of the waiting reports is missing$"):
        second.take([arrival()])
    first.disconnect()
    second.disconnect()


@pytest.mark.engine
def test_a_deadlock_is_tried_again_and_told_when_it_does_not_end(postgres, monkeypatch):
    store = open_store(postgres.new_database())
    sound, times = type(store.database).put, []

    def circle(self, cursor, sealed):
        times.append(1)
        if len(times) < 3:
            raise psycopg.errors.DeadlockDetected("in a circle")
        return sound(self, cursor, sealed)

    monkeypatch.setattr(type(store.database), "put", circle)
    assert store.take([arrival()]) == [ReportOutcome.NEW]
    assert len(times) == 3
    ended = psycopg.errors.DeadlockDetected()
    monkeypatch.setattr(type(store.database), "put", lambda *_: (_ for _ in ()).throw(ended))
    with pytest.raises(StoreUnavailable, match="the database ended the transaction for others' sake 20 times"):
        store.take([arrival()])
    store.disconnect()


def test_a_lost_key_under_which_nothing_waits_is_made_anew_if_that_is_said(where):
    store = open_store(where)
    store.disconnect()
    for key in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"):
        key.unlink()
    with pytest.raises(EpochKeyMissing, match=r"lost, stop every collector .* \(serve --discard-unreadable\)"):
        open_store(where)
    again = open_store(where, discard_unreadable=True)
    again.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    assert again.take([arrival()]) == [ReportOutcome.NEW]
    again.disconnect()
    open_store(where).disconnect()


def test_a_wrong_folder_of_keys_takes_nothing_away_from_a_running_collector(where, tmp_path):
    store = open_store(where, keys=tmp_path / "right")
    with pytest.raises(EpochKeyMissing, match="give the folder of keys that it is used with"):
        open_store(where, keys=tmp_path / "wrong")
    assert list((tmp_path / "wrong").glob("*.key")) == []
    assert store.take([arrival()]) == [ReportOutcome.NEW]
    store.epochs.alive()
    store.disconnect()


def test_a_start_that_gives_up_a_lost_key_and_is_killed_can_be_done_again(where, monkeypatch):
    """Between the new key and the commit: the database names the lost one, and the new one is left over."""
    store = open_store(where)
    store.disconnect()
    for key in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"):
        key.unlink()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Epochs, "seal_again", killed)
    with pytest.raises(KeyboardInterrupt):
        open_store(where, discard_unreadable=True)
    monkeypatch.undo()
    assert len(list(store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"))) == 1
    with pytest.raises(EpochKeyMissing):
        open_store(where)
    again = open_store(where, discard_unreadable=True)
    assert len(list(store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"))) == 1
    again.epochs.alive()
    again.disconnect()


def test_a_store_without_its_key_is_not_alive(where, store):
    store.take([arrival(), arrival()])
    store.epochs.alive()
    store.fold()
    store.epochs.alive()
    for key in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"):
        key.unlink()
    with pytest.raises(StoreUnavailable, match=r"^the key of the waiting reports is missing$"):
        store.epochs.alive()


# ---- peers that are gone ---------------------------------------------------------------------------------------------


def done_beside(idle, work, seconds=20.0):
    """What came of some work that another thread did while a transaction was held open."""
    found = []

    def run():
        try:
            found.append(work())
        except StoreError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with idle:
        thread.start()
        thread.join(seconds)
        return found[0] if found else "nothing"


@pytest.fixture
def pair(postgres, monkeypatch):
    """Makes two stores of one database with other bounds."""
    made = []

    def opened(**bounds):
        for name, value in bounds.items():
            monkeypatch.setattr(postgres_store, name, value)
        address = made[0].database.address if made else postgres.new_database()
        made.extend(open_store(address, keep_rows=True) for _ in range(2))
        made[0].shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
        return made[-2:]

    yield opened
    for store in made:
        store.disconnect()


@pytest.mark.engine
def test_a_session_that_idles_in_a_take_is_ended_and_stops_nobody_else(pair):
    dead, store = pair(MOST_IDLE="1s")
    store.take([arrival(), arrival()])
    with pytest.raises(StoreUnavailable):  # nothing of it is acknowledged
        assert done_beside(dead.database.writing(), store.fold) == 2
    assert dead.take([arrival()]) == [ReportOutcome.NEW]


@pytest.mark.engine
@pytest.mark.parametrize("alone", [False, True])
def test_a_lock_that_is_not_given_back_is_told_to_come_back(pair, alone):
    dead, store = pair(LOCK_WAIT="1s")
    told = done_beside(dead.database.writing(alone=alone), (lambda: store.take([arrival()])) if alone else store.fold)
    assert isinstance(told, StoreUnavailable)
    assert (told.status, told.retry_after, str(told)) == (503, 2, "another session kept a lock for too long (55P03)")
    assert store.take([arrival(), arrival()]) == [ReportOutcome.NEW] * 2
    assert store.fold() == 2


@pytest.mark.engine
def test_long_reads_and_folds_are_not_ended(pair, monkeypatch):
    store, _ = pair(MOST_IDLE="300ms", LOCK_WAIT="300ms")
    monkeypatch.setattr("server_agg.collect.store.store.ROWS_PER_READ", 1)
    store.take([arrival(), arrival()])
    with store.database.writing(alone=True) as cursor:
        time.sleep(1)
        cursor.execute("SELECT 1")
    store.fold()
    pages = store.pages()
    next(pages)
    time.sleep(1)
    assert len(list(pages)) == 1


@pytest.mark.engine
def test_both_ends_look_whether_the_other_is_there_and_the_address_comes_first(postgres):
    store = open_store(postgres.new_database() + "?keepalives_idle=77")
    for session in (store.database.writing(), store.database.reading()):
        with session as cursor:
            assert cursor.execute("SHOW tcp_keepalives_idle").fetchone() == ("20",)
            said = cursor.connection.info.get_parameters()
            assert (said["keepalives_idle"], said["keepalives_interval"]) == ("77", "5")
            assert said["tcp_user_timeout"] == "40000"
    store.disconnect()


def test_a_key_that_a_crash_left_over_is_destroyed_at_the_next_start(where):
    store = open_store(where)
    left = store.epochs.keys.make(store.epochs.name)
    store.disconnect()
    open_store(where).disconnect()
    names = [path.name for path in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")]
    assert len(names) == 1
    assert left not in names[0]


def test_a_closed_survey_keeps_its_counts_and_nothing_else(store):
    ticket = hashed("invite")
    store.shelf.add_invites(DIGEST, [ticket])
    store.take([arrival(ticket), arrival(), arrival(question="q2"), arrival(survey=LARGE)])
    store.fold()
    before = store.tallies().n
    store.folds.finish(DIGEST)
    assert (before, store.tallies().n, len(store.epochs.waiting())) == (2, 3, 1)  # the last one of its question too
    with store.database.reading() as cursor:
        for table in ("ids", "reports", "invites", "spent"):
            assert cursor.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] == 0  # noqa: S608
    assert store.take([arrival(), arrival(survey=LARGE)]) == [ReportOutcome.CLOSED, ReportOutcome.NEW]
    assert [one.closed for one in store.shelf.surveys()] == [True, False]


@pytest.mark.engine
def test_no_file_of_a_postgresql_database_holds_an_id_of_a_closed_survey(postgres):
    """Its log of changes is not ours to overwrite, and is left out."""
    where = postgres.new_database()
    store = open_store(where, keep_rows=True)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    ticket = hashed("invite")
    store.shelf.add_invites(DIGEST, [ticket])
    made = [arrival(ticket), *(arrival() for _ in range(20))]
    store.take(made)
    store.fold()

    def held():
        with store.database.writing() as cursor:
            cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
            (number,) = cursor.fetchone()
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        folder = postgres.folder / "data" / "base" / str(number)
        files = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
        return {bytes.fromhex(one.id) in files or one.id.encode() in files for one in made} | {ticket.encode() in files}

    assert held() == {True}
    store.folds.finish(DIGEST)
    assert held() == {False}
    store.disconnect()


def test_another_survey_under_a_name_and_version_is_refused_by_the_database(where):
    """Each collector of a pair publishes its own survey under one name and version: one of them is refused."""
    stores = [open_store(where), open_store(where)]
    said = []

    def publish(store, number, digest):
        try:
            said.append(
                (number, store.shelf.publish(PublishedSurvey(digest, b"envelope", ("aa" * 32,), "P", "n", number, 30)))
            )
        except Refusal as refusal:
            said.append((number, refusal.code))

    for number in range(1, 21):
        both = [
            threading.Thread(target=publish, args=(s, number, f"{number:02x}{d}" * 16))
            for s, d in zip(stores, ("aa", "bb"), strict=True)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)
    assert sorted(said, key=str) == sorted([(n, v) for n in range(1, 21) for v in (True, "version_taken")], key=str)
    for store in stores:
        store.disconnect()


def test_tallies_count_by_question_design_segment_and_round(store):
    store.take(
        [arrival(answer=a, segments={"sport": s}, round=r) for a in "01" for s in ("run", "ski") for r in (0, 1)]
    )
    store.take([arrival(question="q2")] * 2 + [arrival(question="q2", answer="0")])
    assert store.tallies(DIGEST).n == 0  # nothing is counted before it is folded
    assert store.fold() == 10
    tallies = store.tallies(DIGEST)
    assert tallies.n == 10
    assert tallies.where(question="q1", sport="run", round=0).one().ones == 1
    store.take([arrival(segments={"sport": "run"}) for _ in range(3)])
    assert store.fold() == 3
    assert store.tallies(DIGEST).where(question="q1", sport="run", round=0).one().n == 5
    assert store.tallies("00" * 32).n == 0


@pytest.mark.parametrize("folded", [False, True])
def test_a_ticket_is_spent_once_per_question_and_round(store, folded):
    ticket, another, second, third = map(hashed, ("invite", "another", "of q2", "of round 1"))
    store.shelf.add_invites(DIGEST, [ticket, another, second, third])
    first = arrival(ticket)
    assert store.take([first, arrival(another)]) == [ReportOutcome.NEW] * 2
    assert not folded or store.fold() == 2
    assert store.take([first]) == [ReportOutcome.SAME]  # a retry does not need a second ticket
    assert store.take([arrival(ticket)]) == [ReportOutcome.TICKET_REUSED]
    # the hash is bound to question and round before it comes here, so elsewhere it is another one
    assert store.take([arrival(ticket, question="q2")]) == [ReportOutcome.TICKET_REUSED]
    assert store.take([arrival(second, question="q2"), arrival(third, round=1)]) == [ReportOutcome.NEW] * 2
    assert store.take([arrival(hashed("forged"))]) == [ReportOutcome.UNKNOWN_TICKET]
    assert store.take([arrival(ticket, survey=LARGE)]) == [ReportOutcome.UNKNOWN_TICKET]
    assert ids_of(store)[1] == 4


def test_of_two_reports_with_one_ticket_in_one_batch_one_is_taken(store):
    ticket = hashed("invite")
    store.shelf.add_invites(DIGEST, [ticket])
    outcomes = store.take([arrival(ticket), arrival(ticket), arrival()])
    assert outcomes == [ReportOutcome.NEW, ReportOutcome.TICKET_REUSED, ReportOutcome.NEW]


def test_surveys_are_kept_once(store):
    one = PublishedSurvey("ef" * 32, b"\x00envelope\xff", ("aa" * 32, "bb" * 32), "P", "n", 7, 30, pilot=True)
    assert store.shelf.publish(one)
    assert not store.shelf.publish(one)
    assert one in store.shelf.surveys()
    assert len(store.shelf.surveys()) == 3


def test_what_was_taken_is_there_when_the_database_is_opened_again(where):
    first = open_store(where)
    rows = [arrival() for _ in range(20)]
    first.take(rows)
    first.disconnect()
    second = open_store(where)
    assert sorted(second.epochs.waiting()) == sorted(rows)
    assert second.take(rows) == [ReportOutcome.SAME] * 20
    second.disconnect()


def test_two_collectors_may_share_a_database(where):
    """Two collectors take the same reports in opposite order, and each folds now and then."""
    stores = [open_store(where), open_store(where)]
    stores[0].shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    ticket = [hashed(str(number)) for number in range(200)]
    stores[0].shelf.add_invites(DIGEST, ticket)
    shared = [arrival(one) for one in ticket]
    outcomes = []

    def send(store, rows):
        for start in range(0, len(rows), 20):
            outcomes.extend(store.take(rows[start : start + 20]))
            if start % 60 == 0:
                store.fold()

    threads = [
        threading.Thread(target=send, args=(stores[0], shared)),
        threading.Thread(target=send, args=(stores[1], shared[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(o.value for o in outcomes) == ["new"] * 200 + ["same"] * 200
    assert ids_of(stores[0])[1] == len(set(ids_of(stores[0])[0])) == 200
    for store in stores:
        store.disconnect()


def test_what_is_exported_is_counted_by_the_batch_path_as_it_was_stored(store, where, tmp_path, monkeypatch):
    monkeypatch.setattr("server_agg.collect.store.store.ROWS_PER_READ", 7)  # many pieces
    asked = survey(segments={"sport": ["ski"]}, invite_only=True)
    store.shelf.publish(PublishedSurvey(asked.digest, b"envelope", ("aa" * 32,), "P", "other", 1, 20))
    tickets = [hashed(str(number)) for number in range(20)]
    store.shelf.add_invites(asked.digest, tickets)
    rows = [arrival(t, asked.digest, segments={"sport": "ski"}, answer=str(i % 2)) for i, t in enumerate(tickets)]
    assert store.take(rows) == [ReportOutcome.NEW] * 20
    assert store.export(tmp_path / "early.parquet") == 0
    store.fold()
    assert store.export(tmp_path / "night.parquet") == 20
    result = tally_reports(tmp_path / "night.parquet", asked)
    assert (result.tallies.one().n, result.tallies.one().ones) == (20, 10)
    assert tally_reports(where if "://" in where else f"sqlite:///{where}", asked).tallies == result.tallies
    assert store.export(tmp_path / "none.parquet", survey="00" * 32) == 0
    assert store.export(tmp_path / "counts.json") == 20
    assert Tallies.from_json((tmp_path / "counts.json").read_text()) == result.tallies
    exported = pq.read_table(tmp_path / "night.parquet").to_pydict()
    assert exported["id"] == sorted(exported["id"])
    assert exported["ticket"] == exported["id"]
    with pytest.raises(ParameterError, match="json .counts. or .parquet"):
        store.export(tmp_path / "night.csv")


AWKWARD = (
    'a "quoted", one',
    "back\\slash",
    "NULL",
    "nan",
    "%s {0} $$",
    "it's; 1,5",
    "日本 é 🙂",
    "a\u2029b\x85c\x7f",
    "\x1f\n\t",
)


def test_whatever_a_segment_says_is_exported_as_it_was_stored(store, tmp_path, monkeypatch):
    """Rows leave the database as text: nothing in a field ends it, or is read as a missing value."""
    monkeypatch.setattr("server_agg.collect.store.store.ROWS_PER_READ", 4)
    rows = [arrival(segments={value: value}) for value in AWKWARD * 2]
    store.take(rows)
    assert store.fold() == len(rows)
    assert store.export(tmp_path / "rows.parquet", survey=DIGEST) == len(rows)
    exported = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert exported == sorted((made.row._asdict() for made in rows), key=lambda row: row["id"])
    assert kept_rows(store) == sorted((made.row for made in rows), key=lambda row: row.id)


def test_rows_that_were_not_kept_are_not_exported(where, tmp_path):
    store = open_store(where)
    with pytest.raises(ParameterError, match="rows are kept only if asked for"):
        store.export(tmp_path / "night.parquet")
    store.disconnect()


def test_a_tally_of_a_store_that_lacks_rows_is_refused_and_points_to_the_counts(where):
    source, asked = where if "://" in where else f"sqlite:///{where}", survey()

    def taken(keep_rows, many):
        store = open_store(where, keep_rows=keep_rows)
        store.shelf.publish(PublishedSurvey(asked.digest, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
        store.take([arrival(survey=asked.digest) for _ in range(many)])
        store.fold()
        store.disconnect()

    for keep_rows, many, said in ((False, 0, "0 of the 0"), (False, 3, "0 of the 3"), (True, 2, "2 of the 5")):
        taken(keep_rows, many)
        with pytest.raises(DataUnavailable, match=f"rows of {said} reports that were counted; `rrcollect store export"):
            tally_reports(source, asked)


def test_rows_are_tallied_beside_a_survey_that_was_closed(store, where):
    asked = survey()
    store.shelf.publish(PublishedSurvey(asked.digest, b"envelope", ("aa" * 32,), "P", "other", 1, 2))
    store.take([arrival(), arrival(), *(arrival(survey=asked.digest) for _ in range(3))])
    assert store.fold() == 5
    store.folds.finish(DIGEST)
    assert tally_reports(where if "://" in where else f"sqlite:///{where}", asked).summary.accepted == 3
    assert store.tallies().n == 5


def test_the_database_has_no_column_for_a_time_an_address_or_an_order(store):
    store.take([arrival(), arrival()])
    store.fold()
    columns = set()
    with store.database.reading() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
            columns |= {column[0] for column in cursor.description}
    kept = {*ReportRow._fields, "n", "number", "mark", "content", "place", "database", "identity", "key", "keep_rows"}
    kept |= {
        "kept",
        "sums",
        "level",
        "line",
        "moment",
        "headline",
        "crowds",
        "invite",
        "elements",  # hashes
        "entry",  # of the log: a published survey, or the hash of an owner's deed
        "hash",
        "size",
        "note",
        "seen",  # how many witnesses
    }  # the moment is a release's, not a report's
    of_surveys = {
        "digest",
        "envelope",
        "keys",
        "publisher",
        "name",
        "version",
        "minimum",
        "longest",
        "pilot",
        "closed",
        "withdrawal",
        "issued",  # how many people were served tokens
    }
    assert columns == kept | of_surveys


# ---- a way forward ---------------------------------------------------------------------------------------------------

# A second step, as a later version may have one: a column with a value for the rows that are there, and an index.
SECOND = (
    "ALTER TABLE reports ADD COLUMN admitted {small} NOT NULL DEFAULT 0",
    "UPDATE reports SET admitted = 1",
    "CREATE INDEX reports_by_survey ON reports (survey)",
)


@pytest.fixture
def second_step(monkeypatch):
    def arrive(*more):
        for module, small in ((sqlite_store, "INTEGER"), (postgres_store, "SMALLINT")):
            monkeypatch.setattr(module, "STEPS", (*STEPS, SECOND, *more))
            monkeypatch.setattr(module, "TYPES", {**module.TYPES, "small": small})

    return arrive


def number_of(store):
    """The schema number that the database itself says, and what the second step did."""
    with store.database.reading() as cursor:
        number = (
            "PRAGMA user_version"
            if isinstance(store.database, SqliteDatabase)
            else "SELECT version FROM collector_schema"
        )
        found = cursor.execute(number).fetchone()[0]
        return found, cursor.execute("SELECT count(*), sum(admitted) FROM reports").fetchone() if found > 1 else None


def test_a_database_of_the_step_before_is_brought_up_to_date_and_loses_nothing(where, second_step, monkeypatch):
    old = open_store(where, keep_rows=True)
    old.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 2))
    ticket, rows = hashed("invite"), [arrival() for _ in range(3)]
    old.shelf.add_invites(DIGEST, [ticket])
    rows.append(arrival(ticket))
    assert (old.take(rows), old.fold(), number_of(old)[0]) == ([ReportOutcome.NEW] * 4, 4, 1)
    kept = kept_rows(old)
    old.take([arrival(question="q2")])
    old.disconnect()
    second_step()
    new = open_store(where)
    assert number_of(new) == (2, (4, 4))
    assert (kept_rows(new), len(new.epochs.waiting())) == (kept, 1)
    assert new.take([rows[0], arrival(), arrival(ticket)]) == [
        ReportOutcome.SAME,
        ReportOutcome.NEW,
        ReportOutcome.TICKET_REUSED,
    ]
    new.disconnect()
    open_store(where).disconnect()  # nothing is done twice
    monkeypatch.undo()
    with pytest.raises(NewerSchema, match="has schema 2; this program knows schemas up to 1"):
        open_store(where)


def test_an_empty_database_goes_through_all_steps(where, second_step):
    second_step()
    store = open_store(where)
    assert number_of(store) == (2, (0, None))
    store.disconnect()


def test_a_step_that_fails_leaves_the_database_as_it_was(where, second_step, monkeypatch):
    old = open_store(where)
    old.take([arrival()])
    old.disconnect()
    second_step(("CREATE TABLE more (x TEXT)", "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(StoreUnavailable):
        open_store(where)
    monkeypatch.undo()
    again = open_store(where)
    assert number_of(again)[0] == 1
    with again.database.reading() as cursor:
        cursor.execute("SELECT * FROM reports")
        assert tuple(column[0] for column in cursor.description) == ReportRow._fields
    again.disconnect()


def test_collectors_that_start_at_once_upgrade_once(where, second_step):
    open_store(where).disconnect()
    second_step()
    stores, troubles = [], []

    def start():
        try:
            stores.append(open_store(where))
        except Exception as error:
            troubles.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(stores), troubles) == (4, [])
    assert number_of(stores[0]) == (2, (0, None))
    for store in stores:
        store.disconnect()


# ---- what is refused at the start ------------------------------------------------------------------------------------


def test_a_database_in_memory_is_refused():
    with pytest.raises(UnfitDatabase, match="journal_mode=memory"):
        open_store(":memory:")


def test_sqlite_is_opened_with_a_log_that_is_flushed(tmp_path):
    store = open_store(tmp_path / "a.sqlite3")
    with store.database.writing() as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone() == (2,)
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert (tmp_path / "a.sqlite3").stat().st_mode & 0o777 == 0o600
    store.disconnect()


@pytest.mark.parametrize(("statement", "kind", "words"), [
    ("PRAGMA user_version = 99", NewerSchema, "a.sqlite3 has schema 99; .* up to 1"),
    ("PRAGMA application_id = 1", UnfitDatabase, "another program"),
])  # fmt: skip
def test_another_schema_is_refused_by_sqlite(tmp_path, statement, kind, words):
    path = tmp_path / "a.sqlite3"
    open_store(path).disconnect()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(kind, match=words):
        open_store(path)
    assert path.read_bytes() == before


def test_what_is_not_a_database_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(UnfitDatabase, match="not a SQLite database"):
        open_store(tmp_path / "text")
    with pytest.raises(StoreUnavailable):
        open_store(tmp_path / "no such folder" / "a.sqlite3")


@pytest.mark.engine
def test_another_schema_is_refused_by_postgresql(postgres):
    address = postgres.new_database()
    open_store(address).disconnect()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE collector_schema SET version = 99")
    with pytest.raises(NewerSchema, match="the database has schema 99; .* up to 1"):
        open_store(address)
    foreign = postgres.new_database()
    with psycopg.connect(foreign) as connection:
        connection.execute("CREATE TABLE reports (x INTEGER)")
    with pytest.raises(UnfitDatabase, match="not a collector's"):
        open_store(foreign)


def shows(postgres, value):
    """Wait until new sessions see the setting."""

    def seen():
        with psycopg.connect(postgres.address()) as connection:
            return connection.execute("SHOW full_page_writes").fetchone() == (value,)

    until(seen)


@pytest.mark.engine
def test_a_postgresql_server_that_does_not_flush_is_refused(postgres):
    address = postgres.new_database()
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
    try:
        shows(postgres, "off")
        with pytest.raises(UnfitDatabase, match="full_page_writes=off"):
            open_store(address)
    finally:
        with psycopg.connect(postgres.address(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET full_page_writes")
            connection.execute("SELECT pg_reload_conf()")
        shows(postgres, "on")


@pytest.mark.engine
def test_a_session_that_does_not_wait_for_the_disk_is_put_right(postgres):
    address = postgres.new_database() + "?options=-csynchronous_commit%3Doff"
    store = open_store(address)
    with store.database.writing() as cursor:
        assert cursor.execute("SHOW synchronous_commit").fetchone() == ("on",)
    store.disconnect()


def test_an_unreachable_server_is_a_trouble_that_names_no_password():
    with pytest.raises(StoreUnavailable) as caught:
        open_store("postgresql://me:topsecret@127.0.0.1:1/none")
    assert "topsecret" not in str(caught.value)


def test_without_psycopg_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "server_agg.collect.store.postgres", raising=False)
    with pytest.raises(MissingExtra, match="postgres"):
        open_store("postgresql://localhost/x")
