"""rrcollect: ask sensitive questions with the optimal, exact, locally private mechanism.

The flow, and where each step lives:

    design    rrcollect.design, rrcollect.classic    which randomisation is optimal for a promise (ε, δ)
    publish   rrcollect.publish                      the survey document, checked and signed
    answer    rrcollect.answer                       on the device: verify, draw once, remember
    deliver   rrcollect.deliver                      the report, the outbox, the way out

Names are loaded when first used, so that importing rrcollect costs next to nothing and never imports NumPy.

>>> import rrcollect
>>> design = rrcollect.optimal_design(epsilon="ln 3")
>>> design.p00, design.p11
(Fraction(3, 4), Fraction(3, 4))
"""

from rrcollect.lazy import public_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = public_names(__name__)
