"""rrcollect: ask sensitive yes/no questions with the optimal, exact, locally private mechanism.

The flow, and where each step lives:

    design    rrcollect.design, rrcollect.classic    which lie is optimal for a promise (ε, δ)

Names are loaded when first used, so that importing rrcollect costs next to nothing and never imports NumPy.

>>> import rrcollect
>>> design = rrcollect.optimal_design(epsilon="ln 3")
>>> design.p00, design.p11
(Fraction(3, 4), Fraction(3, 4))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rrcollect import classic
    from rrcollect.design.chosen import ChosenDesign, Promise
    from rrcollect.design.figures import plot_feasible_region, plot_switch_point
    from rrcollect.design.full_support import full_support_design
    from rrcollect.design.matrix import Design
    from rrcollect.design.optimal import optimal_design, optimal_designs, optimal_warner_design, switch_point
    from rrcollect.design.parameters import Epsilon
    from rrcollect.design.unknown_prevalence import minimax_design, minimax_regret_design, prior_design
    from rrcollect.errors import ParameterError, RRCollectError

__version__ = "0.1.0"

_HOME = {
    "ChosenDesign": "rrcollect.design.chosen",
    "Design": "rrcollect.design.matrix",
    "Epsilon": "rrcollect.design.parameters",
    "ParameterError": "rrcollect.errors",
    "Promise": "rrcollect.design.chosen",
    "RRCollectError": "rrcollect.errors",
    "full_support_design": "rrcollect.design.full_support",
    "minimax_design": "rrcollect.design.unknown_prevalence",
    "minimax_regret_design": "rrcollect.design.unknown_prevalence",
    "optimal_design": "rrcollect.design.optimal",
    "optimal_designs": "rrcollect.design.optimal",
    "optimal_warner_design": "rrcollect.design.optimal",
    "plot_feasible_region": "rrcollect.design.figures",
    "plot_switch_point": "rrcollect.design.figures",
    "prior_design": "rrcollect.design.unknown_prevalence",
    "switch_point": "rrcollect.design.optimal",
}

__all__ = [
    "ChosenDesign",
    "Design",
    "Epsilon",
    "ParameterError",
    "Promise",
    "RRCollectError",
    "classic",
    "full_support_design",
    "minimax_design",
    "minimax_regret_design",
    "optimal_design",
    "optimal_designs",
    "optimal_warner_design",
    "plot_feasible_region",
    "plot_switch_point",
    "prior_design",
    "switch_point",
]


def __getattr__(name: str) -> Any:
    if name == "classic":
        return importlib.import_module("rrcollect.classic")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rrcollect' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
