"""The body of a request, piece by piece: what is read, what is refused, and when the wait ends."""

import asyncio

import pytest

from server_agg.collect.http.bodies import header
from server_agg.errors import Refusal
from tests.inside.collect import BodyBudget, body_of

JSON = [(b"host", b"x"), (b"content-type", b"application/json")]
PATIENCE = 5  # seconds after which a test gives up on a wait that should have ended


def piece(body=None, more=False):
    said = {"type": "http.request", "more_body": more}
    return said if body is None else {**said, "body": body}


def read(*messages, headers=JSON, limit=10, seconds=60.0):
    """The body made of these messages; after the last one the sender is silent."""
    waiting = list(messages)

    async def receive():
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def work():
        budget = BodyBudget(1 << 20)
        body = body_of({"headers": headers}, receive, limit=limit, seconds=seconds, budget=budget)
        return await asyncio.wait_for(body, PATIENCE)

    return asyncio.run(work())


def refused(*messages, **options):
    with pytest.raises(Refusal) as caught:
        read(*messages, **options)
    return caught.value.status, caught.value.code


def with_header(name, value):
    return [*JSON, (name, value)]


def test_a_header_is_found_by_its_name():
    assert header({"headers": JSON}, b"content-type") == b"application/json"
    assert header({"headers": JSON}, b"content-length") is None


def test_a_body_is_read_in_one_piece_or_in_several():
    assert read(piece(b"0123456789")) == b"0123456789"
    assert read({"type": "http.request", "body": b"abc"}) == b"abc"
    assert read(piece()) == b""
    assert read(piece(b"01234", more=True), piece(b"5678", more=True), piece(b"9")) == b"0123456789"
    assert read(piece(more=True), piece(b"ab", more=True), piece()) == b"ab"
    assert read(piece(b"ab", more=True), {"type": "http.request", "body": b"c"}) == b"abc"


@pytest.mark.parametrize(
    "kind", [b"application/json", b"Application/JSON ; charset=utf-8", b"application/json;a=b;c=d"]
)
def test_json_is_told_by_its_type_whatever_follows(kind):
    assert read(piece(b"{}"), headers=[(b"content-type", kind)]) == b"{}"


@pytest.mark.parametrize(
    "headers", [[], [(b"content-type", b"text/plain")], [(b"content-type", b"a; application/json")]]
)
def test_another_type_is_refused(headers):
    assert refused(piece(b"{}"), headers=headers) == (415, "content_type")


def test_only_a_body_as_it_is_is_read():
    assert read(piece(b"{}"), headers=with_header(b"content-encoding", b"identity")) == b"{}"
    assert refused(piece(b"{}"), headers=with_header(b"content-encoding", b"gzip")) == (415, "content_encoding")


def test_one_byte_too_many_is_refused_declared_or_sent():
    assert read(piece(b"{}"), headers=with_header(b"content-length", b"10")) == b"{}"
    for length in (b"11", b"-1", b"1e1", b""):
        assert refused(headers=with_header(b"content-length", length)) == (413, "too_large")
    assert refused(piece(b"0123456789a")) == (413, "too_large")
    assert refused(piece(b"01234", more=True), piece(b"56789a")) == (413, "too_large")
    assert refused(piece(b"01234", more=True), piece(b"56789a", more=True)) == (413, "too_large")


def test_a_silent_sender_is_waited_for_as_long_as_said():
    assert refused(seconds=0.05) == (408, "too_slow")
    assert refused(piece(b"0", more=True), seconds=0.05) == (408, "too_slow")
    assert refused(seconds=-1.0) == (408, "too_slow")


def test_the_time_is_for_the_whole_body_not_for_a_piece():
    async def work():
        sent = 0

        async def receive():
            nonlocal sent
            await asyncio.sleep(0.02)
            sent += 1
            return piece(b"", more=sent < 100)

        with pytest.raises(Refusal) as caught:
            await body_of({"headers": JSON}, receive, limit=10, seconds=0.2, budget=BodyBudget(1 << 20))
        return caught.value.status, sent

    status, sent = asyncio.run(work())
    assert status == 408
    assert sent < 50


def test_a_sender_who_goes_away_has_sent_nothing():
    assert refused({"type": "http.disconnect"}) == (400, "disconnected")
    assert refused(piece(b"{}", more=True), {"type": "http.disconnect"}) == (400, "disconnected")
