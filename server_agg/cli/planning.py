"""`rrcollect plan`: how many respondents, what margin, what ε, what power; and what privacy costs in each case.

Direct questioning, with which all is compared, supposes that everybody would tell the truth.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from server_agg.cli.output import Incomplete
from server_agg.cli.terminal import emit, table

EPSILONS = ("0.25", "0.5", "1", "ln 3", "2", "3", "4")


def add_plan(parser: ArgumentParser) -> None:
    """Options of `plan`."""
    from server_agg.estimates.methods import methods_for

    parser.add_argument("--epsilon", help="ε of the strict optimal design")
    parser.add_argument("--margin", help="half the width of the bar, e.g. 0.03 for ±3 points")
    parser.add_argument("--n", type=int, help="respondents (with --difference: in each of two groups)")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    bars = methods_for("plan")
    parser.add_argument("--method", choices=bars, default="exact", help="how the bar is made (default: exact)")
    parser.add_argument("--prevalence", help="the expected share of yes (default: the worst one)")
    parser.add_argument("--difference", help="a difference between two groups to be found; with --n or --power")
    parser.add_argument("--power", help="with --difference: the probability to find it, e.g. 0.8")
    parser.add_argument("--options", type=int, help="a choice of so many options, their bars holding all at once")
    parser.add_argument("--low", help="a number: the low end of its range; --margin is in its unit")
    parser.add_argument("--high", help="a number: the high end of its range")


def plan(options: Namespace) -> int:
    """Two of ε, n and margin give the third."""
    from rrcollect.errors import ParameterError

    if options.options is not None or options.low is not None or options.high is not None:
        return _kind(options)
    given = frozenset(name for name in ("epsilon", "margin", "n") if getattr(options, name) is not None)
    if options.difference is not None:
        return _groups(options)
    if options.power is not None:
        raise ParameterError("--power", options.power, "together with --difference")
    ways = {
        frozenset({"margin"}): _prices,
        frozenset({"epsilon", "margin"}): _sizes,
        frozenset({"epsilon", "n"}): _margin,
        frozenset({"n", "margin"}): _epsilon,
    }
    if given not in ways:
        raise Incomplete("give --margin alone, or two of --epsilon, --margin and --n")
    return ways[given](options, {"level": options.level, "method": options.method, "prevalence": options.prevalence})


def _kind(options: Namespace) -> int:
    """People for a margin, or the margin for n, of a choice or a number."""
    from rrcollect import optimal_choice, optimal_design
    from server_agg import plan

    if options.epsilon is None or (options.n is None) == (options.margin is None):
        raise Incomplete("give --epsilon, and either --margin or --n")
    how = {"level": options.level, "method": options.method}
    if options.options is not None:
        if options.margin is not None:
            found = plan.price([options.epsilon], margin=options.margin, options=options.options, **how).rows[0]
            yes_no = plan.sample_size(optimal_design(options.epsilon), margin=options.margin, **how)
            size = optimal_choice(options.epsilon, options.options).size
            words = (
                f"{found.n:,} respondents for ±{options.margin} of all {options.options} options at once at level "
                f"{options.level} (sets of {size}, worst shares); one yes/no: {yes_no:,}, asked "
                f"directly: {found.direct_n:,}"
            )
            data = {"epsilon": options.epsilon, "options": options.options, "size": size, "n": found.n}
            emit(options, {**data, "yes_no_n": yes_no, "direct_n": found.direct_n}, words)
            return 0
        margin = min(1.0, plan.margin(optimal_choice(options.epsilon, options.options), options.n, **how))
        words = f"±{100 * margin:.2f} points for all {options.options} options at once at level {options.level}"
        emit(options, {"margin": margin}, f"{words} ({options.method} bars, worst shares)")
        return 0
    if options.low is None or options.high is None:
        raise Incomplete("give both --low and --high: the range of the number")
    design, bounds = optimal_design(options.epsilon), (options.low, options.high)
    if options.margin is not None:
        n = plan.sample_size(design, margin=options.margin, bounds=bounds, **how)
        words = (
            f"{n:,} respondents for a mean within ±{options.margin} of a number from {options.low} to {options.high}"
        )
        emit(options, {"n": n}, f"{words}, at level {options.level}")
        return 0
    width = plan.margin(design, options.n, bounds=bounds, **how)
    emit(options, {"margin": width}, f"±{width:.4g} for the mean of a number from {options.low} to {options.high}")
    return 0


def _groups(options: Namespace) -> int:
    """Power for n, or n for a power; beside it, direct questioning."""
    from rrcollect import optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import plan
    from server_agg.estimates.one import DIRECT

    if options.epsilon is None or (options.n is None) == (options.power is None):
        raise ParameterError("--difference", options.difference, "together with --epsilon, and either --n or --power")
    how: dict[str, Any] = {
        "difference": options.difference,
        "prevalence": options.prevalence,
        "level": options.level,
    }
    design = optimal_design(options.epsilon)
    if options.n is not None:
        power, direct = (plan.power(one, options.n, **how) for one in (design, DIRECT))
        words = (
            f"two groups of {options.n:,} at ε = {options.epsilon}: a difference of {options.difference} is found with "
            f"probability {power:.3f} (asked directly: {direct:.3f})"
        )
        emit(options, {"power": power, "direct_power": direct}, words)
        return 0
    needed, direct_n = (plan.sample_size(one, power=options.power, **how) for one in (design, DIRECT))
    words = (
        f"{needed:,} respondents in each of two groups at ε = {options.epsilon} find a difference of "
        f"{options.difference} with probability {options.power} (asked directly: {direct_n:,})"
    )
    emit(options, {"n": needed, "direct_n": direct_n}, words)
    return 0


def _prices(options: Namespace, how: dict[str, Any]) -> int:
    from server_agg import plan

    prices = plan.price(EPSILONS, margin=options.margin, **how)
    head = ["ε", "P(truth)", "an answer is worth", "respondents", "asked directly", "price"]
    rows = [
        [
            f"{p.epsilon:.4g}",
            f"{p.truth:.4g}",
            f"{p.effective_share:.3g} of a direct one",
            f"{p.n:,}",
            f"{p.direct_n:,}",
            f"{p.factor:.3g} ×",
        ]
        for p in prices.rows
    ]
    emit(options, prices.as_dict(), table(head, rows, {0, 1, 2, 3, 4, 5}), _for(options))
    return 0


def _sizes(options: Namespace, how: dict[str, Any]) -> int:
    from rrcollect import optimal_design
    from server_agg import plan
    from server_agg.estimates.methods import methods_for
    from server_agg.estimates.one import DIRECT

    methods = methods_for("plan") if options.method == "exact" else (options.method,)
    design, rows, data = optimal_design(options.epsilon), [], {}
    for method in methods:
        n, direct = (
            plan.sample_size(one, margin=options.margin, **{**how, "method": method}) for one in (design, DIRECT)
        )
        rows.append([method, f"{n:,}", f"{direct:,}", f"{n / direct:.3g} ×"])
        data[method] = {"n": n, "direct_n": direct, "price": n / direct}
    head = ["bar", "respondents", "asked directly", "price of privacy"]
    emit(options, data, table(head, rows, {1, 2, 3}), _for(options))
    return 0


def _margin(options: Namespace, how: dict[str, Any]) -> int:
    from rrcollect import optimal_design
    from server_agg import plan
    from server_agg.estimates.one import DIRECT

    margin, direct = (plan.margin(one, options.n, **how) for one in (optimal_design(options.epsilon), DIRECT))
    margin, direct, useless = min(margin, 1.0), min(direct, 1.0), margin >= 1  # a share is between 0 and 1
    nothing = ": nothing is learned, every share is inside such a bar" if useless else ""
    words = f"±{100 * margin:.2f} points{nothing} ({options.method} bar at {options.level}); asked directly"
    emit(options, {"margin": margin, "direct_margin": direct}, f"{words} ±{100 * direct:.2f}")
    return 0


def _epsilon(options: Namespace, how: dict[str, Any]) -> int:
    from server_agg import plan

    epsilon = plan.epsilon(options.n, margin=options.margin, **how)
    emit(options, {"epsilon": epsilon}, f"ε = {epsilon:.4g} or more, for {_for(options)}")
    return 0


def _for(options: Namespace, margin: str | None = None) -> str:
    share = f"prevalence {options.prevalence}" if options.prevalence is not None else "the worst prevalence"
    return f"±{margin or options.margin} at level {options.level}, {share}"
