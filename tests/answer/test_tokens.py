"""A device with an issuer: tokens fetched once, spent once, and forgotten."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from rrcollect import (
    Attribute,
    Client,
    ParameterError,
    Policy,
    Question,
    SigningKey,
    SimulatedCollector,
    Survey,
    TokenSecret,
    TrustedPublisher,
    optimal_design,
)
from rrcollect.errors import IssuerFailed, MalformedDocument, NoTokens, TokensRefused, TransportFailed
from tests.inside.publish import new_invite, tokens, voprf

KEY = SigningKey.generate()
SECRET = TokenSecret.new(KEY.public)
ADDRESS = "https://collect.example.org/tokens"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
WINDOW = 3600


def question(number: int, **more) -> Question:
    return Question(
        id=f"q{number}", attribute=f"a{number}", text=f"Ever {number}?", design=optimal_design("ln 2"), **more
    )


def survey(*questions: Question, version: int = 1, **more) -> Survey:
    asked = questions or (question(1), question(2, rounds=2), question(3, rounds=3, panel=True))
    plain = Survey(
        name="s",
        version=version,
        title="S",
        publisher="P",
        collector="https://collect.example.org/reports",
        expires="2027-01-01T00:00:00Z",
        invite_only=True,
        questions=list(asked),
        **more,
    )
    return plain.with_issuer(SECRET, ADDRESS, window=WINDOW)


SURVEY = survey()


class Clock:
    """A clock that goes on when somebody sleeps."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def client(tmp_path, name: str = "ledger", now: datetime = NOW) -> Client:
    policy = Policy([TrustedPublisher("P", [KEY.public])], lifetime_epsilon=20, attribute_epsilon=10)
    clock = Clock(now)
    return Client(
        tmp_path / f"{name}.sqlite3",
        attributes=["a1", Attribute("a2", rounds=2), "a3"],
        policy=policy,
        clock=clock,
        sleep=clock.sleep,
        spread=0,
    )


def accepted(one: Client, of: Survey = SURVEY):
    return one.accept(of.publish([KEY]).envelope)


def collector(failures=(), of: Survey = SURVEY) -> SimulatedCollector:
    return SimulatedCollector([of], failures, secrets={of.digest: SECRET})


def later(tmp_path, hours: float, name: str = "ledger") -> Client:
    return client(tmp_path, name, NOW + timedelta(hours=hours))


def test_places_are_what_is_answered_once():
    assert list(SURVEY.issuer.keys) == ["q1/0", "q2/0", "q2/1", "q3"]
    assert list(survey(question(1), question(3, rounds=2, panel=True), ask="one").issuer.keys) == ["*"]


def test_tokens_are_fetched_answers_sent_and_all_that_joins_is_erased(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    with pytest.raises(NoTokens, match="fetch_tokens"):
        one.answer(taken, "q1", truth=lambda: 1 / 0)  # refused before the truth is read
    invite = new_invite()
    one.fetch_tokens(taken, invite, there)
    made = [one.answer(taken, "q1", True), one.answer(taken, "q2", False), one.answer(taken, "q2", True, round=1)]
    assert [len(report.ticket) for report in made] == [128] * 3
    assert len({report.ticket[:64] for report in made}) == 3
    assert one.answer(taken, "q1", truth=lambda: 1 / 0) == made[0]
    path = tmp_path / "ledger.sqlite3"
    secret = secrets_in(path)
    assert len(secret) == 4
    assert all(blind is None for _, blind, _ in secret)
    assert client(tmp_path).deliver(there, within=2 * WINDOW).delivered == 3
    assert {r.id for r in there.reports.values()} == {r.id for r in made}
    files = b"".join(file.read_bytes() for file in tmp_path.glob("ledger*"))
    for report in made:
        nonce = report.ticket[:64]
        for trace in (report.id, nonce, report.ticket[64:]):
            assert trace.encode() not in files
        assert bytes.fromhex(nonce) not in files
    (left,) = [(nonce, output) for nonce, _, output in secrets_in(path) if nonce is not None]  # of the panel
    assert left[0] in files
    assert left[1] in files
    again = later(tmp_path, 40)
    assert again.answer(accepted(again), "q1", truth=lambda: 1 / 0).answer == made[0].answer
    assert not list(again.open_questions(accepted(again))) or again.open_questions(accepted(again))[0].id == "q3"


def secrets_in(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT nonce, blind, output FROM tokens ORDER BY place").fetchall()


@pytest.mark.parametrize("failure", ["before", "after"])
def test_an_interrupted_device_asks_again_with_the_same_elements(tmp_path, failure):
    one, there, invite = client(tmp_path), collector([failure]), new_invite()
    taken = accepted(one)
    with pytest.raises(IssuerFailed):
        one.fetch_tokens(taken, invite, there)
    with pytest.raises(NoTokens):
        one.answer(taken, "q1", True)
    one = client(tmp_path)
    one.fetch_tokens(taken, invite, there)
    one.fetch_tokens(taken, invite, there)  # nothing is asked any more
    assert one.answer(taken, "q1", True).ticket


def test_a_second_device_gets_no_second_token(tmp_path):
    there, invite = collector(), new_invite()
    one, two = client(tmp_path), client(tmp_path, "second")
    one.fetch_tokens(accepted(one), invite, there)
    with pytest.raises(TokensRefused, match="already_issued"):
        two.fetch_tokens(accepted(two), invite, there)
    two.fetch_tokens(accepted(two), new_invite(), there)


class Marking(SimulatedCollector):
    """An issuer with another key for this person, in one place only."""

    def ask(self, issuer, body, longest):
        request = tokens.TokenRequest.from_bytes(body, 200)
        other = TokenSecret.new(KEY.public)
        made = []
        for place, element in zip(sorted(SURVEY.issuer.keys), request.elements, strict=True):
            secret = other if place == "q3" else SECRET
            made.append(b"".join(voprf.evaluated(secret.pair(SURVEY.issuer.salt, place), element)).hex())
        return b'{"evaluated":["' + '","'.join(made).encode() + b'"]}'


def test_one_bad_proof_discards_the_reply(tmp_path):
    one = client(tmp_path)
    taken = accepted(one)
    with pytest.raises(IssuerFailed, match="another key than the signed one for 'q3'"):
        one.fetch_tokens(taken, new_invite(), Marking([SURVEY], secrets={SURVEY.digest: SECRET}))
    with pytest.raises(NoTokens):
        one.answer(taken, "q1", True)


class Saying(SimulatedCollector):
    def __init__(self, reply: bytes) -> None:
        super().__init__([])
        self.reply = reply

    def ask(self, issuer, body, longest):
        return self.reply


@pytest.mark.parametrize(
    "reply",
    [b"", b"{}", b"[]", b'{"evaluated":[]}', b'{"evaluated":["00","00","00","00"]}', b'{"evaluated":[1,2,3,4]}',
     b'{"evaluated":null}', b"\xff" * 40, b'{"evaluated":["' + b'","'.join([b"0" * 192] * 4) + b'"]}',
     b'{"evaluated":["' + b"0" * 100_000 + b'"]}'],
)  # fmt: skip
def test_a_hostile_reply_is_an_error_of_the_issuer(tmp_path, reply):
    one = client(tmp_path)
    with pytest.raises(IssuerFailed):
        one.fetch_tokens(accepted(one), new_invite(), Saying(reply))


def test_requests_of_all_devices_have_one_length(tmp_path):
    sizes = set()

    class Measuring(SimulatedCollector):
        def ask(self, issuer, body, longest):
            reply = super().ask(issuer, body, longest)
            assert len(reply) <= longest
            sizes.add((len(body), len(reply)))
            return reply

    for number in range(4):
        one = client(tmp_path, str(number))
        one.fetch_tokens(accepted(one), new_invite(), Measuring([SURVEY], secrets={SURVEY.digest: SECRET}))
    assert len(sizes) == 1


def test_a_token_cannot_be_moved_to_another_answer(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    one.fetch_tokens(taken, new_invite(), there)
    report, keys = one.answer(taken, "q1", True), there.keys[SURVEY.digest]
    assert keys.spoken(report)
    other = "0" if report.answer == "1" else "1"
    changed = [report.with_answer(other), replace(report, id="0" * 32), replace(report, question="q2")]
    changed += [replace(report, ticket=report.ticket[:-1] + ("0" if report.ticket[-1] != "0" else "1"))]
    assert not any(keys.spoken(each) for each in changed)
    with pytest.raises(TransportFailed):
        there.send("https://elsewhere.example.org/reports", report.to_bytes())


def test_a_key_known_from_another_survey_is_refused(tmp_path):
    one = client(tmp_path)
    accepted(one)
    reused = Survey.from_wire({**SURVEY.to_wire(), "version": 2})
    with pytest.raises(MalformedDocument, match="another survey has this key"):
        accepted(one, reused)
    accepted(one, survey(question(1), version=2))  # with keys of its own


def test_an_invite_is_proved_to_the_issuer_alone(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    one.fetch_tokens(taken, new_invite(), there)
    with pytest.raises(ParameterError, match="`fetch_tokens` proves it"):
        one.answer(taken, "q1", True, invite=new_invite())
    plain = Survey.from_wire({**SURVEY.to_wire(), "version": 2, "issuer": None})
    with pytest.raises(ParameterError, match="a survey with an issuer"):
        one.fetch_tokens(accepted(one, plain), new_invite(), there)


def test_reports_leave_in_the_next_window_uniformly(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    one.fetch_tokens(taken, new_invite(), there)
    one.answer(taken, "q1", True)
    (waiting,) = one._ledger.outbox()
    start = (int(NOW.timestamp()) // WINDOW + 1) * WINDOW
    assert all(start + n * WINDOW <= time <= start + (n + 1) * WINDOW for n, time in enumerate(waiting.times))
    assert one.deliver(there).delivered == 0


def test_of_overdue_reports_one_leaves_at_once(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    one.fetch_tokens(taken, new_invite(), there)
    for asked, number in (("q1", 0), ("q2", 0), ("q2", 1)):
        one.answer(taken, asked, True, round=number)
    assert [later(tmp_path, hours).deliver(there).delivered for hours in (100, 200, 300, 400)] == [1, 1, 1, 0]


def test_what_was_not_sent_is_erased_when_the_survey_is_over(tmp_path):
    one, there = client(tmp_path), collector()
    taken = accepted(one)
    one.fetch_tokens(taken, new_invite(), there)
    report = one.answer(taken, "q1", True)
    found = later(tmp_path, 24 * 120).deliver(there)
    assert (found.delivered, found.waiting) == (0, 0)
    files = b"".join(file.read_bytes() for file in tmp_path.glob("ledger*"))
    assert all(cell is None for row in secrets_in(tmp_path / "ledger.sqlite3") for cell in row)
    assert report.id.encode() not in files
    assert bytes.fromhex(report.ticket[:64]) not in files


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"invite_only": False}, "by invitation"),
        ({"collector": "carried"}, "by invitation"),
        ({"keys": {"q1/0": "00" * 32}}, "the identity"),
        ({"keys": {}}, "issuer.keys"),
        ({"salt": "ab"}, "issuer.salt"),
        ({"window": 60}, "issuer.window"),
        ({"address": "carried"}, "address of its own"),
        ({"address": "http://example.org/tokens"}, "must look like"),
    ],
)
def test_bad_issuers_are_refused(change, fault):
    wire = SURVEY.to_wire()
    wire["issuer"] |= {name: value for name, value in change.items() if name in wire["issuer"]}
    wire |= {name: value for name, value in change.items() if name in wire}
    with pytest.raises(MalformedDocument, match=fault):
        Survey.from_wire(wire)


def test_keys_that_are_equal_missing_or_no_points_are_refused():
    wire = SURVEY.to_wire()
    keys = wire["issuer"]["keys"]
    for changed, fault in (
        ({**keys, "q3": keys["q1/0"]}, "two places have the same key"),
        ({place: key for place, key in keys.items() if place != "q3"}, "a key for each place"),
        ({**keys, "q9": "01" * 32}, "a key for each place"),
    ):
        with pytest.raises(MalformedDocument, match=fault):
            Survey.from_wire({**wire, "issuer": {**wire["issuer"], "keys": changed}})
    no_point = Survey.from_wire({**wire, "issuer": {**wire["issuer"], "keys": {**keys, "q3": "01" + "ff" * 31}}})
    with pytest.raises(MalformedDocument, match="not a point"):
        no_point.check()


def test_a_secret_is_saved_for_its_owner_alone(tmp_path):
    SECRET.save(tmp_path / "secret")
    assert os.stat(tmp_path / "secret").st_mode & 0o777 == 0o600
    assert TokenSecret.of((tmp_path / "secret").read_text()) == SECRET
    with pytest.raises(ParameterError, match="not shown"):
        TokenSecret.new(KEY.public).pairs(SURVEY.issuer)
    assert "…" in repr(SECRET)


def test_planted_a_ledger_that_draws_a_fresh_nonce_gets_nothing_after_a_lost_reply(tmp_path, monkeypatch):
    """Rule 1 of `ledger.tokens` broken: nonce and blind are not kept before the request leaves."""
    one, there, invite = client(tmp_path), collector(["after"]), new_invite()
    taken, real, number = accepted(one), one._ledger.begin_tokens, count()

    def forgetful(digest, issuer, over):
        fresh = {place: tokens.Blinded.new() for place in issuer.keys}
        return fresh if next(number) < 5 else real(digest, issuer, over)

    monkeypatch.setattr(one._ledger, "begin_tokens", forgetful)
    with pytest.raises(IssuerFailed):
        one.fetch_tokens(taken, invite, there)
    with pytest.raises(TokensRefused, match="already_issued"):
        one.fetch_tokens(taken, invite, there)
