"""`rrcollect plot`: the paper's figures, the price of privacy, power, and estimates from tallies or reports.

Drawn without a display, to the format of the file's ending.  Every bar's title says what it covers.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import add_force, new_file, refuse_existing
from server_agg.cli.sources import add_source, asked_in, tallies_of
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from server_agg.survey_page.results import SurveyResults

FIGURES = {
    "switch": "where the optimum switches: [HLM17] Figure 1",
    "region": "where the optimum lies, for --epsilon, --delta and --prevalence",
    "price": "answers needed for --margin against ε",
    "power": "the chance to find --difference against n, for one --epsilon or the usual ones",
    "estimates": "every question of the source",
    "segments": "one question of the source by --by",
    "trend": "one question of the source by round",
}
ENDINGS = (".png", ".svg", ".pdf")
EPSILONS = ("0.25", "0.5", "1", "ln 3", "2", "3", "4")
METHODS = ("exact", "chebyshev", "hoeffding")
SIZES = [50 * 2**i for i in range(9)]


def add_plot(parser: ArgumentParser) -> None:
    """Options of `plot`."""
    what = "; ".join(f"{name}: {words}" for name, words in FIGURES.items())
    parser.add_argument("figure", choices=tuple(FIGURES), help=what.replace("%", "%%"))
    add_source(parser, count="*", tallies=True)
    parser.add_argument("--out", type=Path, required=True, help=f"the file to write: {', '.join(ENDINGS)}")
    parser.add_argument("--question", help="the question of the source")
    parser.add_argument("--round", type=int, help="the round of the source")
    parser.add_argument("--by", metavar="SEGMENT", help="segments: the segment to group by")
    parser.add_argument("--minimum", type=int, default=30, help="segments: answers a group needs (default: 30)")
    parser.add_argument("--epsilon", help="region, power: ε")
    parser.add_argument("--delta", default="0", help="region: δ (default: 0)")
    parser.add_argument("--prevalence", help="region: the share of yes (default: 0.1); price, power: the worst one")
    parser.add_argument("--margin", default="0.05", help="price: half the width of the bar (default: 0.05)")
    parser.add_argument("--difference", default="0.1", help="power: the difference to find (default: 0.1)")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    add_force(parser)


def plot(options: Namespace) -> int:
    """Draw one figure to a file."""
    from rrcollect.errors import ParameterError

    check_picture(options.out, force=options.force)
    if options.figure in ("estimates", "segments", "trend"):
        if not options.source:
            raise ParameterError("source", "none", f"tallies, reports or a database for `plot {options.figure}`")
        drawn, said = _from_source(options)
    else:
        if options.source:
            raise ParameterError("source", options.source, f"none: `plot {options.figure}` reads nothing")
        drawn, said = _from_numbers(options)
    save(drawn, options.out, force=options.force)
    emit(options, {"file": str(options.out), "figure": options.figure}, f"{options.out}: {said}")
    return 0


def check_picture(path: Path | None, *, force: bool) -> None:
    """Refuse a file that cannot be drawn to, before the work is done."""
    from rrcollect.errors import ParameterError

    if path is not None and path.suffix.lower() not in ENDINGS:
        raise ParameterError("picture", str(path), f"a name ending in {', '.join(ENDINGS)}")
    refuse_existing(path, force=force)


def save(axes: Axes, path: Path, *, force: bool) -> None:
    """Write the figure of the axes, in the format of the ending."""
    from server_agg.results.drawing import Picture

    with new_file(path, force=force) as partial:
        Picture(axes).save(partial)


def _from_numbers(options: Namespace) -> tuple[Axes, str]:
    """The figure, and what it shows."""
    from rrcollect import optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import plan

    if options.figure == "switch":
        return plan.plot_switch().axes, FIGURES["switch"]
    if options.figure == "region":
        if options.epsilon is None:
            raise ParameterError("--epsilon", None, "an ε such as 1 or 'ln 3'")
        share = options.prevalence or "0.1"
        said = f"where the optimum lies, for ε = {options.epsilon}, δ = {options.delta} and prevalence {share}"
        return plan.plot_region(options.epsilon, options.delta, prevalence=share).axes, said
    if options.figure == "price":
        how = {"margin": options.margin, "level": options.level, "prevalence": options.prevalence}
        drawn = plan.price(EPSILONS, **how).plot(methods=METHODS)
        return drawn.axes, f"answers needed for ±{options.margin} against ε"
    wanted = (options.epsilon,) if options.epsilon is not None else ("0.5", "1", "2", "4")
    designs = {f"ε = {epsilon}": optimal_design(epsilon) for epsilon in wanted}
    how = {"difference": options.difference, "prevalence": options.prevalence, "level": options.level}
    said = f"the chance to find a difference of {options.difference} against n, for {', '.join(designs)}"
    return plan.plot_power(designs, SIZES, **how).axes, said


def _from_source(options: Namespace) -> tuple[Axes, str]:
    """The figure, and what it shows."""
    from rrcollect.errors import ParameterError
    from server_agg.cli.estimating import check_declared, selected
    from server_agg.survey_page.results import survey_results

    tallies = selected(tallies_of(options), options)
    results = survey_results(tallies, asked=asked_in(options), level=options.level)
    if options.figure == "estimates":
        return _estimates(results), "; ".join(f"{each.question}, round {each.round}" for each in results.rounds)
    asked = sorted({key.question for key in tallies})
    if len(asked) > 1:
        raise ParameterError("--question", None, f"one of {', '.join(asked)}")
    if options.figure == "trend":
        rows = results.trend(asked[0])
        if rows is None:
            raise ParameterError("rounds", len(results.rounds), "two rounds or more")
        return rows.plot().axes, f"{asked[0]} by round"
    rounds = sorted({key.round for key in tallies})
    if len(rounds) > 1 or options.by is None:
        wrong = "--by" if options.by is None else "--round"
        raise ParameterError(
            wrong, None, "a segment" if options.by is None else f"one of {', '.join(map(str, rounds))}"
        )
    check_declared(tallies, options.by)
    (only,) = results.rounds
    found = only.segments(options.by, options.minimum)
    return found.plot().axes, f"{asked[0]}, round {rounds[0]}, by {options.by}"


def _estimates(results: SurveyResults) -> Axes:
    """Shares on one axis; a question about a number has an axis of its own unit and is drawn alone."""
    from rrcollect.errors import ParameterError
    from server_agg.results.drawing import Point, draw_points
    from server_agg.results.interval import exact_level

    numbers = [each for each in results.rounds if not each.asked.scale.is_share]
    if not numbers:
        return results.plot().axes
    if len({each.question for each in results.rounds}) > 1:
        listed = ", ".join(sorted({each.question for each in numbers}))
        raise ParameterError("--question", None, f"one question: {listed} is a number, which has an axis of its own")
    points = [
        Point(f"round {each.round}, n = {each.n:,}", one.value, *one.bar) for each in numbers for one in each.findings
    ]
    scale = numbers[0].asked.scale
    how = {"axis": f"mean, {scale.unit}".rstrip(", "), "limits": scale.ends, "shares": False}
    return draw_points(points, title=f"{float(100 * exact_level(results.options.level)):.10g} % exact bars", **how)  # type: ignore[arg-type]
