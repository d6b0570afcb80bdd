"""A repeated report carries few bits: above eight values it is handed out for its own question and for nothing else."""

from __future__ import annotations

import pytest

from rrcollect import Attribute, Choice, SetDesign, SimulatedCollector, optimal_design
from rrcollect.errors import AlreadyAnswered, ParameterError
from tests.support.devices import KEY, client, envelope, question, survey
from tests.support.republishing import CountingSource

MANY = {"kind": Choice([f"Option {place}" for place in range(40)]), "design": optimal_design("ln 3", options=40)}
FEW = {"kind": Choice(list("abcdefgh")), "design": SetDesign(8, 1, "1/2").to_grid()}
NINE = {"kind": Choice(list("abcdefghi")), "design": SetDesign(9, 1, "1/2").to_grid()}
OTHERS = {
    "another survey": lambda kind: envelope(question(**kind), name="other"),
    "a new version": lambda kind: envelope(question(**kind), version=2),
    "another collector": lambda kind: envelope(question(**kind), version=2, collector="https://b.example/reports"),
    "another question": lambda kind: envelope(question(id="q1", **kind), question(id="q2", attribute="b"), version=2),
    "another name": lambda kind: envelope(question(attribute="enhanced", **kind), name="other"),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", [MANY, NINE], ids=["many", "nine"])
def test_a_mark_is_not_repeated_for_anything_else(tmp_path, kind, other):
    source = CountingSource()
    device = client(tmp_path, attributes=[Attribute("doped", asked_as=("doped", "enhanced")), "b"], source=source)
    first = device.accept(envelope(question(**kind)))
    report = device.answer(first, "q1", 3)
    drawn, second = source.times, device.accept(OTHERS[other](kind))
    with pytest.raises(AlreadyAnswered, match="would mark this person"):
        device.answer(second, "q1", lambda: 1 / 0)
    assert [sent.id for sent in device.budget().reports] == [report.id]  # nothing of it waits
    assert source.times == drawn
    assert device.answer(first, "q1", lambda: 1 / 0).to_bytes() == report.to_bytes()
    if len(second.survey.questions) > 1:
        device.answer(second, "q2", True)  # the other questions go on


@pytest.mark.parametrize("other", OTHERS)
def test_few_values_are_repeated(tmp_path, other):
    device = client(tmp_path, attributes=[Attribute("doped", asked_as=("doped", "enhanced")), "b"])
    report = device.answer(device.accept(envelope(question(**FEW))), "q1", 3)
    assert device.answer(device.accept(OTHERS[other](FEW)), "q1", lambda: 1 / 0).answer == report.answer


def test_two_collectors_join_nobody(tmp_path):
    """Twenty people, asked by two collectors with segments of their own: no set is at both."""
    at_a, at_b = set(), set()
    for person in range(20):
        folder = tmp_path / str(person)
        folder.mkdir()
        device = client(folder)
        at_a.add(device.answer(device.accept(envelope(question(**MANY))), "q1", person).answer)
        with pytest.raises(AlreadyAnswered):
            at_b.add(device.answer(device.accept(envelope(question(**MANY), name="b")), "q1", person).answer)
    assert len(at_a) == 20
    assert not at_a & at_b


def test_another_round_is_a_fresh_draw(tmp_path):
    device = client(tmp_path, attributes=[Attribute("doped", rounds=2)])
    accepted = device.accept(envelope(question(rounds=2, **MANY)))
    first, second = (device.answer(accepted, "q1", 3, round=number) for number in (0, 1))
    assert first.answer != second.answer
    assert len(device.budget().draws) == 2


@pytest.mark.parametrize(("questions", "repeated"), [(4, True), (5, False)])
def test_the_question_that_was_drawn_counts_too(tmp_path, questions, repeated):
    asked = [question(id=f"q{n}", attribute=f"a{n}") for n in range(questions)]
    device = client(tmp_path, attributes=[f"a{n}" for n in range(questions)])
    first, second = (device.accept(envelope(*asked, ask="one", version=version)) for version in (1, 2))
    drawn = device.drawn_question(first)
    device.answer(first, drawn, True)
    if repeated:
        device.answer(second, drawn, lambda: 1 / 0)
    else:
        with pytest.raises(AlreadyAnswered, match="report of 4 bits"):
            device.answer(second, drawn, lambda: 1 / 0)


@pytest.mark.parametrize(("rounds", "repeated"), [(4, True), (5, False)])
def test_the_round_of_a_panel_counts_too(tmp_path, rounds, repeated):
    device = client(tmp_path)
    asked = question(rounds=rounds, panel=True)
    first, second = (device.accept(envelope(asked, version=version)) for version in (1, 2))
    device.answer(first, "q1", True)
    if repeated:
        device.answer(second, "q1", lambda: 1 / 0)
    else:
        with pytest.raises(AlreadyAnswered):
            device.answer(second, "q1", lambda: 1 / 0)


@pytest.mark.parametrize("kind", [MANY, FEW], ids=["many", "few"])
def test_it_is_readdressed_only_while_no_attempt_was_made(tmp_path, kind):
    device = client(tmp_path)
    accepted = device.accept(envelope(question(**kind), segments={"sport": ["run", "ski"]}))
    first = device.answer(accepted, "q1", 3, segments={"sport": "run"})
    second = device.answer(accepted, "q1", 3, segments={"sport": "ski"})
    assert (second.answer, second.id != first.id) == (first.answer, True)
    device._ledger.attempt(second.id)
    device._ledger.mark(second.id, "refused", "wrong_ticket")
    if kind is FEW:
        assert device.answer(accepted, "q1", 3, segments={"sport": "run"}).id != second.id
    else:
        with pytest.raises(ParameterError, match="that report was sent"):
            device.answer(accepted, "q1", 3, segments={"sport": "run"})
    device.deliver(SimulatedCollector([accepted.survey]))


def test_people_are_told_the_bits(tmp_path):
    yes_no, sets = question(), question(id="q2", attribute="b", **MANY)
    told = client(tmp_path).policy.accept(envelope(yes_no, sets)).explain()
    assert "carries 1 bit." in told
    bits = (MANY["design"].values - 1).bit_length()
    assert f"carries {bits} bits: enough to recognise it" in told
    assert "All answers together" not in told


def test_bits_that_travel_together_are_added_up(tmp_path):
    asked = [question(id=f"q{n}", attribute=f"a{n}") for n in range(30)]
    policy = client(tmp_path).policy
    assert "All answers together carry 30 bits." in policy.accept(envelope(*asked, collector="carried")).explain()
    alone = policy.accept(envelope(*asked, collector="carried", ask="one")).explain()
    assert "All answers together carry 6 bits." in alone  # one of 30 questions, one bit


def test_publishing_a_new_version_warns():
    assert survey(question(**MANY)).publish([KEY]).warnings == ()
    (warning,) = survey(question(**MANY), version=2).publish([KEY]).warnings
    assert "devices that answered an earlier version refuse this one" in warning
    assert "count both together" in warning
    assert survey(question(**FEW), version=2).publish([KEY]).warnings == ()
