"""A survey ends early by its publisher's signature, in every process; and late by a setting."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from rrcollect import SigningKey
from server_agg import CollectorSettings, open_store
from server_agg.collect import housekeeping
from tests.inside.collect import Catalogue, close_due
from tests.support.collector_running import JSON, RunningCollector, body, expired, publication
from tests.support.command_line import main
from tests.support.devices import KEY, client
from tests.support.waiting import until


def post(collector, digest, notice):
    return collector.json("POST", f"/surveys/{digest}/withdrawal", notice, JSON)


def test_a_withdrawn_survey_takes_nothing_more_and_says_why(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        made = publication(collector=f"{collector.url}/reports")
        digest, path = collector.publish(made), f"/surveys/{made.digest}/withdrawal"
        assert collector.post(body(digest))[0] == 201
        assert collector.request("GET", path)[:2] == (204, b"")
        device = client(tmp_path)
        device.answer(device.accept(collector.request("GET", f"/surveys/{digest}")[1]), "q1", True)
        notice = made.survey.withdraw([KEY])
        assert post(collector, digest, notice) == (201, {"withdrawn": digest})
        assert post(collector, digest, notice) == (200, {"withdrawn": digest})
        status, said = collector.post(body(digest))
        assert (status, said["error"]) == (410, "withdrawn")
        assert collector.post(b"[" + body(digest) + b"," + body(digest) + b"]")[0] == 410
        assert collector.request("GET", path)[:2] == (200, notice)
        ((_, why),) = device.deliver().refused
        assert why == "withdrawn: the survey's publisher has withdrawn it"
        assert device.withdraw(collector.request("GET", path)[1]).survey == digest
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:  # for good
        assert collector.post(body(digest))[0] == 410


def test_a_notice_that_is_not_the_publisher_s_ends_nothing(collector):
    made, other = publication(), publication(version=2)
    digest = collector.publish(made)
    bad = {
        "UntrustedKey": made.survey.withdraw([SigningKey.generate()]),
        "another_survey": other.survey.withdraw([KEY]),
        "MalformedDocument": b"{}",
    }
    for code, notice in bad.items():
        status, said = post(collector, digest, notice)
        assert (status, said["error"]) == (400, code)
    assert post(collector, digest, made.envelope)[0] == 400  # a survey's own signature never withdraws it
    assert post(collector, "0" * 64, bad["another_survey"])[0] == 404
    assert collector.post(body(digest))[0] == 201


def test_every_process_on_the_database_learns_of_it(where, monkeypatch):
    monkeypatch.setattr(housekeeping, "LOOK_SECONDS", 0.05)
    with RunningCollector(where) as first, RunningCollector(where) as second:
        made = publication()
        digest = first.publish(made)
        assert second.post(body(digest))[0] == 201
        assert post(first, digest, made.survey.withdraw([KEY]))[0] == 201
        until(lambda: second.post(body(digest))[0] == 410)


def test_surveys_are_closed_by_themselves_when_their_time_is_over(where, monkeypatch):
    store = open_store(where, keep_rows=True)
    past = datetime.now(UTC) - timedelta(days=40)
    over = expired(name="over", opens=None, expires=past)
    catalogue = Catalogue(store.shelf)
    digest = catalogue.publish(over.envelope, [KEY.public.raw.hex()])[0].published.digest
    stands = catalogue.publish(publication().envelope, [KEY.public.raw.hex()])[0].published.digest
    assert close_due(store, catalogue, timedelta(days=41)) == []
    settings = CollectorSettings(retention_days=30)
    housekeeping.tidy(store, catalogue, settings)
    housekeeping.tidy(store, catalogue, settings)
    assert {one.digest: one.closed for one in store.shelf.surveys()} == {digest: True, stands: False}
    store.disconnect()


def test_lines_on_standard_input_obey_withdrawals_that_come_meanwhile(tmp_path, monkeypatch):
    """A collector on the same database is told between two groups of lines."""
    monkeypatch.setattr("server_agg.collect.keeping.LINES_PER_COMMIT", 2)
    where, made = tmp_path / "a.sqlite3", publication()
    store, other = open_store(where), open_store(where)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])

    class Lines(io.BytesIO):
        read = 0

        def readline(self, size=-1):
            self.read += 1
            if self.read == 3:
                told = Catalogue(other.shelf)
                assert told.withdraw(told.find(made.digest), made.survey.withdraw([KEY]))
            return super().readline(size)

    sent = b"\n".join(body(made.digest) for _ in range(6))
    assert store.ingest(Lines(sent)) == {"new": 2 + 2, "withdrawn": 2}
    assert store.ingest(io.BytesIO(sent)) == {"withdrawn": 6}
    assert store.tallies().n == 4
    for one in (store, other):
        one.disconnect()


@pytest.mark.parametrize(("grace", "taken", "closes"), [("P1D", "0 new, 0 known, 3 refused", 0), ("P7D", "3 new", 2)])
def test_commands_take_and_close_by_the_grace_of_the_settings(tmp_path, monkeypatch, capsys, grace, taken, closes):
    ended = (datetime.now(UTC) - timedelta(days=3)).replace(microsecond=0)
    where, made = str(tmp_path / "a.sqlite3"), expired(minimum=2, expires=ended)
    store = open_store(where)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    store.disconnect()
    monkeypatch.setenv("RRCOLLECT_GRACE", grace)
    lines = io.BytesIO(b"\n".join(body(made.digest) for _ in range(3)))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines))
    main(["store", "ingest", "--store", where])
    assert capsys.readouterr().out.startswith(taken)
    assert main(["store", "close", made.digest, "--store", where]) == closes
    assert main(["store", "close", made.digest, "--store", where, "--grace", "2"]) == 0
