"""The summary of a regression as a statsmodels user knows it: text, tables with odds ratios, plain values for JSON.

Beside the usual columns it says which covariance the standard errors come from, and by how many designs the answers
were drawn; LL-Null is the maximum of the likelihood with an intercept alone.  AIC = 2k − 2ℓ and BIC = k·ln n − 2ℓ are
those of the randomised answers, n counting repeats; with sampling weights there is none: ℓ is not a likelihood then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrcollect.design.parameters import NumberLike
from server_agg.results.interval import Interval, exact_level
from server_agg.results.tables import Table

if TYPE_CHECKING:
    from server_agg.models.regression import LogisticFit
    from server_agg.sampling.sample import Sample

WIDTH = 78
Coefficient = tuple[str, float, float, float, Interval[float | None]]  # name, value, standard error, p, bar


def facts(fit: LogisticFit, kind: str) -> list[tuple[str, str]]:
    """What stands above the coefficients."""
    null = fit.null_log_likelihood
    test = fit.against_null()
    return [
        ("Dep. Variable:", fit.outcome),
        ("No. Observations:", str(fit.model.n)),
        ("Model:", f"Randomised {fit.model.link.name.capitalize()}"),
        ("Df Residuals:", str(fit.model.n - len(fit.names))),
        ("Method:", "MLE, Fisher scoring"),
        ("Df Model:", str(len(fit.names) - 1)),
        ("Designs:", str(len(fit.model.table))),
        ("Log-Likelihood:", f"{fit.log_likelihood:.3f}"),
        ("Iterations:", str(fit.iterations)),
        ("LL-Null:", "none" if null is None else f"{null:.3f}"),
        ("Covariance Type:", kind),
        ("LLR p-value:", "none" if test is None else f"{test.p:.4g}"),
        ("AIC:", "none" if fit.aic is None else f"{fit.aic:.3f}"),
        ("BIC:", "none" if fit.bic is None else f"{fit.bic:.3f}"),
        *(_drawn(fit.sample) if fit.sample is not None and kind == "survey" else []),
    ]


def _drawn(sample: Sample) -> list[tuple[str, str]]:
    """What a complex sample adds."""
    units = str(sample.units) if sample.clustered else "none"
    strata = "none" if sample.strata == (None,) else str(len(sample.strata))
    weights = "sampling" if sample.weighted else "none"
    return [("Clusters:", units), ("Df (t):", str(sample.freedom)), ("Strata:", strata), ("Weights:", weights)]


def coefficient_table(
    rows: Sequence[Coefficient],
    level: float,
    *,
    what: str = "coef",
    digits: int = 3,
) -> tuple[list[str], list[list[str]]]:
    """Head and lines from (name, value, standard error, p, bar); `digits` are those of the standard error."""
    tail = (1 - level) / 2
    head = ["", what, "std err", "z", "P>|z|", f"[{tail:.4g}", f"{1 - tail:.4g}]"]
    lines = []
    for name, value, error, p, bar in rows:
        z = f"{value / error:.3f}" if error else "none"
        ends = ["none" if end is None else f"{end:.3f}" for end in (bar.low, bar.high)]
        lines.append([name, f"{value:.4f}", f"{error:.{digits}f}", z, f"{p:.3f}", *ends])
    return head, lines


def coefficient_dicts(rows: Sequence[Coefficient]) -> list[dict[str, object]]:
    """The same rows as plain values, ready for JSON."""
    names = ("name", "value", "standard_error", "p")
    return [dict(zip(names, row[:4], strict=True)) | {"bar": row[4].as_dict()} for row in rows]


def _rows(fit: LogisticFit, level: NumberLike, kind: str) -> list[Coefficient]:
    return [
        (name, fit[name], float(error), fit.p_value(name, kind), fit.interval(name, level, covariance=kind))
        for name, error in zip(fit.names, fit.standard_errors(kind), strict=True)
    ]


def summary_text(fit: LogisticFit, level: NumberLike, kind: str) -> str:
    """The summary as text, 78 columns."""
    above = facts(fit, kind)
    half = WIDTH // 2 - 1
    lines = [f"Randomised {fit.model.link.title} Regression".center(WIDTH).rstrip(), "=" * WIDTH]
    for (a, b), (c, d) in zip(above[::2], above[1::2], strict=True):
        lines.append(f"{a}{b.rjust(half - len(a))}  {c}{d.rjust(WIDTH - half - 2 - len(c))}")
    head, rows = coefficient_table(_rows(fit, level, kind), float(exact_level(level)))
    name_width = max(12, *(len(row[0]) for row in rows))
    cell = max(10, (WIDTH - name_width) // 6)

    def line(cells: list[str]) -> str:
        return cells[0].rjust(name_width) + "".join(x.rjust(cell) for x in cells[1:])

    lines += ["=" * WIDTH, line(head), "-" * WIDTH, *(line(row) for row in rows), "=" * WIDTH]
    return "\n".join(lines)


def odds(log_odds: float | None) -> float | None:
    """e to this power; None where that is not a number of a computer, or nothing bounds it."""
    return math.exp(log_odds) if log_odds is not None and log_odds < 700 else None


def summary_tables(fit: LogisticFit, level: NumberLike, kind: str) -> list[Table]:
    """The same as tables, with odds ratios and their bars."""
    rows = _rows(fit, level, kind)
    head, lines = coefficient_table(rows, float(exact_level(level)))
    above: Table = (None, [list(pair) for pair in facts(fit, kind)])
    if fit.model.link.name != "logit":
        return [above, (head, lines)]
    for line, (_, value, _, _, bar) in zip(lines, rows, strict=True):
        line += ["none" if end is None else f"{end:.3f}" for end in map(odds, (value, *bar))]
    return [above, ([*head, "odds ratio", *head[-2:]], lines)]


def _with_odds(rows: Sequence[Coefficient]) -> list[dict[str, object]]:
    pairs = zip(coefficient_dicts(rows), rows, strict=True)
    return [
        found | {"odds_ratio": odds(row[1]), "odds_ratio_low": odds(row[4].low), "odds_ratio_high": odds(row[4].high)}
        for found, row in pairs
    ]


def summary_dict(fit: LogisticFit, level: NumberLike, kind: str) -> dict[str, object]:
    """Inputs that fit a line, and results, as plain values."""
    return {
        "model": f"randomised {fit.model.link.name}",
        "outcome": fit.outcome,
        "n": fit.model.n,
        "designs": len(fit.model.table),
        "clusters": fit.sample.units if fit.sample is not None and fit.sample.clustered else None,
        "degrees_of_freedom": None if math.isinf(fit.freedom(kind)) else fit.freedom(kind),
        "weights": fit.weights_kind,
        "log_likelihood": fit.log_likelihood,
        "null_log_likelihood": fit.null_log_likelihood,
        "aic": fit.aic,
        "bic": fit.bic,
        "iterations": fit.iterations,
        "covariance": kind,
        "coefficients": (_with_odds if fit.model.link.name == "logit" else coefficient_dicts)(_rows(fit, level, kind)),
    }
