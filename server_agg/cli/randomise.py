"""`rrcollect randomise`: truths that are already in hand, to reports or packed bits.

Rules
1. Reports carry the matrix of a signed survey that was verified and that a device with the default policy accepts.
   Bits alone (.bits) may also be drawn for a bare ε; what is then needed to estimate from them is printed.
2. One draw per person, attribute and round, by the bulk ledger (`rrcollect.BulkLedger`), under the caps of the default
   policy: whoever was drawn before or has spent their budget is left out and counted.  Reports name the column of ids.
   Packed answers may; without ids the whole table is drawn once, whatever the question and the round.
3. The file is judged whole and the output begun, then people are reserved, then the first random byte is drawn.  What
   fails after that leaves people reserved without answers, and says so; the way on is the recorded opt-in.
4. The ledger has a fixed place, .local/share/rrcollect/bulk-ledger.sqlite3 in the home folder of the account, as the
   system's list of accounts has it.  It depends neither on the name or the folder of the truths nor on $HOME or another
   variable: a copy of them elsewhere finds the same ledger, and so does the same account by cron, by sudo or by hand.
   It is named before anything is reserved, and so is that it is new and knows nobody.
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

from server_agg.cli.options import (
    COLUMN,
    DESIGN,
    KIND,
    MANY,
    NAMES,
    add,
    bounds_of,
    design_of,
    given_of,
    out,
    refuse,
    sources,
)
from server_agg.cli.sources import accepted_survey, read_keys, split_sources
from server_agg.cli.terminal import CannotWrite, Incomplete, Output, new_file, progress, write_file

if TYPE_CHECKING:
    from rrcollect import BulkLedger
    from rrcollect.answer.acceptance import AcceptedSurvey
    from rrcollect.answer.ledger.bulk import Reservation
    from server_agg.cli.gateway import ColumnQuestion
    from server_agg.cli.truths import Roster

REPORTS = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
SAMPLE = 2000
AGAIN = '--draw-again --because "…" draws a second time and records why'


def add_randomise(parser: ArgumentParser) -> None:
    """Options of `randomise`."""
    words = "the signed survey, and a table (.csv, .parquet, .jsonl, .sav, …) with one person per row"
    add(
        parser,
        *sources(words, count="*"),
        COLUMN,
        ("--id", str, "the column that names the person; it is not sent. Reports need it"),
        out(f"{', '.join(REPORTS)}; packed with its survey: .rrbits; bits: .bits"),
        ("--question", str, "the id of the question the column answers"),
        ("--round", int, "the round it answers (default: 0)"),
        ("--by", str, "a column with a segment; sent as it is", {**MANY, "metavar": "COLUMN"}),
        *(DESIGN, KIND),
        ("--ledger", Path, "who was drawn before (default: bulk-ledger.sqlite3 in the account's data folder)"),
        ("--alias", str, "an earlier name of the attribute, PUBLISHER/ATTRIBUTE", {**MANY, "metavar": "NAME"}),
        ("--draw-again", bool, "draw also who was drawn before; with --because"),
        ("--because", str, "why; kept in the ledger with the time", {"metavar": "REASON"}),
        ("--sample", Path, f"write {SAMPLE} made-up truths to practise on", {"metavar": "FILE"}),
    )


def randomise(options: Namespace) -> Output:
    """Draw an answer for everybody in a column of truths who was not drawn before."""
    if options.sample is not None:
        return _sample(options)
    surveys, tables = split_sources(options.source)
    if len(tables) != 1 or len(options.column) != 1 or options.out is None or len(surveys) > 1:
        raise Incomplete("give SURVEY, one table, one --column and --out; --sample FILE writes a table to practise on")
    options.survey, options.truths = (surveys[0] if surveys else None), Path(tables[0])
    (options.column,) = options.column
    from rrcollect import BulkLedger
    from server_agg.cli.gateway import write_answers, write_bits
    from server_agg.cli.truths import cells_of, read_roster

    _check(options)
    asked = _asked(options)
    accepted = asked.accepted
    ledger = BulkLedger(options.ledger or _default_ledger())
    segments = {} if accepted is None else {name: accepted.survey.segments[name].names for name in options.by}
    with progress(f"randomising {options.truths.name}", quiet=options.json) as tell:
        how = {"id_column": options.id, "segments": segments, "ledger": ledger, "encoding": options.encoding}
        roster = read_roster(options.truths, options.column, cells_of(asked.kind), tell=tell, **how)
    with _told_who_is_reserved() as people, new_file(options.out, force=None) as partial:
        partial.touch()  # a place that cannot be written is told before anybody is reserved
        _name(ledger)
        reserved = _reserve(options, accepted, roster, ledger)
        people.append(int(reserved.new.sum()))
        if _packed(options):
            ones = write_bits(options, partial, roster.truths[reserved.new], asked)
        else:
            ones = write_answers(options, partial, roster, reserved.new, asked)
    return _said(options, asked, reserved, ones, ledger)


def _packed(options: Namespace) -> bool:
    return str(options.out).lower().endswith((".rrbits", ".bits"))


def _check(options: Namespace) -> None:
    """Refuse words that do not go together."""
    packed, reports, survey = _packed(options), ", ".join(REPORTS), options.survey
    known = packed or options.out.name.lower().endswith(REPORTS)
    unexplained = options.draw_again != bool(options.because and options.because.strip())
    typed = survey is not None and given_of(options, *NAMES, "options", "bounds")
    nobody = survey is not None and options.id is None and not packed
    alone = "together with SURVEY: a bare ε is about no attribute and no round"
    refuse(
        (not known, "--out", str(options.out), f"a name ending in {reports}, .rrbits or .bits"),
        (options.by and packed, "--by", options.by, "with reports only: a packed file is one segment"),
        (unexplained, "--because", options.because, "a reason, together with --draw-again"),
        (options.id == options.column, "--id", options.id, "another column than that of the truths"),
        (nobody, "--id", None, "the column that names the person, so that nobody is drawn twice"),
        (typed, "SURVEY", str(survey), "alone: it names the design and the kind of question"),
        (survey is None and options.round is not None, "--round", options.round, alone),
        (survey is None and options.id is not None, "--id", options.id, alone),
    )


def _asked(options: Namespace) -> ColumnQuestion:
    """The accepted survey with its envelope, and the kind and the design to draw with."""
    from rrcollect import Choice, Number
    from rrcollect.publish.kinds import YesNo
    from server_agg.cli.gateway import ColumnQuestion

    if options.survey is None:
        if not options.out.name.lower().endswith(".bits") or not given_of(options, *NAMES):
            raise Incomplete("give SURVEY with --trust and --question; or a design, such as --epsilon, for .bits")
        bounds, design, many = bounds_of(options), design_of(options).to_grid(), options.options
        kind = YesNo() if many is None else Choice([str(place) for place in range(1, many + 1)])
        return ColumnQuestion(kind if bounds is None else Number(*bounds), design)
    if not options.trust or options.question is None:
        raise Incomplete("give --trust and --question with SURVEY")
    accepted, envelope = accepted_survey(options.survey, read_keys(options.trust))
    survey, question = accepted.survey, accepted.survey.question(options.question)
    options.round = options.round or 0
    strange = next((name for name in options.by if name not in survey.segments), None)
    what = "panel" if question.panel else 'question drawn of several (ask = "one")'
    invited = "a survey that is not by invitation: each answer needs a ticket of its own"
    by_device = f"without a {what}: that is drawn by each person's device"
    one_bit = f"{', '.join(REPORTS)}: a packed file has one bit per person"
    refuse(
        (not 0 <= options.round < question.rounds, "--round", options.round, f"0 to {question.rounds - 1}"),
        (survey.invite_only, "SURVEY", str(options.survey), invited),
        (strange is not None, "--by", strange, f"a segment of the survey: {', '.join(survey.segments)}"),
        (question.panel or survey.ask == "one", "--question", options.question, by_device),
        (_packed(options) and question.kind.labels, "--out", str(options.out), one_bit),
    )
    return ColumnQuestion(question.kind, question.design, accepted, envelope)


def _default_ledger() -> Path:
    """The ledger's fixed place (rule 4), its folder made."""
    try:
        import pwd

        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except (ImportError, KeyError):
        raise Incomplete("this account has no home folder: name the ledger, always the same --ledger FILE") from None
    folder = home / ".local" / "share" / "rrcollect"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "bulk-ledger.sqlite3"


def _name(ledger: BulkLedger) -> None:
    """Tell which ledger it is (rule 4)."""
    runs = len(ledger.runs())
    known = f"{runs:,} {'run' if runs == 1 else 'runs'} before" if runs else "new: it knows nobody who was drawn before"
    sys.stderr.write(f"ledger {ledger.path}, {known}\n")


def _reserve(options: Namespace, accepted: AcceptedSurvey | None, roster: Roster, ledger: BulkLedger) -> Reservation:
    """Whom to draw, reserved; an error if that is nobody."""
    import numpy as np

    from rrcollect import AnswerRefused, Policy
    from rrcollect.answer.ledger.bulk import Reservation
    from rrcollect.errors import AlreadyAnswered
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
                *(attribute, options.round, roster.people, policy.cost(question), policy),
                fingerprints=question.fingerprints,
                aliases=options.alias,
                again=again,
                table=roster.marks,
            )
    except AlreadyAnswered as error:
        raise AnswerRefused(f"{where}: {error}; here: --alias NAME") from None
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
) -> Output:
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
    said = "" if isinstance(ones, list) else f" {ones:,} of them {'high' if asked.kind.bounded else 'yes'},"
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
        numbers = ", ".join(f"{name} = {value}" for name, value in design.to_wire().items())
        words += f"\nbits alone: keep n = {n}, {numbers} with them"
    sys.stderr.write("" if options.json else "the table holds the true answers; keep or destroy it with care\n")
    return Output(data, words)


def _sample(options: Namespace) -> Output:
    """Made-up people with the columns of the template's survey."""
    from server_agg.demo.people import sample_csv

    write_file(options.sample, sample_csv(SAMPLE), force=None)
    words = f"{options.sample}: {SAMPLE} made-up people, columns person, sport, doped, pressed, fixed"
    return Output({"file": str(options.sample), "rows": SAMPLE}, words)
