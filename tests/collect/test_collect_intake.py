"""The endpoint for reports: what its replies carry, what it counts, and surveys another process published."""

import re

import pytest

from server_agg import open_store
from tests.inside.collect import Catalogue
from tests.inside.publish import ticket
from tests.support.collector_running import BEARER, JSON, RunningCollector, body, publication, report
from tests.support.devices import KEY


def counted(collector) -> dict[str, int]:
    text = collector.request("GET", "/metrics", None, BEARER)[1].decode()
    found = re.findall(r'^rrcollect_report\w+\{\w+="(\w+)"\} (\d+)\.0$', text, re.MULTILINE)
    return {name: int(n) for name, n in found}


def test_one_new_report_is_answered_as_any_other_and_is_not_cached(collector):
    digest = collector.publish(publication())
    sent = body(digest)
    for status, said in ((201, b'{"new":1,"known":0}'), (200, b'{"new":0,"known":1}')):
        got, found, headers = collector.request("POST", "/reports", sent, JSON)
        assert (got, found) == (status, said)
        assert headers["content-type"] == "application/json"
        assert headers["content-length"] == str(len(said))
        assert headers["cache-control"] == "no-store"


def test_every_request_and_every_report_is_counted_once(collector):
    digest = collector.publish(publication())
    made = report(digest)
    collector.post(made.to_bytes())
    collector.post(made.to_bytes())
    collector.post(body(digest, id=made.id, answer="0"))
    collector.post(b"[" + b",".join([body(digest), body(digest), made.to_bytes()]) + b"]")
    collector.post(b"{}")
    assert counted(collector) == {"201": 1, "200": 2, "409": 1, "400": 1, "new": 3, "same": 2, "conflicting_id": 1}


@pytest.mark.parametrize("several", [False, True])
def test_what_the_store_refuses_is_said_in_words(collector, several):
    digest = collector.publish(publication(invite_only=True))
    _, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":2}', {**JSON, **BEARER})
    used, fresh = (ticket(invite, digest, "q1", 0) for invite in made["invites"])
    first = report(digest, ticket=used)
    assert collector.post(first.to_bytes())[0] == 201
    where = "report 1 of the list: " if several else ""
    for status, code, reason, changes in (
        (409, "conflicting_id", "another report has this id", {"id": first.id, "answer": "0"}),
        (403, "unknown_ticket", "no invitation of this survey gives this ticket", {"ticket": "0" * 32}),
        (403, "ticket_reused", "another report has this ticket, question and round", {}),
    ):
        sent = body(digest, **{"ticket": used, **changes})
        if several:
            sent = b"[" + first.to_bytes() + b"," + sent + b"]"
        counts = {"new": 0, "known": int(several), **({"verdicts": ["same", code]} if several else {})}
        assert collector.post(sent) == (status, {"error": code, "reason": where + reason, **counts})
    assert collector.post(body(digest, ticket=fresh))[0] == 201


def test_a_survey_that_another_process_published_a_moment_ago_is_found(tmp_path):
    where = str(tmp_path / "a.sqlite3")
    with RunningCollector(where) as collector:
        store = open_store(where)
        listed, _ = Catalogue(store.shelf).publish(publication().envelope, [KEY.public.raw.hex()])
        store.disconnect()
        assert collector.post(body(listed.published.digest)) == (201, {"new": 1, "known": 0})


def test_a_list_of_the_largest_reports_is_read_and_one_byte_more_is_not(tmp_path):
    from tests.inside.publish import LARGEST_REPORT

    with RunningCollector(str(tmp_path / "a.sqlite3"), list_limit=2) as collector:
        for size, status in ((2 * LARGEST_REPORT, 400), (2 * LARGEST_REPORT + 1, 413)):
            assert collector.post(b" " * size)[0] == status
