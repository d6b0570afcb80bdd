"""Invites and tickets: what is mistyped is found before anything is drawn, and no two reports share a value."""

import itertools
import math
from dataclasses import replace

import pytest

from rrcollect import ParameterError, Report
from rrcollect.errors import MalformedReport
from rrcollect.publish import tickets
from rrcollect.publish.tickets import ALPHABET
from tests.inside.publish import check_invite, known_as, new_invite, ticket, ticket_hashes
from tests.support.devices import VECTORS, load, question, survey

CASES = load(VECTORS / "tickets.json")


@pytest.mark.parametrize("case", CASES["typed"], ids=lambda case: ascii(case["typed"])[:30])
def test_what_was_typed_is_the_invite_or_an_error_that_does_not_show_it(case):
    if case["invite"] is not None:
        assert check_invite(case["typed"]) == case["invite"]
        return
    with pytest.raises(ParameterError, match="mistyped") as caught:
        check_invite(case["typed"])
    assert len(case["typed"]) < 2 or case["typed"] not in str(caught.value)


@pytest.mark.parametrize("case", CASES["tickets"], ids=lambda case: case["ticket"][:8])
def test_the_tickets_of_the_vectors(case):
    assert ticket(case["invite"], case["survey"], case["question"], case["round"]) == case["ticket"]


@pytest.mark.parametrize("nonsense", [None, 7, b"abc", ["abc"]])
def test_an_invite_is_a_text(nonsense):
    with pytest.raises(ParameterError, match="a text"):
        check_invite(nonsense)


def test_every_single_mistake_and_swap_of_an_invite_is_judged_by_its_checksum():
    """Of 806 wrong characters and 25 swaps about 1 in 1,024 fits by chance; beyond 20 of them: 1e-20."""
    invite = new_invite()
    wrong = {invite[:i] + c + invite[i + 1 :] for i in range(28) for c in ALPHABET} - {invite}
    wrong |= {invite[:i] + invite[i + 1] + invite[i] + invite[i + 2 :] for i in range(25)} - {invite}

    def fits(text):
        try:
            return check_invite(text) == text
        except ParameterError:
            return False

    assert sum(map(fits, wrong)) <= 20
    assert fits(invite)


def test_invites_are_120_random_bits():
    """Every place takes all 32 characters: missing one in 1,200 invites has probability 24·32·(31/32)^1200 < 1e-13."""
    drawn = [new_invite() for _ in range(1200)]
    assert 24 * 32 * math.exp(1200 * math.log(31 / 32)) < 1e-13
    for place in range(24):
        assert {invite[place] for invite in drawn} == set(ALPHABET)
    assert all(check_invite(invite) == invite for invite in drawn)


def test_no_two_reports_of_one_invite_share_a_ticket_and_a_ticket_fits_one_place_alone():
    invite = new_invite()
    places = list(itertools.product(("a" * 64, "b" * 64), ("q1", "q2"), (0, 1)))
    made = [ticket(invite, *place) for place in places]
    assert len(set(made)) == len(places)
    known = {known_as(made[0], "q1", 0)}
    assert not known & {known_as(made[0], "q1", 1), known_as(made[0], "q2", 0)}


def test_the_list_of_hashes_is_sorted_and_covers_questions_and_rounds():
    asked = survey(question(rounds=3), question(id="q2", attribute="b"), invite_only=True)
    invites = [new_invite() for _ in range(20)]
    hashes = ticket_hashes(invites, asked)
    assert hashes == sorted(set(hashes))
    assert len(hashes) == 20 * 4
    assert known_as(ticket(invites[7], asked.digest, "q1", 2), "q1", 2) in hashes
    assert known_as(ticket(invites[7], asked.digest, "q2", 0), "q1", 0) not in hashes


def test_a_list_has_an_end(monkeypatch):
    monkeypatch.setattr(tickets, "MOST_TICKETS", 10)
    with pytest.raises(ParameterError, match="at most 10"):
        ticket_hashes([new_invite() for _ in range(11)], survey(invite_only=True))


def test_a_report_with_another_ticket_is_not_a_report():
    report = Report(survey="0" * 64, question="q1", design=question().design, answer="1", id="f" * 32)
    assert replace(report, ticket="0123456789abcdef" * 2).ticket
    for bad in ("", "a" * 31, "a" * 33, "A" * 32, "g" * 32, "a" * 32 + "\n", 7):
        with pytest.raises(MalformedReport, match="ticket"):
            replace(report, ticket=bad)
