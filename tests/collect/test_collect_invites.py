"""Invites as hashes of tickets, and the origins at which a survey's page is served."""

import json

import pytest

from server_agg.collect.http.surveys import asked_invites
from tests.inside.publish import known_as, new_invite, ticket, ticket_hashes
from tests.support.collector_running import BEARER, JSON, RunningCollector, body, publication
from tests.support.devices import KEY, question, survey


def test_invites_that_the_owner_made_come_as_hashes_of_their_tickets(collector):
    asked = survey(question(rounds=2), invite_only=True)
    digest = collector.publish(asked.publish([KEY]))
    invite = new_invite()
    spent = [ticket(invite, digest, "q1", round) for round in range(2)]
    for bad in ([], "no", ["0" * 63], ["A" * 64], [1], {}):
        sent = json.dumps({"hashes": bad}).encode()
        status, said = collector.json("POST", f"/surveys/{digest}/invites", sent, {**JSON, **BEARER})
        assert (status, said["error"]) == (400, "hashes")
    sent = json.dumps({"hashes": ticket_hashes([invite], asked)}).encode()
    for _ in range(2):  # twice is once
        made = collector.json("POST", f"/surveys/{digest}/invites", sent, {**JSON, **BEARER})
        assert made == (201, {"hashes": 2})
    for round, one in enumerate(spent):
        assert collector.post(body(digest, round=round, ticket=one))[0] == 201


def test_invites_are_bounded_in_tickets_and_only_for_surveys_by_invitation(collector):
    asked = [question(id=f"q{n}", attribute=f"a{n}", rounds=5, text=f"Ever {n}?") for n in range(10)]
    invited = collector.publish(publication(*asked, invite_only=True))
    status, said = collector.json("POST", f"/surveys/{invited}/invites", b'{"count":4001}', {**JSON, **BEARER})
    assert (status, said["error"]) == (400, "count")
    assert "1 to 4000" in said["reason"]
    everybody = collector.publish(publication(name="open"))
    status, said = collector.json("POST", f"/surveys/{everybody}/invites", b'{"count":1}', {**JSON, **BEARER})
    assert (status, said["error"]) == (400, "not_by_invitation")


def test_the_store_gets_the_hashes_of_tickets_sorted():
    """Planted bug: in the order of the invites, which joins the tickets of one."""
    asked = survey(question(rounds=3), question(id="q2", attribute="b"), invite_only=True)
    made, hashes = asked_invites({"count": 50}, asked)
    assert hashes == sorted(hashes)
    places = [("q1", 0), ("q1", 1), ("q1", 2), ("q2", 0)]
    in_turn = [known_as(ticket(invite, asked.digest, *place), *place) for invite in made for place in places]
    assert sorted(in_turn) == hashes
    assert in_turn != hashes


# ---- where a survey's page is served ---------------------------------------------------------------------------------


def page_at(collector, digest, host):
    status, said, headers = collector.request("GET", f"/s/{digest}", headers={"Host": host})
    return status, said.decode(), headers


def test_a_surveys_page_is_served_at_its_origins_and_nowhere_else(collector):
    port = collector.port
    digest = collector.page_of(origins=[collector.url, f"http://localhost:{port}", "https://survey.example.org"])
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
        status, said, headers = page_at(collector, digest, host)
        assert (status, "survey.mjs" in said) == (200, True)
        assert f"connect-src 'self' {collector.url};" in headers["content-security-policy"]
    for host in ("survey.example.org", f"127.0.0.2:{port}", "localhost", "evil.example", "", "a b", '"><script>'):
        status, said, headers = page_at(collector, digest, host)
        assert (status, "script" in said) == (421, False)
        assert f'<a href="{collector.url}/s/{digest}">{collector.url}</a>' in said
        assert "<li>https://survey.example.org</li>" in said  # whether a collector runs there is not known here
        assert headers["content-type"].startswith("text/html")
    forwarded = {"Host": "evil.example", "X-Forwarded-Host": f"127.0.0.1:{port}", "Forwarded": f"host=127.0.0.1:{port}"}
    assert collector.request("GET", f"/s/{digest}", headers=forwarded)[0] == 421


def test_behind_https_the_origin_is_an_https_one(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3"), https=True) as collector:
        digest = collector.page_of(origins=["https://survey.example.org"])
        for host, wanted in (
            ("survey.example.org", 200),
            ("survey.example.org:443", 200),
            ("survey.example.org:80", 421),
        ):
            assert page_at(collector, digest, host)[0] == wanted


@pytest.mark.parametrize("changes", [{"origins": []}, {"collector": "carried"}])
def test_a_survey_without_origins_or_carried_by_a_tool_has_no_page(collector, changes):
    digest = collector.page_of(**changes)
    status, said, _ = page_at(collector, digest, f"127.0.0.1:{collector.port}")
    assert (status, "has no page" in said, "script" in said) == (404, True, False)


def test_publishing_says_where_the_page_is(collector):
    made = publication(origins=["https://a.example.org", "https://b.example.org"])
    path = f"/surveys?key={KEY.public.raw.hex()}"
    _, said = collector.json("POST", path, made.envelope, {**JSON, **BEARER})
    assert said["pages"] == [f"https://{name}.example.org/s/{made.digest}" for name in "ab"]
