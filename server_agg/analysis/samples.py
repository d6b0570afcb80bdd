"""One call from the columns of a complex sample, wherever they are stored, to shares with their bars.

Rules
1. Answers are read as `analyse` reads them: a row whose answer is missing is dropped and told, or refused.
2. Weights are numbers in every row that has an answer; a weight, stratum or cluster that is missing there is refused.
3. A missing answer is not adjusted for: who stays away is not in these columns.  See `response_weights`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.analysis.analyse import MISSING_RULES, NOT_SAID
from server_agg.answer_words import Coding, is_missing, plain_text
from server_agg.columns import count_rows
from server_agg.errors import UnclearAnswer
from server_agg.sampling.estimating import estimate
from server_agg.sampling.sample_estimate import SampleEstimate


def analyse_survey(
    data: Any,
    *,
    design: Design,
    answer: str = "answer",
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    population: int | Mapping[str, int] | None = None,
    by: str | None = None,
    yes: Any = None,
    no: Any = None,
    missing: str = "drop",
    replicates: str | None = None,
) -> SampleEstimate:
    """The share behind a column of randomised answers of a complex sample; the columns are given by their names.

    `data` is what `analyse` takes: a frame, a mapping of columns, or a file.  `population` is by the strata's names as
    text.

    >>> from rrcollect import classic
    >>> die = classic.forced_response(yes="1/6", no="1/6")
    >>> told = {"answer": ["yes", "no"] * 60, "village": [i // 10 for i in range(120)], "w": [1.5, 1.0, 2.0] * 40}
    >>> found = analyse_survey(told, design=die, weights="w", clusters="village")
    >>> round(found.value, 3), found.df, found.drawn()
    (0.5, 11, '120 answers, 12 clusters, 11 degrees of freedom')
    """
    if not isinstance(design, Design):
        raise ParameterError("design", design, "a Design, such as classic.forced_response(yes='1/6', no='1/6')")
    if missing not in MISSING_RULES:
        raise ParameterError("missing", missing, f"one of {', '.join(MISSING_RULES)}")
    named = {"weights": weights, "strata": strata, "clusters": clusters, "by": by}
    used = {role: name for role, name in named.items() if name is not None}
    columns = [answer, *used.values()]
    if len(set(columns)) != len(columns):
        raise ParameterError(
            "columns", columns, "a column of its own for each of answer, weights, strata, clusters, by"
        )
    found = count_rows(data, columns)
    bits = Coding.of(yes, no).bits(dict.fromkeys(cells[0] for cells in found.counts), found.where)
    if missing == "refuse":
        for value in (value for value, bit in bits.items() if bit is None):
            raise UnclearAnswer(
                found.where(value), value, "an answer in every row; missing='drop' leaves such rows out"
            )
    kept = [(cells, n) for cells, n in found.counts.items() if bits[cells[0]] is not None]
    kept.sort(key=lambda row: tuple(map(str, row[0])))
    times = [n for _, n in kept]
    given: dict[str, Any] = {
        role: np.repeat(_column(role, name, [cells[place] for cells, _ in kept]), times)
        for place, (role, name) in enumerate(used.items(), 1)
    }
    answers = np.repeat([bits[cells[0]] for cells, _ in kept], times).astype(int)
    made = estimate(answers, design, population=population, replicates=replicates, **given)
    return replace(made, dropped=found.rows - int(answers.size))


def _column(role: str, name: str, cells: Sequence[Any]) -> Any:
    """The cells of a column as its role needs them."""
    if role == "by":
        return np.array([NOT_SAID if is_missing(cell) else plain_text(cell) for cell in cells])
    for cell in cells:
        if is_missing(cell):
            allowed = f"a value in column {name!r} wherever there is an answer; leave such rows out, or name them"
            raise ParameterError(role, "missing", allowed)
    if role != "weights":
        return np.array([plain_text(cell) for cell in cells])
    try:
        return np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        wrong = next(cell for cell in cells if not _is_number(cell))
        raise ParameterError(f"weights, column {name!r},", wrong, "numbers") from None


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
