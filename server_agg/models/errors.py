"""What can be wrong with a model of randomised answers; each error says what was found and what would help.

A number or array of the wrong kind is a `ParameterError`, as everywhere in the project.
"""

from __future__ import annotations

from rrcollect.errors import RRCollectError


class Separation(RRCollectError, ValueError):
    """The likelihood has no maximum: it keeps rising while coefficients run away to infinity.

    With randomised answers this happens sooner than in ordinary logistic regression: a group with fewer "yes" than
    the design alone produces drives its fitted prevalence to 0.
    """


class Collinear(RRCollectError, ValueError):
    """A covariate is a linear combination of the others, so their coefficients cannot be told apart."""


class NoInformation(RRCollectError, ValueError):
    """The answers carry (next to) no information about what was asked, whatever they say."""


class NotConverged(RRCollectError, ArithmeticError):
    """The iterations ended before the maximum was reached, and no reason was found."""


class NotIdentified(RRCollectError, ValueError):
    """Different values of the parameters give the same law of the answers; no number of answers tells them apart."""
