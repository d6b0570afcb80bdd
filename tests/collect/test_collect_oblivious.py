"""Oblivious HTTP over real sockets: device, relay, gateway, collector; and what each of them refuses."""

from __future__ import annotations

import base64
import importlib
import json
import os
import sqlite3
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as some

from rrcollect import HttpTransport, OhttpTransport, ParameterError, SurveyRefused
from rrcollect.errors import IssuerFailed, KeyFileError, TransportFailed, WrongAddress
from tests.inside.collect import Gateway, GatewayKeys
from tests.inside.deliver import INNER, bhttp, encapsulation
from tests.inside.publish import Relay
from tests.support.browser import Visit, unfold
from tests.support.collector_running import ROOT, HostedApp, RunningCollector, publication
from tests.support.devices import KEY, PUBLISHER, client, survey
from tests.support.issued import Running

TYPE = {"Content-Type": encapsulation.REQUEST_TYPE}
EARLY = """const system = crypto.getRandomValues.bind(crypto);  // reports leave at the first moment that may be drawn
crypto.getRandomValues = (array) => (array.byteLength === 7 ? array.fill(0) : system(array));"""
START, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)


def make_keys(file, opens=START, closes=END, days=366):
    return GatewayKeys.make(file, opens, closes, days=days)


@pytest.fixture
def keys(tmp_path):
    return make_keys(tmp_path / "gateway.json")


@pytest.fixture
def running(tmp_path, keys):
    where = str(tmp_path / "a.sqlite3")
    with RunningCollector(where, gateway_keys=str(tmp_path / "gateway.json"), body_seconds=2.0) as collector:
        yield collector


@pytest.fixture
def relay(running, monkeypatch):
    """The relay of `deploy`, which somebody else runs; `asked` are the headers and lengths of what it was sent."""
    monkeypatch.setenv("RELAY_GATEWAY", f"{running.url}/gateway")
    module = importlib.reload(importlib.import_module("deploy.relay"))
    asked = []

    async def noted(scope, receive, send):
        if scope["type"] == "http":
            asked.append(dict(scope["headers"]))
        await module.relay(scope, receive, send)

    with HostedApp(noted) as hosted:
        hosted.asked = asked
        yield hosted


def relayed(running, relay, keys, **changes):
    named = {"address": f"{relay.url}/relay", "operator": "Somebody Else", "keys": keys.public()}
    return publication(
        collector=f"{running.url}/reports", relay=Relay(**named), expires="2028-01-01T00:00:00Z", **changes
    )


def test_a_report_goes_from_the_device_by_relay_and_gateway_to_the_collector(running, relay, keys, tmp_path):
    published = relayed(running, relay, keys)
    running.publish(published)
    device = client(tmp_path)
    report = device.answer(device.accept(published.envelope), "q1", truth=True)
    assert device.deliver().delivered == 1
    assert running.kept() == 1
    (headers,) = relay.asked
    assert headers[b"content-length"] == b"%d" % (encapsulation.HEADER + 32 + encapsulation.UNIT + 16)
    again = device.answer(device.accept(published.envelope), "q1", truth=True)
    assert again == report
    assert running.kept() == 1


def test_node_sends_by_relay_and_gateway_too(running, relay, keys):
    published = relayed(running, relay, keys)
    running.publish(published)
    given = {"publisher": {"name": PUBLISHER, "keys": [KEY.public.raw.hex()]}}
    given["envelope"] = base64.b64encode(published.envelope).decode()
    script = ROOT / "tests/collect/js/oblivious.test.mjs"
    done = subprocess.run(["node", "--test", str(script)], env={**os.environ, "RELAYED": json.dumps(given)},
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "ok 5 - by relay and gateway to a collector" in done.stdout
    assert running.kept() == 1
    (headers,) = relay.asked
    assert headers[b"content-length"] == b"%d" % (encapsulation.HEADER + 32 + encapsulation.UNIT + 16)


def test_a_report_that_is_sent_again_is_sealed_afresh_and_counts_once(running, relay, keys, tmp_path):
    published = relayed(running, relay, keys)
    running.publish(published)
    device, transport = client(tmp_path), OhttpTransport()
    body = device.answer(device.accept(published.envelope), "q1", truth=True).to_bytes()
    for _ in range(3):
        transport.send(published.survey.destination, body)
    assert running.kept() == 1


def test_a_survey_that_names_a_relay_is_never_sent_another_way(running, relay, keys, tmp_path):
    published = relayed(running, relay, keys)
    running.publish(published)
    device = client(tmp_path)
    device.answer(device.accept(published.envelope), "q1", truth=True)
    with pytest.raises(WrongAddress, match="through its relay and no other way"):
        device.deliver(HttpTransport())
    relay.__exit__()
    assert (device.deliver().waiting, running.kept()) == (1, 0)  # it waits: nobody tries the collector itself


def test_no_key_for_this_moment_or_a_wrong_one_leaves_the_report_waiting(running, relay, keys, tmp_path):
    old = make_keys(tmp_path / "old.json", START, START + timedelta(days=9))
    named = Relay(address=f"{relay.url}/relay", operator="X", keys=old.public())
    with pytest.raises(TransportFailed, match="no key of its gateway for this moment"):
        OhttpTransport().through(named, f"{running.url}/reports", b"{}")
    strange = make_keys(tmp_path / "strange.json")
    named = Relay(address=f"{relay.url}/relay", operator="X", keys=strange.public())
    with pytest.raises(TransportFailed, match="502"):
        OhttpTransport().through(named, f"{running.url}/reports", b"{}")


def sealed(keys, *, control=None, headers=INNER, content=b"{}", length=encapsulation.UNIT, now=None):
    """An encapsulated request, as a device makes it or otherwise."""
    moment = datetime.now(UTC) if now is None else now
    key = next(key for key in keys.public() if key.opens <= moment < key.closes)
    message = bhttp.Message(control or (b"POST", b"http", b"127.0.0.1", b"/reports"), headers, content)
    return encapsulation.seal_request(key.id, key.raw, message.packed(length))


def bare(running, body, **headers):
    """A POST to the gateway with these headers alone."""
    return running.request("POST", "/gateway", body, {**TYPE, "Accept-Encoding": "", **headers})


def post(running, body, headers=()):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
    connection.putrequest("POST", "/gateway", skip_accept_encoding=True)
    for name, value in {**TYPE, "Content-Length": str(len(body)), **dict(headers)}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    reply = connection.getresponse()
    found = reply.status, reply.read()
    connection.close()
    return found


def test_replies_are_of_one_length_and_say_what_the_collector_says(running, keys):
    request = sealed(keys)
    status, said = post(running, request.data)
    assert (status, len(said)) == (200, 16 + encapsulation.UNIT + 16)
    reply = bhttp.Message.unpacked(encapsulation.open_reply(request, said))
    assert (reply.control, json.loads(reply.content)["error"]) == ((b"400",), "malformed")


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "Cookie", "User-Agent", "Accept-Language", "Origin",
                                  "Authorization", "Via", "CF-Connecting-IP", "X-Anything"])  # fmt: skip
def test_a_header_that_names_a_client_is_refused_by_name(running, keys, name):
    status, said = post(running, sealed(keys).data, [(name, "192.0.2.7")])
    assert (status, json.loads(said)["error"]) == (400, "header")
    assert name.lower() in json.loads(said)["reason"]
    assert "192.0.2.7" not in said.decode()


def test_a_request_is_opened_once_also_after_a_restart(running, keys, tmp_path):
    data = sealed(keys).data
    assert post(running, data)[0] == 200
    assert [post(running, data)[0] for _ in range(2)] == [400, 400]
    with pytest.raises(TransportFailed, match="opened before"):
        GatewayKeys(tmp_path / "gateway.json").opened(data, datetime.now(UTC))


@pytest.mark.parametrize("how", [
    {"control": (b"GET", b"http", b"a", b"/results")}, {"control": (b"POST", b"http", b"a", b"reports")},
    {"control": (b"POST", b"http", b"a", b"/gateway")}, {"control": (b"POST", b"http", b"a", b"/reports?x=1")},
    {"headers": ()}, {"headers": ((b"authorization", b"Bearer a token for the tests"),)},
    {"headers": (*INNER, (b"x-forwarded-for", b"192.0.2.7"))}, {"headers": (*INNER, *INNER)},
    {"length": encapsulation.UNIT + 1}, {"length": 400},
])  # fmt: skip
def test_what_is_not_as_every_device_sends_it_is_not_answered(running, keys, how):
    status, said = post(running, sealed(keys, **how).data)
    assert (status, json.loads(said)["error"]) == (400, "unreadable")


def test_other_bodies_are_refused_before_they_are_opened(running, keys):
    data = sealed(keys).data
    for body in (b"", b"x", data[:-1], data + b"x", bytes(len(data))):
        assert post(running, body)[0] == 400
    assert post(running, b"x" * (encapsulation.UNIT * 20))[0] == 413
    assert post(running, data, [("Content-Type", "application/json")])[0] == 415
    assert running.request("GET", "/gateway")[0] == 405


@settings(max_examples=200)
@given(data=some.binary(max_size=99), place=some.integers(0, encapsulation.UNIT), byte=some.integers(1, 255))
def test_fuzzed_requests_are_refused_and_nothing_else(tmp_path_factory, data, place, byte):
    file = tmp_path_factory.getbasetemp() / "fuzz.json"
    keys = GatewayKeys(file) if file.exists() else make_keys(file)
    good = bytearray(sealed(keys).data)
    good[place] ^= byte
    for body in (bytes(good), data, good[:7] + data):
        try:
            keys.opened(bytes(body), datetime.now(UTC))
        except (TransportFailed, IndexError) as error:
            assert isinstance(error, TransportFailed) or not body  # noqa: PT017
        else:
            raise AssertionError("a changed request was opened")


def test_keys_last_for_their_period_and_are_erased_after_it(tmp_path):
    file = tmp_path / "gateway.json"
    keys = make_keys(file, START, START + timedelta(days=60), days=30)
    first, second = keys.public()
    data = sealed(keys, now=START).data
    with pytest.raises(TransportFailed):
        keys.opened(sealed(keys, now=second.opens).data, START)  # not yet
    assert keys.opened(data, first.closes + timedelta(minutes=9))
    secrets = [one["private"] for one in json.loads(file.read_text())]
    with pytest.raises(TransportFailed):
        keys.opened(sealed(make_keys(tmp_path / "o.json"), now=START).data, first.closes + timedelta(minutes=11))
    assert [key.id for key in keys.public()] == [1]
    for path in tmp_path.glob("gateway.json*"):
        assert secrets[0].encode() not in path.read_bytes()
    assert secrets[1] in file.read_text()
    with sqlite3.connect(f"{file}.seen") as connection:
        assert connection.execute("SELECT count(*) FROM seen").fetchone() == (0,)
    assert GatewayKeys(file).public() == [second]


def test_a_file_of_keys_is_for_its_owner_only(tmp_path):
    file = tmp_path / "gateway.json"
    make_keys(file)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyFileError, match="never overwritten"):
        make_keys(file)
    os.chmod(file, 0o644)
    with pytest.raises(KeyFileError, match="mode 644"):
        GatewayKeys(file)
    for text in ("", "[]]", "[{}]", '[{"public":7,"private":"00"}]'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(KeyFileError):
            GatewayKeys(tmp_path / "bad.json")
    for days in (0, 367):
        with pytest.raises(ParameterError):
            make_keys(tmp_path / "other.json", days=days)


def key_of(number, opens, closes, **changes):
    raw = X25519PrivateKey.generate().public_key().public_bytes_raw()
    return {"id": number, "key": base64.b64encode(raw).decode(), "opens": opens, "closes": closes, **changes}


GOOD = key_of(0, "2020-01-01T00:00:00Z", "2101-01-01T00:00:00Z")


@pytest.mark.parametrize("bad", [
    {"address": "carried"}, {"address": "http://relay.example.org/r"}, {"address": "https://collect.example.org/r"},
    {"operator": ""}, {"keys": []}, {"keys": [GOOD, GOOD]}, {"keys": [{**GOOD, "id": 256}]},
    {"keys": [{**GOOD, "key": base64.b64encode(bytes(32)).decode()}]}, {"keys": [{**GOOD, "key": "AAAA"}]},
    {"keys": [{**GOOD, "closes": "2019-01-01T00:00:00Z"}]}, {"keys": [{**GOOD, "closes": "2099-01-01T00:00:00Z"}]},
    {"keys": [key_of(1, "2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), {**GOOD, "opens": "2031-01-01T00:00:00Z"}]},
])  # fmt: skip
def test_a_relay_that_fits_nothing_is_refused(bad):
    good = {"address": "https://relay.example.net/relay", "operator": "Somebody Else", "keys": [GOOD]}
    assert survey(relay=good).relay.operator == "Somebody Else"
    with pytest.raises(SurveyRefused):
        survey(relay={**good, **bad})
    with pytest.raises(SurveyRefused):
        survey(relay=good, collector="carried")


def test_an_application_of_ones_own_may_stand_behind_a_gateway(keys):
    seen = []

    async def app(scope, receive, send):
        seen.append({name: scope[name] for name in ("method", "path", "client", "headers")})
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": (await receive())["body"]})

    with HostedApp(Gateway(app, keys)) as hosted:
        request = sealed(keys, content=b"tea")
        reply = bhttp.Message.unpacked(encapsulation.open_reply(request, post(hosted, request.data)[1]))
    assert (reply.control, reply.content) == ((b"418",), b"tea")
    headers = [(b"host", b"127.0.0.1"), *INNER, (b"content-length", b"3")]
    assert seen[-1] == {"method": "POST", "path": "/reports", "client": None, "headers": headers}
    assert KEY


def test_a_page_sends_by_the_relay_alone_and_says_who_runs_it(running, relay, keys, browser):
    published = relayed(running, relay, keys, origins=[running.url])
    digest = running.publish(published)
    with Visit(browser) as visit:
        visit.context.add_init_script(EARLY)
        page = visit.page(f"{running.url}/s/{digest}")
        posted: list[tuple[str, str]] = []
        page.on("request", lambda request: posted.append((request.method, request.url)))
        card = page.locator('[data-question="q1"]')
        card.get_by_role("radio", name="Yes").click()
        card.get_by_role("button", name="Send").click()
        card.get_by_text("It was received.").wait_for()
        unfold(page)
        page.get_by_text("The relay is run by:").wait_for()
        page.get_by_text("Somebody Else").wait_for()
    assert {url for method, url in posted if method != "GET"} == {f"{relay.url}/relay"}
    assert running.kept() == 1


def test_tokens_and_answers_go_by_the_relay_and_look_alike(running, relay, keys, tmp_path):
    named = Relay(address=f"{relay.url}/relay", operator="Somebody Else", keys=keys.public())
    issued = Running(running, relay=named, expires="2028-01-01T00:00:00Z")
    one = issued.client(tmp_path / "one.sqlite3")
    accepted = one.accept(issued.publication.envelope)
    with pytest.raises(IssuerFailed, match="through its relay"):
        one.fetch_tokens(accepted, issued.invites[0], HttpTransport())
    one.fetch_tokens(accepted, issued.invites[0])
    one.answer(accepted, "q1", True)
    assert sum(issued.client(tmp_path / "one.sqlite3", hours).deliver().delivered for hours in (50, 100, 150)) == 1
    assert len(relay.asked) >= 2
    assert len({headers[b"content-length"] for headers in relay.asked}) == 1
