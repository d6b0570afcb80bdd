"""Before a survey: how many answers, what margin, what power, what privacy costs, and a rehearsal.

Names are loaded when first used.  Every plan is for any kind of question, by its design:

    a yes/no     shares, from 0 to 1
    a choice     every option, all their error bars (or tests) at once
    a number     with `bounds=(low, high)`: its mean, everything in the number's own unit

>>> from rrcollect import optimal_design
>>> from server_agg import plan
>>> plan.sample_size(optimal_design(1), margin="0.05"), round(plan.margin(optimal_design(1), 1839), 3)
(1839, 0.05)
"""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
