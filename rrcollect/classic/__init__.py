"""Classic survey procedures, graded by their privacy: `procedures` (to matrices), `comparison` (side by side),
`others` (others' designs for options and numbers).

>>> from rrcollect import classic
>>> classic.forced_response(yes="1/6", no="1/6").worst_likelihood_ratio
Fraction(5, 1)
"""

from rrcollect.classic.comparison import ProcedureGrade, compare, comparison_table
from rrcollect.classic.others import OtherDesign, compare_choices, compare_numbers, k_ary_response, plot_choices
from rrcollect.classic.procedures import (
    NOMINAL,
    crosswise,
    forced_response,
    kuk,
    mangat,
    mangat_singh,
    moors,
    rappor,
    triangular,
    unrelated_question,
    warner,
)
from rrcollect.classic.repeated import RepeatedDesign
from rrcollect.classic.two_samples import MoorsDesign

__all__ = [
    "NOMINAL",
    "MoorsDesign",
    "OtherDesign",
    "ProcedureGrade",
    "RepeatedDesign",
    "compare",
    "compare_choices",
    "compare_numbers",
    "comparison_table",
    "crosswise",
    "forced_response",
    "k_ary_response",
    "kuk",
    "mangat",
    "mangat_singh",
    "moors",
    "plot_choices",
    "rappor",
    "triangular",
    "unrelated_question",
    "warner",
]
