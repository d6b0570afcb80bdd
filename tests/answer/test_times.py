"""When a question may be answered, by the device's clock: to the second, before the truth is read."""

from datetime import UTC, datetime, timedelta

import pytest

from rrcollect import Attribute
from rrcollect.errors import Expired, NotOpen, RoundClosed
from tests.inside.publish import RoundTimes
from tests.support.devices import client, envelope, question
from tests.support.republishing import CountingSource

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
START = datetime(2030, 1, 1, tzinfo=UTC)
ROUNDS = [RoundTimes(opens=START + 2 * i * DAY, closes=START + (2 * i + 1) * DAY) for i in range(3)]


def never():
    raise AssertionError("the truth was read")


@pytest.mark.parametrize(
    ("now", "error"),
    [(START - SECOND, NotOpen), (START, None), (START + 9 * DAY - SECOND, None), (START + 9 * DAY, Expired)],
)
def test_a_survey_is_answered_from_its_opening_to_its_expiry(tmp_path, now, error):
    source = CountingSource()
    device = client(tmp_path, clock=lambda: now, source=source)
    signed = envelope(opens=START, expires=START + 9 * DAY)
    accepted = client(tmp_path, clock=lambda: START - DAY).accept(signed)  # before it opens that is fine
    if error is None:
        assert device.answer(accepted, "q1", True)
        return
    with pytest.raises(error, match="2030-01-"):
        device.answer(accepted, "q1", never)
    assert source.times == 0


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(("after", "open_"), [(-SECOND, False), (0 * DAY, True), (DAY - SECOND, True), (DAY, False)])
def test_a_round_is_answered_from_its_opening_to_its_close(tmp_path, number, after, open_):
    now = START + 2 * number * DAY + after
    device = client(tmp_path, attributes=[Attribute("doped", rounds=3)], clock=lambda: now)
    accepted = device.accept(envelope(question(rounds=3), rounds=ROUNDS, expires=START + 9 * DAY))
    for asked in range(3):
        if asked == number and open_:
            assert device.answer(accepted, "q1", True, round=asked).round == number
        else:
            with pytest.raises(RoundClosed, match=f"round {asked} is open from 2030-01-"):
                device.answer(accepted, "q1", never, round=asked)
    assert len(device.budget().draws) == int(open_)


def test_without_times_a_round_is_open_as_long_as_the_survey(tmp_path):
    device = client(tmp_path, attributes=[Attribute("doped", rounds=3)], clock=lambda: START)
    accepted = device.accept(envelope(question(rounds=3)))
    assert [device.answer(accepted, "q1", True, round=number).round for number in range(3)] == [0, 1, 2]
