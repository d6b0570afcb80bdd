"""Small rules of the collector's parts that need no server."""

import asyncio
import pickle
import secrets
from datetime import timedelta

import pytest

from rrcollect import ParameterError
from server_agg import CollectorSettings, OwnerToken, open_store
from server_agg.collect.store.epochs import waiting_in
from server_agg.collect.store.reports import unpacked
from server_agg.errors import QueueFull, Refusal, StoreFull, StoreUnavailable
from tests.inside.collect import (
    Admission,
    Catalogue,
    EpochKey,
    GroupCommit,
    ReportOutcome,
    asset,
    folded_from,
    incoming,
    packed,
)
from tests.inside.publish import ReportRow
from tests.support.collector_running import body, expired, publication
from tests.support.devices import KEY, question

DESIGN = '{"p00":"3/4","p11":"3/4"}'


class Faulty:
    """A store that does as it is told."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.batches = []

    def take(self, arrivals):
        self.batches.append(list(arrivals))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        return [ReportOutcome.NEW] * len(arrivals)


def gather(writer, *groups):
    async def run():
        return await asyncio.gather(*(writer.take(group) for group in groups), return_exceptions=True)

    return asyncio.run(run())


def test_a_failed_commit_is_told_to_every_request_in_it_and_the_next_one_works():
    writer = GroupCommit(Faulty(StoreFull("full"), RuntimeError("a bug with a secret")))
    (full,) = gather(writer, ["a"])
    assert isinstance(full, StoreFull)
    (bug,) = gather(writer, ["b"])
    assert isinstance(bug, StoreUnavailable)
    assert "secret" not in str(bug)
    assert gather(writer, ["c"]) == [[ReportOutcome.NEW]]
    writer.close()
    (late,) = gather(writer, ["d"])
    assert isinstance(late, StoreUnavailable)
    assert writer.waiting == 0


def test_requests_gather_into_batches_of_limited_size():
    store = Faulty()
    writer = GroupCommit(store, batch_limit=3, queue_limit=100)
    outcomes = gather(writer, [0, 0], *([n] for n in range(20)))
    writer.close()
    assert all(own == [ReportOutcome.NEW] * len(own) for own in outcomes)
    assert max(len(batch) for batch in store.batches) <= 3
    assert writer.commits == len(store.batches)


def test_a_request_that_does_not_fit_the_queue_is_told_at_once():
    writer = GroupCommit(Faulty(), queue_limit=2, batch_limit=2)
    (full,) = gather(writer, ["a", "b", "c"])
    assert isinstance(full, QueueFull)
    assert full.status == 503
    writer.close()


def test_a_survey_published_by_another_process_is_found(tmp_path):
    store = open_store(tmp_path / "a.sqlite3")
    here, there = Catalogue(store.shelf), Catalogue(store.shelf)
    listed, new = there.publish(publication().envelope, [KEY.public.raw.hex()])
    assert new
    digest = listed.published.digest
    assert here.known(digest) is None
    assert here.find(digest) is not None
    assert here.known(digest) is not None
    assert here.find("0" * 64) is None
    assert [one.published.digest for one in Catalogue(store.shelf).all()] == [digest]
    store.disconnect()


def test_a_survey_is_called_unknown_only_after_the_database_was_asked(tmp_path):
    """A device takes "unknown survey" for final: somebody else's question a moment before must not decide it."""
    store = open_store(tmp_path / "a.sqlite3")
    here, there = Catalogue(store.shelf), Catalogue(store.shelf)
    assert here.find("0" * 64) is None
    listed, _ = there.publish(publication().envelope, [KEY.public.raw.hex()])
    assert here.find(listed.published.digest) is not None
    store.disconnect()


def test_a_flood_of_unknown_surveys_is_bounded_and_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("server_agg.collect.catalogue.time.monotonic", lambda: 7.5)
    monkeypatch.setattr("server_agg.collect.catalogue.MOST_LOOKS", 5)
    store = open_store(tmp_path / "a.sqlite3")
    here, there = Catalogue(store.shelf), Catalogue(store.shelf)
    listed, _ = there.publish(publication().envelope, [KEY.public.raw.hex()])
    asked, known = [], store.shelf.surveys
    monkeypatch.setattr(store.shelf, "surveys", lambda digest=None: asked.append(digest) or known(digest))
    assert [here.find(f"{number:064x}") for number in range(5)] == [None] * 5
    for digest in ("f" * 64, listed.published.digest):
        with pytest.raises(StoreUnavailable, match="send it again in a moment"):
            here.find(digest)
    assert len(asked) == 5
    monkeypatch.setattr("server_agg.collect.catalogue.time.monotonic", lambda: 8.0)
    assert here.find(listed.published.digest) is not None
    store.disconnect()


def test_what_is_remembered_of_reports_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("server_agg.collect.admission.MOST_REMEMBERED", 2)
    store = open_store(tmp_path / "a.sqlite3")
    catalogue = Catalogue(store.shelf)
    listed, _ = catalogue.publish(publication(segments={"s": list("abcdef")}).envelope, [KEY.public.raw.hex()])
    admission = Admission(catalogue.known, grace=timedelta(0), list_limit=1)
    for value in "abcdef":
        admission.admit(body(listed.published.digest, segments={"s": value}))
        assert len(admission.frames) <= 2
    store.disconnect()


@pytest.mark.parametrize("bad", [
    {"minimum": 1}, {"minimum": True}, {"list_limit": 0}, {"list_limit": 5000}, {"queue_limit": 1},
    {"grace": timedelta(days=-1)},
])  # fmt: skip
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError):
        CollectorSettings(**bad)


def waiting(**changes):
    made = ReportRow("ab" * 32, "q1", 0, DESIGN, "1", secrets.token_hex(16), None, "{}")._replace(**changes)
    return incoming(made)


def test_reports_that_wait_together_come_back_as_they_were():
    """Answers of one and of several characters, with and without tickets, names in other letters."""
    made = [
        waiting(question=question, round=round_, answer=answer, ticket=ticket and secrets.token_hex(16), segments=group)
        for question in ("q1", "вопрос\n")
        for round_ in (0, 999)
        for answer in ("0", "1", "01100", "11000", "1" * 256)
        for ticket in (None, True)
        for group in ("{}", '{"land":"Österreich"}')
    ]
    crowds = unpacked(packed(made))
    again = [report for crowd in crowds for report in crowd.reports()]
    assert sorted(again, key=lambda one: one.id) == sorted(made, key=lambda one: one.id)
    assert len(crowds) == 2 * 2 * 3 * 2 * 2  # answers of one length are together
    assert sum(waiting_in(crowds).values()) == len(made)
    least = dict.fromkeys((one.row.survey for one in made), 0)
    folded = folded_from(crowds, set(waiting_in(crowds)), least, keep_rows=True)
    assert folded.rows == sorted((one.row for one in made), key=lambda row: row.id)
    assert {n.n for n in folded.counts.values()} == {2}  # by ticket or without, they are one cell
    assert folded.spent == sorted((one.spending for one in made if one.spending), key=lambda one: (one.ticket, one))


def test_the_length_of_a_content_tells_how_many_reports_are_in_it_and_nothing_else():
    key = EpochKey(secrets.token_bytes(32))
    for n in (1, 2, 30):
        alike = [waiting() for _ in range(n)]
        mixed = [waiting(answer=str(at % 2), question=f"q{at % 7}", segments=f'{{"g":"{at % 3}"}}') for at in range(n)]
        contents = [packed(alike), packed(mixed)]
        assert {len(key.sealed(content, 256 * n)) for content in contents} == {12 + 256 * n + 16}
    assert len({len(content) for content in contents}) == 2  # without the padding it would tell


def test_refusals_can_be_pickled_and_tokens_are_not_shown():
    again = pickle.loads(pickle.dumps(Refusal(404, "unknown_survey", "why")))  # noqa: S301
    assert (again.status, again.code, again.reason) == (404, "unknown_survey", "why")
    assert "secret" not in repr(OwnerToken("a secret token of mine"))
    with pytest.raises(ParameterError):
        OwnerToken.from_file("/no/such/file")


def test_only_the_named_assets_are_served():
    assert asset("../app.py") is None
    assert asset("rr-survey.mjs") is not None


def test_a_survey_below_the_collectors_own_minimum_is_refused_when_it_is_handed_in(tmp_path):
    with open_store(tmp_path / "r.sqlite3") as store:
        catalogue, key = Catalogue(store.shelf), KEY.public.raw.hex()
        with pytest.raises(Refusal, match="from 9 answers on, .* from 10 on: sign it with minimum = 10 or more"):
            catalogue.publish(publication(minimum=9).envelope, [key], floor=10)
        assert catalogue.publish(publication(minimum=10).envelope, [key], floor=10)[1]
        assert catalogue.all()[0].survey.minimum == 10


def test_the_cells_of_a_question_are_few_enough_to_count(tmp_path):
    """Segments and rounds are signed: nobody who answers makes more cells than the publisher could sign."""
    values = [f"v{n}" for n in range(99)]
    segments = {"one": values, "two": values}  # 10,000 cells, not declaring one counted
    made = publication(question(rounds=10), segments=segments)
    many = expired(questions=[question(rounds=11)], segments=segments)
    with pytest.raises(ParameterError, match=r"segments is '110,000 cells': use at most 100,000"):
        many.survey.publish([KEY])
    with open_store(tmp_path / "a.sqlite3") as store:
        catalogue = Catalogue(store.shelf)
        assert catalogue.publish(made.envelope, [KEY.public.raw.hex()])[1]
        with pytest.raises(Refusal, match="110,000 cells"):
            catalogue.publish(many.envelope, [KEY.public.raw.hex()])
