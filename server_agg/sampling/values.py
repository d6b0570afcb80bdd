"""Per-record unbiased values, so that any slice of the records sums without bias.

    r = (x − (1−p00))/c          E[r | truth] = truth, whatever the truth
    e = r·p11(1−p11)/c² + (1−r)·p00(1−p00)/c²       E[e | truth] = Var(r | truth)
      = p00(1−p11)/c² for an answer 1, p11(1−p00)/c² for an answer 0: never negative
A slice must be chosen without looking at the answers.  Designs may differ from record to record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unbiased_values(design: Design | Sequence[Design], answers: Any) -> NDArray[np.float64]:
    """r for every answer; `design` is one Design, or one for each record.

    >>> unbiased_values(Design("3/4", "3/4"), [1, 0, 1]).tolist()
    [1.5, -0.5, 1.5]
    """
    return _by_answer(design, answers, lambda d: ((d.p00 - 1) / d.c, d.p00 / d.c))


def noise_variances(design: Design | Sequence[Design], answers: Any) -> NDArray[np.float64]:
    """e for every answer: unbiased for the variance the mechanism adds to its r.

    >>> noise_variances(Design("3/4", "3/4"), [1, 0]).tolist()
    [0.75, 0.75]
    """
    return _by_answer(design, answers, lambda d: (d.p11 * (1 - d.p00) / d.c**2, d.p00 * (1 - d.p11) / d.c**2))


def value_ends(designs: Iterable[Design]) -> tuple[Fraction, Fraction]:
    """The least and the greatest r that an answer by these designs can have.

    >>> value_ends([Design("3/4", "3/4")])
    (Fraction(-1, 2), Fraction(3, 2))
    """
    ends = [end for d in set(designs) for end in ((d.p00 - 1) / d.c, d.p00 / d.c)]
    return min(ends), max(ends)


def distinct_designs(design: Any, n: int) -> tuple[list[Design], NDArray[np.intp]]:
    """The different designs among those of n records, in the order of their appearance, and every record's place.

    >>> found, places = distinct_designs([Design("3/4", "3/4"), Design(1, "1/2"), Design("3/4", "3/4")], 3)
    >>> len(found), places.tolist()
    (2, [0, 1, 0])
    """
    import numpy as np

    if isinstance(design, Design):
        return [design], np.zeros(n, dtype=np.intp)
    if isinstance(design, str) or not hasattr(design, "__iter__"):
        raise ParameterError("design", design, "one Design, or one for each record")
    given = list(design.to_numpy() if hasattr(design, "to_numpy") else design)
    if len(given) != n:
        raise ParameterError("design", f"{len(given)} designs", f"one Design, or one for each of {n} records")
    by_identity: dict[int, int] = {}
    by_value: dict[tuple[int, ...], int] = {}  # the hash of a Fraction is slow, that of its numbers is not
    found: list[Design] = []
    places = np.empty(n, dtype=np.intp)
    for position, one in enumerate(given):
        place = by_identity.get(id(one))
        if place is None:
            if not isinstance(one, Design):
                raise ParameterError(f"design {position}", one, "a Design: the matrix the answer was drawn with")
            p00, p11 = one.p00, one.p11
            value = p00.numerator, p00.denominator, p11.numerator, p11.denominator
            place = by_identity[id(one)] = by_value.setdefault(value, len(found))
            if place == len(found):
                found.append(one)
        places[position] = place
    return found, places


def _by_answer(design: Any, answers: Any, pair: Callable[[Design], tuple[Fraction, Fraction]]) -> NDArray[np.float64]:
    """`pair` of each record's design, the one for its answer (0, 1); exact until it becomes a float."""
    import numpy as np

    array = answer_array(answers)
    found, places = distinct_designs(design, array.size)
    table = np.array([[float(number) for number in pair(one)] for one in found]).reshape(-1, 2)
    return np.asarray(table[places, array], np.float64)
