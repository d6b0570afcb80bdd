"""What every published mechanism says of itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from rrcollect.design.chosen import Promise

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """The published randomisation of one question."""

    @property
    def loss(self) -> Promise:
        """What one answer costs."""
        ...

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        """How much one answer can change the odds between two truths; `math.inf` if an answer is a proof."""
        ...
