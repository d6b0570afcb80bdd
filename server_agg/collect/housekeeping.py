"""What a collector does from time to time.

Rules
1. Every few seconds it looks for withdrawals that other processes on the database were told.
2. A close that was interrupted is done again, whoever asked for it.
3. With a setting for retention it closes every survey that expired so long ago (`closing`): counts stay, all else goes.
4. With a step for releases it releases every survey once in each, at the step's beginning (`releasing`).
5. Every `log_seconds` it tells refusals by reason (`logs`).
6. A store that cannot be reached is told once, and ends nothing of this.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from server_agg.collect.catalogue import Catalogue
from server_agg.collect.closing import close_due, finish_closing
from server_agg.collect.errors import StoreError
from server_agg.collect.logs import Watch, said
from server_agg.collect.releasing import release_all
from server_agg.collect.settings import Settings
from server_agg.collect.store import Store

LOOK_SECONDS = 5.0


async def keep_house(store: Store, catalogue: Catalogue, watch: Watch, settings: Settings) -> None:
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


def _step(settings: Settings) -> int:
    """The number of the present step between releases."""
    return 0 if settings.release_every is None else int(time.time() // settings.release_every.total_seconds())


def tidy(store: Store, catalogue: Catalogue, settings: Settings) -> None:
    """Note what other processes were told, and close what is due."""
    catalogue.look_for_withdrawals()
    for digest in finish_closing(store):
        said("survey closed", survey=digest)
    if settings.retention_days is not None:
        after = settings.grace + timedelta(days=settings.retention_days)
        for digest in close_due(store, catalogue, after):
            said("survey closed", survey=digest)
