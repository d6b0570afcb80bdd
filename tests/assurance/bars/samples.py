"""The default bars of complex samples, by simulation: clusters, informative weights, rare attributes.

A bar is approximate here, and what is claimed is that it holds in at least 93 of 100 surveys (docs/coverage.md has the
figures of each setting).  The search fails if one setting lies below 0.93 by 6.8 standard errors of its simulation: 16
settings, so a bar that keeps 93 % is accused with probability below 1e-9.  The naive bar, which takes the sample for a
simple one, is the planted bug.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.assurance.check import Outcome, Part, Step, caught
from tests.benchmarks.coverage_samples import CORRELATIONS, DESIGNS, PREVALENCES, covered, share_bars

FLOOR = 0.93


def held(method: str, surveys: int) -> Callable[[int, Step], Outcome]:
    """The coverage of one method; a piece has one correlation, with or without informative weights."""

    def run(piece: int, step: Step) -> Outcome:
        icc, informative = CORRELATIONS[piece // 2], bool(piece % 2)
        worst, where = 2.0, ""
        for done, (name, design) in enumerate(DESIGNS.items()):
            for prevalence in PREVALENCES:
                found = covered(
                    share_bars, design, prevalence, icc, surveys, prevalence=prevalence, informative=informative
                )[method]
                worst, where = min((worst, where), (found, f"{name}, prevalence {prevalence}, ICC {icc}"))
            step(done + 1, len(DESIGNS))
        low = FLOOR - 6.8 * math.sqrt(FLOOR * (1 - FLOOR) / surveys)
        error = math.sqrt(worst * (1 - worst) / surveys)
        figures = {
            "surveys": surveys * len(DESIGNS) * len(PREVALENCES),
            "least coverage": worst,
            "most standard error of a coverage": error,
        }
        return Outcome(worst >= low, figures, "" if worst >= low else f"{worst:.3f} at {where}")

    return run


def sample_parts(full: bool) -> list[Part]:
    """1,000 surveys per setting, or 40 in one."""
    pieces, surveys = (2 * len(CORRELATIONS), 1000) if full else (1, 40)
    strong = 2 * len(CORRELATIONS) - 2
    naive = held("naive", 100)
    return [
        Part("complex samples, by simulation", held("korn-graubard", surveys), pieces),
        Part("clusters that are not looked at", caught(lambda piece, step: naive(strong, step)), planted=True),
    ]
