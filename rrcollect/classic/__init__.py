"""Classic survey procedures as designs: `procedures` (each as the matrix it really is), `repeated` (those that are more
than one matrix).  `server_agg.plan.compare_procedures` grades them side by side.

>>> from rrcollect import classic
>>> classic.forced_response(yes="1/6", no="1/6").worst_likelihood_ratio
Fraction(5, 1)
"""

from rrcollect.classic.procedures import (
    NOMINAL,
    crosswise,
    forced_response,
    k_ary_response,
    kuk,
    mangat,
    mangat_singh,
    moors,
    rappor,
    triangular,
    unrelated_question,
    warner,
)
from rrcollect.classic.repeated import MoorsDesign, RepeatedDesign

__all__ = [
    "NOMINAL",
    "MoorsDesign",
    "RepeatedDesign",
    "crosswise",
    "forced_response",
    "k_ary_response",
    "kuk",
    "mangat",
    "mangat_singh",
    "moors",
    "rappor",
    "triangular",
    "unrelated_question",
    "warner",
]
