"""`rrcollect simulate`: repeated surveys with a known prevalence; see `server_agg.plan.rehearsal`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import Incomplete, add_force
from server_agg.cli.plotting import check_picture, save
from server_agg.cli.progress import progress
from server_agg.cli.terminal import emit, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rrcollect.design.mechanism import Mechanism
    from server_agg.plan.rehearsal import Rehearsal

BINS, WIDTH = 15, 40


def add_simulate(parser: ArgumentParser) -> None:
    """Options of `simulate`."""
    from server_agg.estimates.interval import TARGETS

    parser.add_argument("--epsilon", help="ε of the optimal design")
    parser.add_argument("--delta", default="0", help="δ (default: 0)")
    parser.add_argument("--p00", help="or the matrix: P(say no | truth no)")
    parser.add_argument("--p11", help="or the matrix: P(say yes | truth yes)")
    parser.add_argument("--options", type=int, help="one of so many options, by the best design for ε")
    parser.add_argument("--prevalence", required=True, help="the true share of yes, or of the first option")
    parser.add_argument("--n", type=int, default=1000, help="respondents per survey (default: 1000)")
    parser.add_argument("--surveys", type=int, default=2000, help="how many surveys (default: 2000)")
    parser.add_argument("--level", default="0.95", help="confidence level of the bars (default: 0.95)")
    parser.add_argument("--target", default="population", choices=TARGETS, help="what bars cover")
    parser.add_argument("--method", action="append", help="only this method of making bars; repeatable")
    parser.add_argument("--plot", type=Path, help="a picture of the estimates: .png, .svg or .pdf")
    add_force(parser)


def simulate(options: Namespace) -> int:
    """Simulate, and say how the estimate varied and how often each bar held."""
    from server_agg.plan.rehearsal import rehearse

    check_picture(options.plot, force=options.force)
    design = _design(options)
    with progress(f"{options.surveys} surveys of {options.n}", quiet=options.json) as tell:
        found = rehearse(
            design,
            options.prevalence,
            options.n,
            options.surveys,
            level=options.level,
            target=options.target,
            methods=options.method,
            tell=tell,
        )
    if options.plot:
        save(_histogram(found), options.plot, force=options.force)
    picture = f"{options.plot}: the estimates" if options.plot else ""
    emit(options, found.as_dict(), _summary(found), _bins(found), *_coverage(found), picture)
    return 0


def _design(options: Namespace) -> Mechanism:
    from rrcollect import Design, optimal_choice, optimal_design

    matrix = options.p00, options.p11
    if options.options is not None:
        if options.epsilon is None or matrix != (None, None):
            raise Incomplete("with --options give --epsilon, and no matrix")
        return optimal_choice(options.epsilon, options.options, options.delta)
    if options.epsilon is not None and matrix == (None, None):
        return optimal_design(
            options.epsilon, options.delta, prevalence=options.prevalence if options.delta != "0" else None
        )
    if options.epsilon is None and None not in matrix:
        return Design(*matrix).to_grid()
    raise Incomplete("give --epsilon (and --delta), or both --p00 and --p11")


def _summary(found: Rehearsal) -> str:
    from server_agg.results.tables import text_table

    mean, error = found.mean, found.predicted_spread / found.values.size**0.5
    rows = [
        ["surveys", f"{found.values.size:,} of {found.n:,} people each, {found.design}"],
        ["truth", f"{100 * found.prevalence:.3f} %"],
        ["mean estimate", f"{100 * mean:.3f} % ± {100 * error:.3f} (one Monte-Carlo standard error)"],
        ["bias", f"{found.bias_in_errors:+.2f} standard errors: {_verdict(found.bias_in_errors)}"],
        ["spread", f"{100 * found.spread:.3f} points; theory {100 * found.predicted_spread:.3f}"],
    ]
    return text_table(None, rows)


def _verdict(errors: float) -> str:
    return "none to be seen" if abs(errors) < 4 else "BIASED: this does not happen by chance"


def _bins(found: Rehearsal) -> str:
    """The distribution of the estimate as lines of text."""
    import numpy as np

    counts, edges = np.histogram(found.values, BINS)
    rows = []
    for many, low, high in zip(counts, edges, edges[1:], strict=False):
        mark = " ◄ truth" if low <= found.prevalence < high else ""
        rows.append(f"{100 * low:7.2f} … {100 * high:6.2f} %  {'█' * round(WIDTH * many / counts.max())}{mark}")
    return "\n".join(rows)


def _coverage(found: Rehearsal) -> tuple[str, str]:
    rows = []
    for each in found.coverages:
        low, high = each.interval()
        promise = "guaranteed" if each.guaranteed else "approximate"
        if high < found.level:
            promise += ": TOO FEW" if each.guaranteed else ": falls short here"
        rows.append(
            [
                each.method,
                f"{100 * each.share:.2f} %",
                f"{100 * low:.2f}–{100 * high:.2f} %",
                f"{100 * each.width:.2f}",
                promise,
            ]
        )
    head = ["bar", "held", "coverage (95 %)", "mean width", f"against {100 * found.level:.10g} %"]
    covered = "population's share" if found.target == "population" else "share among those asked"
    words = f"held: how many of the bars held the {covered}; coverage: the exact Monte-Carlo interval of that"
    return table(head, rows, {1, 2, 3}), f"{words}; widths in points"


def _histogram(found: Rehearsal) -> Axes:
    import numpy as np

    from server_agg.results.drawing import COLOURS, axes_for, plain_axes

    axes = axes_for(None)
    axes.hist(100 * found.values, bins=40, density=True, color=COLOURS[0], alpha=0.35, label="estimates")
    left, right = axes.get_xlim()
    at = np.linspace(left, right, 400)
    sigma = 100 * found.predicted_spread
    bell = np.exp(-0.5 * ((at - 100 * found.prevalence) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    axes.plot(at, bell, color=COLOURS[0], label="normal curve with the theory's variance")
    axes.axvline(100 * found.prevalence, color=COLOURS[1], label="truth")
    axes.axvline(100 * found.mean, color="black", linestyle="--", label="mean estimate")
    axes.set_xlabel("estimate, %")
    axes.set_yticks([])
    plain_axes(axes, f"{found.values.size} surveys of {found.n} people; {found.design}")
    axes.legend(fontsize="small", frameon=False)
    return axes
