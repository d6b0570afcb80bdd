"""`rrcollect plan`: how many respondents, what margin, what ε, what power."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from server_agg.cli.terminal import emit, table

__all__ = ["add_plan", "plan"]

METHODS = ("normal", "chebyshev", "hoeffding", "exact")


def add_plan(parser: ArgumentParser) -> None:
    """Options of `plan`."""
    parser.add_argument("--epsilon", help="ε of the strict optimal design")
    parser.add_argument("--margin", help="half the width of the bar, e.g. 0.03 for ±3 points")
    parser.add_argument("--n", type=int, help="respondents")
    parser.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    parser.add_argument("--method", choices=METHODS, default="normal", help="how the bar is made (default: normal)")
    parser.add_argument("--prevalence", help="the expected share of yes (default: the worst one)")
    parser.add_argument(
        "--difference", help="with --n and --epsilon: the power to find this difference between two groups"
    )


def plan(options: Namespace) -> int:
    """Two of ε, n and margin give the third."""
    from rrcollect import optimal_design
    from rrcollect.errors import ParameterError
    from server_agg import epsilon_for, margin_of_error, power_between, price_table, privacy_price, sample_size

    how = {"level": options.level, "method": options.method, "prevalence": options.prevalence}
    given = {name for name in ("epsilon", "margin", "n") if getattr(options, name) is not None}
    if options.difference is not None:
        if not {"epsilon", "n"} <= given:
            raise ParameterError("--difference", options.difference, "together with --epsilon and --n")
        power = power_between(
            optimal_design(options.epsilon),
            options.n,
            difference=options.difference,
            prevalence=options.prevalence,
            level=options.level,
        )
        groups = f"two groups of {options.n} at ε = {options.epsilon}"
        words = f"{groups}: a difference of {options.difference} is found with probability {power:.3f}"
        emit(options, {"power": power}, words)
    elif given == {"margin"}:
        prices = privacy_price(["0.25", "0.5", "1", "ln 3", "2", "3", "4"], margin=options.margin, **how)
        emit(options, [vars(price) for price in prices], price_table(prices))
    elif given == {"epsilon", "margin"}:
        methods = METHODS if options.method == "normal" else (options.method,)
        sizes = {
            m: sample_size(optimal_design(options.epsilon), options.margin, **{**how, "method": m}) for m in methods
        }
        rows = [[m, f"{n:,}"] for m, n in sizes.items()]
        emit(options, sizes, table(["bar", "respondents"], rows, {1}))
    elif given == {"epsilon", "n"}:
        margin = margin_of_error(optimal_design(options.epsilon), options.n, **how)
        emit(options, {"margin": margin}, f"±{100 * margin:.2f} points ({options.method} bar at {options.level})")
    elif given == {"n", "margin"}:
        epsilon = epsilon_for(options.n, options.margin, **how)
        emit(options, {"epsilon": epsilon}, f"ε = {epsilon:.4g}")
    else:
        raise ParameterError("plan", sorted(given), "--margin alone, or two of --epsilon, --margin and --n")
    return 0
