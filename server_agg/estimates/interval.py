"""The names of targets and sides of a bar, checked in one place."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

from rrcollect.design.utility import Target
from rrcollect.errors import ParameterError
from server_agg.results.interval import exact_level

TargetLike = str | int
TARGETS: tuple[str, ...] = get_args(Target)
"""The targets that have a name; a finite population has a size instead."""


def checked_target(target: object, drawn: int | None = None) -> TargetLike:
    """The target: 'population', 'sample', or, where `drawn` people were drawn from one, a finite population's size."""
    if isinstance(target, str) and target in TARGETS:
        return target
    if drawn is None:
        raise ParameterError("target", target, "'population' or 'sample'")
    allowed = f"'population', 'sample', or the size M of a finite population, a whole number >= {drawn}"
    if isinstance(target, str | bool) or not hasattr(target, "__index__"):
        raise ParameterError("target", target, allowed)
    if target.__index__() < drawn:
        raise ParameterError("target", target, f"{allowed} (n were drawn from it)")
    return int(target.__index__())


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
