"""No request holds the event loop longer than fifty ordinary reports do, however large and hostile its body is.

False alarms: a body fails only if all of five tries take several times their usual 0.3 to 22 ordinary reports.
"""

from __future__ import annotations

import pytest

from rrcollect.errors import SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from server_agg.collect.admission import Admission
from server_agg.collect.errors import Refusal
from tests.benchmarks.event_loop import LARGEST, ORDINARY, measured


def test_no_body_holds_the_event_loop_longer_than_fifty_ordinary_reports():
    """The least of five measurements: others on the machine can only make one longer."""
    slow = measured()
    for _ in range(4):
        again = measured({name for name, times in slow.items() if times > ORDINARY}) if slow else {}
        slow = {name: times for name, times in slow.items() if times > ORDINARY and again.get(name, times) > ORDINARY}
    assert slow == {}


def test_a_list_that_is_parsed_as_a_whole_is_found(monkeypatch):
    """The planted bug: what the collector did before."""

    def whole(self, body, turns):
        try:
            return [canonical(item) for item in read_canonical(body, LARGEST)]
        except SurveyRefused as error:
            raise Refusal.of("malformed", str(error)) from None

    monkeypatch.setattr(Admission, "_items", whole)
    assert measured({"numbers", "one text"})["one text"] > ORDINARY


@pytest.mark.parametrize("body", [
    b"[]", b"[ ]", b"[1, 2]", b"[1,2", b"[1,2]]", b"[1,]", b"[NaN]", b"[" * 5000,
    b"[" + b"1," * 200 + b"1]", b"[\xff]", b"[{}]x",
])  # fmt: skip
def test_what_is_not_a_list_of_reports_is_malformed(body):
    from datetime import timedelta

    with pytest.raises(Refusal) as caught:
        Admission(lambda _: None, grace=timedelta(0), list_limit=100).admit(body)
    assert caught.value.code == "malformed"
