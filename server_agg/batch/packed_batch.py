"""Packed files judged by the same rules as reports: the file is the report, all its answers are taken or none.

Rules
1. The survey must be one of those given; without any, the file's own envelope is verified under the trusted keys.
2. The same file twice (id and all) counts once, its answers are then `repeated`; different files under one id are all
   refused as `conflicting_id`.  Tickets have no place here: a survey by invitation is refused as `missing_ticket`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rrcollect.errors import ParameterError
from rrcollect.publish.canonical import canonical
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.question import Question
from rrcollect.publish.report import ReportRow
from rrcollect.publish.rules import fault
from rrcollect.publish.survey import Survey
from server_agg.batch.packed_file import ONE_BIT, PackedAnswers, read_packed
from server_agg.batch.summary import BatchResult, Summary
from server_agg.count.tallies import Tallies, TallyKey, refuse_mixed
from server_agg.count.tally import Tally
from server_agg.errors import PackedFileError

Content = tuple[object, ...]


def tally_packed(
    paths: Sequence[str],
    surveys: Sequence[Survey],
    trusted: Iterable[PublicKey] = (),
    *,
    deduplicate: bool = True,
    earlier: Sequence[str] = (),
) -> BatchResult:
    """The tallies of packed files."""
    keys = list(trusted)
    if not surveys and not keys:
        raise ParameterError(
            "surveys", list(surveys), "surveys, or trusted keys to verify the files' own envelopes with"
        )
    seen: dict[str, list[PackedAnswers]] = {}
    for path in paths:
        packed = read_packed(path)
        seen.setdefault(packed.id if deduplicate else path, []).append(packed)
    before = {packed.id: _content(packed) for packed in map(read_packed, earlier)}
    result, pilots = BatchResult(Tallies(), Summary(0, 0)), dict[str, bool]()
    for files in seen.values():
        for packed in files:
            own = surveys or [packed.survey(keys)]
            pilots |= {f"{survey.name!r} ({survey.digest[:12]}…)": survey.pilot for survey in own}
            refuse_mixed(pilots)
            result += _judged(packed, own, files, before)
    return result


def _content(packed: PackedAnswers) -> Content:
    segments = canonical(dict(packed.segments))
    return packed.survey_digest, packed.question, packed.round, segments, packed.answers, packed.bitorder, packed.sha256


def _judged(
    packed: PackedAnswers,
    surveys: Sequence[Survey],
    same_id: list[PackedAnswers],
    before: dict[str, tuple[object, ...]],
) -> BatchResult:
    n, digest = packed.answers, packed.survey_digest
    survey = next((survey for survey in surveys if survey.digest == digest), None)
    if any(question.design.width > 1 for question in _asked(packed, survey)):
        raise PackedFileError(packed.path, f"question {packed.question!r} is a choice: {ONE_BIT}")
    contents = {_content(one) for one in same_id} | {before[packed.id] for _ in [0] if packed.id in before}
    reason = fault(_row(packed, survey), survey) or ("conflicting_id" if len(contents) > 1 else None)
    if reason or survey is None:
        return BatchResult(Tallies(), Summary(n, 0, 0, {reason or "unknown_survey": n}))
    if packed.id in before or packed is not same_id[0]:
        return BatchResult(Tallies(), Summary(n, 0, n))
    design = survey.question(packed.question).design
    key = TallyKey(digest, packed.question, design, tuple(packed.segments.items()), packed.round, survey.pilot)
    return BatchResult(Tallies({key: Tally(design, n, [packed.ones])}), Summary(n, n))


def _asked(packed: PackedAnswers, survey: Survey | None) -> list[Question]:
    return [question for question in (survey.questions if survey else ()) if question.id == packed.question]


def _row(packed: PackedAnswers, survey: Survey | None) -> ReportRow:
    """The row that every answer of the file would be; its design is the envelope's own."""
    asked = _asked(packed, survey)
    return ReportRow(
        survey=packed.survey_digest,
        question=packed.question,
        round=packed.round,
        design=asked[0].design.text if asked else None,
        answer="0",
        id=packed.id,
        ticket=None,
        segments=canonical(dict(packed.segments)).decode(),
    )
