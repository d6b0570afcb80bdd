"""`rrcollect plan`: how many respondents, what margin, what ε, what power; what privacy costs; and the rehearsal.

Direct questioning, with which all is compared, supposes that everybody would tell the truth.  A rehearsal repeats the
survey with a known truth (`server_agg.plan.rehearsal`).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError
from server_agg.cli.options import DESIGN, KIND, NAMES, PLOT, add, bar, bounds_of, design_of, given_of
from server_agg.cli.terminal import Incomplete, Output, progress, shown, table

if TYPE_CHECKING:
    from server_agg.plan.rehearsal import Rehearsal

EPSILONS = ("0.25", "0.5", "1", "ln 3", "2", "3", "4")
SIZES = [50 * 2**i for i in range(9)]
BINS, WIDTH = 15, 40
METHODS = ("exact", "chebyshev", "hoeffding")


def add_plan(parser: ArgumentParser) -> None:
    """Options of `plan`."""
    from server_agg.estimates.methods import methods_for

    add(
        parser,
        *(DESIGN, KIND),
        ("--margin", str, "half the width of the bar, e.g. 0.03 for ±3 points"),
        ("--n", int, "respondents (with --difference: in each of two groups)"),
        ("--prevalence", str, "the expected share of yes (default: the worst one)"),
        ("--difference", str, "a difference between two groups to be found; with --n or --power"),
        ("--power", str, "with --difference: the probability to find it, e.g. 0.8"),
        ("--rehearse", bool, "simulate the survey with --prevalence as the truth"),
        ("--surveys", int, "with --rehearse: how many (default: 2000)", {"default": 2000}),
        bar(methods_for("one design")),
        *PLOT,
    )


def plan(options: Namespace) -> Output:
    """Two of a design, n and margin give the third."""
    options.method = options.method or "exact"
    if options.rehearse:
        return _rehearse(options)
    bounds = bounds_of(options)
    if options.options is not None or bounds is not None:
        return _kind(options, bounds)
    if options.difference is not None:
        return _groups(options)
    if options.power is not None:
        raise ParameterError("--power", options.power, "together with --difference")
    given = {name for name in ("margin", "n") if getattr(options, name) is not None}
    given |= {"design"} if given_of(options, *NAMES) else set()
    ways = {
        frozenset({"margin"}): _prices,
        frozenset({"design", "margin"}): _sizes,
        frozenset({"design", "n"}): _margin,
        frozenset({"n", "margin"}): _epsilon,
    }
    if frozenset(given) not in ways:
        raise Incomplete("give --margin alone, or two of a design (such as --epsilon), --margin and --n")
    how = {"level": options.level, "method": options.method, "prevalence": options.prevalence}
    if options.plot is not None and given != {"margin"}:
        raise ParameterError("--plot", str(options.plot), "with --margin alone, --difference or --rehearse")
    return ways[frozenset(given)](options, how)


def _kind(options: Namespace, bounds: tuple[str, str] | None) -> Output:
    """People for a margin, or the margin for n, of a choice or a number."""
    from rrcollect import optimal_design
    from server_agg import plan

    if not given_of(options, *NAMES) or (options.n is None) == (options.margin is None):
        raise Incomplete("give --epsilon, and either --margin or --n")
    how: dict[str, Any] = {"level": options.level, "method": options.method, "bounds": bounds}
    design, at = design_of(options), f"at level {options.level} ({options.method} bars, worst shares)"
    of = f"the mean of a number from {bounds[0]} to {bounds[1]}" if bounds else f"all {options.options} options at once"
    if options.margin is not None:
        n = plan.sample_size(design, margin=options.margin, **how)
        data: dict[str, Any] = {"design": design.to_wire(), "n": n}
        words = f"{n:,} respondents for ±{options.margin} of {of} {at}"
        if bounds is None:
            yes_no = plan.sample_size(optimal_design(options.epsilon), margin=options.margin, **how)
            (line,) = plan.price([options.epsilon], margin=options.margin, options=options.options, **how).lines
            data |= {"yes_no_n": yes_no, "direct_n": line.direct_n}
            words += f"; one yes/no: {yes_no:,}, asked directly: {line.direct_n:,}"
        return Output(data, words)
    width = plan.margin(design, options.n, **how)
    width = width if bounds else min(1.0, width)
    words = f"±{width:.4g}" if bounds else f"±{100 * width:.2f} points"
    return Output({"margin": width}, f"{words} for {of} {at}")


def _groups(options: Namespace) -> Output:
    """Power for n, or n for a power; beside it, direct questioning."""
    from server_agg import plan
    from server_agg.estimates.share import DIRECT

    if not given_of(options, *NAMES) or (options.n is None) == (options.power is None):
        raise ParameterError("--difference", options.difference, "together with --epsilon, and either --n or --power")
    how: dict[str, Any] = {name: getattr(options, name) for name in ("difference", "prevalence", "level")}
    design = design_of(options)
    picture = plan.power_curve({str(design): design}, SIZES, **how).plot
    if options.n is not None:
        power, direct = (plan.power(one, options.n, **how) for one in (design, DIRECT))
        words = (
            f"two groups of {options.n:,} by {design}: a difference of {options.difference} is found with "
            f"probability {power:.3f} (asked directly: {direct:.3f})"
        )
        return Output({"power": power, "direct_power": direct}, words, picture=picture)
    needed, direct_n = (plan.sample_size(one, power=options.power, **how) for one in (design, DIRECT))
    words = (
        f"{needed:,} respondents in each of two groups by {design} find a difference of "
        f"{options.difference} with probability {options.power} (asked directly: {direct_n:,})"
    )
    return Output({"n": needed, "direct_n": direct_n}, words, picture=picture)


def _prices(options: Namespace, how: dict[str, Any]) -> Output:
    from server_agg import plan

    prices = plan.price(EPSILONS, margin=options.margin, **how)
    return Output(prices.as_dict(), *shown(prices), picture=lambda: prices.plot(methods=METHODS))


def _sizes(options: Namespace, how: dict[str, Any]) -> Output:
    from server_agg import plan
    from server_agg.estimates.methods import methods_for
    from server_agg.estimates.share import DIRECT

    methods = methods_for("plan") if options.method == "exact" else (options.method,)
    design, rows, data = design_of(options), [], {}
    for method in methods:
        by = {**how, "method": method}
        n, direct = (plan.sample_size(one, margin=options.margin, **by) for one in (design, DIRECT))
        rows.append([method, f"{n:,}", f"{direct:,}", f"{n / direct:.3g} ×"])
        data[method] = {"n": n, "direct_n": direct, "price": n / direct}
    head = ["bar", "respondents", "asked directly", "price of privacy"]
    return Output(data, table(head, rows, {1, 2, 3}), _for(options))


def _margin(options: Namespace, how: dict[str, Any]) -> Output:
    from server_agg import plan
    from server_agg.estimates.share import DIRECT

    margin, direct = (plan.margin(one, options.n, **how) for one in (design_of(options), DIRECT))
    margin, direct, useless = min(margin, 1.0), min(direct, 1.0), margin >= 1  # a share is between 0 and 1
    nothing = ": nothing is learned, every share is inside such a bar" if useless else ""
    words = f"±{100 * margin:.2f} points{nothing} ({options.method} bar at {options.level}); asked directly"
    return Output({"margin": margin, "direct_margin": direct}, f"{words} ±{100 * direct:.2f}")


def _epsilon(options: Namespace, how: dict[str, Any]) -> Output:
    from server_agg import plan

    epsilon = plan.epsilon(options.n, margin=options.margin, **how)
    return Output({"epsilon": epsilon}, f"ε = {epsilon:.4g} or more, for {_for(options)}")


def _for(options: Namespace) -> str:
    share = f"prevalence {options.prevalence}" if options.prevalence is not None else "the worst prevalence"
    return f"±{options.margin} at level {options.level}, {share}"


def _rehearse(options: Namespace) -> Output:
    """Simulate, and say how the estimate varied and how often each bar held."""
    from server_agg.plan.rehearsal import rehearse

    if options.prevalence is None:
        raise Incomplete("give --prevalence with --rehearse: the true share of yes, or of the first option")
    people = 1000 if options.n is None else options.n
    with progress(f"{options.surveys} surveys of {people}", quiet=options.json) as tell:
        found = rehearse(
            design_of(options).to_grid(),
            options.prevalence,
            people,
            options.surveys,
            level=options.level,
            target=options.target,
            methods=None if options.method == "exact" else [options.method],
            tell=tell,
        )
    return Output(found.as_dict(), *shown(found), _bins(found), picture=found.plot)


def _bins(found: Rehearsal) -> str:
    """The distribution of the estimate as lines of text."""
    import numpy as np

    counts, edges = np.histogram(found.values, BINS)
    rows = []
    for many, low, high in zip(counts, edges, edges[1:], strict=False):
        mark = " ◄ truth" if low <= found.prevalence < high else ""
        rows.append(f"{100 * low:7.2f} … {100 * high:6.2f} %  {'█' * round(WIDTH * many / counts.max())}{mark}")
    return "\n".join(rows)
