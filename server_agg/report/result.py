"""What every result can do: show itself to people and machines; and what every exact, unbiased one has.

A result keeps its inputs and knows one dict of plain values; JSON, a text table and a notebook's HTML come from that.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

from server_agg.report.words import html_table, text_table

__all__ = ["Result", "UnbiasedResult", "clipped"]


def clipped(share: float) -> float:
    """The share cut to [0, 1]."""
    return min(max(share, 0.0), 1.0)


class Result(ABC):
    """A result with an `as_dict`."""

    numeric: ClassVar[frozenset[int]] = frozenset()  # columns of the table that are aligned to the right

    @abstractmethod
    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""

    def to_json(self, *how: Any, **named: Any) -> str:
        """`as_dict`, called with the same arguments, as JSON; no NaN and no infinity, ever."""
        return json.dumps(self.as_dict(*how, **named), allow_nan=False)

    def cells(self) -> tuple[list[str] | None, list[list[str]]]:
        """A table of text: its head, if it has one, and its lines."""
        return None, _lines(self.as_dict())

    def __str__(self) -> str:
        return text_table(*self.cells(), self.numeric)

    def _repr_html_(self) -> str:
        return html_table(*self.cells())


class UnbiasedResult(Result):
    """A result with an exact unbiased value and an exact unbiased estimate of its variance."""

    @property
    @abstractmethod
    def exact_value(self) -> Fraction:
        """The unbiased estimate, exactly."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """The unbiased estimate of the variance of `value`, exactly."""

    @property
    def value(self) -> float:
        """The unbiased estimate; it may leave [0, 1], and sums without bias because it may."""
        return float(self.exact_value)

    @property
    def exact_clipped(self) -> Fraction:
        """The value cut to [0, 1], exactly."""
        return min(max(self.exact_value, Fraction(0)), Fraction(1))

    @property
    def clipped(self) -> float:
        """The value cut to [0, 1]; biased."""
        return float(self.exact_clipped)

    @property
    def standard_error(self) -> float:
        """The square root of `variance`."""
        return math.sqrt(self.variance)


def _lines(given: object, name: str = "") -> list[list[str]]:
    """A nested dict as lines of (name, value), names joined by dots."""
    if isinstance(given, dict):
        return [line for key, value in given.items() for line in _lines(value, f"{name}.{key}" if name else str(key))]
    if isinstance(given, list):
        return [line for place, value in enumerate(given) for line in _lines(value, f"{name}.{place}")]
    return [[name, f"{given:.6g}" if isinstance(given, float) else str(given)]]
