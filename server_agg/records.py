"""Per-record unbiased values, so that any slice of the records sums without bias.

    r = (x − (1−p00))/c          E[r | truth] = truth, whatever the truth
    e = r·p11(1−p11)/c² + (1−r)·p00(1−p00)/c²       E[e | truth] = Var(r | truth)
      = p00(1−p11)/c² for an answer 1, p11(1−p00)/c² for an answer 0: never negative
A slice must be chosen without looking at the answers.  Designs may differ from record to record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrcollect.design.matrix import Design
from rrcollect.errors import ParameterError
from server_agg.builders import answer_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["noise_variances", "unbiased_values"]


def unbiased_values(design: Design | Sequence[Design], answers: Any) -> NDArray[np.float64]:
    """r for every answer; `design` is one Design, or one for each record.

    >>> unbiased_values(Design("3/4", "3/4"), [1, 0, 1]).tolist()
    [1.5, -0.5, 1.5]
    """
    import numpy as np

    array, designs = _columns(design, answers)
    no, yes = _by_design(designs, lambda d: ((d.p00 - 1) / d.c, d.p00 / d.c))
    values: NDArray[np.float64] = np.where(array == 1, yes, no)
    return values


def noise_variances(design: Design | Sequence[Design], answers: Any) -> NDArray[np.float64]:
    """e for every answer: unbiased for the variance the mechanism adds to its r.

    >>> noise_variances(Design("3/4", "3/4"), [1, 0]).tolist()
    [0.75, 0.75]
    """
    import numpy as np

    array, designs = _columns(design, answers)
    no, yes = _by_design(designs, lambda d: (d.p11 * (1 - d.p00) / d.c**2, d.p00 * (1 - d.p11) / d.c**2))
    noise: NDArray[np.float64] = np.where(array == 1, yes, no)
    return noise


def _by_design(designs: list[Design], pair: Callable[[Design], tuple[Fraction, Fraction]]) -> tuple[Any, Any]:
    """Two columns, (for answer 0, for answer 1), each number exact until it becomes a float."""
    import numpy as np

    found: dict[Design, tuple[float, float]] = {}
    for design in designs:
        if design not in found:
            no, yes = pair(design)
            found[design] = float(no), float(yes)
    columns = np.array([found[design] for design in designs]).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def _columns(design: Design | Sequence[Design], answers: Any) -> tuple[Any, list[Design]]:
    array = answer_array(answers)
    designs = [design] if isinstance(design, Design) else list(design)
    if not isinstance(design, Design) and len(designs) != array.size:
        raise ParameterError(
            "design", f"{len(designs)} designs", f"one Design, or one for each of {array.size} answers"
        )
    for position, one in enumerate(designs):
        if not isinstance(one, Design):
            raise ParameterError(f"design {position}", one, "a Design")
    return array, designs
