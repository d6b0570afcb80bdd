"""A survey ends early by its publisher's signature, in every process; and late by a setting."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from rrcollect import SigningKey, withdraw_survey
from server_agg.collect import housekeeping
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.closing import close_due
from server_agg.collect.settings import Settings
from server_agg.collect.stores import open_store
from tests.support.collector_running import JSON, RunningCollector, body, expired, publication
from tests.support.devices import KEY, client


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
        notice = withdraw_survey(made.survey, [KEY])
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
        "UntrustedKey": withdraw_survey(made.survey, [SigningKey.generate()]),
        "another_survey": withdraw_survey(other.survey, [KEY]),
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
        assert post(first, digest, withdraw_survey(made.survey, [KEY]))[0] == 201
        end = time.monotonic() + 10
        while second.post(body(digest))[0] != 410:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_surveys_are_closed_by_themselves_when_their_time_is_over(where, monkeypatch):
    store = open_store(where, keep_rows=True)
    past = datetime.now(UTC) - timedelta(days=40)
    over = expired(name="over", opens=None, expires=past)
    catalogue = Catalogue(store)
    digest = catalogue.publish(over.envelope, [KEY.public.raw.hex()])[0].published.digest
    stands = catalogue.publish(publication().envelope, [KEY.public.raw.hex()])[0].published.digest
    assert close_due(store, catalogue, timedelta(days=41)) == []
    settings = Settings(retention_days=30)
    housekeeping.tidy(store, catalogue, settings)
    housekeeping.tidy(store, catalogue, settings)
    assert {one.digest: one.closed for one in store.surveys()} == {digest: True, stands: False}
    store.close()
