"""No request holds the event loop longer than fifty ordinary reports do, however large and hostile its body is.

False alarms: a body fails only if all of five tries take several times their usual 0.3 to 22 ordinary reports.
"""

from __future__ import annotations

import asyncio

import pytest

from rrcollect import SurveyRefused
from server_agg import CollectorSettings, OwnerToken, open_store
from server_agg.errors import Refusal
from tests.benchmarks.event_loop import LARGEST, OPEN_TO_ALL, ORDINARY, REPORTS, WITHDRAWAL, held, measured
from tests.inside.collect import Admission, Catalogue, Collector
from tests.inside.publish import LARGEST_ENVELOPE, canonical, read_canonical
from tests.support.collector_running import publication
from tests.support.devices import KEY


def test_no_body_holds_the_event_loop_longer_than_fifty_ordinary_reports():
    """The least of five measurements: others on the machine can only make one longer."""
    slow = measured()
    for _ in range(4):
        again = measured({name for name, times in slow.items() if times > ORDINARY}) if slow else {}
        slow = {name: times for name, times in slow.items() if times > ORDINARY and again.get(name, times) > ORDINARY}
    assert slow == {}


def test_a_list_that_is_parsed_as_a_whole_is_found(monkeypatch):
    """The planted bug: what the collector did before."""

    def whole(self, body):
        try:
            return [canonical(item) for item in read_canonical(body, LARGEST)]
        except SurveyRefused as error:
            raise Refusal.of("malformed", str(error)) from None

    monkeypatch.setattr(Admission, "_items", whole)
    assert measured({(REPORTS, "one text")})[REPORTS, "one text"] > ORDINARY


def test_a_withdrawal_as_large_as_a_survey_is_found(monkeypatch):
    """The planted bug: what the collector did before."""
    for limit in ("LARGEST_NOTICE", "MOST_BRACKETS"):
        monkeypatch.setattr(f"server_agg.collect.http.surveys.{limit}", LARGEST_ENVELOPE)
    dear = WITHDRAWAL, "pairs of brackets, large"
    assert measured({dear})[dear] > ORDINARY


def test_every_address_that_takes_a_body_asks_for_the_token_or_is_measured(tmp_path):
    """By the routes themselves, so that a new one is noticed."""
    store = open_store(tmp_path / "reports.sqlite3")
    digest = Catalogue(store.shelf).publish(publication().envelope, [KEY.public.raw.hex()])[0].published.digest
    collector = Collector(store, OwnerToken("correct horse battery"), CollectorSettings())
    posts = [REPORTS, *(route.path for route in collector.surveys.routes() if "POST" in route.methods)]
    app, free = collector.app(), []
    for path in posts:
        status, _ = asyncio.run(held(app, path.format(digest=digest), b"{"))
        free += [path] if status != 401 else []
    assert len(posts) > 5
    assert tuple(free) == OPEN_TO_ALL
    collector.writer.close()
    store.disconnect()


@pytest.mark.parametrize("body", [
    b"[]", b"[ ]", b"[1, 2]", b"[1,2", b"[1,2]]", b"[1,]", b"[NaN]", b"[" * 5000,
    b"[" + b"1," * 200 + b"1]", b"[\xff]", b"[{}]x",
])  # fmt: skip
def test_what_is_not_a_list_of_reports_is_malformed(body):
    from datetime import timedelta

    with pytest.raises(Refusal) as caught:
        Admission(lambda _: None, grace=timedelta(0), list_limit=100).admit(body)
    assert caught.value.code == "malformed"
