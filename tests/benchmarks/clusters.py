"""Regression of a complex sample beside the plain one, of the same million rows.

Run: python -m tests.benchmarks.clusters

Both fit the same likelihood and ask for standard errors; the clustered one adds up the scores of 50,000 clusters within
50 strata.  The ratio is the plain time over the clustered one; its floor of 1/2 is the promise "within twice the time".
R's `survey`, if it is there, fits a plain logistic regression to the same answers: it knows no randomisation.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from server_agg import models
from tests.benchmarks.measure import take_turns, tell
from tests.benchmarks.regression import COEFFICIENTS, DESIGN
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations
from tests.inside.models import simulate_survey

R_SURVEY, FEWER = "R's survey, svyglm, 100,000 rows", "clusters and strata, 100,000 rows"
R_SCRIPT = """suppressMessages(library(survey)); d <- read.csv("{file}")
s <- svydesign(ids = ~cluster, strata = ~stratum, weights = ~1, data = d)
start <- proc.time()[["elapsed"]]
fit <- svyglm(reformulate(paste0("x", 1:10), "y"), design = s, family = quasibinomial())
invisible(vcov(fit)); cat(proc.time()[["elapsed"]] - start)"""
PLAIN, CLUSTERED, WEIGHTED = "plain", "clusters and strata", "clusters, strata and sampling weights"


def section(effort: Effort = FULL) -> Section:
    rows = effort.size(1_000_000)
    survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=19)
    clusters = np.arange(rows) // 20
    drawn = {"clusters": clusters, "strata": clusters % 50}
    weights = 1 + np.arange(rows) % 7 / 4

    def timed(**how: Any) -> float:
        start = time.perf_counter()
        _ = models.fit(survey.answers, survey.covariates, DESIGN, **how).standard_errors
        return time.perf_counter() - start

    tell("clusters: in turn")
    timings = take_turns(
        {
            CLUSTERED: lambda: timed(**drawn),
            WEIGHTED: lambda: timed(**drawn, weights=weights),
            PLAIN: timed,
        },
        max(3, effort.repetitions // 5),
    )
    few = min(rows, 100_000)
    part = {name: values[:few] for name, values in drawn.items()}

    def fewer() -> float:
        start = time.perf_counter()
        answers, covariates = survey.answers[:few], survey.covariates[:few]
        _ = models.fit(answers, covariates, DESIGN, clusters=part["clusters"], strata=part["strata"]).standard_errors
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        columns = [survey.answers[:few], survey.covariates[:few], part["clusters"], part["strata"]]
        timings |= take_turns({FEWER: fewer, **by_r(np.column_stack(columns), Path(folder))}, 3)
    notes = [] if R_SURVEY in timings else ["R's survey (Debian: r-cran-survey) is not here; not compared."]
    return Section(
        name="clusters",
        title="Regression of a complex sample",
        text=f"Logistic regression, {rows:,} rows, ten covariates, ε = 2: coefficients and standard errors, plain and "
        "with those of the survey (20 people per cluster, 50 strata). The ratio is the plain time over the other.",
        unit="seconds",
        rows=durations(timings, 1.0),
        ratios=compare(timings, {(CLUSTERED, PLAIN): 0.5, (WEIGHTED, PLAIN): 0.5, (FEWER, R_SURVEY): None}),
        notes=notes,
    )


def by_r(table: np.ndarray, folder: Path) -> dict[str, Callable[[], float]]:
    """The fit by R's survey, which tells its own time; nothing without it."""
    program, file = shutil.which("Rscript"), folder / "survey.csv"
    if (
        program is None
        or subprocess.run([program, "-e", "library(survey)"], capture_output=True, check=False).returncode
    ):
        return {}
    head = ",".join(["y", *(f"x{j + 1}" for j in range(10)), "cluster", "stratum"])
    np.savetxt(file, table, "%.17g", ",", header=head, comments="")
    command = [program, "-e", R_SCRIPT.format(file=file)]
    return {R_SURVEY: lambda: float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)}


if __name__ == "__main__":
    show(section())
