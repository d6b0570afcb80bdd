"""Links: how the prevalence s follows from the linear predictor η, with the derivatives a likelihood needs.

    logit    s = 1/(1 + e^−η)     s' = s(1−s)     s''/s' = 1 − 2s
    probit   s = Φ(η)             s' = φ(η)       s''/s' = −η
A link is one row of `LINKS`; η is cut where s' would become 0 in a computer, so every quotient stays finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import scipy_special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FARTHEST = 700.0
FARTHEST_PROBIT = 37.0


class Curve(NamedTuple):
    """s, 1 − s (each to full precision), s' and s''/s'."""

    share: Floats
    rest: Floats
    steep: Floats
    bend: Floats


class Link(NamedTuple):
    """One row; `steep` and `bend` take η, s and 1 − s."""

    name: str
    title: str
    scale: str  # of the coefficients
    shares: Callable[[Floats], tuple[Floats, Floats]]
    steep: Callable[[Floats, Floats, Floats], Floats]
    bend: Callable[[Floats, Floats, Floats], Floats]

    def curve(self, eta: Floats) -> Curve:
        """All four."""
        s, t = self.shares(eta)
        return Curve(s, t, self.steep(eta, s, t), self.bend(eta, s, t))


def sigmoid(eta: Floats) -> tuple[Floats, Floats]:
    """s = 1/(1 + e^−η) and 1 − s, each to full precision.

    >>> ["%.12g" % part[0] for part in sigmoid(np.array([-40.0]))]
    ['4.24835425529e-18', '1']
    """
    small = np.exp(-np.clip(eta, -FARTHEST, FARTHEST))
    s = 1.0 / (1.0 + small)
    return s, small * s


def _cut(eta: Floats) -> Floats:
    return np.clip(eta, -FARTHEST_PROBIT, FARTHEST_PROBIT)


def _normal(eta: Floats) -> tuple[Floats, Floats]:
    share, cut = scipy_special().ndtr, _cut(eta)
    return share(cut), share(-cut)


LINKS = {row.name: row for row in (
    Link("logit", "Logistic", "log odds", sigmoid, lambda eta, s, t: s * t, lambda eta, s, t: t - s),
    Link("probit", "Probit", "probit", _normal,
         lambda eta, s, t: np.exp(-(_cut(eta) ** 2) / 2) / np.sqrt(2 * np.pi), lambda eta, s, t: -_cut(eta)),
)}  # fmt: skip


def checked_link(name: object) -> Link:
    """The row of a link, or a `ParameterError`."""
    if name not in LINKS:
        raise ParameterError("link", name, f"one of {', '.join(LINKS)}")
    return LINKS[str(name)]
