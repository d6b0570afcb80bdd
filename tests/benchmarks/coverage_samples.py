"""Coverage of the bars of complex samples, and the size of their tests, by simulation.

Run: python -m tests.benchmarks.coverage_samples        (writes its own section of docs/coverage.md; some minutes)

Clusters have prevalences from a beta law, so that two people of one cluster have the intra-class correlation ICC.
Beside a bar stands the naive one, which takes the sample for a simple one: the planted bug.  A row is the least
coverage over two designs (direct and ε = 2) and over a rare and a common attribute; ± is the simulation's standard
error.  Informative weights: carriers are drawn half as often, and each who is drawn stands for twice as many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rrcollect import Design, optimal_design
from server_agg import Tally, estimate, models, sampling
from server_agg.errors import NoInformation, NotConverged, Separation
from tests.benchmarks.coverage_rows import Row, table

CORRELATIONS = (0.0, 0.05, 0.1, 0.3)
PREVALENCES = (0.02, 0.3)
DESIGNS = {"direct": Design(1, 1), "ε = 2": optimal_design(2)}
CLUSTERS, PEOPLE = 40, 20
SURVEYS = 1000
TITLE = "## Complex samples"
COEFFICIENT = "clustered coefficient"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"


class DrawnSurvey(NamedTuple):
    """One simulated survey."""

    answers: np.ndarray
    clusters: np.ndarray
    weights: np.ndarray
    groups: np.ndarray
    truths: np.ndarray


def draw(
    generator: np.random.Generator, design: Design, prevalence: float, icc: float, *, informative: bool = False
) -> DrawnSurvey:
    """A survey of `CLUSTERS` clusters; of each `PEOPLE` people are asked."""
    pool = PEOPLE * (4 if informative else 1)
    if icc > 0:
        a = prevalence * (1 - icc) / icc
        inside = generator.beta(a, (1 - prevalence) * (1 - icc) / icc, CLUSTERS)
    else:
        inside = np.full(CLUSTERS, prevalence)
    truths = (generator.random((CLUSTERS, pool)) < inside[:, None]).astype(int)
    units = np.repeat(np.arange(CLUSTERS), pool)
    truths, weights = truths.ravel(), np.ones(truths.size)
    if informative:  # carriers are kept with 1/4, others with 1/2: weights of 2 to 1
        kept = generator.random(truths.size) < np.where(truths == 1, 0.25, 0.5)
        units, truths, weights = units[kept], truths[kept], np.where(truths == 1, 4.0, 2.0)[kept]
    chance = np.where(truths == 1, float(design.p11), float(1 - design.p00))
    answers = (generator.random(truths.size) < chance).astype(int)
    return DrawnSurvey(answers, units, weights, np.arange(truths.size) % 2, truths)


Ends = tuple[float, float]
Bars = Callable[[DrawnSurvey, Design], dict[str, Ends]]


def share_bars(drawn: DrawnSurvey, design: Design) -> dict[str, Ends]:
    """Of one share."""
    found = sampling.estimate(drawn.answers, design, weights=drawn.weights, clusters=drawn.clusters)
    naive = estimate(Tally(design, drawn.answers.size, int(drawn.answers.sum()))).interval()
    bars = {method: found.interval(method=method) for method in ("korn-graubard", "wald")} | {"naive": naive}
    return {method: (bar.low, bar.high) for method, bar in bars.items()}


def difference_bars(drawn: DrawnSurvey, design: Design) -> dict[str, Ends]:
    """Of the difference of two halves of every cluster, which is 0."""
    how: dict[str, Any] = {"weights": drawn.weights, "clusters": drawn.clusters, "by": drawn.groups}
    apart = sampling.estimate(drawn.answers, design, **how).difference("0", "1")
    bars = {method: apart.interval(method=method) for method in ("mover", "wald")}
    return {method: (bar.low, bar.high) for method, bar in bars.items()}


def coefficient_bars(drawn: DrawnSurvey, design: Design) -> dict[str, Ends]:
    """Of a covariate of the clusters that has nothing to do with the attribute: a bar without 0 is a false alarm."""
    x = np.sin(1 + 3.0 * drawn.clusters)
    try:
        fit = models.fit(drawn.answers, x, design, clusters=drawn.clusters, weights=drawn.weights, names=["x"])
    except (Separation, NotConverged, NoInformation):
        return {}
    plain = models.fit(drawn.answers, x, design, names=["x"])
    bars = {"wald": fit["x"].interval(), "naive": plain["x"].interval()}
    return {method: (bar.low or 0.0, bar.high or 0.0) for method, bar in bars.items()}


def list_bars(generator: np.random.Generator, prevalence: float, items: int, n: int) -> dict[str, Ends]:
    """Of a list experiment of even items."""
    long = np.arange(n) % 2
    counts = generator.binomial(items, 0.5, n) + long * (generator.random(n) < prevalence)
    found = sampling.list_experiment(counts, long, items)
    bars = {method: found.interval(method=method) for method in ("hoeffding", "wald")}
    return {method: (bar.low, bar.high) for method, bar in bars.items()}


def covered(
    bars: Bars, design: Design, truth: float, icc: float, surveys: int, *, prevalence: float, informative: bool = False
) -> dict[str, float]:
    """The share of simulated surveys whose bar holds the truth, by method."""
    return _held(
        lambda generator: bars(draw(generator, design, prevalence, icc, informative=informative), design),
        truth, surveys,
    )  # fmt: skip


def _held(bars: Callable[[np.random.Generator], dict[str, Ends]], truth: float, surveys: int) -> dict[str, float]:
    hits: dict[str, list[bool]] = {}
    for seed in range(surveys):
        for method, (low, high) in bars(np.random.default_rng([seed, 19])).items():
            hits.setdefault(method, []).append(low <= truth <= high)
    return {method: sum(held) / len(held) for method, held in hits.items()}


def _least(
    kind: str,
    bars: Bars,
    truth: Callable[[float], float],
    icc: float,
    surveys: int,
    *,
    informative: bool = False,
    prevalences: tuple[float, ...] = PREVALENCES,
) -> Iterator[Row]:
    worst: dict[str, tuple[float, str]] = {}
    for name, design in DESIGNS.items():
        for prevalence in prevalences:
            found = covered(
                bars, design, truth(prevalence), icc, surveys, prevalence=prevalence, informative=informative
            )
            for method, share in found.items():
                told = f"ICC {icc:g}; {name}; π = {prevalence:g}"
                worst[method] = min(worst.get(method, (2.0, "")), (share, told))
    for method, (share, where) in worst.items():
        plain = "wald" if kind.startswith(COEFFICIENT) else "exact"
        shown = (f"{kind}, naive", plain) if method == "naive" else (kind, method)
        yield Row(shown[0], "population", shown[1], False, share, where, _error(share, surveys))


def _error(share: float, surveys: int) -> float:
    return math.sqrt(max(share * (1 - share), 0.25 / surveys) / surveys)


def sample_rows(surveys: int = SURVEYS) -> Iterator[Row]:
    """All rows of the section."""
    for icc in CORRELATIONS:
        yield from _least("complex sample", share_bars, lambda prevalence: prevalence, icc, surveys)
    for icc in CORRELATIONS:
        kind = "informative weights"
        yield from _least(kind, share_bars, lambda prevalence: prevalence, icc, surveys, informative=True)
    for icc in CORRELATIONS:
        yield from _least("complex difference", difference_bars, lambda prevalence: 0.0, icc, surveys)
    for prevalence, kind in ((0.3, COEFFICIENT), (0.02, f"{COEFFICIENT}, rare")):
        for icc in CORRELATIONS:
            only = (prevalence,)
            yield from _least(kind, coefficient_bars, lambda prevalence: 0.0, icc, surveys, prevalences=only)
    worst: dict[str, tuple[float, str]] = {}
    for prevalence, items in ((0.02, 2), (0.3, 2), (0.02, 5), (0.3, 5)):
        found = _held(lambda g, p=prevalence, j=items: list_bars(g, p, j, 400), prevalence, surveys)  # type: ignore[misc]
        for method, share in found.items():
            told = f"{items} items; n = 400; π = {prevalence:g}"
            worst[method] = min(worst.get(method, (2.0, "")), (share, told))
    for method, (share, where) in worst.items():
        yield Row("list experiment", "population", method, method == "hoeffding", share, where, _error(share, surveys))


def section(surveys: int = SURVEYS) -> str:
    """The section of the page."""
    lines = [
        TITLE,
        "",
        f"Written by `python -m tests.benchmarks.coverage_samples`: {surveys} simulated surveys of {CLUSTERS} clusters",
        f"of {PEOPLE}, the least over direct answers and ε = 2, and over prevalences of 0.02 and 0.3. The bars of",
        "complex samples hold near their level under clustering; the naive ones, which ignore clusters and weights,",
        "are here as a warning. The coefficient is that of a covariate of the clusters with no effect, so one minus",
        "its coverage is the share of false alarms. Of a rare attribute (16 carriers among 800 people, in a few",
        "clusters) the survey's bar of a coefficient falls short, too.",
        "",
        *table(list(sample_rows(surveys))),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the section."""
    text = PAGE.read_text(encoding="utf-8")
    before = text.split(TITLE)[0].rstrip("\n")
    PAGE.write_text(before + "\n\n" + section(), encoding="utf-8")


if __name__ == "__main__":
    main()
