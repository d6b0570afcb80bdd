"""`rrcollect estimate`: from typed counts, tallies, reports or a database to numbers with their error bars.

Every question and round gets an estimate of its own; answers by several designs are pooled.  `--by` shows the groups
of a segment with bars that hold all at once.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from server_agg.cli.output import Incomplete
from server_agg.cli.sources import add_source, tallies_of
from server_agg.cli.terminal import emit, table

if TYPE_CHECKING:
    from server_agg import Tallies, Tally

__all__ = ["add_estimate", "estimate", "estimates_of", "question_table", "segments_of", "selected"]

UNDECLARED = "(not declared)"


def add_estimate(parser: ArgumentParser) -> None:
    """Options of `estimate`."""
    add_source(parser, count="*", tallies=True)
    parser.add_argument("--question", help="only this question")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--by", metavar="SEGMENT", help="the groups of a segment, their bars holding all at once")
    parser.add_argument("--minimum", type=int, default=30, help="with --by: answers a group needs (default: 30)")
    parser.add_argument("--yes", type=int, help="or typed counts: answers that said yes")
    parser.add_argument("--n", type=int, help="all answers")
    parser.add_argument("--epsilon", help="ε of the strict optimal design they were drawn with")
    parser.add_argument("--p00", help="or the matrix: P(say no | truth no)")
    parser.add_argument("--p11", help="or the matrix: P(say yes | truth yes)")
    parser.add_argument("--target", default="population", help="population, sample, or the size of a finite population")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    parser.add_argument("--method", default="exact", help="of the bar in the sentence (default: exact)")


def estimate(options: Namespace) -> int:
    """One estimate for each question and round."""
    from server_agg import estimate as estimate_tally

    target: Any = int(options.target) if options.target.isdigit() else options.target
    if not options.source:
        result = estimate_tally(_typed(options), target)
        words = result.sentence(options.level, options.method), result.table(options.level)
        emit(options, result.as_dict(options.level, options.method), *words)
        return 0
    _no_typed_counts(options)
    tallies = selected(tallies_of(options), options)
    if options.by is not None:
        return _by_segment(options, tallies)
    found = estimates_of(tallies, target)
    named = {key: one for key, one in found.items() if one is not None}
    data = [
        {"question": question, "round": number}
        | ({"estimate": None} if one is None else one.as_dict(options.level, bar_method(one, options.method)))
        for (question, number), one in found.items()
    ]
    few = [f"{q}, round {r}: too few answers for an estimate" for (q, r), one in found.items() if one is None]
    tables = question_table(named, options.level, options.method) if named else ()
    emit(options, data, *tables, "\n".join(few))
    return 0


def selected(tallies: Tallies, options: Namespace) -> Tallies:
    """The question and round asked for; an error names what there is."""
    from rrcollect.errors import ParameterError
    from server_agg import EmptySelection

    for name in ("question", "round"):
        wanted = getattr(options, name)
        there = sorted({getattr(key, name) for key in tallies})
        if wanted is not None and wanted not in there:
            raise ParameterError(f"--{name}", wanted, f"one that was answered: {', '.join(map(str, there)) or 'none'}")
        if wanted is not None:
            tallies = tallies.where(**{name: wanted})
    if not tallies:
        raise EmptySelection("nothing was counted: no accepted report in the source")
    return tallies


def estimates_of(tallies: Tallies, target: Any = "population") -> dict[tuple[str, int], Any]:
    """The estimate of every question and round; None where two answers are not there."""
    from server_agg import estimate as estimate_tally
    from server_agg import pool

    found: dict[tuple[str, int], Any] = {}
    for (question, number), counted in sorted(tallies.by("question", "round").items()):
        enough = sum(each.n for each in counted) >= 2
        one = estimate_tally(counted[0], target) if enough and len(counted) == 1 else None
        found[question, number] = pool(counted) if enough and one is None else one
    return found


def bar_method(found: Any, method: str) -> str:
    """The method asked for, or the likelihood where pooled answers have no such bar."""
    from server_agg import PooledEstimate
    from server_agg.estimates.pooled import METHODS

    return "likelihood" if isinstance(found, PooledEstimate) and method not in METHODS else method


def question_table(found: Mapping[tuple[str, int], Any], level: str, method: str) -> tuple[str, ...]:
    """The estimates as a table, and what the bars cover."""
    from server_agg.report.words import digits_for, percent, privacy_words

    head = ["question", "round", "n", "estimate %", "low", "high", "bar", "target", "privacy", ""]
    rows = []
    for (question, number), one in found.items():
        bar = one.interval(level, bar_method(one, method))
        tally: Tally | None = getattr(one, "tally", None)
        digits = digits_for(bar.width)
        value = percent(min(max(one.value, 0.0), 1.0), digits)
        note = [f"unclipped {percent(one.value, digits)}"] if not 0 <= one.value <= 1 else []
        note += [one.misfit.describe()] if tally is not None and one.misfit else []
        rows.append(
            [
                question,
                str(number),
                f"{one.n if tally is None else tally.n:,}",
                value,
                percent(bar.low, digits),
                percent(bar.high, digits),
                f"{float(100 * bar.level):.10g} % {bar.method}",
                bar.target,
                "several designs" if tally is None else privacy_words(tally.design),
                "; ".join(note),
            ]
        )
    several = "each bar covers on its own; " if len(rows) > 1 else ""
    return table(head, rows, {1, 2, 3, 4, 5}), f"{several}bars hold for independent respondents who follow the protocol"


def segments_of(tallies: Tallies, name: str, *, minimum: int, level: str, method: str, target: str) -> Any:
    """The segment table of one question and round."""
    from server_agg import segment_table

    _check_declared(tallies, name)
    groups = {value or UNDECLARED: each for (value,), each in tallies.by(f"segments.{name}").items()}
    return segment_table(groups, minimum=minimum, level=level, method=method, target=target)


def _check_declared(tallies: Tallies, name: str) -> None:
    """Refuse a segment that nobody declared in any of the tallies; the error names those that were."""
    from rrcollect.errors import ParameterError

    there = sorted({segment for key in tallies for segment, _ in key.segments})
    if name not in there:
        raise ParameterError("--by", name, f"a segment that was declared: {', '.join(there) or 'none was'}")


def _by_segment(options: Namespace, tallies: Tallies) -> int:
    _check_declared(tallies, options.by)
    data, parts = [], []
    declared = {(key.question, key.round) for key in tallies if options.by in dict(key.segments)}
    for question, number in sorted(declared):
        found = segments_of(
            tallies.where(question=question, round=number),
            options.by,
            minimum=options.minimum,
            level=options.level,
            method=options.method,
            target=options.target,
        )
        data.append({"question": question, "round": number, "segment": options.by, **found.as_dict()})
        head, rows = found._cells()
        parts += [f"{question}, round {number}, by {options.by}", table(head, rows, {1, 2, 3, 4}), found.describe()]
    emit(options, data, *parts)
    return 0


def _no_typed_counts(options: Namespace) -> None:
    from rrcollect.errors import ParameterError

    for name in ("yes", "n", "epsilon", "p00", "p11"):
        if getattr(options, name) is not None:
            raise ParameterError(f"--{name}", getattr(options, name), "a source or typed counts, not both")


def _typed(options: Namespace) -> Tally:
    from rrcollect import Design, optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import Tally

    if options.yes is None or options.n is None:
        raise Incomplete("give tallies, reports or a database; or --yes and --n with --epsilon or --p00, --p11")
    if not 0 <= options.yes <= options.n:
        raise ParameterError("--yes", options.yes, f"0 to {options.n}, which is --n")
    if options.epsilon is not None and options.p00 is None and options.p11 is None:
        return Tally(optimal_design(options.epsilon), options.n, options.yes)
    if options.epsilon is None and options.p00 is not None and options.p11 is not None:
        return Tally(Design(options.p00, options.p11), options.n, options.yes)
    raise Incomplete("give --epsilon, or both --p00 and --p11")
