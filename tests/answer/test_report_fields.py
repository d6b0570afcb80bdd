"""The report that an answer makes: every field is what was asked and declared."""

import pytest

from rrcollect import Attribute, Report
from rrcollect.errors import ParameterError
from tests.support.devices import THREE_QUARTERS, client, envelope, question


def test_a_report_carries_what_was_asked_and_declared(tmp_path):
    device = client(tmp_path, attributes=[Attribute("doped", rounds=3)])
    accepted = device.accept(envelope(question(rounds=3), segments={"sport": ["run", "ski"]}, invite_only=True))
    found = []
    for number in (0, 2):
        made = device.answer(accepted, "q1", True, round=number, segments={"sport": "ski"}, invite="one-of-mine")
        assert (made.survey, made.question, made.design) == (accepted.digest, "q1", THREE_QUARTERS)
        assert (made.round, made.segments, made.ticket) == (number, {"sport": "ski"}, "one-of-mine")
        assert made.answer in ("0", "1")
        found.append(made)
    assert found[0].id != found[1].id
    assert [Report.from_bytes(row.body) for row in device.budget().reports] in (found, found[::-1])


def test_what_was_declared_first_is_not_changed_later(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(segments={"sport": ["run", "ski"]}, invite_only=True))
    first = device.answer(accepted, "q1", True, segments={"sport": "ski"}, invite="first")
    assert device.answer(accepted, "q1", True, invite="first") == first
    for changes in (
        {"segments": {"sport": "run"}, "invite": "first"},
        {"segments": {"sport": "ski"}, "invite": "other"},
    ):
        with pytest.raises(ParameterError, match="declared at the first answer"):
            device.answer(accepted, "q1", True, **changes)
