"""The contract of a store, on SQLite and on a real PostgreSQL server."""

import hashlib
import sqlite3
import threading
import time

import psycopg
import pytest

from rrcollect.errors import MissingExtra
from server_agg import tally_reports
from server_agg.collect.errors import StoreUnavailable, UnsafeDurability, WrongSchema
from server_agg.collect.export import export_reports
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import Outcome, PublishedSurvey, open_store
from server_agg.collect.stored_report import COLUMNS, Arrival, ReportRow, arrival_of, bound_invite, ticket_of
from tests.support.collector_running import report
from tests.support.devices import survey

DIGEST = "ab" * 32


def arrival(ticket=None, **changes):
    made = report(DIGEST, **changes)
    return Arrival(arrival_of(made, "2026-11-16", needs_invite=False).row, ticket)


def test_a_report_is_stored_once_and_other_content_is_a_conflict(store):
    first = arrival()
    assert store.take([first]) == [Outcome.NEW]
    assert store.take([first]) == [Outcome.SAME]
    tomorrow = Arrival(first.row._replace(day="2026-11-17"))
    assert store.take([tomorrow]) == [Outcome.SAME]  # the day is ours, not the report's
    other = Arrival(first.row._replace(answer=0))
    assert store.take([other]) == [Outcome.CONFLICT]
    assert list(store.reports()) == [first.row]


def test_an_invite_is_kept_as_a_hash_bound_to_its_report():
    assert bound_invite("id", "invite") == hashlib.sha256(b"id:invite").hexdigest()
    assert bound_invite("id", "invite") != bound_invite("di", "invite")
    assert bound_invite("id", None) is None


def test_one_batch_with_everything_in_it(store):
    old, new, twice = arrival(), arrival(answer=0), arrival()
    store.take([old])
    changed = Arrival(twice.row._replace(answer=0))
    outcomes = store.take([old, new, twice, twice, changed])
    assert outcomes == [Outcome.SAME, Outcome.NEW, Outcome.NEW, Outcome.SAME, Outcome.CONFLICT]
    assert sorted(store.reports()) == sorted([old.row, new.row, twice.row])


def test_every_column_comes_back_as_it_went_in(store):
    made = report(DIGEST, segments={"sport": "ski ' \" ; DROP TABLE reports; --"}, round=3, answer=0, invite="secret")
    row = arrival_of(made, "2026-11-16", needs_invite=True).row
    store.take([Arrival(row)])
    (found,) = store.reports()
    assert found == row
    assert found._fields == COLUMNS == ReportRow._fields
    assert "secret" not in "".join(map(str, found))


def test_tallies_count_by_question_design_segment_and_round(store):
    store.take(
        [arrival(answer=a, segments={"sport": s}, round=r) for a in (0, 1) for s in ("run", "ski") for r in (0, 1)]
    )
    store.take([arrival(question="q2")])
    tallies = store.tallies(DIGEST)
    assert tallies.n == 9
    assert tallies.where(question="q1", sport="run", round=0).one().ones == 1
    assert store.tallies("00" * 32).n == 0


def test_an_invite_is_spent_once_a_question_and_round(store):
    ticket = ticket_of("invite")
    store.add_invites(DIGEST, [ticket])
    first = arrival(ticket)
    assert store.take([first]) == [Outcome.NEW]
    assert store.take([first]) == [Outcome.SAME]  # a retry does not need a second invite
    assert store.take([arrival(ticket)]) == [Outcome.INVITE_USED]
    assert store.take([arrival(ticket, question="q2"), arrival(ticket, round=1)]) == [Outcome.NEW] * 2
    assert store.take([arrival(ticket_of("forged"))]) == [Outcome.INVITE_UNKNOWN]
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
    monkeypatch.setattr("server_agg.collect.store.ROWS_A_READ", 7)  # many pages
    asked = survey(segments={"sport": ["ski"]})
    rows = [arrival(survey=asked.digest, segments={"sport": "ski"}, answer=i % 2) for i in range(20)]
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
    assert not {"time", "created", "address", "agent"} & set(COLUMNS)


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


@pytest.mark.parametrize(("statement", "words"), [
    ("PRAGMA user_version = 99", "schema 99"),
    ("PRAGMA application_id = 1", "another program"),
])  # fmt: skip
def test_another_schema_is_refused_by_sqlite(tmp_path, statement, words):
    path = tmp_path / "a.sqlite3"
    SqliteStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(WrongSchema, match=words):
        SqliteStore(path)


def test_what_is_not_a_database_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(WrongSchema, match="no SQLite database"):
        SqliteStore(tmp_path / "text")
    with pytest.raises(StoreUnavailable):
        SqliteStore(tmp_path / "no such folder" / "a.sqlite3")


def test_another_schema_is_refused_by_postgresql(postgres):
    address = postgres.new_database()
    open_store(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE collector_schema SET version = 99")
    with pytest.raises(WrongSchema, match="schema 99"):
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
