"""Lines into a store: no line keeps the others from being taken, and what is ripe does not wait for the last one."""

from __future__ import annotations

import io
import secrets

import pytest

from server_agg import open_store
from server_agg.collect.catalogue import MOST_LOOKS
from tests.inside.collect import Catalogue
from tests.support.collector_running import body, publication
from tests.support.devices import KEY

MANY = 2 * MOST_LOOKS  # of unknown surveys, in less than a second


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "a.sqlite3")
    yield opened
    opened.disconnect()


def published(store, **changes):
    made = publication(**changes)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    return made.digest


def stream(*lines):
    return io.BytesIO(b"\n".join(lines))


class Watched(io.BytesIO):
    """Lines; before each of them something is done with its number."""

    def __init__(self, lines, before):
        super().__init__(b"\n".join(lines))
        self.number, self.before = 0, before

    def readline(self, size=-1):
        self.number += 1
        self.before(self.number)
        return super().readline(size)


@pytest.mark.parametrize("digests", [1, MANY])
def test_lines_for_surveys_that_nobody_published_stop_nothing(store, digests):
    digest, unknown = published(store), [secrets.token_hex(32) for _ in range(digests)]
    strangers = [body(unknown[number % digests]) for number in range(MANY)]
    good = [body(digest) for _ in range(30)]
    assert store.ingest(stream(*good[:10], *strangers, *good[10:])) == {"new": 30, "unknown_survey": MANY}
    assert store.tallies().n == 30
    assert store.ingest(stream(*strangers, *good)) == {"same": 30, "unknown_survey": MANY}


def test_the_database_is_asked_once_in_a_group_for_a_survey_it_has_not(store, monkeypatch):
    monkeypatch.setattr("server_agg.collect.keeping.LINES_PER_COMMIT", 50)
    asked, surveys = [], store.shelf.surveys
    monkeypatch.setattr(store.shelf, "surveys", lambda digest=None: asked.append(digest) or surveys(digest))
    absent = "0" * 64
    assert store.ingest(stream(*(body(absent) for _ in range(150)))) == {"unknown_survey": 150}
    assert asked.count(absent) == 3


def test_a_survey_that_is_published_meanwhile_counts_from_the_next_group_on(store, tmp_path, monkeypatch):
    """Lines that are refused fill a group too."""
    monkeypatch.setattr("server_agg.collect.keeping.LINES_PER_COMMIT", 4)
    other, made = open_store(tmp_path / "a.sqlite3"), publication()

    def publish(number):
        if number == 2:
            Catalogue(other.shelf).publish(made.envelope, [KEY.public.raw.hex()])

    lines = Watched([body(made.digest) for _ in range(10)], publish)
    assert store.ingest(lines) == {"unknown_survey": 4, "new": 6}
    other.disconnect()


def test_no_more_than_a_group_waits_besides_what_is_not_ripe(store, monkeypatch):
    monkeypatch.setattr("server_agg.collect.keeping.LINES_PER_COMMIT", 20)
    digest, rare = published(store), published(store, name="rare", minimum=1000)
    lines = [body(rare if number % 10 == 0 else digest) for number in range(200)]
    after_take, between, take = [], [], store.take

    def watched(group):
        outcomes = take(group)
        after_take.append(len(store.epochs.waiting()))
        return outcomes

    def waits(number):
        if number % 20 == 1:
            between.append(len(store.epochs.waiting()))

    monkeypatch.setattr(store, "take", watched)
    assert store.ingest(Watched(lines, waits)) == {"new": 200}
    unripe = [2 * groups for groups in range(11)]
    assert between == unripe
    assert after_take[:10] == [20 + left for left in unripe[:10]]
    assert store.tallies().n == 180


def test_while_another_folds_or_copies_lines_are_taken_on(store, tmp_path, monkeypatch):
    monkeypatch.setattr("server_agg.collect.keeping.LINES_PER_COMMIT", 5)
    digest, other = published(store), open_store(tmp_path / "a.sqlite3")
    busy, waiting = other.epochs.keys.lock(wait=True), []

    def hold(number):
        if number == 1:
            busy.__enter__()
        if number == 15:
            waiting.append(len(store.epochs.waiting()))
            busy.__exit__(None, None, None)

    assert store.ingest(Watched([body(digest) for _ in range(20)], hold)) == {"new": 20}
    assert (waiting, store.tallies().n) == ([10], 20)
    other.disconnect()
