"""How often each error bar covers: exact sums over all counts, no simulation.

    python -m tests.benchmarks.coverage              writes docs/coverage.md and docs/coverage.svg (ten minutes)
    python -m tests.benchmarks.coverage n300 looks   these sections alone; the last one to be computed writes the page

A section waits in .bench/coverage under the digest of the code it was computed by, so that a page is of one code.

For a design, n and π the count N is Bin(n, λ), so the coverage of a method is Σ P(N)·[low(N) <= π <= high(N)]: n + 1
bars, computed by the package itself, and one matrix product for all π.
Other estimates and targets are in `coverage_kinds`, bars that are looked at again and again in `coverage_looks`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rrcollect import Design, optimal_design
from server_agg import Estimate, Tally, estimate
from tests.support.aims import aimed
from tests.support.covering import counts, covered

Bars = Callable[[Estimate], tuple[float, float]]

SYMMETRIC = {f"ε = {e:g}": optimal_design(e) for e in (0.1, 0.25, 0.5, 1, 2, 3, 4)}
ONE_SIDED = {"(1, 0.05)": Design(1, "0.05"), "(0.05, 1)": Design("0.05", 1), "(1, 0.3)": Design(1, "0.3")}
OTHERS = {"(0.9, 0.6)": Design("0.9", "0.6"), "(0.2, 0.3), c < 0": Design("0.2", "0.3")}
DESIGNS = SYMMETRIC | ONE_SIDED | OTHERS
PREVALENCES = np.arange(101) / 100
METHODS = ("exact", "chebyshev", "hoeffding", "anytime", "wilson", "likelihood", "credible", "wald")
GUARANTEED = METHODS[:4]
LOOKS, KINDS_N, SURVEYS = 100, 20, 1000  # of the sections after the first
SECTIONS = (
    *("n10", "n30", "n100", "n300", "n1000", "looks"),
    *("kinds1", "kinds2", "kinds3", "kinds4", "simulated", "samples"),
)
ROOT = Path(__file__).resolve().parents[2]
CREDIBLE = "credible, 0 < π < 1"  # an equal-tailed interval of a continuous posterior never holds 0 or 1


def by_method(method: str, level: object = 0.95) -> Bars:
    """The package's own bars."""
    return lambda estimate: estimate.interval(level, method)  # type: ignore[arg-type]


def plug_in_45(estimate: Estimate) -> tuple[float, float]:
    """The paper's 4.5σ with the estimated σ: what one must not do."""
    reach = estimate.margins()[1].half_width
    return estimate.value - reach, estimate.value + reach


def named_methods() -> dict[str, Bars]:
    """Every method by the name the page gives it."""
    return {m if m != "credible" else CREDIBLE: by_method(m) for m in METHODS} | {"plug-in 4.5σ": plug_in_45}


def bar_ends(design: Design, n: int, bars: Bars, target: object = "population") -> tuple[Any, Any]:
    """The lower and upper ends for N = 0 … n."""
    found = [bars(estimate(Tally(design, n, ones), **aimed(target))) for ones in range(n + 1)]
    return np.array([low for low, _ in found]), np.array([high for _, high in found])


def coverage(design: Design, n: int, bars: Bars, prevalences: Any = PREVALENCES) -> Any:
    """The exact coverage at each prevalence."""
    ends = list(zip(*bar_ends(design, n, bars), strict=True))
    return np.array(list(covered(ends, counts(design, n, prevalences), rounding=0)))


@dataclass(frozen=True)
class Cell:
    """The least coverage of a method over π for one design and n."""

    design: str
    n: int
    method: str
    minimum: float
    at: float


def minima(designs: dict[str, Design], sizes: Iterable[int], methods: dict[str, Bars]) -> list[Cell]:
    """The least coverage over π, for every design × n × method."""
    cells = []
    for name, design in designs.items():
        for n in sizes:
            for method, bars in methods.items():
                inside = slice(1, -1) if method == CREDIBLE else slice(None)
                found, at = coverage(design, n, bars)[inside], PREVALENCES[inside]
                cells.append(Cell(name, n, method, float(found.min()), float(at[found.argmin()])))
    return cells


def computed(section: str) -> list[Any]:
    """The figures of one section, as JSON has them."""
    from tests.benchmarks import coverage_samples as samples
    from tests.benchmarks.coverage_kinds import settings
    from tests.benchmarks.coverage_looks import all_ends, looked_at, never_excluded
    from tests.benchmarks.coverage_models import simulated
    from tests.benchmarks.coverage_rows import rows

    if section == "looks":
        return [
            [method, [float(never_excluded(d, all_ends(d, LOOKS, by_method(method)), PREVALENCES).min())
                      for d in looked_at()]]
            for method in ("anytime", "exact")
        ]  # fmt: skip
    if section == "samples":
        return [samples.section()]
    if section == "simulated":
        return [asdict(row) for row in simulated(SURVEYS)]
    if section.startswith("kinds"):
        return [asdict(row) for row in rows(settings(KINDS_N, int(section[-1])))]
    n, methods, designs = int(section.removeprefix("n")), named_methods(), DESIGNS
    if n == 1000:
        methods = {method: bars for method, bars in methods.items() if method not in ("likelihood", CREDIBLE)}
        designs = {name: DESIGNS[name] for name in ("ε = 0.5", "ε = 1", "ε = 2", "(1, 0.05)", "(0.05, 1)")}
    return [asdict(cell) for cell in minima(designs, (n,), methods)]


def _digest() -> str:
    folders = ("rrcollect/design", *(f"server_agg/{x}" for x in ("count", "estimates", "comparisons", "models",
               "sampling")), "tests/benchmarks", "tests/assurance/bars")  # fmt: skip
    paths = [sorted((ROOT / folder).glob("*.py")) for folder in folders]
    assert all(paths), "a folder is not there"
    found = hashlib.sha256()
    for path in (path for some in [*paths, [ROOT / "tests/support/covering.py"]] for path in some):
        found.update(path.read_bytes() if "benchmarks" not in str(path) or path.name.startswith("coverage") else b"")
    return found.hexdigest()[:16]


def main() -> None:
    """Computes the sections asked for; writes the table and the picture when all are there."""
    waiting = ROOT / ".bench" / "coverage" / _digest()
    waiting.mkdir(parents=True, exist_ok=True)
    for section in sys.argv[1:] or SECTIONS:
        if not (waiting / section).exists():
            started = time.perf_counter()
            (waiting / section).write_text(json.dumps(computed(section)), encoding="utf-8")
            print(f"{section}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    missing = [section for section in SECTIONS if not (waiting / section).exists()]
    if missing:
        print(f"not yet computed: {' '.join(missing)}", file=sys.stderr)
        return
    found = {section: json.loads((waiting / section).read_text(encoding="utf-8")) for section in SECTIONS}
    cells = [Cell(**each) for section in SECTIONS[:5] for each in found[section]]
    kinds = [row for section in SECTIONS[6:-1] for row in found[section]]
    page = _page(cells, (10, 30, 100, 300)) + _further(found["looks"], kinds) + "\n" + found["samples"][0]
    (ROOT / "docs" / "coverage.md").write_text(page, encoding="utf-8")
    _picture(ROOT / "docs" / "coverage.svg", named_methods())


def _page(cells: list[Cell], sizes: tuple[int, ...]) -> str:
    methods = list(dict.fromkeys(cell.method for cell in cells))
    groups: dict[str, Collection[str]] = {
        "symmetric, ε = 0.1 … 4": SYMMETRIC,
        "one answer is a proof": ONE_SIDED,
        "other": OTHERS,
    }
    lines = [
        "# Coverage of the error bars",
        "",
        "Written by `python -m tests.benchmarks.coverage`: exact sums over all counts, prevalence 0, 0.01, …, 1, level",
        "95 %. Least coverage over prevalence and designs; n = 1000 for five designs only, without the two slow",
        "methods.",
        "",
    ]
    for title, designs in groups.items():
        lines += [f"## Designs: {title}", "", "| method | " + " | ".join(f"n = {n}" for n in (*sizes, 1000)) + " |"]
        lines += ["|---|" + "---|" * (len(sizes) + 1)]
        for method in methods:
            row = []
            for n in (*sizes, 1000):
                found = [c.minimum for c in cells if (c.method, c.n) == (method, n) and c.design in designs]
                row.append(f"{min(found):.3f}" if found else "")
            lines.append(f"| {method} | " + " | ".join(row) + " |")
        lines.append("")
    lines += [
        "exact, chebyshev, hoeffding and anytime (which holds at all n at once) are guaranteed and never fall",
        "below the level. wilson, likelihood and credible are approximate; a credible interval promises posterior",
        "probability, not coverage, and its ends never reach 0 or 1, so a prevalence of exactly 0 or 1 is not in",
        "it. wald and the plug-in 4.5σ are here as a warning. All bars but credible, wald and the plug-in are by",
        "the edge rule.",
        "",
        "![Coverage against prevalence](coverage.svg)",
        "",
    ]
    return "\n".join(lines)


def _further(looks: list[Any], kinds: list[Any]) -> str:
    """Bars looked at after every answer; every other kind of estimate and target."""
    from tests.benchmarks.coverage_kinds import NAMES
    from tests.benchmarks.coverage_looks import looked_at
    from tests.benchmarks.coverage_rows import Row, table

    lines = [
        "",
        "## Looked at after every answer",
        "",
        f"The least probability, over prevalences, that no bar of 2 … {LOOKS} answers excludes the truth, over all",
        "paths. Only anytime is made for it; exact is here as a warning.",
        "",
        "| method | " + " | ".join(NAMES[design] for design in looked_at()) + " |",
        "|---|---|---|---|",
    ]
    for method, found in looks:
        lines.append(f"| {method} | " + " | ".join(f"{least:.3f}" for least in found) + " |")
    lines += [
        "",
        "## Every other estimate and target",
        "",
        "Exact sums over all tables of counts, about 20 answers per group and a grid of truths; the least one, and",
        "where it was found. A coverage with ± is simulated, with its standard error.",
        "",
        *table([Row(**row) for row in kinds]),
        "",
        "*At once*: covered means that every bar holds its truth. *Mean*: of numbers in [0, 1]; of those who answered",
        "m are at one number and the others at another.",
        "*Weights with the truth*: who has the attribute answers less often, and each who does stands for more",
        "people. With much noise korn-graubard still holds. With little it does not, and its bars warn of it; no bar",
        "from such answers alone could: the weight of people who are missing in the sample is missing with them.",
        "*Predictor*: the coefficient of a randomised answer. The normal model fails on an exponential outcome.",
        "",
    ]
    return "\n".join(lines)


def _picture(path: Path, methods: dict[str, Bars]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "rrcollect"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    panels = {"symmetric, ε = 1, n = 100": optimal_design(1), "(1, 0.05), n = 100": Design(1, "0.05")}
    grid = np.arange(201) / 200
    for number, (title, design) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(1, 2, number)
        for method, bars in methods.items():
            axes.plot(grid, coverage(design, 100, bars, grid), label=method, linewidth=1)
        axes.axhline(0.95, color="black", linewidth=0.6, linestyle="--")
        axes.set_ylim(0.5 if number == 2 else 0.85, 1.005)
        axes.set_xlabel("prevalence")
        axes.set_ylabel("coverage at 95 %")
        axes.set_title(title, fontsize="medium")
        if number == 1:
            axes.legend(fontsize="x-small", ncols=2, loc="lower center")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
