"""What tests of regressions share: the paper-and-pencil data set, and the naive regression as a planted bug."""

from __future__ import annotations

import numpy as np

from rrcollect import Design, optimal_design
from server_agg import models
from tests.inside.models import LikelihoodFit

DIRECT = Design(1, 1)
X = np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
ANSWERS = np.array([1, 0] * 3)
PEOPLE = np.array([60, 140, 80, 120, 110, 90])
EPSILON2 = optimal_design(2)


def grouped(**settings) -> LikelihoodFit:
    """600 answers at ε = 2: 60, 80, 110 yes of 200 at x = −1, 0, 1."""
    return models.fit(ANSWERS, X, EPSILON2, names=["x"], **{"repeats": PEOPLE, **settings})


def expanded() -> tuple[np.ndarray, np.ndarray]:
    """The same, one row per person."""
    return np.repeat(ANSWERS, PEOPLE), np.repeat(X, PEOPLE)


def naive(answers, covariates) -> LikelihoodFit:
    """Logistic regression on the randomised bits, as if nobody had lied."""
    return models.fit(answers, covariates, DIRECT)
