"""The page of speed: docs/performance.md and its plots, composed from the saved sections and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import TextWrapper

from tests.benchmarks.section import Curve, Section

WIDTH = 118


def wrap(text: str, indent: str = "") -> list[str]:
    """Lines of prose, the first behind `indent`."""
    form = TextWrapper(WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False)
    return form.wrap(text)


HEAD = """# Speed

Written by `make bench`; do not edit. Every figure is the best (and the median) of interleaved repetitions in one
run: the contestants take turns, so that a busy machine hits all alike. **A ratio says how many times better rrcollect
is than the competitor in the same run**: its time or memory over ours, or our rate over its. More is better, 1 is a
draw. What computes in one thread is timed in processor time; fresh processes, servers, regressions and engines with
threads by the clock. **A floor is judged by the ratio of the best repetitions**, which noise hits least; where the
ratio of the medians alone is below the floor, the table says so. `make bench` ends with status 1 when a floor is not
kept. `make bench-check` fails when a ratio is below its floor, or more than a third below the recorded one
(`tests/benchmarks/recorded.json`), in both of two measurements.
"""


def number(value: float) -> str:
    """Three figures, with thousands."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head: list[str], rows: Iterable[list[str]], right: int = 1) -> list[str]:
    """A Markdown table; the columns from `right` on are numbers."""
    rule = ["---" if i < right else "---:" for i in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in [head, rule, *rows]]


def floors_table(sections: list[Section]) -> list[str]:
    """Every ratio with a floor, and whether it is kept."""
    rows = [
        [r.ours, r.theirs, number(r.value), number(r.median), number(r.floor), r.judged]
        for s in sections
        for r in s.ratios
        if r.floor is not None
    ]
    return table(["ours", "against", "ratio", "of the medians", "floor", ""], rows, 2)


def body(section: Section, plots: str) -> list[str]:
    """The lines of one section."""
    lines = [f"## {section.title}", "", *wrap(section.text), ""]
    if section.machine:
        command = f"`python -m tests.benchmarks.run --only {section.name}`"
        lines += [command, "", f"*{section.machine}; {section.seconds:.0f} s.*", ""]
    lines += table([section.unit, "best", "median"], ([r.name, number(r.best), number(r.median)] for r in section.rows))
    if section.ratios:
        rows = [
            [
                r.ours,
                r.theirs,
                number(r.value) + (" **below**" if r.below else ""),
                number(r.median),
                number(r.floor) if r.floor is not None else "",
            ]
            for r in section.ratios
        ]
        lines += ["", *table(["ours", "against", "ratio", "of the medians", "floor"], rows, 2)]
    if section.table:
        lines += ["", *table(section.table[0], section.table[1:])]
    for curve in section.curves:
        lines += ["", f"![{curve.title}]({plots}/{curve.name}.svg)"]
    if section.notes:
        lines.append("")
        for note in section.notes:
            lines += wrap(note, "* ")
    return [*lines, ""]


def page(sections: list[Section], command: str, plots: str = "performance") -> str:
    """The whole page."""
    took = sum(s.seconds for s in sections) / 60
    lines = [HEAD, *wrap(f"`{command}`, {took:.0f} minutes on: {sections[0].machine}."), ""]
    below = [r for s in sections for r in s.ratios if r.below]
    said = (
        "All floors that were measured are kept."
        if not below
        else f"{len(below)} of the floors are not kept; they are marked."
    )
    lines += ["## Floors", "", said, "", *floors_table(sections), ""]
    for section in sections:
        lines += body(section, plots)
    return "\n".join(lines).rstrip() + "\n"


def draw(curve: Curve, path: Path) -> None:
    """One plot as SVG; the same data give the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "rrcollect"
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for i, (name, points) in enumerate(curve.lines.items()):
        style = "o-" if i < 10 else "s--"  # the colours come round again after ten
        axes.plot(*zip(*points, strict=True), style, label=name, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel=curve.xlabel, ylabel=curve.ylabel, title=curve.title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write(sections: list[Section], docs: Path, command: str) -> None:
    """docs/performance.md and docs/performance/*.svg."""
    for section in sections:
        for curve in section.curves:
            draw(curve, docs / "performance" / f"{curve.name}.svg")
    docs.joinpath("performance.md").write_text(page(sections, command))


def show(section: Section) -> None:
    """A section on the terminal."""
    print("\n".join(body(section, "performance")))
