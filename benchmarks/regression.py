"""Logistic regression of randomised answers, against what a researcher would use.  Run: python -m benchmarks.regression

The competitor is R's RRreg or rr if Rscript has one of them; otherwise statsmodels' GenericLikelihoodModel with the
same likelihood, once as its users write it (numerical derivatives) and once with the exact gradient given to it.  Both
fit the same data; that the coefficients agree is checked.  A ratio is the competitor's time over ours.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Timing, tell
from benchmarks.report import show
from benchmarks.section import FULL, Curve, Effort, Section, compare, durations
from rrcollect import optimal_design
from server_agg import fit_logistic
from server_agg.science.simulation import SimulatedSurvey, simulate_survey

DESIGN = optimal_design(2)
COEFFICIENTS = [-1.0, *np.linspace(-0.5, 0.5, 10)]
R_SCRIPTS = {
    "RRreg": """
data <- read.csv("{file}"); names <- paste0("x", 1:10)
start <- proc.time()[["elapsed"]]
fit <- RRreg::RRlog(as.formula(paste("y ~", paste(names, collapse = "+"))), data = data, model = "Warner", p = {p})
cat(proc.time()[["elapsed"]] - start, coef(fit))
""",
    "rr": """
data <- read.csv("{file}"); names <- paste0("x", 1:10)
start <- proc.time()[["elapsed"]]
fit <- rr::rrreg(as.formula(paste("y ~", paste(names, collapse = "+"))), data = data, p = {p}, design = "mirrored")
cat(proc.time()[["elapsed"]] - start, coef(fit))
""",
}


def timed(work: Callable[[], Any], repetitions: int = 3) -> tuple[float, Any]:
    """The best of the repetitions, and the last result."""
    best, found = float("inf"), None
    for _ in range(repetitions):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return best, found


def by_r(survey: SimulatedSurvey) -> tuple[str, float, np.ndarray] | None:
    """The fit by the first R package there is; None without R or without both."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    for package, script in R_SCRIPTS.items():
        asked = subprocess.run([program, "-e", f"library({package})"], capture_output=True, check=False, timeout=60)
        if asked.returncode:
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "survey.csv"
            head = ",".join(["y", *(f"x{j + 1}" for j in range(10))])
            np.savetxt(
                file, np.column_stack([survey.answers, survey.covariates]), "%.17g", ",", header=head, comments=""
            )
            text = script.format(file=file, p=float(DESIGN.p11))
            done = subprocess.run([program, "-e", text], capture_output=True, text=True, check=True, timeout=1800)
        seconds, *coefficients = (float(x) for x in done.stdout.split())
        return f"R's {package}", seconds, np.array(coefficients)
    return None


def by_statsmodels(survey: SimulatedSurvey) -> dict[str, tuple[float, np.ndarray]]:
    """statsmodels' generic likelihood model, with numerical and with exact derivatives."""
    from statsmodels.base.model import GenericLikelihoodModel

    a, c = float(1 - DESIGN.p00), float(DESIGN.c)

    class Plain(GenericLikelihoodModel):  # type: ignore[misc]
        def loglikeobs(self, params: np.ndarray) -> np.ndarray:
            mu = a + c / (1 + np.exp(-self.exog @ params))
            return np.where(self.endog == 1, np.log(mu), np.log(1 - mu))

    class Exact(Plain):
        def score(self, params: np.ndarray) -> np.ndarray:
            s = 1 / (1 + np.exp(-self.exog @ params))
            mu = a + c * s
            return ((self.endog - mu) / (mu * (1 - mu)) * c * s * (1 - s)) @ self.exog

    rows = np.column_stack([np.ones(len(survey.answers)), survey.covariates])
    found = {}
    for name, model in (("numerical derivatives", Plain), ("the exact gradient", Exact)):

        def work(model: Any = model) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model(survey.answers, rows).fit(
                    start_params=np.zeros(11), method="bfgs", maxiter=500, gtol=1e-7, disp=0
                )

        seconds, fit = timed(work, 1)
        found[f"statsmodels GenericLikelihoodModel, {name}"] = seconds, np.asarray(fit.params)
    return found


def section(effort: Effort = FULL) -> Section:
    rows = effort.size(20_000)
    survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=1)
    tell("regression: ours")
    seconds, fit = timed(lambda: fit_with_errors(survey), max(3, effort.repetitions // 3))
    timings = {"rrcollect": Timing("rrcollect", seconds, seconds)}
    tell("regression: R, or statsmodels without it")
    r = by_r(survey)
    for name, (took, coefficients) in ({r[0]: (r[1], r[2])} if r else by_statsmodels(survey)).items():
        gap = float(np.abs(coefficients - fit).max())
        assert gap < 1e-2, (name, gap)
        timings[name] = Timing(name, took, took)
    return Section(
        name="regression",
        title="Regression of randomised answers",
        text=f"Logistic regression, {rows:,} rows, ten covariates, ε = 2: coefficients and standard errors. Both fit "
        "the same likelihood to the same data, and the coefficients agree. Fitted once by the competitor.",
        unit="seconds",
        rows=durations(timings, 1.0),
        ratios=compare(timings, {("rrcollect", name): 2.0 for name in timings if name != "rrcollect"}),
        curves=[growth()] if effort.curves else [],
        notes=[] if r else ["R with RRreg or rr is not installed here; statsmodels' generic model stands in."],
    )


def growth() -> Curve:
    """Seconds of our fit against rows."""
    points = []
    for rows in (1_000, 10_000, 100_000, 1_000_000):
        tell(f"regression: {rows:,} rows")
        survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=2)
        points.append((float(rows), timed(lambda survey=survey: fit_with_errors(survey), 2)[0]))  # type: ignore[misc]
    return Curve(
        name="regression",
        title="Time of a regression against rows",
        xlabel="rows",
        ylabel="seconds",
        lines={"rrcollect": points},
    )


def fit_with_errors(survey: SimulatedSurvey) -> np.ndarray:
    """The coefficients, after asking for their standard errors too."""
    fit = fit_logistic(survey.answers, survey.covariates, DESIGN)
    fit.standard_errors()
    return fit.coefficients


if __name__ == "__main__":
    show(section())
