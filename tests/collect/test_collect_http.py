"""The collector over HTTP: what is taken, what is refused and why, who may ask, and what every reply carries."""

import gzip
import json
import logging
import secrets
import socket
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from rrcollect import Design, HttpTransport, ParameterError, SigningKey
from server_agg import REASONS, OwnerToken, open_store
from server_agg.collect import Store
from server_agg.errors import Refusal
from tests.inside.collect import Admission, Catalogue, SqliteDatabase, settings_from_environment
from tests.inside.publish import STATUS, known_as, ticket
from tests.support.collector_crashing import ids_of
from tests.support.collector_running import BEARER, JSON, Process, RunningCollector, body, expired, publication, report
from tests.support.devices import KEY, cases, client, question, survey, unb64
from tests.support.waiting import PATIENCE, until

SEGMENTS = {"sport": ["run", "ski"]}


@pytest.fixture
def digest(collector):
    return collector.publish(publication(segments=SEGMENTS))


# ---- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_is_new_once_then_known(collector, digest):
    sent = body(digest, segments={"sport": "ski"})
    assert collector.post(sent) == (201, {"new": 1, "known": 0})
    assert collector.post(sent) == (200, {"new": 0, "known": 1})
    assert collector.results()["surveys"][0]["answers"] == 0  # it waits for a second one
    assert collector.kept() == 1
    collector.post(body(digest))
    assert collector.results()["surveys"][0]["answers"] == 2
    assert collector.post(sent) == (200, {"new": 0, "known": 1})
    assert collector.kept() == 2


def test_the_same_id_with_other_content_is_a_conflict(collector, digest):
    made = report(digest)
    collector.post(made.to_bytes())
    for change in ({"answer": "0"}, {"segments": {"sport": "run"}}):
        status, said = collector.post(body(digest, id=made.id, **change))
        assert (status, said["error"]) == (409, "conflicting_id")
    assert collector.kept() == 1


@pytest.mark.parametrize(("changes", "status", "code"), [
    ({"survey": "0" * 64}, 404, "unknown_survey"),
    ({"question": "q9"}, 422, "unknown_question"),
    ({"design": Design("4/5", "3/4")}, 422, "wrong_design"),
    ({"round": 1}, 422, "unknown_round"),
    ({"segments": {"sport": "golf"}}, 422, "undeclared_segment"),
    ({"segments": {"club": "ski"}}, 422, "undeclared_segment"),
    ({"ticket": "a" * 32}, 422, "unexpected_ticket"),
])  # fmt: skip
def test_what_the_survey_does_not_publish_is_refused_with_a_reason(collector, digest, changes, status, code):
    for _ in range(2):  # the second time around what was remembered of the first
        got, said = collector.post(
            body(**{"digest": digest, **changes} if "survey" not in changes else {"digest": changes["survey"]})
        )
        assert (got, said["error"]) == (status, code)
        assert len(said["reason"]) > 20
    assert collector.post(body(digest))[0] == 201


@pytest.mark.parametrize("case", cases("reports", "bad_").values(), ids=cases("reports", "bad_"))
def test_every_bad_report_of_the_vectors_is_refused(case, admission):
    with pytest.raises(Refusal) as caught:
        admission.admit(unb64(case["report"]))
    assert 400 <= caught.value.status < 500


@pytest.fixture(scope="module")
def admission(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("store") / "a.sqlite3")
    catalogue = Catalogue(store.shelf)
    case = cases("surveys")["good_plain"]
    catalogue.publish(unb64(case["envelope"]), case["policy"]["publishers"][0]["keys"])
    yield Admission(catalogue.known, grace=timedelta(0), list_limit=3, clock=lambda: 1793491200.0)
    store.disconnect()


def test_what_is_remembered_of_a_report_decides_as_the_full_check_does(admission):
    """Byte by byte: change one byte of a good report; the fast way and the full way must agree."""
    good = unb64(cases("reports")["good_yes"]["report"])
    admission.admit(good)
    assert admission.frames
    agreed = 0
    for place in range(len(good)):
        for byte in (0x00, 0x22, 0x30, 0x31, 0x61, 0x7D, 0xFF):
            changed = good[:place] + bytes([byte]) + good[place + 1 :]
            verdicts = []
            for frames in (dict(admission.frames), {}):
                admission.frames = frames
                try:
                    verdicts.append(admission.admit(changed))
                except Refusal as refusal:
                    verdicts.append((refusal.status, refusal.code))
            assert verdicts[0] == verdicts[1], changed
            agreed += 1
            admission.frames = {}
            admission.admit(good)
    assert agreed == 7 * len(good)


def test_a_list_of_what_is_remembered_is_judged_as_in_full(tmp_path):
    """Change one byte of a list of three, or take one out, with and without a group in letters of several bytes."""
    with SqliteStoreClosing(tmp_path) as catalogue:
        made = publication(segments={"sport": ["ski", "бег"]})
        listed, _ = catalogue.publish(made.envelope, [KEY.public.raw.hex()])
        digest, fast, short = listed.published.digest, 0, 0
        for segments in ({}, {"sport": "бег"}):
            admission = Admission(catalogue.known, grace=timedelta(0), list_limit=3)
            bodies = [body(digest, segments=segments, answer=str(number % 2)) for number in range(3)]
            remembered = admission.admit(bodies[0]) and dict(admission.frames)
            good = b"[" + b",".join(bodies) + b"]"
            assert admission.known_list(good) == [one for each in bodies for one in admission.admit(each)]
            for place in range(0, len(good), 11):
                for changed in (
                    good[:place] + good[place + 1 :],
                    *(good[:place] + bytes([byte]) + good[place + 1 :] for byte in (0x22, 0x31, 0x7D, 0xD0)),
                ):
                    verdicts = []
                    for frames in (remembered, {}):
                        admission.frames = dict(frames)
                        fast += bool(admission.known_list(changed))
                        try:
                            verdicts.append(admission.admit(changed))
                        except Refusal as refusal:
                            verdicts.append((refusal.status, refusal.code))
                    assert verdicts[0] == verdicts[1], changed
                    short += isinstance(verdicts[0], tuple)
        assert fast > 5  # changed ids and answers are still quick
        assert short > 100


def test_a_report_that_was_checked_in_full_is_remembered(tmp_path):
    with SqliteStoreClosing(tmp_path) as catalogue:
        listed, _ = catalogue.publish(publication().envelope, [KEY.public.raw.hex()])
        asked = []
        admission = Admission(
            lambda digest: asked.append(digest) or catalogue.known(digest), grace=timedelta(0), list_limit=2
        )
        digest = listed.published.digest
        first, second = admission.admit(body(digest)), admission.admit(body(digest))
        assert asked == [digest]
        assert first[0].row._replace(id="") == second[0].row._replace(id="")
        one = b"[" + body(digest) + b"]"
        assert len(admission.admit(one)) == 1
        assert len(admission.admit(one[:-1] + b"," + one[1:])) == 2
        with pytest.raises(Refusal, match="1 to 2 reports"):
            admission.admit(b"[" + b",".join([body(digest)] * 3) + b"]")


def test_each_report_keeps_its_own_answer_and_spends_its_own_ticket(tmp_path):
    """The second and third go by what was remembered of the first."""
    with SqliteStoreClosing(tmp_path) as catalogue:
        entry, _ = catalogue.publish(publication(invite_only=True).envelope, [KEY.public.raw.hex()])
        admission = Admission(catalogue.known, grace=timedelta(0), list_limit=1)
        for number, ticket in enumerate(("1" * 32, "2" * 32, "ab" * 16)):
            made = report(entry.published.digest, ticket=ticket, answer=str(number % 2), id=f"{number:032x}")
            ((row, spent),) = admission.admit(made.to_bytes())
            assert (row.ticket, spent) == (made.id, known_as(ticket, "q1", 0))
            assert row._replace(ticket=ticket) == made.row
        assert len(admission.frames) == 1


@pytest.mark.parametrize("ticket", ["a" * 31, "a" * 33, "A" * 32, "g" * 32, "first"])
def test_a_ticket_of_another_form_is_refused_also_in_a_list_of_what_is_remembered(tmp_path, ticket):
    with SqliteStoreClosing(tmp_path) as catalogue:
        entry, _ = catalogue.publish(publication(invite_only=True).envelope, [KEY.public.raw.hex()])
        admission = Admission(catalogue.known, grace=timedelta(0), list_limit=2)
        good = body(entry.published.digest, ticket="a" * 32)
        assert len(admission.admit(b"[" + good + b"," + good + b"]")) == 2
        bad = good.replace(b"a" * 32 + b'"}', ticket.encode() + b'"}')
        for sent in (bad, b"[" + good + b"," + bad + b"]"):
            with pytest.raises(Refusal) as caught:
                admission.admit(sent)
            assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    ("invite_only", "status", "code"), [(True, 403, "missing_ticket"), (False, 422, "unexpected_ticket")]
)
def test_a_ticket_that_is_missing_or_too_much_is_told_also_by_what_is_remembered(tmp_path, invite_only, status, code):
    with SqliteStoreClosing(tmp_path) as catalogue:
        entry, _ = catalogue.publish(publication(invite_only=invite_only).envelope, [KEY.public.raw.hex()])
        admission = Admission(catalogue.known, grace=timedelta(0), list_limit=1)
        good, bad = ("a" * 32, None) if invite_only else (None, "b" * 32)
        for _ in range(2):
            with pytest.raises(Refusal) as caught:
                admission.admit(body(entry.published.digest, ticket=bad))
            assert (caught.value.status, caught.value.code, caught.value.reason) == (STATUS[code], code, REASONS[code])
            ((_, spent),) = admission.admit(body(entry.published.digest, ticket=good))
            assert spent == (known_as(good, "q1", 0) if invite_only else None)


def test_every_reason_has_a_status_and_every_refusal_its_words():
    assert list(STATUS) == list(REASONS)
    for reason, status in STATUS.items():
        refusal = Refusal.of(reason)
        assert (refusal.status, refusal.code, refusal.reason) == (status, reason, REASONS[reason])
        assert 400 <= status < 500


def test_a_list_is_taken_whole_or_refused_whole(collector, digest):
    several = [body(digest) for _ in range(5)]
    joined = b"[" + b",".join(several) + b"]"
    assert collector.post(joined) == (201, {"new": 5, "known": 0, "verdicts": ["new"] * 5})
    assert collector.post(joined) == (200, {"new": 0, "known": 5, "verdicts": ["same"] * 5})
    spoilt = b"[" + b",".join([body(digest), body(digest, question="q9")]) + b"]"
    status, said = collector.post(spoilt)
    assert (status, said["error"]) == (422, "unknown_question")
    assert "report 1 of the list" in said["reason"]
    assert collector.kept() == 5
    for bad in (b"[]", b"[" + b",".join([several[0]] * 101) + b"]", b"[1]", b"[[]]", b"[" * 2000):
        assert collector.post(bad)[0] == 400
    clash = json.loads(several[0])
    clash["answer"] = "0"
    mixed = b"[" + json.dumps(clash, separators=(",", ":")).encode() + b"," + body(digest) + b"]"
    status, said = collector.post(mixed)
    assert (status, said["error"], said["new"]) == (409, "conflicting_id", 1)


def test_expiry_has_a_grace_period(tmp_path):
    now = datetime.now(UTC)
    late, dead = expired(expires=now - timedelta(days=1)), expired(version=2, expires=now - timedelta(days=8))
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        assert collector.post(body(collector.publish(late)))[0] == 201
        gone = collector.publish(dead)
        for _ in range(2):
            status, said = collector.post(body(gone))
            assert (status, said["error"]) == (410, "closed")


def test_a_survey_closes_also_for_what_is_remembered(tmp_path):
    with SqliteStoreClosing(tmp_path) as catalogue:
        listed, _ = catalogue.publish(publication().envelope, [KEY.public.raw.hex()])
        clock = [0.0]
        admission = Admission(catalogue.known, grace=timedelta(0), list_limit=1, clock=lambda: clock[0])
        admission.admit(body(listed.published.digest))
        clock[0] = listed.survey.expires.timestamp()
        with pytest.raises(Refusal) as caught:
            admission.admit(body(listed.published.digest))
        assert caught.value.reason == REASONS["closed"]


class SqliteStoreClosing:
    def __init__(self, folder):
        self.store = open_store(folder / "closing.sqlite3")

    def __enter__(self):
        return Catalogue(self.store.shelf)

    def __exit__(self, *_):
        self.store.disconnect()


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_too_many_bytes_are_refused_before_they_are_read(collector, digest):
    with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as sender:
        sender.sendall(
            b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"
        )
        assert b" 413 " in sender.recv(4096).split(b"\r\n")[0] + b" "
    with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as sender:  # no declared length
        sender.sendall(
            b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        try:
            for _ in range(64):
                sender.sendall(piece)
        except OSError:
            pass
        else:
            assert b" 413 " in sender.recv(4096)


def test_compressed_bodies_and_other_types_are_refused(collector, digest):
    bomb = gzip.compress(b"0" * 10_000_000)
    status, said, _ = collector.request("POST", "/reports", bomb, {**JSON, "Content-Encoding": "gzip"})
    assert (status, json.loads(said)["error"]) == (415, "content_encoding")
    assert collector.request("POST", "/reports", body(digest), {"Content-Type": "text/plain"})[0] == 415
    assert collector.request("POST", "/reports", body(digest))[0] == 415


def test_slow_senders_are_let_go(tmp_path):
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n"
    with RunningCollector(str(tmp_path / "a.sqlite3"), body_seconds=0.3) as collector:
        with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as sender:
            sender.sendall(head + b"{")
            assert b" 408 " in sender.recv(4096)
        with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as sender:  # trickling a body
            sender.sendall(head)
            sender.settimeout(0.1)
            said = b""
            for _ in range(200):  # fewer than are declared
                sender.sendall(b" ")
                with suppress(TimeoutError):
                    said = sender.recv(4096)
                    break
            assert b" 408 " in said
    with RunningCollector(str(tmp_path / "b.sqlite3"), header_seconds=0.3) as collector:
        for start in (b"", b"POST /rep", b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nGET /hea"):
            with socket.create_connection(("127.0.0.1", collector.port), timeout=PATIENCE) as sender:
                sender.sendall(start)
                while sender.recv(4096):  # until the collector hangs up
                    pass


class SlowStore(Store):
    """A disk that takes its time."""

    gate = threading.Event()

    def take(self, arrivals):
        assert self.gate.wait(PATIENCE)
        return super().take(arrivals)


def test_a_full_queue_says_when_to_come_back_and_loses_nothing(tmp_path):
    SlowStore.gate.clear()
    slow = SlowStore(SqliteDatabase(tmp_path / "a.sqlite3"))
    with RunningCollector("", slow, queue_limit=4, list_limit=4, batch_limit=4) as collector:
        digest = collector.publish(publication())
        statuses = []

        def send():
            status, _, headers = collector.request("POST", "/reports", body(digest), JSON)
            statuses.append((status, headers.get("retry-after")))

        threads = [threading.Thread(target=send) for _ in range(12)]
        for thread in threads:
            thread.start()
        until(lambda: len(statuses) == 8)
        SlowStore.gate.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(statuses) == [(201, None)] * 4 + [(503, "1")] * 8
        assert collector.kept() == 4


def test_a_graceful_stop_finishes_what_was_accepted(tmp_path):
    SlowStore.gate.clear()
    statuses = []
    with RunningCollector("", SlowStore(SqliteDatabase(tmp_path / "a.sqlite3"))) as collector:
        digest = collector.publish(publication())
        threads = [threading.Thread(target=lambda: statuses.append(collector.post(body(digest))[0])) for _ in range(6)]
        for thread in threads:
            thread.start()
        until(lambda: b"rrcollect_waiting_reports 6.0" in collector.request("GET", "/metrics", None, BEARER)[1])
        collector.server.should_exit = True
        until(lambda: not collector.listens())
        SlowStore.gate.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert statuses == [201] * 6
    again = Store(SqliteDatabase(tmp_path / "a.sqlite3"))  # with the keys beside it, as before
    assert ids_of(again)[1] == 6
    again.disconnect()


# ---- the owner -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [
    {}, {"Authorization": "Bearer"}, {"Authorization": "Bearer wrong token entirely"},
    {"Authorization": f"Basic {BEARER['Authorization'][7:]}"}, {"Authorization": BEARER["Authorization"] + "x"},
])  # fmt: skip
def test_publishing_inviting_and_reading_need_the_token(collector, digest, headers):
    for method, path in (("POST", "/surveys"), ("POST", f"/surveys/{digest}/invites"), ("GET", "/results")):
        status, said, seen = collector.request(method, path, b"{}" if method == "POST" else None, {**JSON, **headers})
        assert (status, json.loads(said)["error"]) == (401, "owner_token")
        assert seen["www-authenticate"].startswith("Bearer")
    token = BEARER["Authorization"][7:].replace(" ", "%20")
    assert collector.request("GET", f"/results?token={token}")[0] == 401  # never in the address


def test_results_can_be_made_public(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3"), public_results=True) as collector:
        assert collector.request("GET", "/results")[0] == 200
        assert collector.request("POST", "/surveys", b"{}", JSON)[0] == 401


def test_tokens_come_from_private_files_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text("a long enough token\n")
    path.chmod(0o644)
    with pytest.raises(ParameterError, match="mode 600"):
        OwnerToken.from_file(path)
    path.chmod(0o600)
    OwnerToken.from_file(path).check(b"Bearer a long enough token")
    monkeypatch.delenv("RRCOLLECT_OWNER_TOKEN", raising=False)
    with pytest.raises(ParameterError, match="RRCOLLECT_OWNER_TOKEN"):
        OwnerToken.from_settings(settings_from_environment())
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "a long enough token")
    OwnerToken.from_settings(settings_from_environment()).check(b"bearer a long enough token")
    for bad in ("short", "not ascii at all, dé", "line\nbreak in a token"):
        with pytest.raises(ParameterError) as caught:
            OwnerToken(bad)
        assert bad not in str(caught.value)


def test_publishing_checks_as_a_device_would(collector):
    good = publication()
    key = KEY.public.raw.hex()
    headers = {**JSON, **BEARER}
    assert collector.json("POST", f"/surveys?key={key}", good.envelope, headers)[0] == 201
    assert collector.json("POST", f"/surveys?key={key}", good.envelope, headers)[0] == 200
    status, said, _ = collector.request("GET", f"/surveys/{good.digest}")
    assert (status, said) == (200, good.envelope)
    stranger = SigningKey.generate().public.raw.hex()
    for query, envelope, code in (
        (f"key={stranger}", good.envelope, "UntrustedKey"),
        (f"key={key}", good.envelope[:-1], "MalformedDocument"),
        (f"key={key}", good.envelope + b"\n", "NotCanonical"),
        ("key=zz", good.envelope, "keys"),
        ("", good.envelope, "keys"),
    ):
        status, said = collector.json("POST", f"/surveys?{query}", envelope, headers)
        assert (status, said["error"]) == (400, code)
    other = survey(title="Other words").publish([KEY])
    status, said = collector.json("POST", f"/surveys?key={key}", other.envelope, headers)
    assert (status, said["error"]) == (409, "version_taken")
    assert collector.request("GET", "/surveys/" + "0" * 64)[0] == 404


# ---- invites ---------------------------------------------------------------------------------------------------------


def test_an_invite_only_survey_takes_one_report_per_invite(collector):
    digest = collector.publish(publication(question(), question(id="q2", attribute="b"), invite_only=True))
    status, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":3}', {**JSON, **BEARER})
    assert status == 201
    invites = made["invites"]
    assert len(set(invites)) == 3
    mine = {place: ticket(invites[0], digest, place, 0) for place in ("q1", "q2")}
    sent = body(digest, ticket=mine["q1"])
    assert collector.post(sent)[0] == 201
    assert collector.post(sent)[0] == 200
    for changes, code in (
        ({"ticket": mine["q1"]}, "ticket_reused"),
        ({"ticket": "0" * 32}, "unknown_ticket"),
        ({"ticket": mine["q2"]}, "unknown_ticket"),  # a ticket speaks for no other question: one vote each
        ({"question": "q2", "ticket": mine["q1"]}, "unknown_ticket"),
        ({}, "missing_ticket"),
    ):
        status, said = collector.post(body(digest, **changes))
        assert (status, said["error"]) == (403, code)
    assert collector.post(body(digest, question="q2", ticket=mine["q2"]))[0] == 201
    for bad in (b'{"count":0}', b'{"count":10001}', b'{"count":true}', b"{}", b"[]", b"no", b'{"count":1.0}'):
        assert collector.request("POST", f"/surveys/{digest}/invites", bad, {**JSON, **BEARER})[0] == 400


def test_the_database_does_not_hold_the_invites(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        digest = collector.publish(publication(invite_only=True))
        _, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":5}', {**JSON, **BEARER})
        for invite in made["invites"]:
            assert collector.post(body(digest, ticket=ticket(invite, digest, "q1", 0)))[0] == 201
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert held
    spent = [ticket(invite, digest, "q1", 0) for invite in made["invites"]]
    assert not any(secret.encode() in held for secret in (*made["invites"], *spent))


# ---- what every reply carries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/results", "/livez", "/readyz", "/metrics", "/openapi.json", "/nowhere", "/s/" + "0" * 64]
)
def test_every_reply_is_guarded_and_sets_no_cookie(collector, path):
    _, _, headers = collector.request("GET", path)
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in headers
    assert "server" not in headers


def test_the_origins_that_surveys_list_may_read_them_and_send_reports(tmp_path):
    app, other, evil = "https://app.example.org", "https://other.example.org", "https://evil.example.org"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    with RunningCollector(str(tmp_path / "a.sqlite3")) as collector:
        digest = collector.publish(publication(origins=[app]))
        other_digest = collector.publish(publication(name="other", origins=[other]))

        def allowed(method, path, origin, sent=None):
            status, _, headers = collector.request(method, path, sent, {"Origin": origin, **JSON, **asks})
            return status, headers.get("access-control-allow-origin"), headers.get("access-control-allow-credentials")

        assert allowed("OPTIONS", "/reports", app) == (200, app, None)
        assert allowed("POST", "/reports", app, body(digest)) == (201, app, None)
        assert allowed("GET", f"/surveys/{digest}", app) == (200, app, None)
        assert allowed("GET", f"/surveys/{digest}/withdrawal", app) == (204, app, None)
        for method, path, origin in (
            ("GET", f"/surveys/{other_digest}", app),  # a survey is read where it is answered
            ("GET", f"/surveys/{digest}", other),
            ("OPTIONS", "/reports", evil),
            ("OPTIONS", "/reports", "null"),
            ("GET", "/results", app),
            ("OPTIONS", "/surveys", app),
            ("OPTIONS", f"/surveys/{digest}/invites", app),
            ("OPTIONS", f"/surveys/{digest}/release", app),
            ("GET", "/assets/rr-survey.mjs", app),
        ):
            assert allowed(method, path, origin)[1] is None, (method, path, origin)


def test_the_origins_of_a_survey_that_another_process_published_are_known(tmp_path):
    where = str(tmp_path / "a.sqlite3")
    with RunningCollector(where) as one, RunningCollector(where) as two:
        one.publish(publication(origins=["https://app.example.org"]))
        asks = {"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST"}
        assert "access-control-allow-origin" in two.request("OPTIONS", "/reports", None, asks)[2]


def test_what_pages_load_is_packed_for_those_who_can_unpack_it(collector):
    _, plain, _ = collector.request("GET", "/assets/rr-survey.mjs")
    status, packed, headers = collector.request("GET", "/assets/rr-survey.mjs", None, {"Accept-Encoding": "gzip, br"})
    assert (status, headers["content-encoding"], headers["vary"]) == (200, "gzip", "accept-encoding")
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 2
    assert "content-encoding" not in collector.request("GET", "/livez", None, {"Accept-Encoding": "gzip"})[2]


def test_nothing_that_was_sent_is_logged(collector, digest, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    made = report(digest, segments={"sport": "ski"})
    collector.post(made.to_bytes())
    collector.post(body(digest, id=made.id, answer="0"))
    collector.post(b'{"not":"a report","id":"' + made.id.encode() + b'"}')
    seen = caplog.text + "".join(capfd.readouterr())
    assert made.id not in seen
    assert '"ski"' not in seen


def test_an_unforeseen_error_tells_nothing(tmp_path, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a bug with secrets in it")

    store = open_store(tmp_path / "a.sqlite3")
    monkeypatch.setattr(store.folds, "counted", broken)
    with RunningCollector("", store) as collector:
        status, said, headers = collector.request("GET", "/results", None, BEARER)
    assert status == 500
    assert b"secrets" not in said
    assert "content-security-policy" in headers
    assert "unforeseen RuntimeError" in caplog.text
    assert "secrets" not in caplog.text


def test_health_and_metrics(collector, digest):
    collector.post(body(digest))
    for path in ("/livez", "/readyz"):
        assert collector.json("GET", path) == (200, {"status": "ok"})
    assert collector.request("GET", "/metrics")[0] == 401
    text = collector.request("GET", "/metrics", None, BEARER)[1].decode()
    assert 'rrcollect_report_requests_total{status="201"} 1.0' in text
    assert "rrcollect_commits_total 1.0" in text
    assert collector.json("GET", "/nowhere")[0] == 404
    assert collector.json("DELETE", "/reports")[0] == 405


# ---- with the project's own client -----------------------------------------------------------------------------------


def test_the_python_client_delivers_end_to_end(collector, tmp_path):
    here = f"{collector.url}/reports"
    digest = collector.publish(publication(segments={"sport": ["run", "ski"]}, collector=here))
    envelope = collector.request("GET", f"/surveys/{digest}")[1]
    device = client(tmp_path)
    accepted = device.accept(envelope)
    device.answer(accepted, "q1", True, segments={"sport": "run"})
    assert device.deliver().delivered == 1
    (row,) = device.budget().reports
    assert row.state == "delivered"
    HttpTransport().send(here, row.body)  # at least once
    assert collector.kept() == 1


@pytest.mark.process
def test_the_command_runs_and_stops_gracefully(tmp_path):
    with Process(str(tmp_path / "a.sqlite3")) as running:
        digest = running.publish(publication())
        assert running.post(body(digest))[0] == 201
        running.process.terminate()
        assert running.process.wait(PATIENCE) in (0, -15)
    again = open_store(tmp_path / "a.sqlite3")
    assert isinstance(again, Store)
    assert ids_of(again)[1] == 1
    again.disconnect()


def test_the_command_names_what_is_missing(tmp_path, monkeypatch, capsys):
    from tests.support.command_line import main

    monkeypatch.delenv("RRCOLLECT_OWNER_TOKEN", raising=False)
    assert main(["serve", "--store", str(tmp_path / "a.sqlite3")]) in (2, 3, 4)
    assert "RRCOLLECT_OWNER_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", secrets.token_urlsafe())
    assert main(["serve", "--store", ":memory:"]) in (2, 3, 4)
    assert "journal_mode" in capsys.readouterr().err
