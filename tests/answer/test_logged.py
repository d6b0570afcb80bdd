"""A device that demands a log: what it remembers of it, and that two histories are noticed."""

from __future__ import annotations

import threading

import pytest

from rrcollect import Client, ParameterError, Policy, TrustedPublisher
from rrcollect.errors import NotLogged, SplitLog
from tests.inside.publish import envelope as envelopes
from tests.inside.publish import log
from tests.support.devices import KEY, POLICY, PUBLISHER, client, survey
from tests.support.logs import LOG, SEEN_BY, MemoryLog

TRUST = [TrustedPublisher(PUBLISHER, [KEY.public])]
DEMANDS = Policy(TRUST, log=LOG.text)


def published(made: MemoryLog, *, version: int = 1, witnesses: int = 0) -> bytes:
    """The envelope of a survey that was added to the log, with its proof."""
    signed = survey(version=version).publish([KEY])
    made.entries.append(log.survey_entry(KEY.public, "clean-sport", version, signed.digest))
    proof = made.proof(KEY.public, len(made.entries) - 1, made.note(witnesses=witnesses))
    return envelopes.with_proof(signed.envelope, proof)


def nothing(name: str) -> bytes:
    raise AssertionError(f"the log was asked for {name}")


def test_a_survey_in_the_log_is_accepted_and_answered_and_another_is_not(tmp_path):
    made = MemoryLog([b"first"])
    device = client(tmp_path, policy=DEMANDS)
    accepted = device.accept(published(made), log=nothing)
    assert accepted.state == made.state()
    device.answer(accepted, "q1", truth=True)
    with pytest.raises(NotLogged):
        device.accept(survey(version=2).publish([KEY]).envelope, log=nothing)


def test_what_a_policy_without_a_log_accepted_is_not_answered_under_one_with_it(tmp_path):
    accepted = client(tmp_path).accept(published(MemoryLog([b"first"])))
    with pytest.raises(NotLogged, match="names no log"):
        client(tmp_path, policy=DEMANDS).answer(accepted, "q1", truth=True)


def test_a_log_that_has_grown_is_read_and_must_go_on_from_what_was_seen(tmp_path):
    made = MemoryLog([b"%d" % i for i in range(300)])
    device = client(tmp_path, policy=DEMANDS)
    first = published(made)
    device.accept(first)
    made.entries += [b"more"] * 40
    second = published(made, version=2)
    with pytest.raises(NotLogged, match="give accept"):
        device.accept(second)
    device.accept(second, log=made.fetch)
    assert 0 < len(made.asked) <= 4
    device.accept(second, log=nothing)  # as it was: nothing to read
    assert Client(tmp_path / "ledger.sqlite3", attributes=["doped"], policy=DEMANDS).accept(second, log=nothing)


@pytest.mark.parametrize("forget", [0, 1, 299])
def test_a_log_that_shows_another_history_is_refused_and_nothing_is_remembered_of_it(tmp_path, forget):
    made = MemoryLog([b"%d" % i for i in range(300)])
    device = client(tmp_path, policy=DEMANDS)
    first = published(made)
    device.accept(first)
    other = MemoryLog([b"%d" % i for i in range(300)])
    other.entries[forget] = b"never was"
    same = published(other)
    with pytest.raises(SplitLog):
        device.accept(same, log=other.fetch)  # as many entries, another root
    other.entries.append(b"more")
    with pytest.raises(SplitLog):
        device.accept(published(other, version=2), log=other.fetch)
    with pytest.raises(SplitLog):
        device.accept(published(other, version=3), log=lambda name: b"")
    device.accept(first, log=nothing)


def test_an_earlier_state_is_taken_if_the_last_one_goes_on_from_it(tmp_path):
    made = MemoryLog([b"first"])
    one = published(made)
    made.entries += [b"more"] * 9
    two = published(made)
    device = client(tmp_path, policy=DEMANDS)
    device.accept(two)
    device.accept(one, log=made.fetch)
    made.asked.clear()
    device.accept(two, log=nothing)  # the larger state is the one that is remembered
    forged = MemoryLog([b"never was"])
    with pytest.raises(SplitLog):
        device.accept(published(forged), log=made.fetch)


def test_witnesses_are_demanded_by_number(tmp_path):
    keys = [one.text for one in SEEN_BY]
    made = MemoryLog([b"first"])
    shown = published(made, witnesses=2)
    accepted = client(tmp_path, policy=Policy(TRUST, log=LOG.text, witnesses=keys, witnesses_needed=2)).accept(shown)
    assert "The collector has signed that this survey is in its log." in accepted.explain()
    assert "saw the same log as you: 2." in accepted.explain()
    with pytest.raises(NotLogged, match="2 of 3 needed witnesses"):
        client(tmp_path, policy=Policy(TRUST, log=LOG.text, witnesses=keys)).accept(shown)


def test_two_programs_that_accept_at_once_remember_the_later_state(tmp_path):
    made = MemoryLog([b"first"])
    shown = [published(made) for _ in range(4)]
    device = client(tmp_path, policy=DEMANDS)
    trouble = []

    def accept(one):
        try:
            device.accept(one, log=made.fetch)
        except Exception as error:  # told below
            trouble.append(error)

    threads = [threading.Thread(target=accept, args=(one,)) for one in shown]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not trouble
    device.accept(shown[-1], log=nothing)


@pytest.mark.parametrize("given", [
    {"log": 7}, {"log": "x"}, {"log": SEEN_BY[0].text}, {"log": LOG.text, "witnesses": LOG.text},
    {"log": LOG.text, "witnesses": [LOG.text]}, {"log": LOG.text, "witnesses": 7}, {"witnesses": [SEEN_BY[0].text]},
    {"witnesses_needed": 0}, {"log": LOG.text, "witnesses_needed": 1}, {"log": LOG.text, "witnesses_needed": -1},
    {"log": LOG.text, "witnesses": [SEEN_BY[0].text], "witnesses_needed": True},
])  # fmt: skip
def test_what_means_nothing_is_an_error(given):
    with pytest.raises(ParameterError):
        Policy(**given)
    assert POLICY.logged is None
