"""What operators rely on: the log, metrics, readiness, a path in front, mounting, limits in sum, several processes."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import random
import re
import signal
import socket
import threading
import urllib.request
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from server_agg import CollectorSettings, OwnerToken, collect, create_app, open_store
from server_agg.collect import logs
from server_agg.errors import StoreUnavailable
from tests.inside.collect import BodyBudget, body_of
from tests.support.collector_running import (
    BEARER,
    JSON,
    TOKEN,
    HostedApp,
    Process,
    RunningCollector,
    body,
    publication,
    report,
)
from tests.support.devices import KEY
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, until

PEOPLE = {"Accept": "text/html,application/xhtml+xml"}

# ---- the log ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def lines():
    """The log of this process as it would be written."""
    out, handler = io.StringIO(), logging.StreamHandler()
    handler.setStream(out)
    handler.setFormatter(logs.JsonLines())
    logger = logging.getLogger("rrcollect")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(before)


def traffic(collector, digest) -> list[str]:
    """Good and bad requests; what of them must be in no log."""
    made = report(digest, segments={"sport": "ski"})
    for sent in (made.to_bytes(), made.to_bytes(), body(digest, id=made.id, answer="0"), b"{", b"[" * 500,
                 body("0" * 64, id=made.id), body(digest, question="q9", id=made.id)):  # fmt: skip
        collector.post(sent, **{"User-Agent": "agent of one person", "X-Forwarded-For": "203.0.113.7"})
    collector.request("GET", f"/nowhere/{made.id}", None, PEOPLE)
    with socket.create_connection(("127.0.0.1", collector.port)) as link:  # not HTTP
        link.sendall(f"nonsense {made.id}\r\n\r\n".encode())
        link.recv(1000)
    return [made.id, "ski", "203.0.113.7", "127.0.0.1:", "agent of one person", '"answer"', "q9"]


@pytest.mark.process
def test_the_log_of_real_traffic_holds_nothing_of_it(tmp_path):
    with Process(str(tmp_path / "a.sqlite3"), "--log-seconds", "1") as running:
        digest = running.publish(running.publication(segments={"sport": ["run", "ski"]}))
        secret = traffic(running, digest)
        log = ""
        while '"refused"' not in log:  # until it is time
            log += running.process.stderr.readline().decode()
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(PATIENCE)
        log += running.process.stderr.read().decode()
    events = [json.loads(line) for line in log.splitlines()]
    assert [event["event"] for event in events] == ["started", "refused", "stopped"]
    assert events[0]["settings"]["owner_token"] == "set"  # noqa: S105
    assert events[1]["reasons"] == {"malformed": 2}  # the others are fewer than the minimum
    assert TOKEN not in log
    assert not [word for word in secret if word in log]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", event["time"]) for event in events)


def test_a_planted_line_with_a_report_in_it_is_found(tmp_path, lines, monkeypatch):
    monkeypatch.setattr(logs.Watch, "refused", lambda self, reason: logs.said("refused", body=seen[-1]))
    seen = []
    usual = body_of

    async def remembered(*given, **named):
        seen.append((await usual(*given, **named)).decode())
        return seen[-1].encode()

    monkeypatch.setattr("server_agg.collect.http.intake.body_of", remembered)
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        secret = traffic(collector, collector.publish(publication(segments={"sport": ["run", "ski"]})))
    assert [word for word in secret if word in json.dumps(lines())]


def test_the_store_s_state_is_told_once_for_each_change(lines):
    watch = logs.Watch(minimum=2)
    for trouble in (None, StoreUnavailable("x"), StoreUnavailable("y"), None, None, StoreUnavailable("z")):
        watch.store(trouble)
    assert [(line["event"], line.get("error")) for line in lines()] == [
        ("store failed", "StoreUnavailable"), ("store works again", None), ("store failed", "StoreUnavailable"),
    ]  # fmt: skip


def test_refusals_are_counts_and_few_of_them_wait(lines):
    watch = logs.Watch(minimum=3)
    for reason in ("malformed", "malformed", "closed", "malformed"):
        watch.refused(reason)
    watch.tell()
    watch.tell()
    watch.refused("closed")
    watch.refused("closed")
    watch.tell()
    assert [line["reasons"] for line in lines()] == [{"malformed": 3}, {"closed": 3}]


# ---- metrics ---------------------------------------------------------------------------------------------------------


def test_metrics_need_the_token_and_tell_no_time(collector):
    digest = collector.publish(publication())
    collector.post(body(digest))
    collector.post(b"{}")
    assert collector.request("GET", "/metrics")[0] == 401
    text = collector.request("GET", "/metrics", None, BEARER)[1].decode()
    for line in ('rrcollect_reports_total{outcome="new"} 1.0', 'rrcollect_refusals_total{reason="malformed"} 1.0',
                 "rrcollect_commit_reports_count 1.0", "rrcollect_commit_seconds_count 1.0",
                 "rrcollect_request_seconds_count 2.0", "rrcollect_build_info{"):  # fmt: skip
        assert line in text
    assert "_created" not in text  # when a series was made is when its first report came


@pytest.mark.process
def test_metrics_on_a_port_of_their_own(tmp_path):
    port = free_port()
    with Process(str(tmp_path / "a.sqlite3"), "--metrics-port", str(port)) as running:
        running.post(body(running.publish(publication())))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as got:
            assert b'rrcollect_reports_total{outcome="new"} 1.0' in got.read()
        assert running.request("GET", "/metrics")[0] == 401


@pytest.mark.engine
@pytest.mark.process
def test_several_processes_share_postgresql_and_their_metrics_add_up(postgres):
    with Process(postgres.new_database(), "--workers", "2") as running:
        digest = running.publish(publication())
        for _ in range(40):
            assert running.post(body(digest))[0] == 201
        text = running.request("GET", "/metrics", None, BEARER)[1].decode()
        assert 'rrcollect_reports_total{outcome="new"} 40.0' in text
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        log = [json.loads(line) for line in running.process.stderr.read().decode().splitlines()]
    assert [line["event"] for line in log] == ["started", "stopped"]


# ---- below a path, mounted, and for people ---------------------------------------------------------------------------


@pytest.mark.parametrize("strips", [True, False], ids=["the proxy takes the path away", "the proxy does not"])
def test_it_works_below_a_path(tmp_path, strips):
    with RunningCollector(str(tmp_path / "a.sqlite3"), prefix="/ask/us") as collector:
        front = "" if strips else "/ask/us"
        made = publication(collector=f"{collector.url}/ask/us/reports", origins=[collector.url])
        status, said = collector.json(
            "POST", f"{front}/surveys?key={KEY.public.raw.hex()}", made.envelope, {**JSON, **BEARER}
        )
        assert (status, said["pages"]) == (201, [f"{collector.url}/ask/us/s/{made.digest}"])
        assert collector.json("POST", f"{front}/reports", body(made.digest), JSON)[0] == 201
        for path, root in ((f"/s/{made.digest}", "../"), ("/owner", "./")):
            page = collector.request("GET", front + path)[1].decode()
            links = re.findall(r'(?:src|href)="([^"]+)"', page)
            assert len(links) >= 3
            for link in links:
                assert link.startswith((root + "assets/", root + "surveys/"))
                assert collector.request("GET", f"{front}/{link.removeprefix(root)}")[0] == 200
    if not strips:
        with RunningCollector(str(tmp_path / "b.sqlite3"), prefix="/ask/us") as collector:
            status, _, headers = collector.request("GET", "/ask/us")
            assert (status, headers["location"]) == (307, "us/")


def test_no_page_and_no_script_has_an_absolute_address_of_ours():
    from tests.inside.collect import pages

    for name in pages.ASSETS:
        text = pages.asset(name)[0].decode()
        assert not re.findall(r"""(?:fetch\(|src=|href=|import |from )["'`]/""", text), name


def test_a_mounted_collector_commits_and_closes_with_its_host(tmp_path):
    store, closed = open_store(tmp_path / "a.sqlite3"), []
    usual = store.disconnect
    store.disconnect = lambda: (closed.append(True), usual())
    collector = create_app(store, OwnerToken(TOKEN), CollectorSettings(minimum=2))
    host = Starlette(
        routes=[Mount("/collect", collector), Route("/", lambda _: PlainTextResponse("the host"))],
        lifespan=collect.lifespan(collector),
    )
    with HostedApp(host) as web:
        made, below = publication(), "/collect"
        address = f"{below}/surveys?key={KEY.public.raw.hex()}"
        assert web.request("POST", address, made.envelope, {**JSON, **BEARER})[0] == 201
        assert web.request("POST", f"{below}/reports", body(made.digest), JSON)[0] == 201
        assert web.json("GET", f"{below}/readyz") == (200, {"status": "ok"})
        assert web.request("GET", "/")[1] == b"the host"
        assert "content-security-policy" in web.request("GET", f"{below}/")[2]
    assert closed == [True]


def test_a_mistyped_link_gives_a_person_a_page_and_a_program_json(collector):
    for path in ("/nowhere", "/s/" + "0" * 63, "/s/" + "0" * 64, "/a/b/c"):
        status, page, headers = collector.request("GET", path, None, PEOPLE)
        assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert b"Nothing was asked and nothing was sent" in page
        assert path.encode() not in page
        assert ("../" * (path.count("/") - 1) or "./").encode() + b"assets/page.css" in page
        status, said = collector.json("GET", path)
        assert (status, set(said)) == (404, {"error", "reason"})


def test_ready_needs_the_store_and_alive_does_not(tmp_path):
    store = open_store(tmp_path / "a.sqlite3")
    with RunningCollector("", store) as collector:
        collector.publish(publication())
        store.epochs.alive = lambda: (_ for _ in ()).throw(StoreUnavailable("gone"))
        assert collector.json("GET", "/readyz")[0] == 503
        assert collector.json("GET", "/livez") == (200, {"status": "ok"})


# ---- bodies under way ------------------------------------------------------------------------------------------------


def begun(port, declared, sent):
    """A connection that sends the beginning of a body, and waits."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    head = f"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {declared}\r\n\r\n"
    connection.sendall(head.encode() + b"[" + b" " * (sent - 1))
    return connection


def test_unfinished_bodies_hold_no_more_than_their_budget_in_sum(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3"), body_budget=1_000_000) as collector:
        digest = collector.publish(publication())
        waiting = [begun(collector.port, 800_000, 200_000) for _ in range(30)]

        def refused():
            for connection in waiting:
                connection.settimeout(0.05)
                with suppress(TimeoutError):
                    yield b"503" in connection.recv(64, socket.MSG_PEEK)

        until(lambda: sum(refused()) >= 25)
        assert sum(refused()) == 25  # five of 191,808 counted bytes fit
        assert collector.post(body(digest))[0] == 201  # a single report has its own room
        for connection in waiting:
            connection.close()
        many = b"[" + b",".join(body(digest) for _ in range(60)) + b"]"
        until(lambda: collector.post(many)[0] in (200, 201))  # what they held was given back


def test_the_budget_is_given_back_whatever_happens():
    budget = BodyBudget(100_000)
    scope = {"headers": [(b"content-type", b"application/json")]}

    def arriving(*pieces):
        left = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]

        async def receive():
            return left.pop(0) if left else {"type": "http.disconnect"}

        return receive

    for pieces, limit in (([b"x" * 50_000], 10**6), ([b"x" * 50_000] * 3, 10**6), ([b"x" * 50_000] * 2, 60_000)):
        with pytest.raises(Exception):  # noqa: B017, PT011
            asyncio.run(body_of(scope, arriving(*pieces), limit=limit, seconds=1, budget=budget))
        assert budget.held == 0


@pytest.mark.engine
@pytest.mark.process
def test_of_two_surveys_of_one_name_that_two_collectors_are_sent_at_once_one_is_accepted(postgres):
    """Two processes on one database; each pair of surveys has one publisher, name and version, and other content."""
    where, races, said = postgres.new_database(), 12, []
    pairs = [[publication(title=title, version=n + 1) for title in ("one", "other")] for n in range(races)]

    def publish(running, made):
        status, reply = running.json("POST", f"/surveys?key={KEY.public.raw.hex()}", made.envelope, {**JSON, **BEARER})
        said.append((made.survey.version, status, reply.get("error")))

    with Process(where) as one, Process(where) as other:
        for pair in pairs:
            racing = [
                threading.Thread(target=publish, args=both)
                for both in zip(random.sample([one, other], 2), pair, strict=True)
            ]
            for thread in racing:
                thread.start()
            for thread in racing:
                thread.join(PATIENCE)
        kept = [entry["version"] for entry in one.json("GET", "/surveys", headers=BEARER)[1]["surveys"]]
    expected = [(n + 1, *reply) for n in range(races) for reply in ((201, None), (409, "version_taken"))]
    assert sorted(said, key=str) == sorted(expected, key=str)
    assert sorted(kept) == list(range(1, races + 1))
