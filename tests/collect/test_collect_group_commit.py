"""The single writer: who gets which outcome, how requests gather, and how it stops."""

import asyncio
import subprocess
import sys
import threading

import pytest

from server_agg.errors import QueueFull, StoreFull, StoreUnavailable
from tests.inside.collect import GroupCommit, ReportOutcome
from tests.support.waiting import PATIENCE

KINDS = list(ReportOutcome)


class GatedStore:
    """A store whose disk waits for a gate; the outcome of arrival k is the k-th kind."""

    def __init__(self, fault=None):
        self.open, self.entered, self.batches, self.fault = threading.Event(), threading.Event(), [], fault
        self.folds, self.fold_faults, self.foldable = 0, (), threading.Event()
        self.foldable.set()

    def take(self, arrivals):
        self.batches.append(list(arrivals))
        self.entered.set()
        assert self.open.wait(PATIENCE)
        if self.fault is not None:
            raise self.fault
        return [KINDS[k] for k in arrivals]

    def fold(self, *, wait):
        assert self.foldable.wait(PATIENCE)
        self.folds += 1
        if self.folds in self.fold_faults:
            raise StoreFull("full")
        return 7


@pytest.fixture
def started():
    """Makes writers and ends them, gate open."""
    made = []

    def start(fault=None, **limits):
        store = GatedStore(fault)
        made.append((store, GroupCommit(store, **limits)))
        return made[-1]

    yield start
    for store, writer in made:
        store.open.set()
        closing = threading.Thread(target=writer.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive()
        assert not writer._thread.is_alive()


async def until(found, *, end=PATIENCE):
    async with asyncio.timeout(end):
        while not found():
            await asyncio.sleep(0.001)


async def behind_the_first(store, writer, *groups):
    """Requests that gather while the first one waits for the disk; the tasks, the first one's among them."""
    tasks = [asyncio.create_task(writer.take([0]))]
    await until(store.entered.is_set)
    for group in groups:
        tasks.append(asyncio.create_task(writer.take(group)))
        await asyncio.sleep(0)
    return tasks


async def ends(tasks):
    return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), PATIENCE)


def test_each_request_gets_its_own_outcomes_after_the_commit(started):
    store, writer = started()
    assert (writer.waiting, writer.commits, writer.queue_limit, writer.batch_limit) == (0, 0, 10_000, 1_000)

    async def work():
        tasks = await behind_the_first(store, writer, [1, 2], [3], [4, 0, 1])
        assert writer.waiting == 7
        await asyncio.sleep(0.02)
        assert not any(task.done() for task in tasks)
        store.open.set()
        return await ends(tasks)

    assert asyncio.run(work()) == [[KINDS[k] for k in group] for group in ([0], [1, 2], [3], [4, 0, 1])]
    assert store.batches == [[0], [1, 2, 3, 4, 0, 1]]
    assert (writer.waiting, writer.commits) == (0, 2)


def test_a_batch_is_filled_to_its_limit_and_a_longer_list_goes_alone(started):
    store, writer = started(batch_limit=3)

    async def work():
        tasks = await behind_the_first(store, writer, [1, 1], [2], [3], [4, 4, 4, 4], [0])
        store.open.set()
        return await ends(tasks)

    assert [len(own) for own in asyncio.run(work())] == [1, 2, 1, 1, 4, 1]
    assert store.batches == [[0], [1, 1, 2], [3], [4, 4, 4, 4], [0]]
    assert writer.commits == 5


def test_the_queue_is_filled_to_its_limit_and_not_beyond(started):
    store, writer = started(queue_limit=4)

    async def work():
        tasks = await behind_the_first(store, writer, [1, 1], [1, 1], [1], [1])
        await until(lambda: tasks[2].done() and tasks[4].done())
        assert writer.waiting == 4
        store.open.set()
        return await ends(tasks)

    done = asyncio.run(work())
    assert [isinstance(own, QueueFull) for own in done] == [False, False, True, False, True]
    assert str(done[2]).startswith("3 reports wait for the disk")
    assert str(done[4]).startswith("4 reports wait for the disk")
    assert writer.waiting == 0


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (StoreFull("full"), StoreFull, "full"),
        (RuntimeError("a secret"), StoreUnavailable, r"the store failed \(RuntimeError\)"),
    ],
)
def test_a_failed_commit_fails_all_its_requests_and_is_not_counted(started, fault, kind, words):
    store, writer = started(fault)

    async def work():
        tasks = await behind_the_first(store, writer, [1, 2], [3])
        store.open.set()
        return await ends(tasks)

    for own in asyncio.run(work()):
        with pytest.raises(kind, match=f"^{words}$"):
            raise own
    assert (writer.waiting, writer.commits) == (0, 0)


def test_who_went_away_keeps_nobody_waiting(started):
    store, writer = started()

    async def work():
        tasks = await behind_the_first(store, writer, [1], [2])
        tasks[1].cancel()
        await asyncio.sleep(0)
        store.open.set()
        return await ends([tasks[0], tasks[2]])

    assert asyncio.run(work()) == [[KINDS[0]], [KINDS[2]]]
    assert store.batches == [[0], [1, 2]]  # what was accepted is written all the same


def test_requests_of_several_loops_wake_in_their_own(started):
    store, writer = started()
    found = {}

    def other():
        found["other"] = asyncio.run(asyncio.wait_for(writer.take([3]), PATIENCE))

    async def work():
        tasks = await behind_the_first(store, writer, [1])
        thread = threading.Thread(target=other)
        thread.start()
        await until(lambda: writer.waiting == 3)
        store.open.set()
        own = await ends(tasks)
        await until(lambda: not thread.is_alive())
        return own

    assert asyncio.run(work()) == [[KINDS[0]], [KINDS[1]]]
    assert found["other"] == [KINDS[3]]


def test_a_loop_that_ended_meanwhile_ends_nothing_else(started):
    store, writer = started()

    async def leave():
        asyncio.create_task(writer.take([1]))  # noqa: RUF006
        await until(store.entered.is_set)

    asyncio.run(leave())
    store.open.set()
    assert asyncio.run(asyncio.wait_for(writer.take([2]), PATIENCE)) == [KINDS[2]]
    assert writer.commits == 2


def test_closing_finishes_what_was_accepted_and_takes_no_more(started):
    store, writer = started(batch_limit=1)

    async def work():
        tasks = await behind_the_first(store, writer, [1], [2])
        closing = threading.Thread(target=writer.close, daemon=True)
        closing.start()
        await until(lambda: writer._closed)
        with pytest.raises(StoreUnavailable, match="stopping"):
            await writer.take([3])
        assert closing.is_alive()  # it waits for the disk
        store.open.set()
        own = await ends(tasks)
        await until(lambda: not closing.is_alive())
        return own

    assert asyncio.run(work()) == [[KINDS[k]] for k in (0, 1, 2)]
    assert store.batches == [[0], [1], [2]]
    assert not writer._thread.is_alive()


def test_what_was_taken_is_folded_a_little_later_once_and_again_after_a_failure(started):
    store, writer = started(fold_seconds=0.02)
    store.open.set()
    store.fold_faults = (1,)
    store.foldable.clear()

    async def work():
        await writer.take([0])
        assert store.folds == 0  # a sender does not wait for a fold
        store.foldable.set()
        await until(lambda: writer.folded == 7)
        assert store.folds == 2  # the first one failed
        await asyncio.sleep(0.1)
        assert store.folds == 2  # nothing came since
        await writer.take([0])
        await until(lambda: writer.folded == 14)

    asyncio.run(work())


def test_a_large_intake_is_folded_before_it_is_time(started, monkeypatch):
    monkeypatch.setattr("server_agg.collect.group_commit.FOLD_REPORTS", 5)
    store, writer = started(fold_seconds=60)
    store.open.set()

    async def work():
        await writer.take([0, 0])
        await asyncio.sleep(0.05)
        assert store.folds == 0
        await writer.take([0, 0, 0])
        await until(lambda: store.folds == 1)

    asyncio.run(work())


def test_folding_waits_while_it_is_not_time_and_closing_folds(started):
    store, writer = started(fold_seconds=60)
    store.open.set()

    async def work():
        for _ in range(3):
            await writer.take([0])

    asyncio.run(work())
    assert store.folds == 0
    writer.close()
    assert store.folds == 1


@pytest.mark.process
def test_a_process_that_ends_is_not_held_up_by_a_writer_nobody_closed():
    """The thread is a daemon: an interpreter that ends does not wait for it."""
    lines = (
        "from server_agg.collect.group_commit import GroupCommit",
        "GroupCommit(None)",
        "print('ended')",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "ended\n"
