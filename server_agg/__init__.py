"""server_agg: from counted answers to a proportion that can be published, with honest error bars.

The flow, and where each step lives:

    tally      tally, tallies, builders                 exact counts by question × design × segment
    estimate   estimates, intervals, pooling            the unbiased value and what its bar covers
    compare    segments, trend                          groups and rounds side by side
    weigh      weights, strata, records                 respondents who stand for more than themselves
    plan       planning, power                          what n, what margin, what ε
    publish    reporting, figures                       sentences, tables, JSON, plots

Names are loaded when first used; SciPy (extra `estimate`) when the first bar is asked for.

>>> from rrcollect import optimal_design
>>> import server_agg
>>> result = server_agg.estimate(server_agg.Tally(optimal_design(1), n=1000, ones=400))
>>> print(result.sentence())
28.4 % (95 % exact interval 21.8–35.1 %), n = 1000, ε = 1; target: the population
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server_agg.bars import Interval
    from server_agg.builders import (
        tallies_from_reports,
        tally_from_answers,
        tally_from_column,
        tally_from_counts,
        tally_from_packed,
    )
    from server_agg.errors import EmptySelection, MixedDesigns, TooFewAnswers
    from server_agg.estimates import Estimate, estimate
    from server_agg.pooling import PooledEstimate, pool
    from server_agg.tallies import Tallies, TallyKey
    from server_agg.tally import Tally

_MODULES = {
    "bars": ("Interval",),
    "builders": (
        "tallies_from_reports",
        "tally_from_answers",
        "tally_from_column",
        "tally_from_counts",
        "tally_from_packed",
    ),
    "errors": ("EmptySelection", "MixedDesigns", "TooFewAnswers"),
    "estimates": ("Estimate", "estimate"),
    "pooling": ("PooledEstimate", "pool"),
    "tallies": ("Tallies", "TallyKey"),
    "tally": ("Tally",),
}
_HOME = {name: f"server_agg.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "EmptySelection",
    "Estimate",
    "Interval",
    "MixedDesigns",
    "PooledEstimate",
    "Tallies",
    "Tally",
    "TallyKey",
    "TooFewAnswers",
    "estimate",
    "pool",
    "tallies_from_reports",
    "tally_from_answers",
    "tally_from_column",
    "tally_from_counts",
    "tally_from_packed",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'server_agg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
