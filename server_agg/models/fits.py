"""`Fit`: what every fitted model is.  Its rows are coefficients; tests and the summary are written here once.

Beside the usual columns the summary says which covariance the standard errors come from, and by how many designs the
answers were drawn.  With a survey's errors tests and bars are Student's t, of f degrees of freedom: clusters − strata,
less one for each slope.  k coefficients are tested by F = W(f − k + 1)/(fk) with k and f − k + 1 degrees of freedom
[KG90].  A Wald bar is β̂ ∓ z·SE (or t·SE).  A coefficient that one cluster alone shows (that of a region with one
cluster) has no standard error, no p and no bar: the spread of clusters cannot be seen in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.estimates.interval import ANYWHERE
from server_agg.estimates.methods import checked_method, wald_interval
from server_agg.estimates.numerics import chi_squared_tail, t_tail
from server_agg.results.findings import Findings, plain_facts
from server_agg.results.interval import Interval, exact_level
from server_agg.results.result import Result
from server_agg.results.row import Row, Scale, Test
from server_agg.results.tables import Table
from server_agg.sampling.omnibus import wald_test

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from server_agg.models.columns import Floats
    from server_agg.sampling.sample import Sample

INTERCEPT = "Intercept"
WIDTH = 78
ODDS = ("odds_ratio", "odds_ratio_low", "odds_ratio_high")
FEW = 10  # degrees of freedom below which the estimated errors are themselves uncertain
ONE_CLUSTER = "one cluster alone shows it: no standard error"


def chi_squared(hypothesis: str, method: str, statistic: float, df: int) -> Test:
    """The test with this statistic."""
    positive = max(statistic, 0.0)
    return Test(hypothesis, method, positive, df, chi_squared_tail(positive, df) if df else 1.0)


def tested(value: float, error: float, df: float) -> float | None:
    """The two-sided p-value of 0, by Wald's z, or by Student's t; None where nothing shows the error."""
    if math.isinf(error):
        return None
    return min(1.0, 2 * t_tail(abs(value) / error, df)) if error else 1.0


def few_clusters(sample: Sample, df: int) -> list[str]:
    """A sentence where clusters are few."""
    few = f"few clusters: the standard errors have {df} degrees of freedom, so they are uncertain"
    return [few] if sample.clustered and sample.units - len(sample.strata) < FEW else []


def wald_bar(
    value: float, error: float, covers: str, *, df: float = math.inf, span: tuple[float, float] = ANYWHERE
) -> Callable[[NumberLike, str | None], Interval[Any]]:
    """The bar of a row: value ∓ z·SE (or t·SE), by no other method."""

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        checked_method("coefficient", method or "wald")
        if math.isinf(error):
            return Interval((None, None), method="wald", level=level, target=covers, warning=ONE_CLUSTER)
        return wald_interval(value, error, level, covers, span, freedom=df)

    return bar


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """A fitted model: `fit["age"]` is the row of a coefficient, `coefficients[j]` belongs to `names[j]`.

    `covariances` make them by the name of how they are made, `kind` is the one in use (`using` changes it);
    `assumption` is what the bars rest on, in words.  What a model adds has its name: `fit.sigma` of a random intercept,
    `fit.honesty` where people cheat (see `Findings`).
    """

    first, together = "", "each for itself"
    title: str
    records: int
    names: tuple[str, ...]
    coefficients: Floats
    covariances: Mapping[str, Callable[[], Floats]]  # of γ, where β = `basis`·γ
    kind: str
    survey_df: float = math.inf  # of the survey's errors
    log_likelihood: float | None = None
    iterations: int = 0
    assumption: str = ""
    checks: tuple[Test, ...] = ()
    outcome: str = "answer"
    told: tuple[str, ...] = ()  # sentences of its own
    facts: Mapping[str, Any] = field(default_factory=dict)
    scale_words: str = ""  # of the coefficients
    basis: Floats | None = None  # of the covariances, so that units and correlations of covariates cost no digits
    profile: Callable[[int, NumberLike], Interval[float | None]] | None = None  # bars, where there are any
    odds: bool = False  # coefficients are log odds, and their ratios are shown
    alone: Callable[[Floats], NDArray[np.bool_]] | None = None  # which rowᵀβ one cluster alone shows

    target = "coefficients"

    # ---- errors, tests, bars ----------------------------------------------------------------------------------

    def using(self, covariance: str) -> Self:
        """The same fit with another covariance."""
        if covariance not in self.covariances:
            raise ParameterError("covariance", covariance, f"one of {', '.join(self.covariances)}")
        found = replace(self, kind=covariance)
        _ = found._spread  # refused here, not later
        return found

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard errors: the survey's, or infinitely many."""
        return self.survey_df if self.kind in ("survey", "replicates") else math.inf

    @cached_property
    def _spread(self) -> Floats:
        return self.covariances[self.kind]()

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of the coefficients."""
        return self._spread if self.basis is None else self.basis @ self._spread @ self.basis.T

    def deviations(self, rows: Floats) -> Floats:
        """The standard errors of the linear combinations rowᵀβ, computed without cancellation; infinite where one
        cluster alone shows what they are about."""
        ways = rows if self.basis is None else rows @ self.basis
        squares = np.einsum("ij,jk,ik->i", ways, self._spread, ways)
        found = np.asarray(np.sqrt(np.maximum(squares, 0)), np.float64)
        if self.kind not in ("survey", "replicates") or self.alone is None:
            return found
        return np.where(self.alone(rows), math.inf, found)

    @property
    def standard_errors(self) -> Floats:
        """Of all coefficients."""
        return self.deviations(np.eye(len(self.names)))

    def place(self, name: str) -> int:
        """The position of a coefficient."""
        if name not in self.names:
            raise ParameterError("name", name, f"one of {list(self.names)}")
        return self.names.index(name)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The coefficients, with z (or t) and, where they are log odds, odds ratios."""
        errors, kept = self.standard_errors, Scale(axis=f"coefficient{self.scale_words}")
        found = []
        for place, (name, value, error) in enumerate(
            zip(self.names, self.coefficients.tolist(), errors.tolist(), strict=True)
        ):
            extras = {"statistic": value / error if error and math.isfinite(error) else None}
            bar, p = self._bar(place, value, error), tested(value, error, self.df)
            if self.odds:
                extras |= zip(ODDS, map(_odds, (value, *bar(0.95, None))), strict=True)
            known = error if math.isfinite(error) else None
            found.append(Row(name, self.records, value, known, bar, p, None, kept, extras))
        return tuple(found)

    def _bar(self, place: int, value: float, error: float) -> Callable[[NumberLike, str | None], Interval[Any]]:
        usual = wald_bar(value, error, f"coefficient of {self.names[place]}", df=self.df)

        def bar(level: NumberLike, method: str | None) -> Interval[Any]:
            if method != "profile":
                return usual(level, method)
            if self.profile is None:
                raise ParameterError("method", "profile", "'wald': this model has no profile bars")
            return self.profile(place, level)

        return bar

    def wald_test(self, *names: str) -> Test:
        """That all the named coefficients are 0."""
        if not names:
            raise ParameterError("names", names, f"one or more of {list(self.names)}")
        places = [self.place(name) for name in names]
        spread = self.covariance[np.ix_(places, places)]
        return wald_test(" = ".join(names) + " = 0", self.kind, self.coefficients[places], spread, self.df)

    # ---- shown ------------------------------------------------------------------------------------------------

    def heading(self) -> list[tuple[str, str]]:
        """What stands above the coefficients."""
        found = [("Dep. Variable:", self.outcome), ("No. Observations:", str(self.records)), ("Model:", self.title)]
        found += [("Covariance Type:", self.kind)]
        if self.log_likelihood is not None:
            found += [("Log-Likelihood:", f"{self.log_likelihood:.3f}"), ("Iterations:", str(self.iterations))]
        return found if math.isinf(self.df) else [*found, ("Df (t):", f"{self.df:.0f}")]

    def details(self, level: NumberLike = 0.95) -> list[list[str]]:
        """The heading, as lines of the tables."""
        return [list(pair) for pair in self.heading()]

    def columns(self) -> dict[str, list[str]]:
        """Standard errors, their statistic, and what the model adds."""
        rows = self.rows
        letter = "z" if math.isinf(self.df) else "t"
        found = {"std err": [_number(row.standard_error) for row in rows]}
        found[letter] = [_number(row.extras["statistic"]) for row in rows]
        more = [name for name in rows[0].extras if name != "statistic"] if rows else []
        return found | {name.replace("_", " "): [_number(row.extras[name]) for row in rows] for name in more}

    def context(self) -> str:
        """Records, and where the errors come from."""
        return f"n = {self.records}, covariance: {self.kind}"

    def remarks(self) -> list[str]:
        """What the model adds, what the bars rest on, and the checks."""
        supposed = [f"supposes: {self.assumption}"] if self.assumption else []
        alone = [name for name, error in zip(self.names, self.standard_errors, strict=True) if math.isinf(error)]
        unseen = [f"{', '.join(alone)}: {ONE_CLUSTER}"] if alone else []
        return [*self.told, *unseen, *supposed, *(check.sentence() for check in self.checks)]

    def extras(self) -> dict[str, object]:
        """The model in plain values."""
        return {
            "model": self.title, "outcome": self.outcome, "n": self.records, "covariance": self.kind,
            "df": None if math.isinf(self.df) else self.df, "log_likelihood": self.log_likelihood,
            "iterations": self.iterations, "checks": [check.as_dict() for check in self.checks],
            **plain_facts(self.facts),
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        return facts[name] if name in facts else super().__getattr__(name)  # type: ignore[misc]

    def __str__(self) -> str:
        return self.summary()

    def summary(self, level: NumberLike = 0.95) -> str:
        """The table a statsmodels user knows, 78 columns, with the remarks under it."""
        above = self.heading()
        above += [("", "")] * (len(above) % 2)
        half = WIDTH // 2 - 1
        lines = [f"{self.title} Regression".center(WIDTH).rstrip(), "=" * WIDTH]
        for (a, b), (c, d) in zip(above[::2], above[1::2], strict=True):
            lines.append(f"{a}{b.rjust(half - len(a))}  {c}{d.rjust(WIDTH - half - 2 - len(c))}".rstrip())
        head, rows = self._coefficients(level)
        name_width = max(12, *(len(row[0]) for row in rows))
        usual = max(10, (WIDTH - name_width) // 6)
        widths = [max(usual, *(len(row[place]) + 2 for row in rows)) for place in range(1, len(head))]

        def line(cells: list[str]) -> str:
            return cells[0].rjust(name_width) + "".join(x.rjust(w) for x, w in zip(cells[1:], widths, strict=True))

        lines += ["=" * WIDTH, line(head), "-" * WIDTH, *(line(row) for row in rows), "=" * WIDTH]
        return "\n".join([*lines, *self.remarks()])

    def _coefficients(self, level: NumberLike) -> tuple[list[str], list[list[str]]]:
        """Head and lines of the summary."""
        tail, letter = (1 - float(exact_level(level))) / 2, "z" if math.isinf(self.df) else "t"
        head = ["", "coef", "std err", letter, f"P>|{letter}|", f"[{tail:.4g}", f"{1 - tail:.4g}]"]
        lines = []
        for row in self.rows:
            numbers = (row.standard_error, row.extras["statistic"], row.p_value, *row.interval(level))
            lines.append([row.name, f"{row.value:.4f}", *("none" if x is None else f"{x:.3f}" for x in numbers)])
        return head, lines


def _number(value: object, form: str = ".4g") -> str:
    return "none" if value is None else f"{value:{form}}" if isinstance(value, float) else str(value)


def _odds(log_odds: float | None) -> float | None:
    """e to this power; None where that is not a number of a computer, or nothing bounds it."""
    return math.exp(log_odds) if log_odds is not None and log_odds < 700 else None


class FitTable(Findings):
    """Several fits side by side."""

    def tables(self, level: NumberLike | None = None, method: str | None = None) -> list[tuple[Table, frozenset[int]]]:
        """A line per coefficient and a column per fit, standard errors in brackets."""
        cells = {
            (
                name,
                row.name,
            ): f"{row.value:.3f} ({'none' if row.standard_error is None else f'{row.standard_error:.3f}'})"
            for name, fit in self.fits.items()
            for row in fit.rows
        }
        named = dict.fromkeys(coefficient for _, coefficient in cells)
        lines = [[one, *(cells.get((name, one), "") for name in self.fits)] for one in named]
        lines.append(["n", *(str(fit.records) for fit in self.fits.values())])
        lines.append(["covariance", *(fit.kind for fit in self.fits.values())])
        return [((["", *self.fits], lines), frozenset(range(1, len(self.fits) + 1)))]


def side_by_side(fits: Mapping[str, Fit]) -> FitTable:
    """Fits side by side, as papers print them: {name: fit}; its rows are all coefficients, "name: coefficient".

    >>> from rrcollect import Design
    >>> from server_agg.models import fit
    >>> how = {"design": Design("3/4", "3/4"), "repeats": [60, 140, 110, 90], "names": ["x"]}
    >>> found = fit([1, 0, 1, 0], [0, 0, 1, 1], **how)
    >>> print(side_by_side({"whole": found, "without x": found.without("x")}))
                         whole       without x
    Intercept   -2.197 (0.720)  -0.619 (0.217)
    x            2.603 (0.777)
    n                      400             400
    covariance        expected        expected
    standard errors in brackets; bars: 95 % wald approximate, each for itself
    """
    if not fits:
        raise ParameterError("fits", {}, "one or more: {name: fit}")
    rows = [replace(row, name=f"{name}: {row.name}") for name, one in fits.items() for row in one.rows]
    told = [f"{name}: {said}" for name, one in fits.items() for said in one.remarks()]
    return FitTable(tuple(rows), "coefficients", {"fits": dict(fits)}, told, "standard errors in brackets")
