"""Releases through the collector: what strangers see changes at a release, and never shows less than a crowd."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from rrcollect import ParameterError, Survey
from server_agg import CollectorSettings, open_store
from server_agg.collect.housekeeping import release_all
from server_agg.collect.store.release import due, unreleased
from server_agg.errors import Refusal, StoreUnavailable
from tests.inside.collect import HEAD, Admission, Catalogue, incoming
from tests.support.collector_running import BEARER, JSON, RunningCollector, body, expired, publication, report
from tests.support.devices import KEY, question
from tests.support.release_judge import small_combination

SEGMENTS = {"sport": ["run", "ski"], "age": ["1", "2", "3"]}
OWNER = {**JSON, **BEARER}


@pytest.fixture
def public(tmp_path):
    with RunningCollector(str(tmp_path / "a.sqlite3"), public_results=True) as running:
        yield running


@pytest.fixture
def store(where, tmp_path):
    opened = open_store(where, keys=tmp_path / "keys")
    yield opened
    opened.disconnect()


def shown(collector):
    status, said = collector.json("GET", "/results")
    assert status == 200
    return said["surveys"][0]


def release(collector, digest, asked=b"{}"):
    return collector.json("POST", f"/surveys/{digest}/release", asked, OWNER)


def came(digest, many, source, **changes):
    """Reports with segments, some not declared."""
    made = []
    for _ in range(many):
        declared = {name: source.choice(values) for name, values in SEGMENTS.items() if source.random() < 0.8}
        made.append(report(digest, answer=str(source.randrange(2)), segments=declared, **changes))
    return made


def numbers(value):
    """Every count in what a stranger reads: each n, and the answers of a survey and of a question."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("n", "answers"):
                yield inner
            else:
                yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)


def test_strangers_see_nothing_before_a_release_and_then_only_what_it_holds(public):
    digest = public.publish(publication(minimum=5))
    for _ in range(12):
        public.post(body(digest))
    before = shown(public)
    assert (before["answers"], before["released"], before["questions"][0]["n"]) == (0, None, 0)
    (own,) = public.results()["surveys"]  # the owner's
    assert (own["answers"], own["questions"][0]["estimate"]["method"]) == (12, "anytime")
    assert "Its bars allow for looking" in own["notes"][0]
    status, said = release(public, digest)
    assert (status, said["number"], said["added"]) == (201, 1, 10)
    assert said["reasons"] == ["q1, round 1: 2 answers wait, because crowds of 5 are published whole"]
    after = shown(public)
    assert (after["answers"], after["released"]["number"]) == (10, 1)
    assert after["questions"][0]["estimate"]["method"] == "exact"
    public.post(body(digest))
    assert shown(public) == after
    assert release(public, digest)[1]["added"] == 0
    assert shown(public) == after


def test_a_poller_reads_nobody(public):
    """Twelve people, polled after each: before, all of them were read.  Now nothing changes, and every count of all
    that was ever seen is that of whole crowds."""
    source, seen, polled = random.Random(1), [], []
    digest = public.publish(publication(minimum=5, segments=SEGMENTS))
    for step in range(60):
        (made,) = came(digest, 1, source)
        assert public.post(made.to_bytes())[0] == 201
        polled.append(shown(public))
        if step % 7 == 6:
            release(public, digest)
            seen.append(shown(public))
    changes = sum(one != other for one, other in pairwise(polled))
    assert changes <= len(seen)
    counts = {(i, n) for i, one in enumerate(seen) for n in numbers(one)}
    assert len(counts) > 10
    assert small_combination((n for _, n in counts), 5) is None
    live = public.results()
    assert small_combination([live["surveys"][0]["answers"], seen[-1]["answers"]], 60) is not None  # it can be told


def test_the_csv_of_strangers_is_that_of_the_release(public):
    digest = public.publish(publication(minimum=5))
    for _ in range(12):
        public.post(body(digest))
    assert len(public.request("GET", "/results?format=csv")[1].splitlines()) == 1
    release(public, digest)
    _, text, _ = public.request("GET", "/results?format=csv")
    assert text.splitlines()[1].split(b",")[HEAD.index("n")] == b"10"
    _, owner, _ = public.request("GET", "/results?format=csv", None, BEARER)
    assert owner.splitlines()[1].split(b",")[HEAD.index("n")] == b"12"


def test_a_wrong_token_does_not_read_the_release_either(public):
    assert public.request("GET", "/results", None, {"Authorization": "Bearer wrong token entirely"})[0] == 401


@pytest.mark.parametrize("asked", [b"[]", b'{"round":3}', b'{"round":true}', b'{"round":-2}', b'{"x":1}', b"no", b""])
def test_what_is_not_a_release_is_refused(public, asked):
    digest = public.publish(publication(question(rounds=3)))
    assert release(public, digest, asked)[0] == 400
    assert public.request("POST", f"/surveys/{digest}/release", b"{}", JSON)[0] == 401
    assert public.request("POST", "/surveys/" + "0" * 64 + "/release", b"{}", OWNER)[0] == 404


def test_later_rounds_never_replace_the_headline(public):
    """Thirty reports of strangers in a later round replaced the headline; the owner chooses now, or it is the whole."""
    digest = public.publish(publication(question(rounds=3)))
    for number in range(40):
        public.post(body(digest, answer=str(int(number % 4 == 0))))
    release(public, digest)
    first = shown(public)["questions"][0]["estimate"]["value"]
    for _ in range(10):
        public.post(body(digest, answer="1", round=2))
    release(public, digest)
    whole = shown(public)["questions"][0]
    assert whole["round"] is None
    assert whole["estimate"]["value"] == pytest.approx((40 * first + 10 * 1.5) / 50)
    assert release(public, digest, b'{"round":0}')[0] == 200
    chosen = shown(public)["questions"][0]
    assert (chosen["round"], chosen["estimate"]["value"]) == (0, first)
    release(public, digest)  # what was chosen stays
    assert shown(public)["questions"][0]["round"] == 0
    release(public, digest, b'{"round":null}')
    assert shown(public)["questions"][0]["round"] is None


# ---- in the stores --------------------------------------------------------------------------------------------------


def listed(store, **changes):
    made = publication(question(rounds=2), minimum=4, segments=SEGMENTS, **changes)
    return Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].survey


def test_both_stores_release_whole_crowds_and_forget_none(store):
    survey, source, seen, total = listed(store), random.Random(2), [], 0
    for _ in range(8):
        many = source.choice((1, 3, 20, 50))
        total += many
        store.take([incoming(one.row) for one in came(survey.digest, many, source, round=source.randrange(2))])
        ahead = unreleased(store.folds.counted(), survey)
        made = store.release(survey)
        assert made.added >= ahead.answers
        found = store.last_release(survey)
        if found is None:
            continue
        seen.append(found)
        again = store.release(survey)
        assert (again.added, again.facts) == (0, made.facts)
        assert found.tallies.n == total - sum(made.waiting.values()) - len(store.epochs.waiting())
        assert all(n < 4 for n in made.waiting.values())
        assert found.facts.crowds["q1"] >= 4
    counts = {(i, tally.n) for i, one in enumerate(seen) for tally in one.tallies.values()}
    assert len(counts) > 10
    assert small_combination((n for _, n in counts), 4) is None
    ones = [sum(tally.ones for tally in one.tallies.values()) for one in seen]
    assert ones == sorted(ones)
    assert ones[-1] <= sum(tally.ones for tally in store.tallies().values())


def test_a_closed_survey_keeps_its_last_release_and_never_shows_the_last_few(store):
    made = expired(minimum=4, expires="2026-01-01T00:00:00Z", segments=SEGMENTS)
    survey = Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].survey
    store.take([incoming(one.row) for one in came(survey.digest, 10, random.Random(3))])
    store.release(survey)
    before = store.last_release(survey)
    store.folds.finish(survey.digest)
    assert store.tallies().n == 10
    assert store.release(survey).added == 0
    assert store.last_release(survey) == before
    assert before.tallies.n == 8


class Failing(StoreUnavailable):
    """A fault at one statement."""


def test_a_release_that_fails_at_any_statement_changes_nothing(store, monkeypatch):
    survey = listed(store)
    store.take([incoming(one.row) for one in came(survey.digest, 60, random.Random(4))])
    store.fold()
    plain, many = store.database.run, store.database.run_many
    failed, left = 0, 0

    def counted(call):
        def run(*given):
            nonlocal left
            left -= 1
            if left == 0:
                raise Failing
            return call(*given)

        return run

    monkeypatch.setattr(store.folds, "fold", lambda **_: 0)
    monkeypatch.setattr(store.database, "run", counted(plain))
    monkeypatch.setattr(store.database, "run_many", counted(many))
    while True:
        left = failed + 1
        try:
            made = store.release(survey)
        except Failing:
            failed += 1
            left = -1
            assert store.last_release(survey) is None
            assert unreleased(store.folds.counted(), survey).answers >= 56
            continue
        break
    left = -1  # it failed while what counts no more was deleted: the release is made
    assert failed >= 5
    public = store.last_release(survey)
    assert made.added == public.tallies.n >= 56
    numbers = "SELECT number FROM taken UNION SELECT number FROM released"
    store.release(survey, headline=0)
    with store.database.reading() as cursor:
        assert {number for (number,) in store.database.run(cursor, numbers).fetchall()} == {2}
    assert store.last_release(survey).tallies == public.tallies


def test_a_release_computes_the_digest_once_however_many_segments_were_declared(store, monkeypatch):
    survey, computed, sound = listed(store), [], Survey.payload
    store.take([incoming(one.row) for one in came(survey.digest, 60, random.Random(1))])
    fresh = Survey.from_payload(survey.payload())
    vars(fresh).pop("digest", None)
    monkeypatch.setattr(Survey, "payload", lambda self: computed.append(1) or sound(self))
    assert store.release(fresh).added >= 56
    assert len(computed) <= 1


def test_collectors_that_release_at_once_publish_every_answer_once(where, tmp_path):
    stores = [open_store(where, keys=tmp_path / "keys") for _ in range(3)]
    survey = listed(stores[0])
    for batch in range(4):
        stores[0].take([incoming(one.row) for one in came(survey.digest, 60, random.Random(batch))])
        stores[0].fold()
        with ThreadPoolExecutor(3) as pool:
            made = list(pool.map(lambda one: one.release(survey), stores))
        total = 60 * (batch + 1)
        assert sum(one.added > 0 for one in made) == 1
        assert total - 4 < stores[1].last_release(survey).tallies.n <= total
    for one in stores:
        one.disconnect()


def test_the_clock_releases_once_per_step(store):
    survey, day = listed(store), timedelta(days=1)
    catalogue = Catalogue(store.shelf)
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp()
    for hours, many, changed in ((0, 10, 1), (6, 10, 0), (12, 10, 1), (13, 10, 0), (36, 0, 1)):
        store.take([incoming(one.row) for one in came(survey.digest, many, random.Random(hours))])
        assert release_all(store, catalogue, day, noon + 3600 * hours) == changed
    facts = store.last_release(survey).facts
    assert (facts.number, facts.when) == (3, "2026-05-03T00:00Z")
    assert not due(facts, day, noon + 3600 * 40)


def test_a_step_is_coarse_and_a_headline_is_a_round(store):
    with pytest.raises(ParameterError, match="release_every"):
        CollectorSettings(release_every=timedelta(minutes=5))
    with pytest.raises(ParameterError, match="headline"):
        store.release(listed(store), headline=2)


# ---- rounds open and close by the signed survey ---------------------------------------------------------------------


def test_a_round_opens_and_closes_when_the_survey_says(tmp_path):
    times = [("2026-03-01T00:00:00Z", "2026-03-08T00:00:00Z"), ("2026-03-08T00:00:00Z", "2026-03-15T00:00:00Z")]
    rounds = [{"opens": opens, "closes": closes} for opens, closes in times]
    made = expired(questions=[question(rounds=2)], rounds=rounds, expires="2026-04-01T00:00:00Z")
    store = open_store(tmp_path / "a.sqlite3")
    catalogue = Catalogue(store.shelf)
    catalogue.publish(made.envelope, [KEY.public.raw.hex()])
    clock = [0.0]
    judge = Admission(catalogue.known, grace=timedelta(days=3), list_limit=1, clock=lambda: clock[0])

    def verdict(day, number):
        clock[0] = datetime(2026, 3, 1, tzinfo=UTC).timestamp() + 86400 * day
        try:
            return "taken" if judge.admit(body(made.digest, round=number)) else "nothing"
        except Refusal as refusal:
            return refusal.code

    days = (-1, 0, 1, 6, 7, 9, 10, 16, 17)
    for _ in range(2):  # in full, and by what is remembered
        assert [verdict(day, 0) for day in days] == ["not_open"] + ["taken"] * 5 + ["closed"] * 3
        assert [verdict(day, 1) for day in days] == ["not_open"] * 4 + ["taken"] * 4 + ["closed"]
    store.disconnect()
