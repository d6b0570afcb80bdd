"""The worked example of the wire format is what the implementation does, byte for byte; its replies are all there."""

import hashlib
import json
import re
import socket
import threading

import pytest

from rrcollect import HttpTransport, Policy, TrustedPublisher
from rrcollect.deliver.transport import judge
from rrcollect.errors import ReportRefused, TransportFailed
from server_agg.errors import QueueFull, StoreFull, StoreUnavailable
from tests.documents.blocks import blocks_of
from tests.documents.wire_example import KEY, SURVEY, blocks
from tests.documents.workspace import ROOT
from tests.inside.publish import STATUS
from tests.support.collector_running import BEARER, JSON, RunningCollector

PAGE = (ROOT / "docs" / "wire-format.md").read_text(encoding="utf-8")
PRINTED = {block.name: block.text.removesuffix("\n") for block in blocks_of(PAGE) if block.name}


def test_the_page_prints_what_the_implementation_makes():
    made = blocks()
    assert made == PRINTED
    assert {**PRINTED, "report.json": PRINTED["report.json"].replace('"answer":"1"', '"answer":"0"')} != made


def test_a_device_accepts_the_printed_envelope():
    policy = Policy([TrustedPublisher("Example Institute", [KEY.public])])
    envelope = PRINTED["envelope.json"].encode()
    assert policy.accept(envelope).survey == SURVEY
    assert hashlib.sha256(PRINTED["payload.json"].encode()).hexdigest() in PRINTED["digest.txt"]


def test_the_request_is_what_the_client_sends():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        got = bytearray()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                while not got.endswith(b"}"):
                    got.extend(connection.recv(65536))
                connection.sendall(b'HTTP/1.1 201 Created\r\nContent-Length: 19\r\n\r\n{"new":1,"known":0}')

        thread = threading.Thread(target=answer)
        thread.start()
        HttpTransport().send(f"http://127.0.0.1:{port}/reports", PRINTED["report.json"].encode())
        thread.join(10)
    expected = PRINTED["request.txt"].replace("8000", str(port)).replace("\n", "\r\n")
    assert bytes(got) == expected.encode()


def test_a_collector_takes_the_printed_report_once(tmp_path):
    body = PRINTED["report.json"].encode()
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as collector:
        where = f"/surveys?key={KEY.public.raw.hex()}"
        status, said = collector.json("POST", where, PRINTED["envelope.json"].encode(), {**JSON, **BEARER})
        assert (status, said["digest"]) == (201, SURVEY.digest)
        replies = [collector.request("POST", "/reports", body, JSON)[:2] for _ in range(2)]
    assert replies == [(201, b'{"new":1,"known":0}'), (200, b'{"new":0,"known":1}')]
    assert all(f"{status} | `{said.decode()}`" in PAGE for status, said in replies)


# ---- replies --------------------------------------------------------------------------------------------------------


def in_the_code() -> set[tuple[int, str]]:
    """Every refusal that a sender of reports can be given."""
    malformed = ("bad_answer", "bad_ticket", "bad_id")  # what such bytes are: no report comes to be of them
    found = {(status, reason) for reason, status in STATUS.items() if reason not in malformed}
    text = "".join(
        (ROOT / "server_agg" / "collect" / f"{name}.py").read_text() for name in ("http/bodies", "admission")
    )
    found |= {(int(status), code) for status, code in re.findall(r'Refusal\(\s*(\d{3}),\s*"(\w+)"', text)}
    return found | {(error.status, error.__name__) for error in (QueueFull, StoreFull, StoreUnavailable)}


def in_the_page(page: str) -> dict[tuple[int, str], str]:
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \| [^|]+ \| (\w+) \|$", page, flags=re.MULTILINE)
    return {(int(status), code): after for status, code, after in rows}


def done_by_the_client(status: int, code: str) -> str:
    """What the client makes of a collector's reply."""
    try:
        judge("https://collect.example.org/reports", status, json.dumps({"error": code, "reason": "x"}).encode())
    except ReportRefused:
        return "final"
    except TransportFailed:
        return "again"
    raise AssertionError("a refusal counts as delivered")


def test_every_reply_is_in_the_table_and_says_what_the_client_does():
    table = in_the_page(PAGE)
    assert set(table) == in_the_code()
    for (status, code), after in table.items():
        assert after == done_by_the_client(status, code), code


@pytest.mark.parametrize("change", [("| `conflicting_id` |", "| `conflicting` |"), ("| final |", "| again |")])
def test_a_wrong_table_would_be_noticed(change):
    table = in_the_page(PAGE.replace(*change))
    right = set(table) == in_the_code() and all(a == done_by_the_client(*told) for told, a in table.items())
    assert not right
