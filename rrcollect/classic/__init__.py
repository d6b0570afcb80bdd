"""Classic survey procedures, graded by their privacy: `procedures` (to matrices), `comparison` (side by side).

>>> from rrcollect import classic
>>> classic.forced_response(yes="1/6", no="1/6").worst_likelihood_ratio
Fraction(5, 1)
"""

from rrcollect.classic.comparison import ProcedureGrade, compare, comparison_table
from rrcollect.classic.procedures import (
    NOMINAL,
    crosswise,
    forced_response,
    kuk,
    mangat,
    mangat_singh,
    moors,
    triangular,
    unrelated_question,
    warner,
)
from rrcollect.classic.repeated import RepeatedDesign
from rrcollect.classic.two_samples import MoorsDesign

__all__ = [
    "NOMINAL",
    "MoorsDesign",
    "ProcedureGrade",
    "RepeatedDesign",
    "compare",
    "comparison_table",
    "crosswise",
    "forced_response",
    "kuk",
    "mangat",
    "mangat_singh",
    "moors",
    "triangular",
    "unrelated_question",
    "warner",
]
