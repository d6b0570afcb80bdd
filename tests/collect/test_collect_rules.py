"""Small rules of the collector's parts that need no server."""

import asyncio
import pickle
from datetime import timedelta

import pytest

from rrcollect import ParameterError
from server_agg import CollectorSettings, OwnerToken
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.errors import QueueFull, Refusal, StoreFull, StoreUnavailable
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.pages import asset
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import Outcome
from tests.support.collector_running import body, publication
from tests.support.devices import KEY


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
        return [Outcome.NEW] * len(arrivals)


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
    assert gather(writer, ["c"]) == [[Outcome.NEW]]
    writer.close()
    (late,) = gather(writer, ["d"])
    assert isinstance(late, StoreUnavailable)
    assert writer.waiting == 0


def test_requests_gather_into_batches_of_limited_size():
    store = Faulty()
    writer = GroupCommit(store, batch_limit=3, queue_limit=100)
    outcomes = gather(writer, [0, 0], *([n] for n in range(20)))
    writer.close()
    assert all(own == [Outcome.NEW] * len(own) for own in outcomes)
    assert max(len(batch) for batch in store.batches) <= 3
    assert writer.commits == len(store.batches)


def test_a_request_that_does_not_fit_the_queue_is_told_at_once():
    writer = GroupCommit(Faulty(), queue_limit=2, batch_limit=2)
    (full,) = gather(writer, ["a", "b", "c"])
    assert isinstance(full, QueueFull)
    assert full.status == 503
    writer.close()


def test_a_survey_published_by_another_process_is_found(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite3")
    here, there = Catalogue(store), Catalogue(store)
    listed, new = there.publish(publication().envelope, [KEY.public.raw.hex()])
    assert new
    digest = listed.published.digest
    assert here.known(digest) is None
    assert here.find(digest) is not None
    assert here.known(digest) is not None
    assert here.find("0" * 64) is None
    assert [one.published.digest for one in Catalogue(store).all()] == [digest]
    store.close()


def test_what_is_remembered_of_reports_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("server_agg.collect.admission.MOST_REMEMBERED", 2)
    store = SqliteStore(tmp_path / "a.sqlite3")
    catalogue = Catalogue(store)
    listed, _ = catalogue.publish(publication(segments={"s": list("abcdef")}).envelope, [KEY.public.raw.hex()])
    admission = Admission(catalogue.known, grace=timedelta(0), list_limit=1)
    for value in "abcdef":
        admission.admit(body(listed.published.digest, segments={"s": value}))
        assert len(admission._frames) <= 2
    store.close()


@pytest.mark.parametrize("bad", [
    {"minimum": 1}, {"minimum": True}, {"list_limit": 0}, {"list_limit": 5000}, {"queue_limit": 1},
    {"grace": timedelta(days=-1)},
])  # fmt: skip
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError):
        CollectorSettings(**bad)


def test_refusals_can_be_pickled_and_tokens_are_not_shown():
    again = pickle.loads(pickle.dumps(Refusal(404, "unknown_survey", "why")))  # noqa: S301
    assert (again.status, again.code, again.reason) == (404, "unknown_survey", "why")
    assert "secret" not in repr(OwnerToken("a secret token of mine"))
    with pytest.raises(ParameterError):
        OwnerToken.from_file("/no/such/file")


def test_only_the_named_assets_are_served():
    assert asset("../app.py") is None
    assert asset("rrcollect.mjs") is not None
