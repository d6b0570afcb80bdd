"""The names of targets and sides of a bar, checked in one place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

from rrcollect.design.parameters import whole_number
from rrcollect.design.utility import Target
from rrcollect.errors import ParameterError
from server_agg.results.interval import exact_level

TargetLike = str | int
TARGETS: tuple[str, ...] = get_args(Target)
"""The targets that have a name; a finite population has a size instead."""


def checked_target(target: object) -> str:
    """The target: 'population' or 'sample'."""
    if not isinstance(target, str) or target not in TARGETS:
        raise ParameterError("target", target, "'population' or 'sample'; population=M is one of M people")
    return target


def checked_population(size: object, drawn: int, target: str = "population") -> int | None:
    """The size M of a finite population of which `drawn` people were drawn; None if there is none."""
    if size is None:
        return None
    if target != "population":
        raise ParameterError("population", size, f"nothing where the target is the {target}")
    return whole_number("population", size, minimum=drawn)


def aimed(target: TargetLike) -> dict[str, Any]:
    """A target or the size of a population as `estimate` takes it."""
    return {"target": target} if isinstance(target, str) else {"population": target}


def target_words(target: TargetLike) -> str:
    """The target as a bar names it."""
    return f"population of {target}" if isinstance(target, int) else target


def tail_probability(level: object, side: str) -> Fraction:
    """The error probability left to one end: (1 − level)/2 for a two-sided bar, 1 − level for a one-sided one."""
    if side not in ("both", "lower", "upper"):
        raise ParameterError("side", side, "'both', 'lower' or 'upper'")
    miss = 1 - exact_level(level)
    if side != "both" and miss * 2 > 1:
        raise ParameterError("level", level, "1/2 or more for a one-sided bound")
    return miss / 2 if side == "both" else miss
