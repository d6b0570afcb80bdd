"""The contract of a store, on SQLite and on a real PostgreSQL server."""

import hashlib
import sqlite3
import threading
import time

import psycopg
import pytest

from rrcollect.errors import MissingExtra, NewerSchema
from rrcollect.publish.report import ReportRow
from server_agg import tally_reports
from server_agg.collect import postgres_store, sqlite_store
from server_agg.collect.errors import StoreUnavailable, UnsafeDurability, WrongSchema
from server_agg.collect.export import export_reports
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import STEPS, Outcome, PublishedSurvey
from server_agg.collect.stored_report import IncomingReport, incoming, ticket_hash, ticket_trace
from server_agg.collect.stores import open_store
from tests.support.collector_running import report
from tests.support.devices import survey

DIGEST = "ab" * 32


def arrival(ticket=None, **changes):
    made = report(DIGEST, **changes)
    return IncomingReport(made.row, ticket)


def test_a_report_is_stored_once_and_other_content_is_a_conflict(store):
    first = arrival()
    assert store.take([first]) == [Outcome.NEW]
    assert store.take([first]) == [Outcome.SAME]
    for change in ({"answer": "0"}, {"round": 1}, {"segments": '{"a":"b"}'}, {"ticket": "t"}, {"design": "{}"}):
        assert store.take([IncomingReport(first.row._replace(**change))]) == [Outcome.CONFLICTING_ID]
    assert list(store.reports()) == [first.row]


def test_of_a_ticket_a_hash_is_kept_that_is_bound_to_its_report():
    assert ticket_trace("id", "ticket") == hashlib.sha256(b"id:ticket").hexdigest()
    assert ticket_trace("id", "ticket") != ticket_trace("di", "ticket")
    plain = report(DIGEST).row
    assert incoming(plain) == (plain, None)


def test_one_batch_with_everything_in_it(store):
    old, new, twice = arrival(), arrival(answer="0"), arrival()
    store.take([old])
    changed = IncomingReport(twice.row._replace(answer="0"))
    outcomes = store.take([old, new, twice, twice, changed])
    assert outcomes == [Outcome.SAME, Outcome.NEW, Outcome.NEW, Outcome.SAME, Outcome.CONFLICTING_ID]
    assert sorted(store.reports()) == sorted([old.row, new.row, twice.row])


def test_every_column_comes_back_as_it_went_in(store):
    made = report(DIGEST, segments={"sport": "ski ' \" ; DROP TABLE reports; --"}, round=3, answer="0", ticket="secret")
    row = incoming(made.row).row
    store.take([IncomingReport(row)])
    (found,) = store.reports()
    assert found == row
    assert found._replace(ticket="secret") == made.row
    assert "secret" not in "".join(map(str, found))


def test_tallies_count_by_question_design_segment_and_round(store):
    store.take(
        [arrival(answer=a, segments={"sport": s}, round=r) for a in "01" for s in ("run", "ski") for r in (0, 1)]
    )
    store.take([arrival(question="q2")])
    tallies = store.tallies(DIGEST)
    assert tallies.n == 9
    assert tallies.where(question="q1", sport="run", round=0).one().ones == 1
    assert store.tallies("00" * 32).n == 0


def test_a_ticket_is_spent_once_per_question_and_round(store):
    ticket = ticket_hash("invite")
    store.add_invites(DIGEST, [ticket])
    first = arrival(ticket)
    assert store.take([first]) == [Outcome.NEW]
    assert store.take([first]) == [Outcome.SAME]  # a retry does not need a second ticket
    assert store.take([arrival(ticket)]) == [Outcome.TICKET_REUSED]
    assert store.take([arrival(ticket, question="q2"), arrival(ticket, round=1)]) == [Outcome.NEW] * 2
    assert store.take([arrival(ticket_hash("forged"))]) == [Outcome.UNKNOWN_TICKET]
    assert len(list(store.reports())) == 3


def test_surveys_are_kept_once(store):
    one = PublishedSurvey(DIGEST, b"\x00envelope\xff", ("aa", "bb"))
    assert store.publish(one)
    assert not store.publish(one)
    assert store.surveys() == [one]


def test_what_was_taken_is_there_when_the_database_is_opened_again(where):
    first = open_store(where)
    rows = [arrival() for _ in range(20)]
    first.take(rows)
    first.close()
    second = open_store(where)
    assert sorted(second.reports()) == sorted(a.row for a in rows)
    assert second.take(rows) == [Outcome.SAME] * 20
    second.close()


def test_two_collectors_may_share_a_database(where):
    stores = [open_store(where), open_store(where)]
    shared = [arrival() for _ in range(200)]
    outcomes = []

    def send(store, rows):
        for start in range(0, len(rows), 20):
            outcomes.extend(store.take(rows[start : start + 20]))

    threads = [
        threading.Thread(target=send, args=(stores[0], shared)),
        threading.Thread(target=send, args=(stores[1], shared[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(o.value for o in outcomes) == ["new"] * 200 + ["same"] * 200
    assert len(list(stores[0].reports())) == 200
    for store in stores:
        store.close()


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_what_is_exported_is_counted_by_the_batch_path_as_it_was_stored(store, where, tmp_path, monkeypatch, ending):
    monkeypatch.setattr("server_agg.collect.store.ROWS_PER_READ", 7)  # many pages
    asked = survey(segments={"sport": ["ski"]})
    rows = [arrival(survey=asked.digest, segments={"sport": "ski"}, answer=str(i % 2)) for i in range(20)]
    store.take(rows)
    path = tmp_path / f"night.{ending}"
    assert export_reports(store, path) == 20
    result = tally_reports(path, asked)
    assert (result.tallies.one().n, result.tallies.one().ones) == (20, 10)
    assert tally_reports(where if "://" in where else f"sqlite:///{where}", asked).tallies == result.tallies
    assert export_reports(store, tmp_path / f"none.{ending}", survey="00" * 32) == 0


def test_the_database_holds_no_time_and_no_order_of_arrival(store):
    first, second = sorted((arrival(), arrival()), key=lambda a: a.row.id, reverse=True)
    store.take([first])
    store.take([second])
    assert [row.id for row in store.reports()] == [second.row.id, first.row.id]
    with store.reading() as cursor:
        cursor.execute("SELECT * FROM reports")
        assert tuple(column[0] for column in cursor.description) == ReportRow._fields
    assert not {"time", "day", "created", "address", "agent"} & set(ReportRow._fields)


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
    with store.reading() as cursor:
        number = "PRAGMA user_version" if isinstance(store, SqliteStore) else "SELECT version FROM collector_schema"
        found = cursor.execute(number).fetchone()[0]
        return found, cursor.execute("SELECT count(*), sum(admitted) FROM reports").fetchone() if found > 1 else None


def test_a_database_of_the_step_before_is_brought_up_to_date_and_loses_nothing(where, second_step, monkeypatch):
    old = open_store(where)
    ticket, rows = ticket_hash("invite"), [arrival() for _ in range(3)]
    old.add_invites(DIGEST, [ticket])
    rows.append(arrival(ticket))
    assert (old.take(rows), number_of(old)[0]) == ([Outcome.NEW] * 4, 1)
    kept = list(old.reports())
    old.close()
    second_step()
    new = open_store(where)
    assert number_of(new) == (2, (4, 4))
    assert list(new.reports()) == kept
    assert new.take([rows[0], arrival(), arrival(ticket)]) == [Outcome.SAME, Outcome.NEW, Outcome.TICKET_REUSED]
    new.close()
    open_store(where).close()  # nothing is done twice
    monkeypatch.undo()
    with pytest.raises(NewerSchema, match="has schema 2; this program knows schemas up to 1"):
        open_store(where)


def test_an_empty_database_goes_through_all_steps(where, second_step):
    second_step()
    store = open_store(where)
    assert number_of(store) == (2, (0, None))
    store.close()


def test_a_step_that_fails_leaves_the_database_as_it_was(where, second_step, monkeypatch):
    old = open_store(where)
    old.take([arrival()])
    old.close()
    second_step(("CREATE TABLE more (x TEXT)", "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(StoreUnavailable):
        open_store(where)
    monkeypatch.undo()
    again = open_store(where)
    assert number_of(again)[0] == 1
    with again.reading() as cursor:
        cursor.execute("SELECT * FROM reports")
        assert tuple(column[0] for column in cursor.description) == ReportRow._fields
    again.close()


def test_collectors_that_start_at_once_upgrade_once(where, second_step):
    open_store(where).close()
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
        store.close()


# ---- what is refused at the start ------------------------------------------------------------------------------------


def test_a_database_in_memory_is_refused():
    with pytest.raises(UnsafeDurability, match="journal_mode=memory"):
        SqliteStore(":memory:")


def test_sqlite_is_opened_with_a_log_that_is_flushed(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite3")
    with store.writing() as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone() == (2,)
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert (tmp_path / "a.sqlite3").stat().st_mode & 0o777 == 0o600
    store.close()


@pytest.mark.parametrize(("statement", "kind", "words"), [
    ("PRAGMA user_version = 99", NewerSchema, "a.sqlite3 has schema 99; .* up to 1"),
    ("PRAGMA application_id = 1", WrongSchema, "another program"),
])  # fmt: skip
def test_another_schema_is_refused_by_sqlite(tmp_path, statement, kind, words):
    path = tmp_path / "a.sqlite3"
    SqliteStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(kind, match=words):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_what_is_not_a_database_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(WrongSchema, match="not a SQLite database"):
        SqliteStore(tmp_path / "text")
    with pytest.raises(StoreUnavailable):
        SqliteStore(tmp_path / "no such folder" / "a.sqlite3")


@pytest.mark.engine
def test_another_schema_is_refused_by_postgresql(postgres):
    address = postgres.new_database()
    open_store(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE collector_schema SET version = 99")
    with pytest.raises(NewerSchema, match="the database has schema 99; .* up to 1"):
        open_store(address)
    foreign = postgres.new_database()
    with psycopg.connect(foreign) as connection:
        connection.execute("CREATE TABLE reports (x INTEGER)")
    with pytest.raises(WrongSchema, match="not a collector's"):
        open_store(foreign)


def shows(postgres, value):
    """Wait until new sessions see the setting."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with psycopg.connect(postgres.address()) as connection:
            if connection.execute("SHOW full_page_writes").fetchone() == (value,):
                return
        time.sleep(0.05)
    raise AssertionError("the setting was never seen")


@pytest.mark.engine
def test_a_postgresql_server_that_does_not_flush_is_refused(postgres):
    address = postgres.new_database()
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
    try:
        shows(postgres, "off")
        with pytest.raises(UnsafeDurability, match="full_page_writes=off"):
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
    with store.writing() as cursor:
        assert cursor.execute("SHOW synchronous_commit").fetchone() == ("on",)
    store.close()


def test_an_unreachable_server_is_a_trouble_that_names_no_password():
    with pytest.raises(StoreUnavailable) as caught:
        open_store("postgresql://me:topsecret@127.0.0.1:1/none")
    assert "topsecret" not in str(caught.value)


def test_without_psycopg_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "server_agg.collect.postgres_store", raising=False)
    with pytest.raises(MissingExtra, match="postgres"):
        open_store("postgresql://localhost/x")
