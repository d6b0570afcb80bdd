"""The collector as issuer: tokens for an invite once, reports with tokens once, and nothing left when it is over."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rrcollect import (
    HttpTransport,
    Report,
    Survey,
    TokenSecret,
)
from rrcollect.errors import TokensRefused
from server_agg import open_store
from server_agg.errors import Refusal
from tests.inside.collect import Catalogue, Issuing, count_issued
from tests.inside.publish import new_invite, proof_known_as, tokens, voprf
from tests.support.collector_running import BEARER
from tests.support.devices import KEY
from tests.support.issued import JSON, SECRET, Running, made_survey


@pytest.fixture
def running(collector):
    return Running(collector)


def test_from_an_invite_to_a_release(running, tmp_path):
    collector, sent = running.collector, 0
    for number, invite in enumerate(running.invites[:3]):
        path = tmp_path / f"{number}.sqlite3"
        one = running.client(path)
        accepted = one.accept(running.publication.envelope)
        one.fetch_tokens(accepted, invite)
        one.answer(accepted, "q1", number % 2 == 0)
        one.answer(accepted, "q2", True, round=1)
        one.answer(accepted, "q3", True)
        for hours in (50, 100, 150):
            sent += running.client(path, hours).deliver(HttpTransport()).delivered
    assert sent == 9
    assert collector.results()["surveys"][0]["answers"] >= 6  # panels may be in three rounds
    status, released = collector.json("POST", f"/surveys/{running.digest}/release", b"{}", {**BEARER, **JSON})
    assert (status, released["added"] >= 4) == (201, True)  # of q1 and q2 a whole crowd each


def test_a_second_device_and_a_restored_backup_get_nothing(running, tmp_path):
    one, two = running.client(tmp_path / "1"), running.client(tmp_path / "2")
    one.fetch_tokens(one.accept(running.publication.envelope), running.invites[0])
    with pytest.raises(TokensRefused, match="already_issued"):
        two.fetch_tokens(two.accept(running.publication.envelope), running.invites[0])
    with pytest.raises(TokensRefused, match="unknown_invite"):
        two.fetch_tokens(two.accept(running.publication.envelope), new_invite())


def test_the_same_request_gets_the_same_elements_with_fresh_proofs(running):
    request, places = running.request(running.invites[0])
    (status, first), (_, second) = running.ask(request), running.ask(request)
    assert status == 200
    elements = [[one[:64] for one in reply["evaluated"]] for reply in (first, second)]
    assert elements[0] == elements[1]
    assert first != second
    assert len(tokens.outputs_of(running.survey.issuer, request, places, json.dumps(first).encode().replace(b" ", b"")))
    other, _ = running.request(running.invites[0])
    mixed = request._replace(elements=(*request.elements[:-1], other.elements[-1]))
    assert [running.ask(each)[0] for each in (other, mixed)] == [409, 409]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"elements": ()}, 400),
        ({"survey": "0" * 64}, 404),
        ({"invite": "0" * 32}, 403),
        ({"elements": (bytes(32),) * 4}, 400),
        ({"elements": (b"\xff" * 32,) * 4}, 400),
    ],
)
def test_bad_requests_are_refused_and_burn_nothing(running, change, status):
    request, _ = running.request(running.invites[0])
    assert running.ask(request._replace(**change))[0] == status
    assert running.ask(request)[0] == 200


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b'{"elements":[],"invite":1,"survey":2}', b"[" * 999])
def test_hostile_bodies_are_malformed(running, body):
    assert running.collector.json("POST", "/tokens", body, JSON)[0] == 400


def test_a_request_that_is_too_long_is_not_read(running):
    assert running.collector.json("POST", "/tokens", b"[" * 100_000, JSON)[0] == 413


def test_an_invite_is_asked_for_a_few_times(running):
    request, _ = running.request(running.invites[0])
    said = [running.ask(request)[0] for _ in range(14)]
    assert said == [200] * 12 + [429] * 2


def token_report(running, invite: str, answer: str = "1"):
    """A report with a good token, and what it is made of."""
    request, places = running.request(invite)
    _, said = running.ask(request)
    reply = json.dumps(said, separators=(",", ":")).encode()
    outputs = tokens.outputs_of(running.survey.issuer, request, places, reply)
    question = running.survey.question("q1")
    bare = Report(survey=running.digest, question="q1", design=question.design, answer=answer, id="ab" * 16)
    return bare, places["q1/0"].nonce, outputs["q1/0"]


def test_a_token_counts_once_and_for_its_report_alone(running):
    bare, nonce, output = token_report(running, running.invites[0])
    good, post = tokens.with_token(bare, nonce, output), running.collector.post
    assert post(good.with_answer("0").to_bytes())[1]["error"] == "unknown_ticket"  # moved to another answer
    forged = replace(bare, ticket=nonce.hex() + "0" * 64)
    assert post(forged.to_bytes())[1]["error"] == "unknown_ticket"
    assert post(bare.to_bytes())[1]["error"] == "missing_ticket"
    assert post(replace(bare, ticket="0" * 32).to_bytes())[1]["error"] == "bad_ticket"
    other_round = replace(bare, question="q2", design=running.survey.question("q2").design)
    assert post(tokens.with_token(other_round, nonce, output).to_bytes())[1]["error"] == "unknown_ticket"
    assert post(good.to_bytes()) == (201, {"new": 1, "known": 0})
    assert post(good.to_bytes()) == (200, {"new": 0, "known": 1})
    again = tokens.with_token(replace(bare, id="cd" * 16), nonce, output)
    assert post(again.to_bytes())[1]["error"] == "ticket_reused"
    assert running.collector.kept() == 1


def test_a_list_of_reports_with_tokens(running):
    made = [tokens.with_token(replace(bare, id=f"{n:032x}"), nonce, output) for n, (bare, nonce, output) in
            enumerate(token_report(running, invite) for invite in running.invites[:3])]  # fmt: skip
    body = b"[" + b",".join(one.to_bytes() for one in made) + b"]"
    assert running.collector.post(body)[0] == 201
    assert running.collector.post(body)[1]["known"] == 3


def test_a_panel_s_token_is_good_in_one_round(running):
    request, places = running.request(running.invites[0])
    reply = json.dumps(running.ask(request)[1], separators=(",", ":")).encode()
    output = tokens.outputs_of(running.survey.issuer, request, places, reply)["q3"]
    design = running.survey.question("q3").design
    sent = []
    for number in (0, 1):
        bare = Report(running.digest, "q3", design, "1", f"{number:032x}", round=number)
        sent.append(running.collector.post(tokens.with_token(bare, places["q3"].nonce, output).to_bytes()))
    assert sent[0][0] == 201
    assert sent[1][1]["error"] == "ticket_reused"


def test_a_spent_token_costs_no_multiplication(running, monkeypatch):
    bare, nonce, output = token_report(running, running.invites[0])
    good = tokens.with_token(bare, nonce, output).to_bytes()
    assert running.collector.post(good)[0] == 201
    monkeypatch.setattr(voprf, "_times", lambda *_: 1 / 0)
    monkeypatch.setattr(tokens, "output_of", lambda *_: 1 / 0)
    assert running.collector.post(good)[0] == 200
    running.collector.json("POST", f"/surveys/{running.digest}/release", b"{}", {**BEARER, **JSON})
    assert running.collector.post(good)[0] == 200


def test_without_the_secret_nothing_is_issued_and_reports_wait(collector):
    running = Running(collector, secret=False)
    request, _ = running.request(running.invites[0])
    assert running.ask(request)[0] == 503
    bare = Report(running.digest, "q1", running.survey.question("q1").design, "1", "ab" * 16)
    assert collector.post(tokens.with_token(bare, bytes(32), bytes(64)).to_bytes())[0] == 503
    assert running.bring(TokenSecret.new(KEY.public).text())[0] == 400
    assert running.bring("zz")[0] == 400
    assert running.bring(SECRET.text(), {})[0] == 401
    assert running.bring(SECRET.text())[0] == 201
    assert running.ask(request)[0] == 200


def test_a_key_of_another_survey_is_refused(running):
    wire = running.survey.to_wire() | {"version": 2}
    twin = Survey.from_wire(wire).publish([KEY])
    path = f"/surveys?key={KEY.public.raw.hex()}"
    status, said = running.collector.json("POST", path, twin.envelope, {**BEARER, **JSON})
    assert (status, said["error"]) == (400, "known_key")


def test_a_hook_judges_invites_and_the_end_erases_everything(tmp_path):
    store = open_store(tmp_path / "s.sqlite3")
    survey = made_survey("http://127.0.0.1:9", expires=datetime.now(UTC) + timedelta(seconds=3600))
    catalogue = Catalogue(store.shelf)
    catalogue.publish(survey.publish([KEY]).envelope, [KEY.public.raw.hex()])
    store.keep_secret(survey, SECRET)
    issuing = Issuing(store.epochs, catalogue.find, accepts=lambda digest, proof: proof.startswith("a"))
    places = {place: tokens.Blinded.new() for place in survey.issuer.keys}
    request = tokens.request_of(survey.issuer, survey.digest, "a" * 32, places)
    issuing.issue(request.to_bytes())
    with pytest.raises(Refusal, match="no invitation"):
        issuing.issue(request._replace(invite="b" * 32).to_bytes())
    with pytest.raises(Refusal, match="over"):
        replace(issuing, clock=lambda: survey.expires.timestamp() + 1).issue(request.to_bytes())
    assert count_issued(store.database, survey.digest) == 1
    folder = store.epochs.keys.folder
    assert SECRET.text().encode() in b"".join(path.read_bytes() for path in folder.iterdir())
    store.folds.finish(survey.digest)
    assert count_issued(store.database, survey.digest) == 1  # the number stays
    with store.database.reading() as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM issued").fetchone() == (0,)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.seed.hex().encode() not in everything
    kept = proof_known_as("a" * 32)
    assert kept.encode() not in everything
    with pytest.raises(Exception, match="not here"):
        issuing.issue(request.to_bytes())
    store.disconnect()
