"""The report that an answer makes: every field is what was asked and declared."""

from rrcollect import Attribute, Report
from tests.inside.publish import new_invite, ticket
from tests.support.devices import THREE_QUARTERS, client, envelope, question

INVITE = new_invite()


def test_a_report_carries_what_was_asked_and_declared(tmp_path):
    device = client(tmp_path, attributes=[Attribute("doped", rounds=3)])
    accepted = device.accept(envelope(question(rounds=3), segments={"sport": ["run", "ski"]}, invite_only=True))
    found = []
    for number in (0, 2):
        made = device.answer(accepted, "q1", True, round=number, segments={"sport": "ski"}, invite=INVITE)
        assert (made.survey, made.question, made.design) == (accepted.digest, "q1", THREE_QUARTERS)
        assert (made.round, made.segments, made.ticket) == (
            number,
            {"sport": "ski"},
            ticket(INVITE, accepted.digest, "q1", number),
        )
        assert made.answer in ("0", "1")
        found.append(made)
    assert found[0].id != found[1].id
    assert [Report.from_bytes(row.body) for row in device.budget().reports] in (found, found[::-1])
