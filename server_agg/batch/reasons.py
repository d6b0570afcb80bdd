"""Why a row is refused.  The names are stable: they stand in summaries, in files of refused rows and in dashboards.

Rules
1. A row is judged on its own first, and the first reason that applies, in the order below, is the one counted.
2. Only rows that stand on their own are compared with each other: first by report id, then by invite.  So nobody can
   spoil a good report by sending rubbish under its id.
3. Identical rows of one id are one report and its repeats.  If rows of one id differ, no row of that id is counted:
   which one is true cannot be known (`conflicting_id`).
4. An invite speaks once for a question and round.  If several report ids come with one invite, none is counted
   (`invite_reused`): keeping "the first" would depend on the order of files, keeping the smallest id would let the
   sender choose.
"""

from __future__ import annotations

__all__ = ["CONFLICTING_ID", "INVITE_REUSED", "MALFORMED", "REASONS"]

REASONS = {
    "malformed": "cut off, broken, or with a value of the wrong type (counted only where leniency was asked for)",
    "unknown_survey": "the survey digest is none of the surveys given",
    "unknown_question": "the survey has no such question",
    "wrong_design": "the recorded matrix is not the published one, spelt in lowest terms",
    "bad_round": "not a round of the question: 0 to rounds − 1",
    "bad_answer": "not 0 or 1",
    "undeclared_segment": "a segment or value the survey does not declare, or not in canonical JSON",
    "missing_invite": "the survey is by invitation, and the report has no invite",
    "bad_invite": "an invite that is empty or longer than 128 characters",
    "bad_id": "not 32 hexadecimal digits in lower case",
    "conflicting_id": "rows of the same report id differ",
    "invite_reused": "several report ids under one invite, question and round",
}
"""Every reason, in the order in which they are looked for, and what it means."""

NUMBER = {name: number for number, name in enumerate(REASONS, start=1)}  # 0: nothing is wrong
NAME = {number: name for name, number in NUMBER.items()}
MALFORMED, CONFLICTING_ID, INVITE_REUSED = NUMBER["malformed"], NUMBER["conflicting_id"], NUMBER["invite_reused"]
