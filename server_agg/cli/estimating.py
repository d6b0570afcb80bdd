"""`rrcollect estimate`: from typed counts, tallies, reports or a database to numbers with their error bars.

Every question and round gets an estimate of its own; answers by several designs are pooled.  `--by` shows the groups
of a segment with bars that hold all at once.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from server_agg.cli.output import Incomplete
from server_agg.cli.sources import add_source, asked_in, tallies_of
from server_agg.cli.terminal import emit, table

if TYPE_CHECKING:
    from server_agg import Tallies, Tally
    from server_agg.survey_page.results import SurveyResults


def add_estimate(parser: ArgumentParser) -> None:
    """Options of `estimate`."""
    add_source(parser, count="*", tallies=True)
    parser.add_argument("--question", help="only this question")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--by", metavar="SEGMENT", help="the groups of a segment, their bars holding all at once")
    parser.add_argument("--minimum", type=int, default=30, help="with --by: answers a group needs (default: 30)")
    parser.add_argument("--yes", type=int, help="or typed counts: answers that said yes (of a number: “high”)")
    parser.add_argument("--counts", help="or, of a choice: how many answers hold each option, e.g. 420,260,180,140")
    parser.add_argument("--low", help="with --yes, of a number: the low end of its range")
    parser.add_argument("--high", help="with --yes, of a number: the high end")
    parser.add_argument("--unit", default="", help="with --low and --high: the number's unit")
    parser.add_argument("--n", type=int, help="all answers")
    parser.add_argument("--epsilon", help="ε of the strict optimal design they were drawn with")
    parser.add_argument("--p00", help="or the matrix: P(say no | truth no)")
    parser.add_argument("--p11", help="or the matrix: P(say yes | truth yes)")
    parser.add_argument("--target", default="population", help="population, sample, or the size of a finite population")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    parser.add_argument("--method", default="exact", help="of the bar in the sentence (default: exact)")


def estimate(options: Namespace) -> int:
    """One estimate for each question and round."""
    target: Any = int(options.target) if options.target.isdigit() else options.target
    if not options.source:
        return _typed_counts(options, target)
    _no_typed_counts(options)
    tallies = selected(tallies_of(options), options)
    if options.by is not None:
        return _by_segment(options, tallies, target)
    from server_agg.survey_page.results import survey_results

    how = {"target": target, "level": options.level, "method": options.method}
    results = survey_results(tallies, asked=asked_in(options), **how)
    few = [each for each in results.rounds if each.estimate is None]
    said = [f"{each.question}, round {each.round}: too few answers for an estimate" for each in few]
    emit(options, [each.as_dict() for each in results.rounds], *question_table(results), "\n".join(said))
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


def question_table(results: SurveyResults) -> tuple[str, ...]:
    """The estimates as a table, and what the bars cover; nothing if there are none.  A pilot is said first."""
    from server_agg.survey_page.results import PILOT

    head, rows = results.cells()
    if not rows:
        return ()
    each = "each bar covers on its own, those of a choice all at once; "
    choice = any(one.is_choice for one in results.rounds)
    several = each if choice else "each bar covers on its own; " if len(rows) > 1 else ""
    first = (PILOT,) if results.pilot else ()
    return (
        *first,
        table(head or [], rows, {1, 2, 3, 4, 5}),
        f"{several}bars hold for independent respondents who follow the protocol",
    )


def check_declared(tallies: Tallies, name: str) -> None:
    """Refuse a segment that nobody declared in any of the tallies; the error names those that were."""
    from rrcollect.errors import ParameterError

    there = sorted({segment for key in tallies for segment, _ in key.segments})
    if name not in there:
        raise ParameterError("--by", name, f"a segment that was declared: {', '.join(there) or 'none was'}")


def _by_segment(options: Namespace, tallies: Tallies, target: str | int) -> int:
    from server_agg.survey_page.results import survey_results

    check_declared(tallies, options.by)
    how = {"minimum": options.minimum, "level": options.level, "method": options.method, "target": target}
    declared = {(key.question, key.round) for key in tallies if options.by in dict(key.segments)}
    data, parts = [], []
    for each in survey_results(tallies, asked=asked_in(options), **how).rounds:
        if (each.question, each.round) in declared:
            found = each.segments(options.by)
            words = f"{each.question}, round {each.round}, by {options.by}"
            head, lines = found.cells()
            parts += [words, table(head or [], lines, set(found.numeric)), found.describe()]
            data.append({"question": each.question, "round": each.round, "segment": options.by, **found.as_dict()})
    emit(options, data, *parts)
    return 0


def _no_typed_counts(options: Namespace) -> None:
    from rrcollect.errors import ParameterError

    for name in ("yes", "n", "epsilon", "p00", "p11", "counts", "low", "high"):
        if getattr(options, name) is not None:
            raise ParameterError(f"--{name}", getattr(options, name), "a source or typed counts, not both")


def _typed_counts(options: Namespace, target: Any) -> int:
    """The estimate from counts that somebody typed, by what they are of."""
    from server_agg import ChoiceEstimate, estimate_mean
    from server_agg import estimate as estimate_tally

    if options.counts is not None:
        chosen = ChoiceEstimate(_typed_choice(options), target)
        emit(options, chosen.as_dict(options.level, options.method), chosen.sentence(options.level), chosen.table())
        return 0
    tally = _typed(options)
    if options.low is not None or options.high is not None:
        if options.low is None or options.high is None:
            raise Incomplete("give both --low and --high: the range of the number")
        mean = estimate_mean(tally, options.low, options.high, unit=options.unit, target=target)
        emit(options, mean.as_dict(options.level, options.method), mean.sentence(options.level, options.method))
        return 0
    result = estimate_tally(tally, target)
    words = result.sentence(options.level, options.method), result.table(options.level)
    emit(options, result.as_dict(options.level, options.method), *words)
    return 0


def _typed_choice(options: Namespace) -> Tally:
    from rrcollect import optimal_choice
    from rrcollect.errors import ParameterError
    from server_agg import Tally

    try:
        counts = [int(text) for text in options.counts.split(",")]
    except ValueError:
        raise ParameterError("--counts", options.counts, "whole numbers with commas, such as 420,260,180") from None
    if options.epsilon is None:
        raise Incomplete("give --epsilon with --counts: that of the optimal design they were drawn with")
    design = optimal_choice(options.epsilon, len(counts))
    n = options.n if options.n is not None else sum(counts) // design.size
    return Tally(design, n, counts)


def _typed(options: Namespace) -> Tally:
    from rrcollect import Design, optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import Tally

    if options.yes is None or options.n is None:
        raise Incomplete(
            "give tallies, reports or a database; or --yes and --n with --epsilon or --p00, --p11; or --counts with "
            "--epsilon"
        )
    if not 0 <= options.yes <= options.n:
        raise ParameterError("--yes", options.yes, f"0 to {options.n}, which is --n")
    if options.epsilon is not None and options.p00 is None and options.p11 is None:
        return Tally(optimal_design(options.epsilon), options.n, options.yes)
    if options.epsilon is None and options.p00 is not None and options.p11 is not None:
        return Tally(Design(options.p00, options.p11), options.n, options.yes)
    raise Incomplete("give --epsilon, or both --p00 and --p11")
