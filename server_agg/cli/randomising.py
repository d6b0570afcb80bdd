"""`rrcollect randomise`: truths that are already in hand, to reports or packed bits.

Rules
1. Reports carry the matrix of a signed survey that was verified and that a device with the default policy accepts.
   Bits alone (.bits) may also be drawn for a bare ε; what is then needed to estimate from them is printed.
2. One draw a column, by the receipt beside the file (`truths`), and no output is ever overwritten.
3. One piece of the input is in memory at a time (packed answers: also one bit each).  The answers appear when all
   are there.
4. A truth is shown nowhere.
"""

from __future__ import annotations

import secrets
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server_agg.cli.output import Incomplete, new_file, refuse_existing
from server_agg.cli.progress import Tell, progress
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from rrcollect import AcceptedSurvey, Design, Report

__all__ = ["add_randomise", "randomise"]

REPORTS = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
SAMPLE = 2000


def add_randomise(parser: ArgumentParser) -> None:
    """Options of `randomise`."""
    parser.add_argument("truths", type=Path, nargs="?", help="a .csv (also .gz) or .parquet file, one person per row")
    parser.add_argument("--column", help="the column with yes/no, true/false or 1/0")
    parser.add_argument("--out", type=Path, help=f"{', '.join(REPORTS)}; packed with its survey: .rrbits; bits: .bits")
    parser.add_argument("--survey", type=Path, help="the signed survey")
    parser.add_argument("--key", type=Path, action="append", default=[], help="the publisher's public key; repeatable")
    parser.add_argument("--question", help="the id of the question the column answers")
    parser.add_argument("--round", type=int, default=0, help="the round it answers (default: 0)")
    parser.add_argument(
        "--segment", action="append", default=[], metavar="NAME", help="a column with a segment; sent as it is"
    )
    parser.add_argument("--epsilon", help="for .bits without a survey: ε of the strict optimal design")
    parser.add_argument("--draw-again", action="store_true", help="draw although the column was drawn from before")
    parser.add_argument("--sample", type=Path, metavar="FILE", help=f"write {SAMPLE} made-up truths to practise on")


def randomise(options: Namespace) -> int:
    """Draw an answer for every truth of a column."""
    from rrcollect.errors import ParameterError

    if options.sample is not None:
        return _sample(options)
    if options.truths is None or options.column is None or options.out is None:
        raise Incomplete("give FILE, --column and --out; --sample FILE makes a file up")
    from server_agg.cli.truths import check_receipt, pieces

    name = options.out.name.lower()
    packed = name.endswith((".rrbits", ".bits"))
    if not packed and not name.endswith(REPORTS):
        raise ParameterError("--out", str(options.out), f"a name ending in {', '.join(REPORTS)}, .rrbits or .bits")
    if options.segment and packed:
        raise ParameterError("--segment", options.segment, "with reports only: a packed file is one segment")
    accepted, envelope, design = _asked(options, bits_alone=name.endswith(".bits"))
    refuse_existing(options.out, force=None)
    rows = pieces(options.truths, options.column, options.segment)
    if not options.draw_again:
        check_receipt(options.truths, options.column, options.round)
    with progress(f"randomising {options.truths.name}", quiet=options.json) as tell:
        counted = _packed(options, rows, design, envelope, tell) if packed else _reports(options, rows, accepted, tell)
    _said(options, design, *counted)
    return 0


def _asked(options: Namespace, *, bits_alone: bool) -> tuple[Any, bytes | None, Design]:
    """The accepted survey with its envelope, and the design to draw with."""
    from rrcollect import optimal_design
    from rrcollect.errors import ParameterError
    from server_agg.cli.sources import accepted_survey

    if options.survey is None:
        if not bits_alone or options.epsilon is None:
            raise ParameterError(
                "--survey", None, "the signed survey with --key and --question; or --epsilon for .bits"
            )
        return None, None, optimal_design(options.epsilon)
    if options.epsilon is not None or not options.key or options.question is None:
        raise ParameterError("--survey", str(options.survey), "together with --key and --question, without --epsilon")
    accepted, envelope = accepted_survey(options.survey, options.key)
    question = accepted.survey.question(options.question)
    if not 0 <= options.round < question.rounds:
        raise ParameterError("--round", options.round, f"0 to {question.rounds - 1}")
    if accepted.survey.invite_only:
        raise ParameterError(
            "--survey", str(options.survey), "a survey that is not by invitation: each answer needs a ticket of its own"
        )
    for name in options.segment:
        if name not in accepted.survey.segments:
            raise ParameterError("--segment", name, f"a segment of the survey: {', '.join(accepted.survey.segments)}")
    return accepted, envelope, question.design


def _reports(options: Namespace, rows: Iterator[Any], accepted: AcceptedSurvey, tell: Tell) -> tuple[int, int]:
    from server_agg.batch.writing import write_whole
    from server_agg.cli.truths import write_receipt

    ones = 0

    def counted() -> Iterator[Report]:
        nonlocal ones
        for report in _drawn(options, rows, accepted, tell):
            ones += report.answer == "1"
            yield report

    with new_file(options.out, force=None) as partial:
        n = write_whole(partial, counted())
        _refuse_no_rows(options, n)
        write_receipt(options.truths, options.column, options.round, options.out)
    return n, ones


def _drawn(options: Namespace, rows: Iterator[Any], accepted: AcceptedSurvey, tell: Tell) -> Iterator[Report]:
    """A report for every truth, by the published matrix, under a fresh id."""
    from rrcollect import Report, randomise_many
    from rrcollect.errors import ParameterError

    question, done = accepted.survey.question(options.question), 0
    for piece in rows:
        for name, values in piece.segments.items():
            allowed = accepted.survey.segments[name].names
            wrong = next((place for place, value in enumerate(values) if value not in allowed), None)
            if wrong is not None:
                where = f"{options.truths}, row {done + wrong + 1}, column {name!r}"
                raise ParameterError(where, "another value, not shown", f"one of {', '.join(allowed)}")
        for place, answer in enumerate(randomise_many(piece.truths, question.design)):
            yield Report(
                survey=accepted.digest,
                question=question.id,
                design=question.design,
                answer=str(int(answer)),
                id=secrets.token_hex(16),
                round=options.round,
                segments={name: values[place] for name, values in piece.segments.items()},
            )
        done += len(piece.truths)
        tell(piece.share)


def _packed(
    options: Namespace, rows: Iterator[Any], design: Design, envelope: bytes | None, tell: Tell
) -> tuple[int, int]:
    import numpy as np

    from rrcollect import randomise_packed
    from server_agg import write_packed
    from server_agg.cli.truths import write_receipt
    from server_agg.count.packed import count_ones

    n, answers = 0, bytearray()
    for piece in rows:
        bits = np.packbits(piece.truths, bitorder="little")
        answers += randomise_packed(bits, len(piece.truths), design).tobytes()
        n += len(piece.truths)
        tell(piece.share)
    _refuse_no_rows(options, n)
    packed = np.frombuffer(bytes(answers), np.uint8)
    with new_file(options.out, force=None) as partial:
        if options.out.name.lower().endswith(".rrbits") and envelope is not None:
            write_packed(partial, packed, n, envelope, options.question, round=options.round)
        else:
            partial.write_bytes(packed.tobytes())
        write_receipt(options.truths, options.column, options.round, options.out)
    return n, count_ones(packed)


def _refuse_no_rows(options: Namespace, n: int) -> None:
    """No draw was made from a file without rows, so none is receipted: the rows may still come."""
    from server_agg.batch.errors import BadColumn

    if n == 0:
        raise BadColumn(options.column, "empty: the file has no rows", "one person per row", str(options.truths))


def _said(options: Namespace, design: Design, n: int, ones: int) -> None:
    data = {
        "file": str(options.out),
        "answers": n,
        "ones": ones,
        "design": design.to_wire(),
        "receipt": f"{options.truths}.drawn",
    }
    words = f"{options.out}: {n:,} randomised answers, {ones:,} of them yes; drawn once, receipt {options.truths}.drawn"
    if options.out.name.lower().endswith(".bits"):
        words += f"\nbits alone: keep n = {n}, p00 = {design.p00}, p11 = {design.p11} with them"
    sys.stderr.write("" if options.json else "whoever ran this saw the truths; keep or destroy them with care\n")
    emit(options, data, words)


def _sample(options: Namespace) -> int:
    """Made-up people with the columns of the template's survey."""
    from server_agg.cli.output import write_text
    from server_agg.demo.population import sample_csv

    write_text(options.sample, sample_csv(SAMPLE), force=None)
    words = f"{options.sample}: {SAMPLE} made-up people, columns sport, doped, pressed, fixed"
    emit(options, {"file": str(options.sample), "rows": SAMPLE}, words)
    return 0
