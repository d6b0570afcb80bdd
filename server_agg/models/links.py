"""From linear predictors to shares: links of yes and no, and laws of k options.

A link says how the prevalence s follows from the linear predictor η, with the derivatives a likelihood needs:
    logit    s = 1/(1 + e^−η)     s' = s(1−s)     s''/s' = 1 − 2s
    probit   s = Φ(η)             s' = φ(η)       s''/s' = −η
A link is one row of `LINKS`; η is cut where s' would become 0 in a computer, so every quotient stays finite.

A law takes η = (η_1, …, η_{k−1}) of every record, records in columns, to the shares of k options; g and h are the
derivatives of log L for the likelihood L = Σ Q_j s_j (see `options`).  A law is one row of `LAWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import scipy_special

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

FARTHEST = 700.0
FARTHEST_PROBIT = 37.0


class Curve(NamedTuple):
    """s, s' and s''/s'."""

    share: Floats
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

    @property
    def odds(self) -> bool:
        """Whether coefficients are log odds."""
        return self.name == "logit"

    def curve(self, eta: Floats) -> Curve:
        """All three."""
        s, t = self.shares(eta)
        return Curve(s, self.steep(eta, s, t), self.bend(eta, s, t))


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


class Law(NamedTuple):
    """One row: how shares follow from η (k − 1 by records), and the derivatives; records stand in columns."""

    name: str
    title: str
    scale: str
    odds: bool
    shares: Callable[[Floats], Floats]
    slopes: Callable[[Floats, Floats], Floats]  # ∂s_j/∂η_l, of η and s
    derived: Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Floats]]  # g and h, of η, s, Q and L
    spread: Callable[[int, int], Floats]  # C, of k − 1 and the columns of z
    named: Callable[[Sequence[str], Sequence[str]], list[str]]  # coefficients, of options and columns
    origin: Callable[[int, int], Floats]  # equal shares


def _softmax(eta: Floats) -> Floats:
    top = np.maximum(eta.max(axis=0), 0.0)
    powers = np.exp(np.vstack([-top, eta - top]))
    return np.asarray(powers / powers.sum(axis=0), np.float64)


def _softmax_slopes(eta: Floats, s: Floats) -> Floats:
    found = -s[:, None] * s[None, 1:]
    places = np.arange(len(eta))
    found[places + 1, places] += s[1:]
    return found


def _multinomial(eta: Floats, s: Floats, q: Floats, level: Floats) -> tuple[Floats, Floats]:
    truth, share = (q * s / level)[1:], s[1:]
    h = truth[:, None] * truth[None] - share[:, None] * share[None]
    places = np.arange(len(eta))
    h[places, places] += share - truth
    return truth - share, h


def _ordinal(link: Link) -> Law:
    def shares(eta: Floats) -> Floats:
        below, above = link.shares(eta)
        between = np.where(below[:-1] > 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
        return np.vstack([below[:1], between, above[-1:]])

    def slopes(eta: Floats, s: Floats) -> Floats:
        steep = link.steep(eta, *link.shares(eta))
        found = np.zeros((len(s), *eta.shape))
        places = np.arange(len(eta))
        found[places, places], found[places + 1, places] = steep, -steep
        return found

    def derived(eta: Floats, s: Floats, q: Floats, level: Floats) -> tuple[Floats, Floats]:
        both = link.shares(eta)
        g = link.steep(eta, *both) * (q[:-1] - q[1:]) / level
        h = g[:, None] * g[None]
        places = np.arange(len(eta))
        h[places, places] -= g * link.bend(eta, *both)
        return g, h

    def spread(many: int, width: int) -> Floats:
        """β before the thresholds."""
        found = np.zeros((many, width, width - 1 + many))
        found[:, 1:, : width - 1] = -np.eye(width - 1)
        found[:, 0, width - 1 :] = np.eye(many)
        return found.reshape(many * width, -1)

    def named(options: Sequence[str], columns: Sequence[str]) -> list[str]:
        return [*columns[1:], *(f"{a} | {b}" for a, b in pairwise(options))]

    def origin(many: int, width: int) -> Floats:
        even = (np.arange(many) + 1.0) / (many + 1)
        return np.append(np.zeros(width - 1), np.log(even / (1 - even)))

    title = f"Ordinal {link.title}"
    logit = link.name == "logit"
    return Law(f"ordinal {link.name}", title, link.scale, logit, shares, slopes, derived, spread, named, origin)


LAWS = {
    ("multinomial", "logit"): Law(
        "multinomial logit", "Multinomial Logistic", "log odds against the first option", True,
        _softmax, _softmax_slopes, _multinomial, lambda many, width: np.eye(many * width),
        lambda options, columns: [f"{option}: {column}" for option in options[1:] for column in columns],
        lambda many, width: np.zeros(many * width),
    ),
    **{("ordinal", link.name): _ordinal(link) for link in LINKS.values()},
}  # fmt: skip
OUTCOMES = ("yes/no", *dict.fromkeys(outcome for outcome, _ in LAWS))


def checked_law(outcome: object, link: object) -> Law:
    """The row of an outcome and a link, or a `ParameterError`."""
    if outcome not in OUTCOMES:
        raise ParameterError("outcome", outcome, f"one of {', '.join(OUTCOMES)}")
    if (outcome, link) not in LAWS:
        allowed = " or ".join(known for kind, known in LAWS if kind == outcome)
        raise ParameterError("link", link, f"{allowed}, of an outcome that is {outcome}")
    return LAWS[str(outcome), str(link)]
