"""`rrcollect estimate`: from typed counts, tallies, reports, a database or a table of one's own to values with bars.

Every question and round gets an estimate of its own; answers by several designs are pooled.  `--by` shows the groups of
a segment with bars that hold all at once, or with `--by round` the rounds.  With `--column` and a design the source is
a table that this project did not collect.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError
from server_agg.cli.options import (
    DESIGN,
    add_bar,
    add_column,
    add_design,
    add_kind,
    add_plot,
    add_sources,
    bounds_of,
    design_of,
    given_of,
    target_of,
)
from server_agg.cli.sources import asked_in, batch_of, split_sources, tallies_of
from server_agg.cli.terminal import Incomplete, check_picture, emit, save_picture, show, shown, write_text

if TYPE_CHECKING:
    from server_agg import Tallies, Tally
    from server_agg.results.drawing import Picture
    from server_agg.survey_page.results import SurveyResults

SAMPLE = {"north": (48, 72), "south": (41, 99), "east": (25, 65)}  # made up: (yes, no) by the die of the example
TRAIT = "answer to the harmless question"
ROUND = "round"


def add_estimate(parser: ArgumentParser) -> None:
    """Options of `estimate`."""
    words = "tallies (.json); signed surveys and the reports that answer them; or with --column a table of your own"
    add_sources(parser, words, count="*")
    parser.add_argument("--question", help="only this question")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--by", action="append", default=[], metavar="NAME", help="groups, by a segment, `round`, or "
                        "columns of your table; their bars hold all at once")  # fmt: skip
    parser.add_argument("--minimum", type=int, help="with --by: answers a group needs (default: 30)")
    parser.add_argument("--counts", help="typed counts: the answers that say yes; of a choice those that hold each "
                        "option, e.g. 420,260,180,140")  # fmt: skip
    parser.add_argument("--n", type=int, help="with --counts: all answers")
    add_design(parser)
    add_kind(parser)
    parser.add_argument("--unit", default="", help="with --bounds: the number's unit")
    add_column(parser)
    group = parser.add_argument_group("data of your own")
    group.add_argument("--yes", help="the word for yes, if not yes, y, true or 1")
    group.add_argument("--no", help="the word for no")
    group.add_argument("--missing", default="drop", choices=("drop", "refuse"), help="rows without an answer")
    group.add_argument("--weights", metavar="COLUMN", help="how many people each row stands for")
    group.add_argument("--strata", metavar="COLUMN", help="the strata of the sample")
    group.add_argument("--clusters", metavar="COLUMN", help="its clusters, such as villages or schools")
    group.add_argument("--sample", type=Path, metavar="FILE", help="write a made-up .csv to try it with, and end")
    add_bar(parser)
    add_plot(parser)


def estimate(options: Namespace) -> int:
    """One estimate for each question and round, or for a column."""
    if options.sample is not None:
        return _write_sample(options)
    check_picture(options)
    typed = given_of(options, "counts", "n", *DESIGN)
    if not options.source:
        return _typed_counts(options)
    surveys, _ = split_sources(options.source)
    if options.column and not surveys:
        return _own_data(options)
    if typed:
        name = sorted(typed)[0].replace("_", "-")
        raise ParameterError(f"--{name}", "given", "a source or typed counts, not both; a design only with --column")
    found = batch_of(options).tallies if options.column else tallies_of(options)
    tallies = selected(found, options)
    if options.by:
        return _grouped(options, tallies)
    from server_agg.survey_page.results import survey_results

    how = {"target": target_of(options), "level": options.level, "method": options.method or "exact"}
    results = survey_results(tallies, asked=asked_in(options), **how)
    drawn = save_picture(options, lambda: _estimates(results))
    emit(options, results.as_dict(), *shown(results), drawn)
    return 0


def selected(tallies: Tallies, options: Namespace) -> Tallies:
    """The question and round asked for; an error names what there is."""
    from server_agg.errors import EmptySelection

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


def check_declared(tallies: Tallies, name: str) -> None:
    """Refuse a segment that nobody declared in any of the tallies; the error names those that were."""
    there = sorted({segment for key in tallies for segment, _ in key.segments})
    if name not in there:
        raise ParameterError("--by", name, f"a segment that was declared: {', '.join(there) or 'none was'}")


def _grouped(options: Namespace, tallies: Tallies) -> int:
    """The groups of a segment, or the rounds, of every question that has them."""
    from server_agg.survey_page.results import survey_results

    if len(options.by) > 1:
        raise ParameterError("--by", ", ".join(options.by), "one segment; several only with --column")
    (by,) = options.by
    rounds = by == ROUND and not any(ROUND in dict(key.segments) for key in tallies)
    if not rounds:
        check_declared(tallies, by)
    how = {
        "minimum": options.minimum or 30,
        "level": options.level,
        "method": options.method or "exact",
        "target": target_of(options),
    }
    results = survey_results(tallies, asked=asked_in(options), **how)
    named: list[tuple[str, int | None, Any]] = []
    if rounds:
        asked = sorted({each.question for each in results.rounds})
        named = [(question, None, found) for question in asked if (found := results.trend(question)) is not None]
    else:
        declared = {(key.question, key.round) for key in tallies if by in dict(key.segments)}
        kept = [each for each in results.rounds if (each.question, each.round) in declared]
        named = [(each.question, each.round, each.segments(by)) for each in kept]
    if not named:
        raise ParameterError("--by", by, "two rounds or more of a question")
    data, parts = [], []
    for question, number, found in named:
        title = f"{question}, by round" if number is None else f"{question}, round {number}, by {by}"
        parts += [title, str(found)]
        data.append({"question": question, "round": number, "by": by, **found.as_dict()})
    if options.plot is not None and len(named) > 1:
        asked = sorted({question for question, _, _ in named})
        wrong, there = ("--question", asked) if len(asked) > 1 else ("--round", [number for _, number, _ in named])
        raise ParameterError(wrong, None, f"one of {', '.join(map(str, there))}: a picture shows one table")
    emit(options, data, *parts, save_picture(options, named[0][2].plot))
    return 0


def _estimates(results: SurveyResults) -> Picture:
    """Shares on one axis; a question about a number has an axis of its own unit and is drawn alone."""
    numbers = sorted({each.question for each in results.rounds if not each.asked.scale.is_share})
    if numbers and len({each.question for each in results.rounds}) > 1:
        listed = ", ".join(numbers)
        raise ParameterError("--question", None, f"one question: {listed} is a number, which has an axis of its own")
    return results.plot()


def _typed_counts(options: Namespace) -> int:
    """The estimate from typed counts, by kind of question."""
    from server_agg import estimate as estimate_tally
    from server_agg.estimates.interval import aimed

    aim, bounds = aimed(target_of(options)), bounds_of(options)
    result = estimate_tally(_typed(options), **aim, bounds=bounds, unit=options.unit)
    show(options, result, first=result.sentence(options.level, options.method))
    return 0


def _typed(options: Namespace) -> Tally:
    from server_agg import Tally

    if options.counts is None:
        raise Incomplete("give tallies, reports or a database; or --counts and --n with a design, such as --epsilon")
    try:
        counts = [int(text) for text in options.counts.split(",")]
    except ValueError:
        allowed = "whole numbers with commas, such as 420,260,180"
        raise ParameterError("--counts", options.counts, allowed) from None
    if len(counts) == 1:
        if options.n is None:
            raise Incomplete("give --n with --counts: all answers")
        if not 0 <= counts[0] <= options.n:
            raise ParameterError("--counts", counts[0], f"0 to {options.n}, which is --n")
        return Tally(design_of(options), options.n, counts)
    design: Any = design_of(options, choices=len(counts))
    return Tally(design, options.n if options.n is not None else sum(counts) // design.size, counts)


def _own_data(options: Namespace) -> int:
    """The share behind a column of answers, over all rows and by groups."""
    from rrcollect import classic
    from server_agg import analyse

    if len(options.source) > 1 or len(options.column) > 1:
        raise Incomplete("give one table and one --column of it")
    names = ("by", "weights", "strata", "clusters", "yes", "no", "missing", "target", "unit", "encoding", "level")
    found = analyse(
        options.source[0],
        design_of(options),  # type: ignore[arg-type]  # which `analyse` judges
        column=options.column[0],
        population=_population(options.population),
        bounds=bounds_of(options),
        method=options.method,
        minimum=options.minimum,
        **{name: getattr(options, name) for name in names},
    )
    nominal = f"ε is nominal: it fails against anyone who knows the respondent's {TRAIT}"
    show(options, found, *[nominal] * bool(options.classic and options.classic[0] in classic.NOMINAL))
    return 0


def _population(text: str | None) -> int | dict[str, int] | None:
    """A size, or one for each stratum."""
    if text is None:
        return None
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(size.strip().isdigit() for _, _, size in pairs):
        raise ParameterError("--population", text, "a whole number, or NAME=NUMBER,NAME=NUMBER,…")
    if len(pairs) == 1 and not pairs[0][1]:
        return int(text)
    return {name: int(size) for name, _, size in pairs}


def _write_sample(options: Namespace) -> int:
    rows = [f"{region},{said}" for region, (yes, no) in SAMPLE.items() for said in ["yes"] * yes + ["no"] * no]
    mixed = [rows[9 * place % len(rows)] for place in range(len(rows))]  # all of them: 9 and 350 share no factor
    lines = ["person,region,answer", *(f"{number},{row}" for number, row in enumerate([*mixed, "east,"], 1))]
    write_text(options.sample, "\n".join(lines) + "\n", force=options.force)
    said = f"{options.sample}: {len(lines) - 1} made-up rows; forced yes on a 1, forced no on a 6 of a die"
    emit(options, {"file": str(options.sample), "rows": len(lines) - 1}, said)
    return 0
