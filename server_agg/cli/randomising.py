"""`rrcollect randomise`: truths that are already in hand, to reports or packed bits.

Rules
1. Reports carry the matrix of a signed survey that was verified and that a device with the default policy accepts.
   Bits alone (.bits) may also be drawn for a bare ε; what is then needed to estimate from them is printed.
2. One draw per person, attribute and round, by the bulk ledger (`rrcollect.BulkLedger`), under the caps of the default
   policy: whoever was drawn before or has spent their budget is left out and counted.  Reports name the column of ids.
   Packed answers may; without ids the whole table is drawn once, whatever the question and the round.
3. The file is judged whole and the output begun, then people are reserved, then the first random byte is drawn.  What
   fails after that leaves people reserved without answers, and says so; the way on is the recorded opt-in.
4. The ledger has a fixed place, $XDG_DATA_HOME/rrcollect/bulk-ledger.sqlite3, which does not depend on the name or the
   folder of the truths: a copy of them elsewhere finds the same ledger.
5. No output is overwritten, and it appears when it is whole.  A truth is shown nowhere.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import CannotWrite, Incomplete, new_file, refuse_existing
from server_agg.cli.progress import progress
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from rrcollect import AcceptedSurvey, BulkLedger
    from rrcollect.answer.bulk_ledger import Reservation
    from rrcollect.design.mechanism import Mechanism
    from server_agg.cli.drawing import ColumnQuestion
    from server_agg.cli.truths import Roster

REPORTS = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
SAMPLE = 2000
AGAIN = '--draw-again --because "…" draws a second time and records why'


def add_randomise(parser: ArgumentParser) -> None:
    """Options of `randomise`."""
    parser.add_argument("truths", type=Path, nargs="?", help="a .csv (also .gz) or .parquet file, one person per row")
    parser.add_argument("--column", help="the column: yes/no, true/false or 1/0; options by their labels; numbers")
    parser.add_argument("--id", help="the column that names the person; it is not sent. Reports need it")
    parser.add_argument("--out", type=Path, help=f"{', '.join(REPORTS)}; packed with its survey: .rrbits; bits: .bits")
    parser.add_argument("--survey", type=Path, help="the signed survey")
    parser.add_argument("--key", type=Path, action="append", default=[], help="the publisher's public key; repeatable")
    parser.add_argument("--question", help="the id of the question the column answers")
    parser.add_argument("--round", type=int, help="the round it answers (default: 0)")
    parser.add_argument(
        "--segment", action="append", default=[], metavar="NAME", help="a column with a segment; sent as it is"
    )
    parser.add_argument("--epsilon", help="for .bits without a survey: ε of the strict optimal design")
    parser.add_argument("--options", type=int, metavar="K", help="with --epsilon: the column has options, 1 to K")
    parser.add_argument("--low", help="with --epsilon and --high: the column has numbers from here")
    parser.add_argument("--high", help="and up to here; what lies outside is refused")
    parser.add_argument(
        "--ledger", type=Path, help="who was drawn before (default: bulk-ledger.sqlite3 in your data folder)"
    )
    parser.add_argument("--draw-again", action="store_true", help="draw also who was drawn before; with --because")
    parser.add_argument("--because", metavar="REASON", help="why; kept in the ledger with the time")
    parser.add_argument("--sample", type=Path, metavar="FILE", help=f"write {SAMPLE} made-up truths to practise on")


def randomise(options: Namespace) -> int:
    """Draw an answer for everybody in a column of truths who was not drawn before."""
    if options.sample is not None:
        return _sample(options)
    if options.truths is None or options.column is None or options.out is None:
        raise Incomplete("give FILE, --column and --out; --sample FILE makes a file up")
    from rrcollect import BulkLedger
    from server_agg.cli.cells import cells_of
    from server_agg.cli.drawing import write_answers, write_bits
    from server_agg.cli.truths import read_roster

    _check(options)
    asked = _asked(options)
    accepted = asked.accepted
    refuse_existing(options.out, force=None)
    ledger = BulkLedger(options.ledger or _default_ledger())
    segments = {} if accepted is None else {name: accepted.survey.segments[name].names for name in options.segment}
    with progress(f"randomising {options.truths.name}", quiet=options.json) as tell:
        roster = read_roster(
            options.truths,
            options.column,
            cells_of(asked.kind),
            id_column=options.id,
            segments=segments,
            ledger=ledger,
            tell=tell,
        )
    with _told_who_is_reserved() as people, new_file(options.out, force=None) as partial:
        partial.touch()  # a place that cannot be written is told before anybody is reserved
        reserved = _reserve(options, accepted, roster, ledger)
        people.append(int(reserved.new.sum()))
        if _packed(options):
            ones = write_bits(options, partial, roster.truths[reserved.new], asked)
        else:
            ones = write_answers(options, partial, roster, reserved.new, asked)
    _said(options, asked, reserved, ones, ledger)
    return 0


def _packed(options: Namespace) -> bool:
    return str(options.out).lower().endswith((".rrbits", ".bits"))


def _check(options: Namespace) -> None:
    """Refuse words that do not go together."""
    from rrcollect.errors import ParameterError

    if not _packed(options) and not options.out.name.lower().endswith(REPORTS):
        raise ParameterError("--out", str(options.out), f"a name ending in {', '.join(REPORTS)}, .rrbits or .bits")
    if options.segment and _packed(options):
        raise ParameterError("--segment", options.segment, "with reports only: a packed file is one segment")
    if options.draw_again != bool(options.because and options.because.strip()):
        raise ParameterError("--because", options.because, "a reason, together with --draw-again")
    if options.id is not None and options.id == options.column:
        raise ParameterError("--id", options.id, "another column than that of the truths")
    if options.survey is not None and options.id is None and not _packed(options):
        raise ParameterError("--id", None, "the column that names the person, so that nobody is drawn twice")
    if options.epsilon is None and any(value is not None for value in (options.options, options.low, options.high)):
        raise ParameterError("--options, --low or --high", "given", "with --epsilon: a survey says them itself")
    for name, value in (("--round", options.round), ("--id", options.id)):
        if options.survey is None and options.epsilon is not None and value is not None:
            raise ParameterError(name, value, "together with --survey: a bare ε is about no attribute and no round")


def _bare(options: Namespace) -> ColumnQuestion:
    """The kind and the design of a bare ε."""
    from rrcollect import Number, optimal_choice, optimal_design
    from rrcollect.errors import ParameterError
    from rrcollect.publish.kinds import YesNo
    from server_agg.cli.cells import numbered
    from server_agg.cli.drawing import ColumnQuestion

    if options.options is not None:
        if options.low is not None or options.high is not None:
            raise ParameterError("--options", options.options, "without --low and --high")
        return ColumnQuestion(numbered(options.options), optimal_choice(options.epsilon, options.options))
    if (options.low is None) != (options.high is None):
        raise ParameterError("--low and --high", (options.low, options.high), "both of them")
    kind = YesNo() if options.low is None else Number(low=options.low, high=options.high)
    return ColumnQuestion(kind, optimal_design(options.epsilon))


def _asked(options: Namespace) -> ColumnQuestion:
    """The accepted survey with its envelope, and the kind and the design to draw with."""
    from rrcollect.errors import ParameterError
    from server_agg.cli.drawing import ColumnQuestion
    from server_agg.cli.sources import accepted_survey

    if options.survey is None:
        if not options.out.name.lower().endswith(".bits") or options.epsilon is None:
            raise ParameterError(
                "--survey", None, "the signed survey with --key and --question; or --epsilon for .bits"
            )
        return _bare(options)
    if options.epsilon is not None or not options.key or options.question is None:
        raise ParameterError("--survey", str(options.survey), "together with --key and --question, without --epsilon")
    accepted, envelope = accepted_survey(options.survey, options.key)
    question = accepted.survey.question(options.question)
    options.round = options.round or 0
    if not 0 <= options.round < question.rounds:
        raise ParameterError("--round", options.round, f"0 to {question.rounds - 1}")
    if accepted.survey.invite_only:
        raise ParameterError(
            "--survey", str(options.survey), "a survey that is not by invitation: each answer needs a ticket of its own"
        )
    for name in options.segment:
        if name not in accepted.survey.segments:
            raise ParameterError("--segment", name, f"a segment of the survey: {', '.join(accepted.survey.segments)}")
    if question.panel or accepted.survey.ask == "one":
        what = "panel" if question.panel else 'question drawn of several (ask = "one")'
        raise ParameterError("--question", options.question, f"without a {what}: that is drawn by each person's device")
    if _packed(options) and question.kind.kind == "choice":
        raise ParameterError("--out", str(options.out), f"{', '.join(REPORTS)}: a packed file has one bit per person")
    return ColumnQuestion(question.kind, question.design, accepted, envelope)


def _default_ledger() -> Path:
    """The ledger's fixed place (rule 4), its folder made."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    folder = Path(data, "rrcollect")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "bulk-ledger.sqlite3"


def _reserve(options: Namespace, accepted: AcceptedSurvey | None, roster: Roster, ledger: BulkLedger) -> Reservation:
    """Whom to draw, reserved; an error if that is nobody."""
    import numpy as np

    from rrcollect import AnswerRefused, Policy
    from rrcollect.answer.bulk_ledger import Reservation
    from server_agg.cli.truths import naming

    where, again = f"column {options.column!r} of {options.truths}", options.because
    try:
        if roster.people is None or accepted is None:
            ledger.reserve_table(roster.marks, again=again)
            return Reservation(np.ones(roster.truths.size, np.bool_))
        question = accepted.survey.question(options.question)
        attribute, policy = f"{accepted.survey.publisher}/{question.attribute}", Policy()
        with naming(options.truths):
            reserved = ledger.reserve(
                attribute, options.round, roster.people, policy.cost(question), policy, again=again, table=roster.marks
            )
    except AnswerRefused as error:
        raise AnswerRefused(f"{where}: {error}: use those answers; {AGAIN}. --id tells people apart") from None
    if not reserved.new.any():
        raise AnswerRefused(
            f"{where}: nobody is left to draw ({_left_out(reserved)}): use the answers there are; if a run was cut off "
            f"and left none, {AGAIN}"
        )
    return reserved


@contextmanager
def _told_who_is_reserved() -> Iterator[list[int]]:
    """Whatever keeps the answers from being written: how many people stay reserved without them is said."""
    from rrcollect.errors import RRCollectError

    people: list[int] = []
    try:
        yield people
    except (RRCollectError, KeyboardInterrupt) as error:
        if not people:
            raise
        said = str(error) or "stopped"
        raise CannotWrite(f"{said}; {people[0]:,} people are reserved and have no answers: {AGAIN}") from None


def _left_out(reserved: Reservation) -> str:
    """ "50 drawn before, 2 above their budget: left out"; "" if there are none."""
    told = ((reserved.drawn_before, "drawn before"), (reserved.over_budget, "above their budget"))
    return ", ".join(f"{people:,} {why}" for people, why in told if people) + ": left out" * any(reserved[1:3])


def _said(
    options: Namespace, asked: ColumnQuestion, reserved: Reservation, ones: int | list[int], ledger: BulkLedger
) -> None:
    design = asked.design
    n, bits_alone = int(reserved.new.sum()), options.out.name.lower().endswith(".bits")
    data = {
        "file": str(options.out),
        "answers": n,
        "ones": ones,
        "drawn_before": reserved.drawn_before,
        "over_budget": reserved.over_budget,
        "drawn_again": reserved.drawn_again,
        "order": "of the rows" if bits_alone else "drawn afresh",
        "design": design.to_wire(),
        "ledger": str(ledger.path),
    }
    said = "" if isinstance(ones, list) else f" {ones:,} of them {'high' if asked.kind.kind == 'number' else 'yes'},"
    words = f"{options.out}: {n:,} randomised answers,{said} in "
    words += "the order of the rows: do not hand them on beside others" if bits_alone else "an order drawn afresh"
    if options.id is None:
        words += f"\nthe table is reserved as a whole{' once more' * options.draw_again}: it names nobody"
    else:
        again = f"{reserved.drawn_again:,} drawn again" * bool(reserved.drawn_again)
        counted = (f"{n - reserved.drawn_again:,} new", again, _left_out(reserved))
        words += "\n" + ", ".join(part for part in counted if part)
    words += f" (ledger {ledger.path}" + (f"; recorded: {options.because})" if options.draw_again else ")")
    if bits_alone:
        words += f"\nbits alone: keep n = {n}, {_numbers(design)} with them"
    sys.stderr.write("" if options.json else "whoever ran this saw the truths; keep or destroy them with care\n")
    emit(options, data, words)


def _numbers(design: Mechanism) -> str:
    return ", ".join(f"{name} = {value}" for name, value in design.to_wire().items())


def _sample(options: Namespace) -> int:
    """Made-up people with the columns of the template's survey."""
    from server_agg.cli.output import write_text
    from server_agg.demo.people import sample_csv

    write_text(options.sample, sample_csv(SAMPLE), force=None)
    words = f"{options.sample}: {SAMPLE} made-up people, columns person, sport, doped, pressed, fixed"
    emit(options, {"file": str(options.sample), "rows": SAMPLE}, words)
    return 0
