"""A collector with a survey that it issues tokens for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from rrcollect import (
    Attribute,
    Client,
    Policy,
    Question,
    Survey,
    TokenSecret,
    TrustedPublisher,
    optimal_design,
)
from tests.inside.publish import invite_proof, new_invite, ticket_hashes, tokens
from tests.support.collector_running import BEARER
from tests.support.devices import KEY

SECRET = TokenSecret.new(KEY.public)
JSON = {"content-type": "application/json"}


def made_survey(here: str, *, version: int = 1, **changes) -> Survey:
    asked = [
        Question(id=f"q{n}", attribute=f"a{n}", text=f"Ever {n}?", design=optimal_design("ln 2"), **more)
        for n, more in enumerate(({}, {"rounds": 2}, {"rounds": 3, "panel": True}), 1)
    ]
    plain = Survey(
        **{"name": "s", "title": "S", "publisher": "P", "collector": f"{here}/reports", "minimum": 2}
        | {"expires": "2100-01-01T00:00:00Z", "invite_only": True, "questions": asked, "version": version}
        | changes
    )
    return plain.with_issuer(SECRET, f"{here}/tokens", window=3600)


class Running:
    """A collector with a survey that it issues for."""

    def __init__(self, collector, *, secret: bool = True, **changes) -> None:
        self.collector = collector
        self.survey = made_survey(f"http://127.0.0.1:{collector.port}", **changes)
        self.publication = self.survey.publish([KEY])
        self.digest = collector.publish(self.publication)
        self.invites = [new_invite() for _ in range(8)]
        if secret:
            assert self.bring(SECRET.text())[0] == 201
        hashes = ticket_hashes(self.invites, self.survey)
        assert len(hashes) == 8
        body = json.dumps({"hashes": hashes}).encode()
        assert collector.json("POST", f"/surveys/{self.digest}/invites", body, {**BEARER, **JSON})[0] == 201

    def bring(self, text: str, headers=BEARER):
        body = json.dumps({"secret": text}).encode()
        return self.collector.json("POST", f"/surveys/{self.digest}/secret", body, {**headers, **JSON})

    def client(self, path, hours: float = 0) -> Client:
        now = datetime.now(UTC) + timedelta(hours=hours)
        policy = Policy([TrustedPublisher("P", [KEY.public])], lifetime_epsilon=20, attribute_epsilon=10)
        attributes = ["a1", Attribute("a2", rounds=2), "a3"]
        return Client(path, attributes=attributes, policy=policy, clock=lambda: now, sleep=lambda _: None, spread=0)

    def ask(self, request: tokens.TokenRequest):
        return self.collector.json("POST", "/tokens", request.to_bytes(), JSON)

    def request(self, invite: str) -> tuple[tokens.TokenRequest, dict]:
        places = {place: tokens.Blinded.new() for place in self.survey.issuer.keys}
        return tokens.request_of(self.survey.issuer, self.digest, invite_proof(invite, self.digest), places), places
