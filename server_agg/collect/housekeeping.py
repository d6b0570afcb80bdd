"""What a collector does from time to time.

Rules
1. Every few seconds it looks for withdrawals that other processes on the database were told.
2. A close that was interrupted is done again, whoever asked for it.
3. With a setting for retention it closes every survey that expired so long ago: counts stay, all else goes.
4. With a step for releases it releases every survey once in each, at the step's beginning (`release`).
5. Every `log_seconds` it tells refusals by reason (`logs`).
6. An unreachable store is logged once; housekeeping goes on.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import timedelta

from server_agg.collect import apart
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.logs import Watch, said
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.release import due, last_facts
from server_agg.collect.store.store import Store
from server_agg.errors import KeysBusy, StoreError

LOOK_SECONDS = 5.0


async def keep_house(store: Store, catalogue: Catalogue, watch: Watch, settings: CollectorSettings) -> None:
    """Run until it is cancelled."""
    told, step = time.monotonic(), _step(settings)
    while True:
        try:
            await asyncio.to_thread(tidy, store, catalogue, settings)
            if settings.release_every is not None and _step(settings) != step:
                await asyncio.to_thread(release_all, store, catalogue, settings.release_every)
                step = _step(settings)
        except StoreError as error:
            watch.store(error, "housekeeping")
        else:
            watch.store(None, "housekeeping")
        await asyncio.sleep(min(LOOK_SECONDS, settings.log_seconds))
        if time.monotonic() - told >= settings.log_seconds:
            told = time.monotonic()
            watch.tell()


def _step(settings: CollectorSettings) -> int:
    """The number of the present step between releases."""
    return 0 if settings.release_every is None else int(time.time() // settings.release_every.total_seconds())


def tidy(store: Store, catalogue: Catalogue, settings: CollectorSettings) -> None:
    """Note what other processes were told, and close what is due."""
    catalogue.look_for_withdrawals()
    closed = finish_closing(store)
    if settings.retention_days is not None:
        closed += close_due(store, catalogue, settings.grace + timedelta(days=settings.retention_days))
    for digest in closed:
        said("survey closed", survey=digest)


def release_all(store: Store, catalogue: Catalogue, step: timedelta, now: float | None = None) -> int:
    """Release every survey that was not released yet in this step; how many changed."""
    moment = time.time() if now is None else now
    catalogue.refresh()
    last = last_facts(store.database)
    waiting = [one.survey for one in catalogue.all() if due(last.get(one.published.digest), step, moment)]
    return sum(apart.release(store, survey, now=moment)["added"] > 0 for survey in waiting)


def close_due(store: Store, catalogue: Catalogue, after: timedelta, now: float | None = None) -> list[str]:
    """Close every survey that expired at least so long ago and is not closed to the end; their digests."""
    moment = time.time() if now is None else now
    due = [one for one in catalogue.all() if (one.survey.expires + after).timestamp() <= moment]
    closed = {one.digest for one in store.shelf.surveys() if one.finished} if due else set()
    found = [one.published.digest for one in due if one.published.digest not in closed]
    for digest in found:
        store.folds.finish(digest)
    return found


def finish_closing(store: Store) -> list[str]:
    """Do again what was interrupted of a close, unless another is at it; the digests."""
    found = []
    with suppress(KeysBusy):
        for digest in store.folds.unfinished():
            store.folds.finish(digest, wait=False)
            found.append(digest)
    return found
