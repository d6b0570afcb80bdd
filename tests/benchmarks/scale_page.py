"""docs/scale.md and docs/scale.svg, made of what `scale` recorded in tests/benchmarks/scale.json.

An exponent b is the least-squares slope of log cost over log rows: cost ∝ rows^b.  Start-up costs flatten it, so it is
that of the two largest sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.assurance.page import lines
from tests.benchmarks.scale import ENGINES, MEMORY, SIZES, recorded

DAY = 86_400
REPORTS = 10**9
MACHINE_GB = 23
PEAK = 3  # how much busier the busiest hour is than the mean: an assumption, said on the page
Batch = dict[str, Any]


def exponent(rows: Sequence[float], costs: Sequence[float]) -> float | None:
    """The slope of log cost over log rows; None from fewer than two sizes.

    >>> round(exponent([10, 100, 1000], [5, 50, 500]), 6)
    1.0
    """
    if len(rows) < 2:
        return None
    x, y = [math.log(n) for n in rows], [math.log(cost) for cost in costs]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y, strict=True)) / sum((p - a) ** 2 for p in x)


def slope(batches: list[Batch], cost: str) -> float | None:
    """The exponent of an engine's cost."""
    used = batches[-2:]
    return exponent([batch["rows"] for batch in used], [batch[cost] for batch in used])


def by_engine(batches: list[Batch]) -> dict[str, list[Batch]]:
    """The batches of each engine, the smallest first."""
    return {
        name: sorted((batch for batch in batches if batch["engine"] == name), key=lambda batch: batch["rows"])
        for name in ENGINES
        if any(batch["engine"] == name for batch in batches)
    }


def page(figures: dict[str, Any]) -> str:
    """The page."""
    engines = by_engine(figures["batches"])
    dates = sorted({batch["date"] for batch in figures["batches"]} | {figures["collector"]["date"]})
    loads = [batch["load"] for batch in figures["batches"]]
    text = [
        "# Scale from measured slopes",
        "",
        *lines(
            f"Written by `python -m tests.benchmarks.scale`, {dates[0]} to {dates[-1]}, on 2 cores (AMD EPYC) that "
            f"other work shared (load {min(loads):.1f} to {max(loads):.1f} per core). So CPU seconds are compared, "
            "which other work disturbs least; times on the clock are upper bounds. One run of each size, each in a "
            "process of its own."
        ),
        "",
        "## Counting",
        "",
        *lines(
            "`python -m tests.benchmarks.scale`: "
            "one Parquet file; every row is validated, deduplicated by report id and grouped. Memory is the peak of "
            f"the process, and of Java for Spark; DuckDB is limited to {MEMORY}, beyond which it spills to disk. "
            "Cost ∝ rows^b; b is that of the two largest sizes of an engine: in small ones starting up counts most."
        ),
        "",
        "| engine | rows | CPU seconds | seconds on the clock | peak memory, GB |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(_row(batch) for batches in engines.values() for batch in batches),
        "",
        "| engine | b of CPU seconds | b of memory | rows per core-second at the largest size |",
        "| --- | ---: | ---: | ---: |",
        *(_slopes(name, batches) for name, batches in engines.items()),
        "",
        *lines(f"Not run: {_missing(engines, figures['killed'])}.{_killed(figures['killed'])}"),
        "",
        "![CPU seconds and peak memory against rows](scale.svg)",
        "",
        *_collector(figures["collector"]),
        *_many(),
        *_day(figures["collector"], engines["DuckDB"]),
    ]
    return "\n".join([*text, ""])


def _killed(stopped: list[Batch]) -> str:
    """The runs that the system ended."""
    return "".join(
        f" **{batch['engine']} at {batch['size']:,} rows was killed by the system**, which has {MACHINE_GB} GB of "
        "memory, shared: it holds all rows and what is made of them at once."
        for batch in stopped
    )


def _missing(engines: dict[str, list[Batch]], killed: list[Batch]) -> str:
    """The sizes that each engine was not asked for, with the memory that its slope says they need."""
    told = []
    for name, batches in engines.items():
        seen = {batch["size"] for batch in [*batches, *killed] if batch["engine"] == name}
        for size in (size for size in SIZES if size not in seen):
            last, b = batches[-1], slope(batches, "bytes") or 1.0
            need = last["bytes"] * (size / last["rows"]) ** b / 1e9
            why = f", of the {MACHINE_GB} GB there are" if need > MACHINE_GB else ""
            told.append(f"{name} at 10^{round(math.log10(size))} rows (about {need:,.0f} GB by its slope{why})")
    return "; ".join(told) or "nothing"


def _row(batch: Batch) -> str:
    figures = (batch["cpu"], batch["seconds"])
    told = [f"{batch['rows']:,}", *(f"{value:.1f}" for value in figures), f"{batch['bytes'] / 1e9:.2f}"]
    return f"| {' | '.join([batch['engine'], *told])} |"


def _slopes(name: str, batches: list[Batch]) -> str:
    last = batches[-1]
    told = ["–" if b is None else f"{b:.2f}" for b in (slope(batches, "cpu"), slope(batches, "bytes"))]
    return f"| {name} | {told[0]} | {told[1]} | {last['rows'] / last['cpu']:,.0f} |"


def _collector(collector: dict[str, Any]) -> list[str]:
    units = {
        "core seconds, alone": "core-microseconds per report, one per request",
        "core seconds, in lists of 100": "core-microseconds per report, in lists of 100",
        "bytes on the wire": "bytes of a report on the wire, without HTTP's headers",
        "bytes on disk": "bytes of a report on disk, folded, without rows (`--keep-rows`)",
    }
    scale = {name: 1e6 if name.startswith("core") else 1 for name in units}
    return [
        "## One collector",
        "",
        *lines(
            "`python -m tests.benchmarks.scale --collector`: a server in a process of its own, SQLite, every reply "
            "after the report is on disk."
        ),
        "",
        "| per report | |",
        "| --- | ---: |",
        *(f"| {unit} | {collector[name] * scale[name]:,.0f} |" for name, unit in units.items()),
        "",
    ]


def _many() -> list[str]:
    return [
        "## Many collectors",
        "",
        *lines(
            "Tallies add up, so reports may be spread over collectors that know nothing of each other, if a report "
            "that is sent again meets its first copy and a ticket its first use: the collector is chosen by a hash of "
            "the ticket, or of the id where there is none. From 1 to 16 stores the counts are the same integers as "
            "those of one (`test_the_counts_of_many_stores_add_up_to_those_of_one`); spread in turn, or by id where "
            "there are tickets, they are not (`test_spread_without_the_rule_they_do_not`). What changes: a question "
            "is folded when `minimum` of its reports wait in one store, so rare ones wait longer."
        ),
        "",
    ]


def _day(collector: dict[str, Any], duck: list[Batch]) -> list[str]:
    mean, peak = REPORTS / DAY, PEAK * REPORTS / DAY
    alone, lists = collector["core seconds, alone"], collector["core seconds, in lists of 100"]
    disk, wire = collector["bytes on disk"], collector["bytes on the wire"]
    last, b = duck[-1], slope(duck, "cpu") or 1.0
    cpu = last["cpu"] * (REPORTS / last["rows"]) ** max(1.0, b)
    one, kept, held = 1 / alone, REPORTS * disk / 1e9, REPORTS * last["file"] / last["rows"] / 1e9
    many = math.ceil(2 * peak / one)
    rows = [
        ("mean rate", f"10^9 / {DAY:,} s", f"{mean:,.0f} per second"),
        ("peak rate, if the busiest hour is three times the mean", f"{PEAK} × {mean:,.0f}", f"{peak:,.0f} per second"),
        ("cores at the peak, one report per request", f"{peak:,.0f} × {alone * 1e6:.0f} µs", f"{peak * alone:.1f}"),
        ("cores at the peak, lists of 100 from a relay", f"{peak:,.0f} × {lists * 1e6:.0f} µs", f"{peak * lists:.1f}"),
        ("collectors, each one writing process", f"{peak:,.0f} / {one:,.0f}, twice for reserve", f"{many}"),
        ("machines of 4 cores for them", "2 cores per collector", f"{math.ceil(many / 2)}"),
        ("network", f"10^9 × {wire:,.0f} bytes", f"{REPORTS * wire / 1e9:,.0f} GB per day"),
        ("disk, until a survey is closed", f"10^9 × {disk:,.0f} bytes", f"{kept:,.0f} GB per day"),
        ("… of a survey that runs for 30 days", f"30 × {kept:,.0f} GB", f"{30 * kept / 1000:,.1f} TB"),
        ("a day's rows as Parquet", f"10^9 × {last['file'] / last['rows']:.0f} bytes", f"{held:,.0f} GB"),
        (
            "counting them by DuckDB",
            f"{last['cpu']:.0f} s × (10^9 / {last['rows']:,})^{max(1.0, b):.2f}",
            f"{cpu / 3600:.1f} core-hours",
        ),
    ]  # fmt: skip
    return [
        "## A thousand million reports per day",
        "",
        *lines(
            "Arithmetic from the figures above (`python -m tests.benchmarks.scale`), not a measurement; the largest "
            "batch that was run is a tenth of it."
        ),
        "",
        "| what | how | |",
        "| --- | --- | ---: |",
        *(f"| {what} | {how} | {result} |" for what, how, result in rows),
        "",
        *lines(
            "**What breaks first.** Of a single collector the one writing process: it is busy at "
            f"{one:,.0f} reports per second, which is {one * DAY / 1e6:,.0f} million per day. Then the disk: a "
            "report's id is kept until its survey is closed, because only so can a repeat be known, and lookups in "
            "an index that does not fit in memory are random reads. Surveys that close weekly, or rounds, bound it. "
            "Then the nightly batch: its ids do not fit in memory, so it spills; count by day with `earlier=` of the "
            "days a report may be retried in, or by a hash of the id as the collectors are."
        ),
    ]


def write(docs: Path) -> None:
    """The page and its picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figures = recorded()
    docs.joinpath("scale.md").write_text(page(figures), encoding="utf-8")
    plt.rcParams["svg.hashsalt"] = "rrcollect"
    picture, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for name, batches in by_engine(figures["batches"]).items():
        for axis, cost, unit in ((axes[0], "cpu", 1.0), (axes[1], "bytes", 1e9)):
            b = slope(batches, cost)
            label = name if b is None else f"{name}, b = {b:.2f}"
            axis.loglog([x["rows"] for x in batches], [x[cost] / unit for x in batches], "o-", label=label)
    axes[0].set(xlabel="rows", ylabel="CPU seconds", title="Time")
    axes[1].set(xlabel="rows", ylabel="GB", title="Peak memory")
    for axis in axes:
        axis.legend(fontsize=8)
    picture.savefig(docs / "scale.svg", metadata={"Date": None})
    plt.close(picture)
