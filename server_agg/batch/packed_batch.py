"""Packed files judged by the same rules as rows: the file is the report, all its answers stand or fall together.

Rules
1. The survey must be one of those given; without any, the file's own envelope is verified under the trusted keys.
2. The same file twice (id and all) counts once, its answers are then `repeated`; different files under one id are all
   refused as `conflicting_id`.  Invites have no place here: a survey by invitation is refused as `missing_invite`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rrcollect.errors import ParameterError
from rrcollect.publish.canonical import canonical
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.survey import Survey
from server_agg.batch.packed_file import PackedAnswers, read_packed
from server_agg.batch.summary import BatchResult, Summary
from server_agg.batch.survey_tables import Published
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

__all__ = ["tally_packed"]


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
    result = BatchResult(Tallies(), Summary(0, 0))
    for files in seen.values():
        for packed in files:
            own = surveys or [packed.survey(keys)]
            result += _judged(packed, Published.of(own), files, before)
    return result


def _content(packed: PackedAnswers) -> tuple[object, ...]:
    segments = canonical(dict(packed.segments))
    return packed.survey_digest, packed.question, packed.round, segments, packed.answers, packed.bitorder, packed.sha256


def _judged(
    packed: PackedAnswers, published: Published, same_id: list[PackedAnswers], before: dict[str, tuple[object, ...]]
) -> BatchResult:
    n, digest = packed.answers, packed.survey_digest
    contents = {_content(one) for one in same_id} | {before[packed.id] for _ in [0] if packed.id in before}
    questions = {question.id: question for survey, question in published.questions if survey == digest}
    reason = ""
    if digest not in published.surveys:
        reason = "unknown_survey"
    elif packed.question not in questions:
        reason = "unknown_question"
    elif packed.round >= questions[packed.question].rounds:
        reason = "bad_round"
    elif not published.allows(digest, canonical(dict(packed.segments)).decode()):
        reason = "undeclared_segment"
    elif published.surveys[digest].invite_only:
        reason = "missing_invite"
    elif len(contents) > 1:
        reason = "conflicting_id"
    if reason:
        return BatchResult(Tallies(), Summary(n, 0, 0, {reason: n}))
    if packed.id in before or packed is not same_id[0]:
        return BatchResult(Tallies(), Summary(n, 0, n))
    design = questions[packed.question].design
    key = TallyKey(digest, packed.question, design, tuple(packed.segments.items()), packed.round)
    return BatchResult(Tallies({key: Tally(design, n, packed.ones)}), Summary(n, n))
