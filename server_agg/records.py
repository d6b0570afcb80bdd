"""Per-record unbiased values, so that any slice of the records sums without bias.

    r = (x − (1−p00))/c          E[r | truth] = truth, whatever the truth
    e = r·p11(1−p11)/c² + (1−r)·p00(1−p00)/c²       E[e | truth] = Var(r | truth)
A slice must be chosen without looking at the answers.  Designs may differ from record to record.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    array, p00, p11 = _columns(design, answers)
    c = p00 + p11 - 1
    values: NDArray[np.float64] = np.where(array == 1, p00 / c, (p00 - 1) / c)
    return values


def noise_variances(design: Design | Sequence[Design], answers: Any) -> NDArray[np.float64]:
    """e for every answer: unbiased for the variance the mechanism adds to its r.

    >>> noise_variances(Design("3/4", "3/4"), [1, 0]).tolist()
    [0.75, 0.75]
    """
    values = unbiased_values(design, answers)
    _, p00, p11 = _columns(design, answers)
    square = (p00 + p11 - 1) ** 2
    noise: NDArray[np.float64] = (values * p11 * (1 - p11) + (1 - values) * p00 * (1 - p00)) / square
    return noise


def _columns(design: Design | Sequence[Design], answers: Any) -> tuple[Any, Any, Any]:
    import numpy as np

    array = answer_array(answers)
    designs = [design] if isinstance(design, Design) else list(design)
    if not isinstance(design, Design) and len(designs) != array.size:
        raise ParameterError(
            "design", f"{len(designs)} designs", f"one Design, or one for each of {array.size} answers"
        )
    for position, one in enumerate(designs):
        if not isinstance(one, Design):
            raise ParameterError(f"design {position}", one, "a Design")
    return array, np.array([float(d.p00) for d in designs]), np.array([float(d.p11) for d in designs])
