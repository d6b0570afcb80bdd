"""Counting: from answers in whatever form they come to exact tallies.

Rules
1. An answer in hand is 0 or 1 (a bool, an int, a NumPy scalar of either), that of a report the text "0" or "1".
   Anything else, a missing value above all, is refused with its position; nothing is skipped silently.
2. Packed bits are counted without unpacking; bits beyond n are not looked at.
3. Reports are anything with the attributes of `ReportLike`: the collection's key is what they declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, overload

from rrcollect.design.choice import SetDesign
from rrcollect.design.mechanism import AnyDesign
from rrcollect.design.parameters import whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.choice_tally import AnyTally, ChoiceTally, tally_of
from server_agg.count.tallies import Tallies, TallyKey, refuse_mixed
from server_agg.count.tally import LARGEST_COUNT, Tally

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.publish.survey import Survey

ALLOWED = "0 or 1"


class ReportLike(Protocol):
    """What a report must have to be counted."""

    @property
    def survey(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def design(self) -> AnyDesign: ...
    @property
    def answer(self) -> str: ...
    @property
    def segments(self) -> Mapping[str, str]: ...
    @property
    def round(self) -> int: ...


def tallies_from_reports(reports: Iterable[ReportLike], surveys: Iterable[Survey] = ()) -> Tallies:
    """Counts reports by survey × question × design × segments × round; a report id counts once.

    Delivery is at least once, so the same report may be there again.  The same id with other content is refused.
    `surveys` say which of the reports are of a pilot, which a report itself does not; they are not judged by them.

    >>> from types import SimpleNamespace
    >>> def report(answer, region):
    ...     return SimpleNamespace(survey="s1", question="tax", design=Design("3/4", "3/4"), answer=answer,
    ...                            segments={"region": region}, round=0)
    >>> tallies = tallies_from_reports([report("1", "north"), report("0", "north"), report("1", "south")])
    >>> [(key.segments, tally.n, tally.ones) for key, tally in tallies.items()]
    [((('region', 'north'),), 2, 1), ((('region', 'south'),), 1, 1)]
    """
    counts: dict[tuple[Any, ...], list[int]] = {}
    seen: dict[str, ReportLike] = {}
    for position, report in enumerate(reports):
        if not hasattr(report, "answer"):
            allowed = "a Report (Report.from_bytes(body) reads one)"
            raise ParameterError(f"report {position}", type(report).__name__, allowed)
        report_id = getattr(report, "id", None)
        if report_id is not None:
            if report_id in seen:
                if seen[report_id] != report:
                    raise ParameterError(f"report {position}", report_id, "one content for one id")
                continue
            seen[report_id] = report
        if not isinstance(report.answer, str) or not report.design.allows(report.answer):
            raise ParameterError(f"answer of report {position}", report.answer, "text of 0 and 1 that its design gives")
        segments = tuple(sorted(report.segments.items())) if report.segments else ()
        key = report.survey, report.question, report.design, segments, getattr(report, "round", 0)
        found = counts.setdefault(key, [0] * (1 + report.design.width))
        found[0] += 1
        for place, bit in enumerate(report.answer, start=1):
            found[place] += bit == "1"
    pilots = {survey.digest: survey.pilot for survey in surveys}
    refuse_mixed({key[0]: pilots[key[0]] for key in counts if key[0] in pilots})
    tallies = {
        TallyKey(survey, question, design, segments, number, pilots.get(survey, False)): tally_of(design, n, sums)
        for (survey, question, design, segments, number), (n, *sums) in counts.items()
    }
    return Tallies(tallies)


def tally_from_counts(design: Design, *, yes: int, no: int) -> Tally:
    """The tally of counts a person types in: how many said 1 and how many said 0.

    >>> tally_from_counts(Design("3/4", "3/4"), yes=400, no=600)
    Tally(design=Design('3/4', '3/4'), n=1000, ones=400)
    """
    ones, zeros = whole_number("yes", yes, minimum=0), whole_number("no", no, minimum=0)
    if ones + zeros > LARGEST_COUNT:
        raise ParameterError("yes + no", ones + zeros, f"at most 2^63 − 1 = {LARGEST_COUNT}")
    return Tally(design, ones + zeros, ones)


@overload
def tally_from_answers(design: Design, answers: Any) -> Tally: ...


@overload
def tally_from_answers(design: SetDesign, answers: Any) -> ChoiceTally: ...


def tally_from_answers(design: AnyDesign, answers: Any) -> AnyTally:
    """The tally of an iterable or array of 0/1 or booleans; of a choice, of the sets in any form: what
    `randomise_choices` gives, texts of 0 and 1, or a table with a column of 0 and 1 per option.

    >>> tally_from_answers(Design("3/4", "3/4"), [True, False, True])
    Tally(design=Design('3/4', '3/4'), n=3, ones=2)
    >>> tally_from_answers(SetDesign(3, 1, "1/2"), ["100", "001", "100"])
    ChoiceTally(design=SetDesign(3, 1, '1/2'), n=3, counts=(2, 0, 1))
    """
    if isinstance(design, SetDesign):
        return _of_sets(design, answers)
    array = answer_array(answers)
    return Tally(design, int(array.size), int(array.sum()))


def _of_sets(design: SetDesign, answers: Any) -> ChoiceTally:
    """The tally of sets; each must be one the design can give."""
    from rrcollect.answer.chosen_sets import ChosenSets

    if isinstance(answers, ChosenSets):
        if answers.design != design:
            raise ParameterError("answers", answers, f"sets drawn by {design!r}")
        return ChoiceTally(design, len(answers), answers.counts().tolist())
    sums, n = [0] * design.options, 0
    for position, given in enumerate(answers):
        text = given if isinstance(given, str) else "".join(str(int(bit)) for bit in answer_array(given))
        if not design.allows(text):
            allowed = f"{design.options} of 0 and 1, {design.size} of them 1"
            raise ParameterError(f"answer {position}", text, allowed)
        n += 1
        for option, bit in enumerate(text):
            sums[option] += bit == "1"
    return ChoiceTally(design, n, sums)


def one_option(design: SetDesign, answers: Any, option: int) -> tuple[NDArray[np.uint8], Design]:
    """One option against the rest, record by record: whether each set holds it, and the yes/no design of that.

    What is fitted to or weighted by records takes both: a regression, weights, an association.  The design is for
    estimates alone: ε stays that of the whole mechanism.

    >>> bits, column = one_option(SetDesign(3, 1, "1/2"), ["100", "001", "100"], 0)
    >>> bits.tolist(), column
    ([1, 0, 1], Design('3/4', '1/2'))
    """
    import numpy as np

    from rrcollect.answer.chosen_sets import ChosenSets

    ChoiceTally(design, 0, [0] * design.options)[option]  # the checks of a design and an option stand there
    if isinstance(answers, ChosenSets):
        _of_sets(design, answers)
        return np.asarray(answers)[:, option], design.column
    listed = list(answers)
    _of_sets(design, listed)
    bits = [int(one[option]) for one in listed]
    return np.array(bits, np.uint8), design.column


def tally_from_column(design: AnyDesign, frame: Any, column: str) -> AnyTally:
    """The tally of one column of a pandas or Polars DataFrame (or of any mapping of names to arrays).

    >>> tally_from_column(Design("3/4", "3/4"), {"doped": [1, 0, 1]}, "doped")
    Tally(design=Design('3/4', '3/4'), n=3, ones=2)
    """
    names = list(frame.columns) if hasattr(frame, "columns") else list(frame)
    if column not in names:
        raise ParameterError("column", column, f"one of {names}")
    return tally_from_answers(design, frame[column])


def tally_from_packed(design: Design, packed: Any, n: int, *, bitorder: str = "little") -> Tally:
    """The tally of n answers packed eight to a byte, in the bit order `rrcollect.randomise_packed` uses by default.

    >>> tally_from_packed(Design("3/4", "3/4"), bytes([0b00000111, 0b00000001]), n=9)
    Tally(design=Design('3/4', '3/4'), n=9, ones=4)
    """
    import numpy as np

    from server_agg.count.packed import count_ones

    answers = whole_number("n", n, minimum=0)
    if bitorder not in ("big", "little"):
        raise ParameterError("bitorder", bitorder, "'big' or 'little'")
    array = (
        np.frombuffer(packed, np.uint8) if isinstance(packed, bytes | bytearray | memoryview) else np.asarray(packed)
    )
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ParameterError("packed", packed, "bytes or a one-dimensional array of uint8")
    if array.size != -(-answers // 8):
        raise ParameterError("packed", f"{array.size} bytes", f"{-(-answers // 8)} bytes for n = {answers} answers")
    whole = answers // 8
    ones = count_ones(array[:whole])
    if answers % 8:
        last = np.unpackbits(array[whole:], bitorder="big" if bitorder == "big" else "little")
        ones += int(last[: answers % 8].sum())
    return Tally(design, answers, ones)


def answer_array(answers: Any) -> NDArray[np.uint8]:
    """The answers as an array of 0 and 1; refuses everything else with its position.

    0.0 and 1.0 are 0 and 1: pandas makes them of every column that ever had a NaN.
    """
    import numpy as np

    values = answers.to_numpy() if hasattr(answers, "to_numpy") else answers
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise ParameterError("answers", answers, f"{ALLOWED} for every record, in a list, an array or a column")
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError("answers", "a masked array", f"{ALLOWED} for every record; drop the masked ones first")
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values))
    if array.ndim != 1:
        raise ParameterError("answers", f"an array of shape {array.shape}", "one dimension, one answer each")
    if array.dtype == np.bool_:
        ones: NDArray[np.uint8] = (array.view(np.uint8) != 0).astype(np.uint8)  # a byte of 2 is True as well
        return ones
    if array.dtype.kind not in "iuf" and array.size:
        values = array.tolist()
        for position, value in enumerate(values):
            if not isinstance(value, bool | int | float) or value not in (0, 1):
                raise ParameterError(f"answer {position}", value, ALLOWED)
    wrong = np.flatnonzero((array != 0) & (array != 1))
    if wrong.size:
        raise ParameterError(f"answer {wrong[0]}", array[wrong[0]].item(), ALLOWED)
    return array.astype(np.uint8)
