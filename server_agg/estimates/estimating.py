"""`estimate`: from a tally of one design to its unbiased estimate, whatever the kind of question.

A yes/no tally gives one share, a tally of a choice the shares of all options.  A number's mean is `estimate_mean`,
which must be told the range; several designs go to `pool`.
"""

from __future__ import annotations

from typing import Any

from server_agg.count.tally import Tally, checked_tally
from server_agg.estimates.choice import ChoiceEstimate
from server_agg.estimates.interval import TargetLike
from server_agg.estimates.one import Estimate


def estimate(tally: Tally, target: TargetLike = "population") -> Any:
    """The unbiased estimate from a tally, for the population the respondents were drawn from ("population"), for the
    people who answered ("sample"), or for a population of M people of whom n were drawn without replacement (M).

    >>> from rrcollect import optimal_choice, optimal_design
    >>> e = estimate(Tally(optimal_design(1), 1000, 400))
    >>> round(e.value, 10), round(e.standard_error, 10)
    (0.2836046586, 0.0335405966)
    >>> print(estimate(Tally(optimal_choice(2, 3), 1000, [600, 250, 150])))
    option       %  95 %, all at once  within 0–100 %
    option 1  72.5          66.9–78.0            72.5
    option 2  21.1          16.4–26.1            21.1
    option 3   6.4           2.6–10.7             6.4
    n = 1000, ε = 2; exact bars for the population, guaranteed
    """
    return Estimate(tally, target) if len(checked_tally(tally)) == 1 else ChoiceEstimate(tally, target)
