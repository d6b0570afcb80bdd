"""Bars beyond one look at one design: the edge rule, every look at once, and every other kind of estimate.

The edge rule: ends rise with the count, and a count that no prevalence explains has the end of the nearest one that one
does; so no such count makes a bar narrower.
Looks: over all paths of answers, the probability that some bar ever excludes the truth is at most 1 − level.
Kinds: by exact sums over all tables, guaranteed methods never fall below their level, nor do the score bar of a
difference by exact p and Korn and Graubard's bar with weights that were fixed; docs/coverage.md says the least of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np

from rrcollect import Design, optimal_design
from server_agg.estimates import small_counts
from server_agg.estimates.effective import EffectiveSample
from tests.assurance.check import Figure, Outcome, Part, Step, caught
from tests.benchmarks.coverage import PREVALENCES, Bars, bar_ends, by_method
from tests.benchmarks.coverage_kinds import DIRECT, E1, P3, settings
from tests.benchmarks.coverage_looks import all_ends, never_excluded
from tests.benchmarks.coverage_rows import least
from tests.inside.estimates import METHODS, methods_for

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"
ROUNDING = 1e-9
Search = Callable[[int, Step], Outcome]
EDGE_DESIGNS = [E1, P3, DIRECT, Design("0.05", 1), Design("0.9", "0.6"), Design("0.2", "0.3"), optimal_design("0.2")]
RULED = ("exact", "wilson", "chebyshev", "hoeffding", "likelihood", "anytime")
QUICK = frozenset(["one design", "at most m dishonest reporters", "two samples", "difference", "post-stratified",
                   "several designs", "choice, all options at once", "mean of a number",
                   "segments, all at once"])  # fmt: skip
KEEPING = {  # approximate, but held to their level in these settings
    ("difference", "score"), ("post-stratified", "korn-graubard"), ("weights fixed beforehand", "korn-graubard"),
}  # fmt: skip


def edge_rule(sizes: tuple[int, ...], piece: int, step: Step) -> Outcome:
    """Every method with the rule, on every count of every design and target."""
    bars = broken = 0
    for done, design in enumerate(EDGE_DESIGNS):
        for n in sizes:
            for target in ("population", "sample", 2 * n):
                for method in set(RULED) & set(methods_for("one design", target)):
                    low, high = bar_ends(design, n, by_method(method), target)
                    bars, broken = bars + n + 1, broken + _broken(design, n, low, high)
        step(done + 1, len(EDGE_DESIGNS))
    return Outcome(broken == 0, {"bars": bars, "series of ends that break the rule": broken})


def _broken(design: Design, n: int, low: np.ndarray, high: np.ndarray) -> int:
    """Whether ends fall, or differ beyond the counts that a prevalence explains; c < 0 turns the order round."""
    ends = sorted((n * (1 - design.p00), n * design.p11))
    first, last = math.ceil(ends[0]), math.floor(ends[1])
    if design.c < 0:
        low, high = low[::-1], high[::-1]
        first, last = n - last, n - first
    rising = (np.diff(low) >= -ROUNDING).all() and (np.diff(high) >= -ROUNDING).all()
    flat = np.ptp(high[: first + 1]) <= ROUNDING and np.ptp(low[last:]) <= ROUNDING
    return int(not (rising and flat))


@contextmanager
def no_edge_rule() -> Iterator[None]:
    """A planted bug: no method has the rule."""
    with patch.dict(METHODS, {name: row._replace(edge=False) for name, row in METHODS.items()}):
        yield


def every_look(n: int, bars: Bars, level: float, piece: int, step: Step) -> Outcome:
    """The probability that a bar of 2 … n answers ever excludes the truth, just outside of every end too."""
    worst, cells = 1.0, 0
    for done, design in enumerate((E1, P3, DIRECT)):
        ends = all_ends(design, n, bars)
        just = np.concatenate([np.nextafter(end, way) for pair in ends for end in pair for way in (-1, 2)])
        truths = np.unique(np.concatenate([PREVALENCES, just[(just >= 0) & (just <= 1)]]))
        worst, cells = min(worst, float(never_excluded(design, ends, truths).min())), cells + len(truths)
        step(done + 1, 3)
    figures: dict[str, Figure] = {"cells": cells, "least probability that no look excludes the truth": worst}
    return Outcome(worst >= level - ROUNDING, figures)


def _written() -> dict[tuple[str, str, str], tuple[float, str]]:
    """The rows of the page: their least coverage and where it was found."""
    text = PAGE.read_text(encoding="utf-8").split("## Every other estimate and target")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return {(a, b, c): (float(share.split()[0]), where) for a, b, c, _, share, where in lines[2:] if "±" not in share}


def every_kind(
    n: int, kinds: frozenset[str], page: bool, pieces: int, piece: int, step: Step, *, only: str = ""
) -> Outcome:
    """The settings of `coverage_kinds` of these kinds (or all) with n answers per group; with `page`, what it says;
    `only` one method."""
    cells = below = differing = 0
    worst, remarks, written = 1.0, [], _written() if page else {}
    mine = list(islice((s for s in settings(n) if not kinds or s.kind in kinds), piece, None, pieces))
    for done, setting in enumerate(mine):
        for method in (one for one in setting.methods if only in {"", one}):
            found = least(setting, method)
            cells += len(setting.outcomes)
            promised = METHODS[method].guaranteed and method not in setting.unless
            if promised or (setting.kind, method) in KEEPING:
                worst, below = min(worst, found), below + (found < 0.95 - ROUNDING)
            if page:
                said, where = written[setting.kind, setting.target, method]
                if found < said - 0.0006 or (where == setting.where and abs(found - said) > 0.0006):
                    differing += 1
                    remarks.append(f"{setting.kind}, {method}, {setting.where}: {found:.4f}")
        step(done + 1, len(mine))
    figures: dict[str, Figure] = {"bars": cells, "settings": len(mine), "least coverage of those that promise": worst}
    figures |= {"below the level": below, "figures of the page that differ": differing}
    return Outcome(not below and not differing, figures, "; ".join(remarks[:3]))


@contextmanager
def no_kish() -> Iterator[None]:
    """A planted bug: weights leave every answer."""
    real = EffectiveSample.size

    def size(self: EffectiveSample, value: float, error: float, tail: float) -> float:
        n = float(self.n)
        return real(self._replace(kish=n, alike=n, freedom=n - 1), value, 0.0, tail)

    with patch.object(EffectiveSample, "size", size):
        yield


@contextmanager
def limiting_law() -> Iterator[None]:
    """A planted bug: χ² whatever the counts."""
    small_counts.p_value.cache_clear()
    with patch.object(small_counts, "small_counts", lambda groups: False):
        yield
    small_counts.p_value.cache_clear()


def _with(
    bug: Callable[[], AbstractContextManager[None]], run: Callable[[int, Step], Outcome]
) -> Callable[[int, Step], Outcome]:
    def planted(piece: int, step: Step) -> Outcome:
        with bug():
            return run(piece, step)

    return caught(planted)


def further_parts(full: bool) -> list[Part]:
    """The searches of this module, and a planted bug or more of each."""
    edges, looks, n, pieces = ((2, 3, 7, 20, 60), 60, 20, 12) if full else ((2, 9), 12, 4, 1)
    kinds = frozenset() if full else QUICK
    exact_looks = partial(every_look, 30, by_method("exact"), 0.95)
    strata = partial(every_kind, 12, frozenset(["post-stratified"]), False, 1, only="korn-graubard")
    groups = partial(every_kind, 6, frozenset(["difference"]), False, 1, only="score")
    return [
        Part("the edge rule", partial(edge_rule, edges)),
        Part("anytime bars, every look at once", partial(every_look, looks, by_method("anytime"), 0.95)),
        Part("every other estimate and target", partial(every_kind, n, kinds, full, pieces), pieces),
        Part("bars without the edge rule", _with(no_edge_rule, partial(edge_rule, (9,))), planted=True),
        Part("exact bars at every look", caught(exact_looks), planted=True),
        Part("weights that leave every answer", _with(no_kish, strata), planted=True),
        Part("χ² whatever the counts", _with(limiting_law, groups), planted=True),
    ]
