"""Regression of a complex sample beside the plain one, of the same million rows.

Run: python -m tests.benchmarks.clusters

Both fit the same likelihood and ask for standard errors; the clustered one adds up the scores of 50,000 clusters within
50 strata.  The ratio is the plain time over the clustered one; its floor of 1/2 is the promise "within twice the time".
"""

from __future__ import annotations

import time

import numpy as np

from server_agg import fit_logistic
from server_agg.models.simulation import simulate_survey
from tests.benchmarks.measure import take_turns, tell
from tests.benchmarks.regression import COEFFICIENTS, DESIGN
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations

PLAIN, CLUSTERED, WEIGHTED = "plain", "clusters and strata", "clusters, strata and sampling weights"


def section(effort: Effort = FULL) -> Section:
    rows = effort.size(1_000_000)
    survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=19)
    clusters = np.arange(rows) // 20
    drawn = {"clusters": clusters, "strata": clusters % 50}
    weights = 1 + np.arange(rows) % 7 / 4

    def timed(**how: object) -> float:
        start = time.perf_counter()
        fit_logistic(survey.answers, survey.covariates, DESIGN, **how).standard_errors()  # type: ignore[arg-type]
        return time.perf_counter() - start

    tell("clusters: in turn")
    timings = take_turns(
        {
            CLUSTERED: lambda: timed(**drawn),
            WEIGHTED: lambda: timed(**drawn, sampling_weights=weights),
            PLAIN: timed,
        },
        max(3, effort.repetitions // 5),
    )
    return Section(
        name="clusters",
        title="Regression of a complex sample",
        text=f"Logistic regression, {rows:,} rows, ten covariates, ε = 2: coefficients and standard errors, plain and "
        "with those of the survey (20 people per cluster, 50 strata). The ratio is the plain time over the other.",
        unit="seconds",
        rows=durations(timings, 1.0),
        ratios=compare(timings, {(CLUSTERED, PLAIN): 0.5, (WEIGHTED, PLAIN): 0.5}),
    )


if __name__ == "__main__":
    show(section())
