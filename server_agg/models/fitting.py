"""Damped Fisher scoring: the maximum of the likelihood from any start, or the reason why there is none.

The covariates are first made orthonormal (Q = ZR⁻¹, RᵀR = Σ w zzᵀ, β = R⁻¹γ), so that their units, origins and
correlations cost no digits.  A step is (I + d)⁻¹g: with d = 0 it is Fisher's, and is taken if ℓ rises by at least half
of what its quadratic model says.  Otherwise it is cut so that no η moves by more than `RADIUS`, and the damping d grows
until ℓ rises (Levenberg); for a small step it must, since the step points uphill.  Near the end the observed
information takes the place of the expected one: where they differ much, Fisher's steps would swing around the maximum.
Converged means: gᵀI⁻¹g < `TOLERANCE`, that is, the next step is below 1e−10 standard errors.

Why there may be no maximum.  Where s is 0 or 1 an answer tells nothing about η.  If the smallest eigenvalue of the
information falls below `FLAT` times what it would be at s = 1/2, and one standard error further along its direction ℓ
does not fall, then ℓ rises (or stays) towards infinity there: `Separation`.  A start given by the caller may lie on
such a plateau though a maximum exists, and whole steps may leap over a maximum; so the verdict is passed only on
climbs from η = 0, of which the second is a cautious one.

Because ℓ is not concave, few answers or weak designs can let ℓ be higher still where the prevalence is a step function
of the covariates, at infinity.  The estimate is the maximum reached from η = 0 (or from a start given), as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation, NotConverged, NotIdentified, Separation

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.options import Options
    from server_agg.models.outcome import Outcome

AnyOutcome = TypeVar("AnyOutcome", bound="Outcome | Options")

RADIUS = 5.0
TOLERANCE = 1e-20
FLAT = 1e-8
SMALL_GAIN = 1e-7
PATIENCE = 50  # steps after which a flat direction is looked at even if ℓ still rises
NEAR = 1.0  # gᵀI⁻¹g below which the observed information, if it is that of a maximum, takes the place of the expected
LEAST_INFORMATION = 1e-4  # even at its best the log-odds would have a standard error of 100
LONGEST = 300
COLLINEAR = 1e-10


@dataclass(frozen=True)
class Climb:
    """Where a climb ended: "converged", "flat" (no maximum on this side) or "stopped"."""

    gamma: Floats  # in orthonormal coordinates
    log_likelihood: float
    iterations: int
    verdict: str
    direction: Floats  # the flattest


def orthonormal(model: AnyOutcome, names: Sequence[str]) -> tuple[AnyOutcome, Floats]:
    """The model with covariates Q = ZR⁻¹, and R⁻¹ for its coefficients; refuses covariates that are combinations of
    others, by name."""
    if model.n < model.size:
        raise ParameterError("answers", f"{model.n} records", f"at least {model.size}, one for each coefficient")
    triangle = model.triangle()
    norms = np.sqrt((triangle**2).sum(axis=0))
    for name, norm in zip(names, norms, strict=True):
        if norm == 0:
            raise NotIdentified(f"covariate {name!r} is 0 in every record (with a weight); leave it out")
    _, spread, directions = np.linalg.svd(triangle / norms)
    if len(spread) < model.width or spread[-1] < COLLINEAR * spread[0]:
        share = np.abs(directions[-1])
        involved = [name for name, x in zip(names, share, strict=True) if x > 1e-3 * share.max()]
        raise NotIdentified(
            f"the covariates {', '.join(involved)} are linearly dependent: one is a combination of the others, so "
            "their coefficients cannot be told apart; leave one of them out"
        )
    inverse = np.asarray(np.linalg.inv(triangle), np.float64)
    return model.transformed(inverse), model.lifted(inverse)  # type: ignore[return-value]


def climb(model: AnyOutcome, start: Floats, limit: int = LONGEST, *, cautious: bool = False) -> Climb:
    """Damped Fisher scoring from `start`, on orthonormal covariates; never raises.  If `cautious`, no step is whole."""
    radius = 1.0 if cautious else RADIUS
    gamma, last_gain, last = start, np.inf, np.inf
    here = model.derivatives(gamma)
    best = float(model.best_information.max())
    flattest = np.zeros(model.size)

    def ended(verdict: str, steps: int = limit) -> Climb:
        return Climb(gamma, here.log_likelihood, steps, verdict, flattest)

    for iteration in range(limit + 1):
        values, vectors = np.linalg.eigh(here.information)
        flat = bool(values[0] < FLAT * best)
        if last < NEAR and not flat:
            newton = np.linalg.eigh(model.derivatives(gamma, "observed").information)
            if newton[0][0] > 0.1 * values[0]:
                values, vectors = newton
        top = float(values[-1])
        if not top > 1e-250:
            return ended("flat", iteration)
        flattest = vectors[:, 0]
        along = vectors.T @ here.gradient
        damping = 0.0 if values[0] > 1e-14 * top else 1e-12 * top
        uphill = vectors @ (along / (values + damping))
        decrement = float(uphill @ here.gradient)
        noise = 1e-12 * (1 + abs(here.log_likelihood))
        done = decrement < TOLERANCE or (decrement < noise and decrement > 0.5 * last)
        # one standard error long, but not so long that rounding in the direction moves the others
        lengths = (1 / np.sqrt(max(float(values[0]), 1e-280)), np.linalg.norm(uphill) / np.sqrt(max(decrement, 1e-280)))
        ways = (flattest, uphill / max(float(np.linalg.norm(uphill)), 1e-280))
        errors = [way * min(float(length), 1e12 / np.sqrt(top)) for way, length in zip(ways, lengths, strict=True)]
        suspicious = flat and (done or last_gain < SMALL_GAIN or iteration > PATIENCE)
        if suspicious and _open(model, gamma, here.log_likelihood, errors):
            return ended("flat", iteration)
        if done:
            return ended("converged", iteration)
        step, there = uphill, model.derivatives(gamma + uphill)
        gain = there.log_likelihood - here.log_likelihood
        if decrement >= noise and (gain < decrement / 4 or (cautious and decrement > NEAR / 100)):
            for _ in range(60):
                step = vectors @ (along / (values + damping))
                step = step * min(1.0, radius / max(model.reach(step), 1e-300))
                there = model.derivatives(gamma + step)
                gain = there.log_likelihood - here.log_likelihood
                if gain > 1e-4 * float(step @ here.gradient):
                    break
                damping = max(8 * damping, 1e-4 * top)
            else:
                return ended("flat" if _open(model, gamma, here.log_likelihood, errors) else "stopped", iteration)
        gamma, here, last_gain, last = gamma + step, there, abs(gain), decrement
    return ended("flat" if flat else "stopped")


def _open(model: AnyOutcome, gamma: Floats, level: float, errors: Sequence[Floats]) -> bool:
    """Whether ℓ stays level one standard error further, along the flattest direction or uphill, on either side."""
    return any(level - model.log_likelihood(gamma + sign * step) < 0.01 for step in errors for sign in (1.0, -1.0))


def maximise(model: AnyOutcome, names: Sequence[str], start: Floats | None = None) -> tuple[Climb, AnyOutcome, Floats]:
    """The maximum, the orthonormal model and R⁻¹ for its coefficients; or the error that says why there is none.
    `names` are those of the columns."""
    scaled, inverse = orthonormal(model, names)
    most = model.most_information
    if most < LEAST_INFORMATION:
        raise NoInformation(
            f"even at equal shares these {model.n} answers would leave the log-odds a standard error of "
            f"{most**-0.5 if most else np.inf:.3g}: use more answers, or designs with p00 + p11 farther from 1"
        )
    zero = np.linalg.solve(inverse, model.origin).astype(np.float64)
    first = zero if start is None else np.linalg.solve(inverse, start).astype(np.float64)
    runaway = None
    for begin, cautious in ([(first, False)] if start is not None else []) + [(zero, False), (zero, True)]:
        found = climb(scaled, begin, LONGEST // 3 if cautious else LONGEST, cautious=cautious)
        if found.verdict == "converged":
            return found, scaled, inverse
        if found.verdict == "flat" and begin is zero:
            runaway = runaway or found
    if runaway is not None:
        raise Separation(_separation(model, model.coefficient_names(names), inverse, runaway))
    raise NotConverged(
        f"no maximum after {found.iterations} steps of damped Fisher scoring (log-likelihood "
        f"{found.log_likelihood:.6g}): use covariates of moderate size, fewer of them, or more answers"
    )


def differences(gradient: Callable[[Floats], Floats], theta: Floats, step: float) -> Floats:
    """Minus the Hessian, by central differences of the exact gradient."""
    steps = step * np.maximum(1.0, np.abs(theta))
    found = np.array([gradient(theta - way) - gradient(theta + way) for way in np.diag(steps)]) / (2 * steps[:, None])
    return np.asarray((found + found.T) / 2, np.float64)


def uphill(
    value: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    information: Callable[[Floats], Floats],
    start: Floats,
) -> tuple[Floats, int]:
    """Where Newton's steps within a trust region end (`information` may be any, even indefinite), and their number."""
    from scipy.optimize import minimize

    how = {"method": "trust-exact", "options": {"gtol": 1e-10, "maxiter": LONGEST}}
    found = minimize(lambda at: -value(at), start, jac=lambda at: -gradient(at), hess=information, **how)
    return np.asarray(found.x, np.float64), int(found.nit)


def _separation(model: AnyOutcome, names: Sequence[str], inverse: Floats, found: Climb) -> str:
    share = np.abs(inverse @ found.direction) * model.scales()
    involved = [name for name, x in zip(names, share, strict=True) if x > 0.05 * share.max()]
    why = model.runaway(inverse @ found.gamma)
    return (
        f"the likelihood has no maximum: it keeps rising while the coefficients of {', '.join(involved)} run away "
        f"({why}). A group with fewer (or more) 1s than its design gives at prevalence 0 (or 1) does this: "
        "leave out or coarsen these covariates, or estimate such a group by itself, where bars at 0 and 1 exist"
    )
