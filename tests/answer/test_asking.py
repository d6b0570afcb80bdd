"""The question a device asks and the round it answers in: drawn once, uniformly, before any truth is known."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rrcollect import Attribute, EveryAttributeOf, ParameterError, Survey
from rrcollect.answer.asking import uniform
from rrcollect.errors import AlreadyAnswered, NoRandomness, NotDrawn, RoundClosed
from tests.inside.publish import seal
from tests.support.devices import KEY, POLICY, VECTORS, Clock, client, envelope, load, moment, question, survey, unb64

CASES = load(VECTORS / "drawn.json")


class Bytes:
    """A generator that gives these bytes, and counts them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def __call__(self, n: int) -> bytes:
        drawn, self.used = self.data[self.used : self.used + n], self.used + n
        return drawn


def words(*numbers: int) -> Bytes:
    return Bytes(b"".join(number.to_bytes(8, "big") for number in numbers))


def panels(count: int, *numbers: int, rounds: int = 4) -> list[Any]:
    """So many questions about a0, a1, …; those listed have a panel."""
    return [
        question(id=f"q{n}", attribute=f"a{n}", panel=n in numbers, rounds=rounds if n in numbers else 1)
        for n in range(count)
    ]


# ---- the mapping from bytes -----------------------------------------------------------------------------------------


def test_uniform_numbers_are_those_of_the_vectors():
    for case in CASES["uniform"]:
        source = Bytes(bytes.fromhex(case["bytes"]))
        assert (uniform(case["count"], source), source.used) == (case["value"], case["used"]), case


def checked_uniform(draw: Any, most: int, count: int) -> None:
    """Every number has as many words of a small generator as every other, once those that are drawn again are out."""
    found = Counter(draw(word) for word in range(most))
    found.pop(None, None)
    assert len(found) == count
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("count", [2, 3, 5, 7, 11, 52])
def test_every_number_has_as_many_words_as_every_other(count, monkeypatch):
    monkeypatch.setattr("rrcollect.answer.asking.WORD", 256)

    def one(word: int) -> int | None:
        source = words(word)
        try:
            return uniform(count, source)
        except NoRandomness:  # drawn again
            return None

    checked_uniform(one, 256, count)
    with pytest.raises(AssertionError):  # planted bug: a remainder that favours the first
        checked_uniform(lambda word: word % 3, 256, 3)


# ---- what accepting draws -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES["accepting"], ids=lambda case: f"{case['question']}-{case['rounds']}")
def test_accepting_draws_what_the_vectors_say(case, tmp_path):
    made = Survey.from_payload(unb64(case["survey"]))
    source = Bytes(bytes.fromhex(case["bytes"]))
    now = moment(case["now"])
    device = client(tmp_path, attributes=case["attributes"], source=source, clock=lambda: now, policy=trusting(made))
    with device._ledger.file.transaction() as change:
        if case["asked"] is not None:
            change.insert("asked", {"publisher": made.publisher, "name": made.name, "attribute": case["asked"]})
        for attribute, number in case["panels"].items():
            change.insert("panels", {"attribute": attribute, "round": number})
    accepted = device.accept(seal(made.payload(), [KEY]))
    assert device.drawn_question(accepted) == case["question"]
    assert {name: device.panel_round(accepted, name) for name in case["rounds"]} == case["rounds"]
    assert source.used == case["used"]
    device.accept(seal(made.payload(), [KEY]))
    assert source.used == case["used"]  # accepted again: nothing is drawn


def trusting(made: Survey) -> Any:
    from rrcollect import Policy, TrustedPublisher

    return Policy([TrustedPublisher(made.publisher, [KEY.public])])


def test_what_was_drawn_outlives_the_client_and_a_higher_version(tmp_path):
    first = client(tmp_path, attributes=["a0", "a1", "a2"], source=words(2, 1))
    accepted = first.accept(envelope(*panels(3, 2), ask="one"))
    assert (first.drawn_question(accepted), first.panel_round(accepted, "q2")) == ("q2", 1)
    later = client(tmp_path, attributes=["a0", "a1", "a2"], source=Bytes(b""))
    again = later.accept(envelope(*reversed(panels(3, 2, rounds=9)), ask="one", version=2))
    assert (later.drawn_question(again), later.panel_round(again, "q2")) == ("q2", 1)


def test_another_survey_and_an_alias_have_the_same_round(tmp_path):
    first = client(tmp_path, attributes=[EveryAttributeOf("Example Institute")], source=words(3))
    first.accept(envelope(*panels(1, 0)))
    renamed = Attribute("mine", asked_as=("a0",), aliases=("Example Institute/a0",))
    later = client(tmp_path, attributes=[renamed], source=Bytes(b""))
    other = later.accept(envelope(*panels(1, 0, rounds=8), name="another"))
    assert later.panel_round(other, "q0") == 3


def test_a_generator_that_fails_remembers_nothing(tmp_path):
    device = client(tmp_path, attributes=["a0"], source=Bytes(b""))
    with pytest.raises(NoRandomness):
        device.accept(envelope(*panels(1, 0)))
    assert device._ledger.seen() == {}
    assert client(tmp_path, attributes=["a0"]).accept(envelope(*panels(1, 0))).survey.version == 1


# ---- answering ------------------------------------------------------------------------------------------------------


def test_only_the_drawn_question_is_answered(tmp_path):
    device = client(tmp_path, attributes=["a0", "a1", "a2"], source=words(1, 0))
    accepted = device.accept(envelope(*panels(3), ask="one"))
    assert [q.id for q in device.open_questions(accepted)] == ["q1"]
    for other in ("q0", "q2"):
        with pytest.raises(NotDrawn, match="answers question 'q1' of this survey only"):
            device.answer(accepted, other, lambda: 1 / 0)
    assert device.answer(accepted, "q1", True).answer == "1"
    assert device.open_questions(accepted) == []
    assert len(device.budget().draws) == 1


def test_a_panel_is_answered_in_its_round_alone_and_debited_once(tmp_path):
    device = client(tmp_path, attributes=["a0"], source=words(2, 0))
    accepted = device.accept(envelope(*panels(1, 0)))
    for other in (0, 1, 3):
        with pytest.raises(NotDrawn, match="answers question 'q0' in round 2 only"):
            device.answer(accepted, "q0", lambda: 1 / 0, round=other)
    with pytest.raises(ParameterError, match="round"):
        device.answer(accepted, "q0", True, round=4)
    report = device.answer(accepted, "q0", True)
    assert (report.round, report.answer) == (2, "1")
    assert device.answer(accepted, "q0", lambda: 1 / 0, round=2) == report
    assert float(device.budget().spent.epsilon) == pytest.approx(float(question().design.loss.epsilon))
    assert len(device.budget().draws) == 1


def test_a_panel_and_another_question_about_one_attribute_are_one_draw(tmp_path):
    """The app collects it once: whichever is first, the other is refused."""
    for number, first in enumerate(("panel", "plain")):
        folder = tmp_path / first
        folder.mkdir()
        device = client(folder, attributes=["a0"], source=words(2, 0, 0))
        panel = device.accept(envelope(*panels(1, 0)))
        plain = device.accept(envelope(question(id="q0", attribute="a0"), name="plain"))
        order = [panel, plain] if number == 0 else [plain, panel]
        device.answer(order[0], "q0", True)
        with pytest.raises(AlreadyAnswered, match="in 1 of 1 rounds"):
            device.answer(order[1], "q0", lambda: 1 / 0)
        assert len(device.budget().draws) == 1


def test_a_round_that_another_survey_does_not_have_is_not_answered(tmp_path):
    device = client(tmp_path, attributes=["a0"], source=words(3))
    device.accept(envelope(*panels(1, 0)))
    shorter = device.accept(envelope(*panels(1, 0, rounds=2), name="shorter"))
    with pytest.raises(NotDrawn, match="in round 3 only"):
        device.answer(shorter, "q0", lambda: 1 / 0)


def test_a_panel_whose_rounds_have_closed_is_not_drawn(tmp_path):
    from tests.inside.publish import RoundTimes

    times = [RoundTimes(opens=f"2026-0{n}-01T00:00:00Z", closes=f"2026-0{n}-02T00:00:00Z") for n in (1, 2)]
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    device = client(tmp_path, attributes=["a0"], clock=clock, source=Bytes(b""))
    accepted = device.accept(envelope(*panels(1, 0, rounds=2), rounds=times))
    assert device.panel_round(accepted, "q0") is None
    with pytest.raises(RoundClosed, match="every round"):
        device.answer(accepted, "q0", lambda: 1 / 0)


def test_a_round_is_answered_while_it_is_open(tmp_path):
    from tests.inside.publish import RoundTimes

    times = [RoundTimes(opens=f"2026-0{n}-01T00:00:00Z", closes=f"2026-0{n}-02T00:00:00Z") for n in (1, 2)]
    clock = Clock(datetime(2026, 1, 1, 12, tzinfo=UTC))
    device = client(tmp_path, attributes=["a0"], clock=clock, source=words(1, 0))
    accepted = device.accept(envelope(*panels(1, 0, rounds=2), rounds=times))
    with pytest.raises(RoundClosed, match="round 1 is open from"):
        device.answer(accepted, "q0", lambda: 1 / 0)
    clock.now = datetime(2026, 2, 1, 12, tzinfo=UTC)
    assert device.answer(accepted, "q0", True).round == 1
    clock.now = datetime(2026, 2, 3, tzinfo=UTC)
    with pytest.raises(RoundClosed):
        device.answer(accepted, "q0", True)


def test_a_survey_accepted_elsewhere_is_accepted_here_first(tmp_path):
    for changes in ({"ask": "one"}, {}):
        folder = Path(tmp_path, str(len(changes)))
        folder.mkdir()
        (folder / "other").mkdir()
        accepted = client(folder / "other", attributes=["a0", "a1"]).accept(envelope(*panels(2, 0), **changes))
        with pytest.raises(NotDrawn, match="accept the survey by this client first"):
            client(folder, attributes=["a0", "a1"]).answer(accepted, "q0", lambda: 1 / 0)


def test_every_question_and_round_is_drawn_equally_often_over_all_words(tmp_path):
    """Enumerated: of 12 pairs of words below the bounds every pair (question, round) comes up once."""
    found = Counter()
    for number, (first, second) in enumerate(itertools.product(range(3), range(4))):
        folder = tmp_path / str(number)
        folder.mkdir()
        device = client(folder, attributes=["a0", "a1", "a2"], source=words(first, second))
        accepted = device.accept(envelope(*panels(3, 0, 1, 2), ask="one"))
        drawn = device.drawn_question(accepted)
        found[drawn, device.panel_round(accepted, drawn)] += 1
    assert len(found) == 12


def test_a_composed_panel_is_one_round_and_a_survey_that_asks_one_costs_its_dearest():

    whole = survey(*panels(3, 0)).composition.whole
    assert whole == survey(*panels(3)).composition.whole
    one = survey(*panels(3, 0), question(id="q3", attribute="a3", rounds=2), ask="one").composition
    assert one.whole == survey(question(rounds=2)).composition.whole
    assert "A device asks one of these 4 questions" in one.explain()
    assert "q0: ε = 1.099, δ = 0 (one of 4 rounds, drawn by the device)" in one.explain()
    assert survey(*panels(3, 0), ask="one").publish([KEY]).composition.one


def test_the_policy_is_the_devices_own():
    assert POLICY.cost(panels(1, 0)[0]) == question().design.loss
