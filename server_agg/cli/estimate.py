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
    COLUMN,
    DESIGN,
    KIND,
    MANY,
    NAMES,
    PLOT,
    Group,
    add,
    bar,
    bounds_of,
    design_of,
    given_of,
    sources,
    target_of,
)
from server_agg.cli.sources import asked_in, batch_of, split_sources, tallies_of
from server_agg.cli.terminal import Incomplete, Output, show, shown, write_file

if TYPE_CHECKING:
    from server_agg import Tallies, Tally
    from server_agg.results.drawing import Picture
    from server_agg.survey_page.results import SurveyResults

SAMPLE = {"north": (48, 72), "south": (41, 99), "east": (25, 65)}  # made up: (yes, no) by the die of the example
TRAIT = "answer to the harmless question"
ROUND = "round"
OWN_DATA = Group("data of your own", (
    ("--yes", str, "the word for yes, if not yes, y, true or 1"),
    ("--no", str, "the word for no"),
    ("--missing", str, "rows without an answer", {"default": "drop", "choices": ("drop", "refuse")}),
    ("--weights", str, "how many people each row stands for", {"metavar": "COLUMN"}),
    ("--strata", str, "the strata of the sample", {"metavar": "COLUMN"}),
    ("--clusters", str, "its clusters, such as villages or schools", {"metavar": "COLUMN"}),
    ("--sample", Path, "write a made-up .csv to try it with, and end", {"metavar": "FILE"}),
))  # fmt: skip


def add_estimate(parser: ArgumentParser) -> None:
    """Options of `estimate`."""
    words = "tallies (.json); signed surveys and the reports that answer them; or with --column a table of your own"
    by = "groups, by a segment, `round`, or columns of your table; their bars hold all at once"
    counts = "typed counts: the answers that say yes; of a choice those that hold each option, e.g. 420,260,180,140"
    add(
        parser,
        *sources(words, count="*"),
        ("--question", str, "only this question"),
        ("--round", int, "only this round"),
        ("--by", str, by, {**MANY, "metavar": "NAME"}),
        ("--minimum", int, "with --by: answers a group needs (default: 30)"),
        ("--counts", str, counts),
        ("--n", int, "with --counts: all answers"),
        *(DESIGN, KIND),
        ("--unit", str, "with --bounds: the number's unit", {"default": ""}),
        COLUMN,
        OWN_DATA,
        bar(),
        *PLOT,
    )


def estimate(options: Namespace) -> Output:
    """One estimate for each question and round, or for a column."""
    if options.sample is not None:
        return _write_sample(options)
    surveys, _ = split_sources(options.source)
    if not options.source:
        return _typed_counts(options)
    if options.column and not surveys:
        return _own_data(options)
    if typed := given_of(options, "counts", "n", *NAMES):
        name = sorted(typed)[0].replace("_", "-")
        raise ParameterError(f"--{name}", "given", "a source or typed counts, not both; a design only with --column")
    found = selected(batch_of(options).tallies if options.column else tallies_of(options), options)
    how = {"target": target_of(options), "level": options.level, "method": options.method or "exact"}
    if options.by:
        return _grouped(options, found, how)
    from server_agg.survey_page.results import survey_results

    results = survey_results(found, asked=asked_in(options), **how)
    return Output(results.as_dict(), *shown(results), picture=lambda: _estimates(results))


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
        raise EmptySelection(
            "nothing was counted: the source has no accepted report; `rrcollect tally` says what was refused"
        )
    return tallies


def _grouped(options: Namespace, tallies: Tallies, how: dict[str, Any]) -> Output:
    """The groups of a segment, or the rounds, of every question that has them."""
    from server_agg.survey_page.results import survey_results

    if len(options.by) > 1:
        raise ParameterError("--by", ", ".join(options.by), "one segment; several only with --column")
    (by,) = options.by
    segments = sorted({segment for key in tallies for segment, _ in key.segments})
    if by not in (*segments, ROUND):
        raise ParameterError("--by", by, f"a segment that was declared: {', '.join(segments) or 'none was'}")
    results = survey_results(tallies, asked=asked_in(options), minimum=options.minimum or 30, **how)
    declared = {(key.question, key.round) for key in tallies if by in dict(key.segments)}
    named: list[tuple[str, int | None, Any]] = [
        (each.question, each.round, each.segments(by))
        for each in results.rounds
        if (each.question, each.round) in declared
    ]
    if by not in segments:
        lines = {each.question: results.trend(each.question) for each in results.rounds}
        named = [(question, None, line) for question, line in sorted(lines.items()) if line is not None]
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
    return Output(data, *parts, picture=named[0][2].plot)


def _estimates(results: SurveyResults) -> Picture:
    """Shares on one axis; a question about a number has an axis of its own unit and is drawn alone."""
    numbers = sorted({each.question for each in results.rounds if not each.asked.scale.is_share})
    if numbers and len({each.question for each in results.rounds}) > 1:
        listed = ", ".join(numbers)
        raise ParameterError("--question", None, f"one question: {listed} is a number, which has an axis of its own")
    return results.plot()


def _typed_counts(options: Namespace) -> Output:
    """The estimate from typed counts, by kind of question."""
    from server_agg import estimate as estimate_tally
    from server_agg.estimates.interval import aimed

    aim, bounds = aimed(target_of(options)), bounds_of(options)
    result = estimate_tally(_typed(options), **aim, bounds=bounds, unit=options.unit)
    return show(options, result, first=result.sentence(options.level, options.method))


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


def _own_data(options: Namespace) -> Output:
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
    return show(options, found, *[nominal] * bool(options.classic and options.classic[0] in classic.NOMINAL))


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


def _write_sample(options: Namespace) -> Output:
    rows = [f"{region},{said}" for region, (yes, no) in SAMPLE.items() for said in ["yes"] * yes + ["no"] * no]
    mixed = [rows[9 * place % len(rows)] for place in range(len(rows))]  # all of them: 9 and 350 share no factor
    lines = ["person,region,answer", *(f"{number},{row}" for number, row in enumerate([*mixed, "east,"], 1))]
    write_file(options.sample, "\n".join(lines) + "\n", force=options.force)
    said = f"{options.sample}: {len(lines) - 1} made-up rows; forced yes on a 1, forced no on a 6 of a die"
    return Output({"file": str(options.sample), "rows": len(lines) - 1}, said)
