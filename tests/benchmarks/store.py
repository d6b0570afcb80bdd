"""The store by itself: repeats and tickets on PostgreSQL, lists, results of many reports.

Run: python -m tests.benchmarks.store

    PostgreSQL   groups of 200 reports, as the group commit makes them, folds included: all new; one in a hundred a
                 repeat; all with a ticket.  Repeats should keep 0.7 of the rate, tickets 0.5.
    lists        reports over HTTP by the CPU time of the collector, alone on 64 connections or in lists of 100 on 4:
                 at least 5 times as many per core-second.
    results      the owner's results of 10^4 cells with 10^4 and with 10^7 reports: no slower by a fifth.  Every cell is
                 shown in both: with a minimum, more reports would show more cells, and that is what a page costs.
    event loop   how long the dearest body that a sender may send holds it, beside fifty ordinary reports: no longer.
    export       rows from the cursor into Parquet, beside a report built and written for every row: 10 times as fast.
"""

from __future__ import annotations

import math
import random
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rrcollect import Report, Survey
from server_agg import open_store, write_reports
from server_agg.collect import Store
from server_agg.collect.http.findings import live_results
from tests.benchmarks.event_loop import ORDINARY, measured
from tests.benchmarks.ingest import CONNECTIONS, served
from tests.benchmarks.measure import Timing, interleave, take_turns, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Ratio, Section, compare, rates
from tests.inside.collect import Catalogue, Cell, CellCount, IncomingReport, PublishedSurvey, add_to_crowds, incoming
from tests.inside.design import from_text
from tests.inside.publish import ReportRow, known_as
from tests.support.devices import KEY
from tests.support.devices import survey as asked_survey
from tests.support.kept_rows import kept_rows
from tests.support.postgres_server import running_postgres

GROUP, LIST, GROUPS_PER_FOLD = 200, 100, 20
REPEATS = 0.01
DIGEST, DESIGN = "ab" * 32, '{"p00":"3/4","p11":"3/4"}'
NEW, REPEATED, INVITED = "PostgreSQL, new reports", "PostgreSQL, 1 % repeats", "PostgreSQL, with tickets"
LISTS, SINGLES = "lists of 100, per core-second", "single reports, per core-second"
MANY, FEW = "results of 10^7 reports", "results of 10^4 reports"
CURSOR, BUILT = "export from the cursor", "export by reports"
WORK = ("a fold", "a release", "results")  # by cells: 10^5 against 10^3
DEAREST, FIFTY = "the dearest body on the event loop", "fifty ordinary reports"
FLOORS: dict[tuple[str, str], float | None] = {
    (REPEATED, NEW): 0.7,
    (INVITED, NEW): 0.5,
    (LISTS, SINGLES): 5.0,
    (MANY, FEW): 1 / 1.2,
    (CURSOR, BUILT): 10.0,
    (DEAREST, FIFTY): 1.0,
    **{(f"{work} of 10^5 cells", f"{work} of 10^3 cells"): 0.4 for work in WORK},  # at most linear, caches apart
}


def row(ticket: str | None = None) -> IncomingReport:
    made = ReportRow(DIGEST, "q1", 0, DESIGN, "1", secrets.token_hex(16), ticket, "{}")
    return incoming(made)


def survey(number: int, minimum: int = 30) -> PublishedSurvey:
    return PublishedSurvey(DIGEST, b"", ("aa" * 32,), "Bench", "bench", number, minimum)


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def groups(kind: str, store: Store, many: int) -> list[list[IncomingReport]]:
    """Reports in groups; tickets are made known to the store."""
    tickets: list[str | None] = [secrets.token_hex(16) if kind == INVITED else None for _ in range(many * GROUP)]
    if kind == INVITED:
        store.shelf.add_invites(DIGEST, [known_as(ticket, "q1", 0) for ticket in tickets if ticket])
    made = [row(ticket) for ticket in tickets]
    found = [made[start : start + GROUP] for start in range(0, len(made), GROUP)]
    if kind == REPEATED:
        for before, group in zip([found[-1], *found], found, strict=False):
            group[:: round(1 / REPEATS)] = before[1 :: round(1 / REPEATS)]
    return found


def taken_in_turns(addresses: dict[str, str], many: int, turn: int) -> dict[str, float]:
    """Seconds per report by kind: every kind takes a group, in an order that changes, and then the next; so what else
    the machine does hits all alike."""
    stores = {kind: open_store(address) for kind, address in addresses.items()}
    made, spent = {}, dict.fromkeys(stores, 0.0)
    for kind, store in stores.items():
        store.shelf.publish(survey(1))
        made[kind] = groups(kind, store, many)
    order, mixed = list(stores), random.Random(turn)
    for number in range(many):
        mixed.shuffle(order)
        for kind in order:
            began = time.perf_counter()
            stores[kind].take(made[kind][number])
            if number % GROUPS_PER_FOLD == GROUPS_PER_FOLD - 1 or number == many - 1:
                stores[kind].fold()
            spent[kind] += time.perf_counter() - began
    for store in stores.values():
        store.disconnect()
    return {kind: seconds / (many * GROUP) for kind, seconds in spent.items()}


def on_postgres(rounds: int, many: int) -> dict[str, Timing]:
    """The three kinds on one server, each in a database of its own in every round."""
    with running_postgres() as server:
        found = [
            taken_in_turns({kind: server.new_database() for kind in (NEW, REPEATED, INVITED)}, many, turn)
            for turn in range(rounds)
        ]
    return {
        kind: Timing(kind, min(one[kind] for one in found), statistics.median(one[kind] for one in found))
        for kind in found[0]
    }


@contextmanager
def sqlite(*, keep_rows: bool = False) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder, "reports.sqlite3"), keep_rows=keep_rows)
        try:
            yield store
        finally:
            store.disconnect()


# ---- results and rows ------------------------------------------------------------------------------------------------


def crossed(cells: int) -> Survey:
    """A survey with two segments, whose groups have about so many cells of two answers in all."""
    values = [f"v{number}" for number in range(max(1, math.isqrt(cells // 2)))]
    return asked_survey(segments={"one": values, "two": values}, minimum=2)


def filled(store: Store, asked: Survey, each: int) -> int:
    """So many reports in every cell; how many cells there are."""
    values = asked.segments["one"].values
    groups = [f'{{"one":"{one}","two":"{two}"}}' for one in values for two in values]
    counts = {
        Cell(asked.digest, "q1", 0, DESIGN, group, answer): CellCount(each) for group in groups for answer in "01"
    }
    with store.database.writing() as cursor:
        add_to_crowds(store.database, cursor, {}, counts)
    return len(counts)


def shown(store: Store, asked: Survey) -> dict[str, Any]:
    """The results as the owner's page reads them, every cell of them."""
    return live_results(store, [asked])[0]


def by_reports(store: Store, path: Path) -> int:
    """The plain way: a report built, checked and written for every row.  (For the way it was: `export_before`.)"""
    design = from_text(DESIGN)
    found = (Report(**{**one._asdict(), "design": design, "segments": {}}) for one in kept_rows(store))
    return write_reports(path, found)


def by_cells(cells: int) -> dict[str, float]:
    """Seconds of CPU time per cell for each kind of work, in a store with three reports in every cell: a fold that
    counts all of them, the release of all, and the results."""
    values, spent = [f"v{number}" for number in range(int(cells ** (1 / 3)) - 1)], []  # or not declared
    asked = asked_survey(segments=dict.fromkeys(("one", "three", "two"), values), minimum=2)
    groups = [f'{{"one":"{one}","three":"{three}","two":"{two}"}}' for one, three, two in product(values, repeat=3)]
    with sqlite() as store:
        Catalogue(store.shelf).publish(asked.publish([KEY]).envelope, [KEY.public.raw.hex()])
        for answer in "011":
            made = ReportRow(asked.digest, "q1", 0, DESIGN, answer, None, None, "{}")
            store.take([incoming(made._replace(id=secrets.token_hex(16), segments=group)) for group in groups])
        works: list[Callable[[], object]] = [store.fold, partial(store.release, asked), partial(shown, store, asked)]
        for work in works:
            began = time.process_time()
            work()
            spent.append((time.process_time() - began) / len(groups))
    return dict(zip(WORK, spent, strict=True))


def linear(rounds: int, effort: Effort) -> dict[str, Timing]:
    """Every kind of work with many cells and with few; the few as often as fills the time."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, cells in (("10^3", 1000), ("10^5", max(2000, int(100_000 * effort.scale)))):
            for work, seconds in by_cells(cells).items():
                found.setdefault(f"{work} of {name} cells", []).append(seconds)
    return {name: Timing(name, min(all_), statistics.median(all_)) for name, all_ in found.items()}


def held(rounds: int) -> list[Ratio]:
    """The dearest body on the event loop: of several measurements of one the least, and of all bodies the most."""
    found = [measured() for _ in range(rounds)]
    best, median = (
        ORDINARY / max(how(one[body] for one in found) for body in found[0]) for how in (min, statistics.median)
    )
    return [Ratio(ours=DEAREST, theirs=FIFTY, value=best, median=median, floor=FLOORS[DEAREST, FIFTY])]


def section(effort: Effort = FULL) -> Section:
    rounds, many = max(3, effort.repetitions // 3), max(2, int(50 * effort.scale))
    tell(f"store: {rounds} rounds")
    contestants: dict[str, Callable[[], float]] = {
        LISTS: lambda: served("collector", 2.0 * effort.scale, 4, LIST)[1] / LIST,
        SINGLES: lambda: served("collector", 2.0 * effort.scale, CONNECTIONS)[1],
    }
    timings = take_turns(contestants, rounds) | on_postgres(rounds, many) | linear(2, effort)
    asked = crossed(effort.size(10_000))
    with sqlite() as few, sqlite() as more, sqlite(keep_rows=True) as kept, tempfile.TemporaryDirectory() as folder:
        filled(few, asked, 1)
        cells = filled(more, asked, 1000)
        kept.shelf.publish(survey(1, 2))
        exported = effort.size(20_000)
        kept.take([row() for _ in range(exported)])
        kept.fold()
        files = Path(folder, "cursor.parquet"), Path(folder, "reports.parquet")
        timings |= interleave(
            {
                FEW: (cells, partial(shown, few, asked)),
                MANY: (cells, partial(shown, more, asked)),
                CURSOR: (exported, partial(kept.export, files[0])),
                BUILT: (exported, partial(by_reports, kept, files[1])),
            },
            effort.repetitions,
            clock=time.process_time,
        )
    return Section(
        name="store",
        title="The collector's store",
        text=f"Reports by groups of {GROUP} into PostgreSQL, folds included; reports over HTTP alone and in "
        f"lists of {LIST}, by the collector's CPU time; results of {cells} cells; rows into Parquet; hostile bodies.",
        unit="thousand reports (or cells) per second",
        rows=rates(timings, 1e-3),
        ratios=compare(timings, FLOORS) + held(rounds),
    )


if __name__ == "__main__":
    show(section())
