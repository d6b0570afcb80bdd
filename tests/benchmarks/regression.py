"""Logistic regression of randomised answers, against what a researcher would use.

Run: python -m tests.benchmarks.regression

The competitors are R's RRreg or rr if Rscript has one of them; statsmodels' GenericLikelihoodModel with the same
likelihood, once as its users write it (numerical derivatives) and once with the exact gradient given to it; and its GLM
with a link of one's own.  All fit the same data, after a first fit that is not timed and checked to agree, and ask for
standard errors.  A ratio is the competitor's time over ours.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rrcollect import optimal_design
from server_agg import models
from server_agg.models.simulation import SimulatedSurvey
from tests.benchmarks.measure import take_turns, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, durations
from tests.inside.models import simulate_survey

DESIGN = optimal_design(2)
A, C = float(1 - DESIGN.p00), float(DESIGN.c)
OURS = "rrcollect"
NUMERICAL, EXACT = (
    f"statsmodels GenericLikelihoodModel, {form}" for form in ("numerical derivatives", "the exact gradient")
)
LINK, LINK_NEWTON = (f"statsmodels GLM with a link of one's own, {form}" for form in ("as it comes", "by Newton"))
FLOORS: dict[str, float | None] = {NUMERICAL: 2.0, EXACT: 2.0, LINK: None, LINK_NEWTON: None}  # R's packages: 2
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


Fitted = tuple[float, np.ndarray]  # seconds, coefficients
Fitters = dict[str, Callable[[], Fitted]]


def timed(work: Callable[[], Any]) -> Callable[[], Fitted]:
    """A fit that tells how long it took, by the clock: matrices are multiplied by threads."""

    def fit() -> Fitted:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = work()
        return time.perf_counter() - start, np.asarray(found)

    return fit


def by_r(survey: SimulatedSurvey, folder: Path) -> Fitters:
    """The fit by the first R package there is, which tells its own time; nothing without R or without both."""
    program = shutil.which("Rscript")
    if program is None:
        return {}
    for package, script in R_SCRIPTS.items():
        asked = subprocess.run([program, "-e", f"library({package})"], capture_output=True, check=False, timeout=60)
        if asked.returncode:
            continue
        file = folder / "survey.csv"
        head = ",".join(["y", *(f"x{j + 1}" for j in range(10))])
        np.savetxt(file, np.column_stack([survey.answers, survey.covariates]), "%.17g", ",", header=head, comments="")
        command = [program, "-e", script.format(file=file, p=float(DESIGN.p11))]

        def fit(command: list[str] = command) -> Fitted:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
            seconds, *coefficients = (float(x) for x in done.stdout.split())
            return seconds, np.array(coefficients)

        return {f"R's {package}": fit}
    return {}


def by_likelihood(survey: SimulatedSurvey) -> Fitters:
    """statsmodels' generic likelihood model, with numerical and with exact derivatives."""
    from statsmodels.base.model import GenericLikelihoodModel

    class Plain(GenericLikelihoodModel):
        def loglikeobs(self, params: np.ndarray) -> np.ndarray:
            mu = A + C / (1 + np.exp(-self.exog @ params))
            return np.where(self.endog == 1, np.log(mu), np.log(1 - mu))

    class Exact(Plain):
        def score(self, params: np.ndarray) -> np.ndarray:
            s = 1 / (1 + np.exp(-self.exog @ params))
            mu = A + C * s
            return ((self.endog - mu) / (mu * (1 - mu)) * C * s * (1 - s)) @ self.exog

    def fit(model: Any) -> Any:
        found = model(survey.answers, with_intercept(survey)).fit(
            start_params=np.zeros(11), method="bfgs", maxiter=500, gtol=1e-7, disp=0
        )
        assert np.isfinite(found.bse).all()
        return found.params

    return {NUMERICAL: timed(lambda: fit(Plain)), EXACT: timed(lambda: fit(Exact))}


def by_link(survey: SimulatedSurvey) -> Fitters:
    """statsmodels' generalised linear model with a link of one's own: what one who knows the trick would write."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Logit
    from statsmodels.genmod.generalized_linear_model import GLM

    class Randomised(Logit):
        def __call__(self, p: np.ndarray) -> np.ndarray:
            s = (p - A) / C
            return np.log(s / (1 - s))

        def inverse(self, z: np.ndarray) -> np.ndarray:
            return A + C / (1 + np.exp(-z))

        def deriv(self, p: np.ndarray) -> np.ndarray:
            s = (p - A) / C
            return 1 / (C * s * (1 - s))

        def deriv2(self, p: np.ndarray) -> np.ndarray:
            s = (p - A) / C
            return (2 * s - 1) / (C * s * (1 - s)) ** 2

        def inverse_deriv(self, z: np.ndarray) -> np.ndarray:
            s = 1 / (1 + np.exp(-z))
            return C * s * (1 - s)

    def fit(method: str) -> Any:
        model = GLM(survey.answers, with_intercept(survey), family=Binomial(Randomised()))
        found = model.fit(start_params=np.zeros(11), method=method)
        assert np.isfinite(found.bse).all()
        return found.params

    return {LINK: timed(lambda: fit("IRLS")), LINK_NEWTON: timed(lambda: fit("newton"))}


def with_intercept(survey: SimulatedSurvey) -> np.ndarray:
    return np.column_stack([np.ones(len(survey.answers)), survey.covariates])


def section(effort: Effort = FULL) -> Section:
    rows = effort.size(20_000)
    survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        r = by_r(survey, Path(folder))
        fitters = {OURS: timed(lambda: fit_with_errors(survey))} | r | by_likelihood(survey) | by_link(survey)
        tell("regression: do all find the same?")
        found = {name: fit()[1] for name, fit in fitters.items()}
        for name, coefficients in found.items():
            assert (gap := float(np.abs(coefficients - found[OURS]).max())) < 1e-3, (name, gap)
        tell("regression: in turn")
        contestants = {name: lambda fit=fit: fit()[0] for name, fit in fitters.items()}
        timings = take_turns(contestants, max(5, effort.repetitions // 3))
    return Section(
        name="regression",
        title="Regression of randomised answers",
        text=f"Logistic regression, {rows:,} rows, ten covariates, ε = 2: coefficients and standard errors. All fit "
        "the same likelihood to the same data, and the coefficients agree. The generic likelihood model is what one "
        "writes first, and has a floor; a generalised linear model with a link of one's own, which takes its "
        "derivatives written out, is the best one would write with statsmodels, and is shown without one.",
        unit="seconds",
        rows=durations(timings, 1.0),
        ratios=compare(timings, {(OURS, name): FLOORS.get(name, 2.0) for name in timings if name != OURS}),
        curves=[growth()] if effort.curves else [],
        notes=[] if r else ["R with RRreg or rr is not installed here; statsmodels stands in."],
    )


def growth() -> Curve:
    """Seconds of our fit against rows."""
    points = []
    for rows in (1_000, 10_000, 100_000, 1_000_000):
        tell(f"regression: {rows:,} rows")
        survey = simulate_survey(rows, COEFFICIENTS, DESIGN, seed=2)
        fit = timed(partial(fit_with_errors, survey))
        points.append((float(rows), take_turns({OURS: lambda fit=fit: fit()[0]}, 3)[OURS].best))  # type: ignore[misc]
    return Curve(
        name="regression",
        title="Time of a regression against rows",
        xlabel="rows",
        ylabel="seconds",
        lines={OURS: points},
    )


def fit_with_errors(survey: SimulatedSurvey) -> np.ndarray:
    """The coefficients, after asking for their standard errors too."""
    fit = models.fit(survey.answers, survey.covariates, DESIGN)
    _ = fit.standard_errors
    return fit.coefficients


if __name__ == "__main__":
    show(section())
