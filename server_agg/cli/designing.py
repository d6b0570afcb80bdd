"""`rrcollect design` and `rrcollect compare`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from server_agg.cli.terminal import emit, table

__all__ = ["add_compare", "add_design", "compare", "design"]


def add_design(parser: ArgumentParser) -> None:
    """Options of `design`."""
    parser.add_argument("--epsilon", required=True, help="ε as typed: 1, 0.5, 1/3, 'ln 3'")
    parser.add_argument("--delta", default="0", help="δ, between 0 and 1 (default: 0)")
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--prevalence", help="the expected share of yes, or the mean of a prior")
    known.add_argument("--between", nargs=2, metavar=("LOW", "HIGH"), help="the share of yes lies in this interval")
    parser.add_argument(
        "--regret", action="store_true", help="with --between: least regret instead of least worst variance"
    )
    parser.add_argument("--max-ratio", help="no answer may change the odds by more than this factor")
    parser.add_argument("--n", type=int, default=1000, help="respondents to speak of (default: 1000)")


def design(options: Namespace) -> int:
    """Choose a design and say why."""
    from rrcollect import full_support_design, minimax_design, minimax_regret_design, optimal_designs
    from rrcollect.errors import ParameterError

    epsilon, delta = options.epsilon, options.delta
    if options.regret and not options.between:
        raise ParameterError("--regret", True, "together with --between LOW HIGH")
    if options.max_ratio and options.between:
        raise ParameterError("--max-ratio", options.max_ratio, "with --prevalence or alone, not with --between")
    if options.max_ratio:
        found = [full_support_design(epsilon, delta, max_ratio=options.max_ratio, prevalence=options.prevalence)]
    elif options.between:
        choose = minimax_regret_design if options.regret else minimax_design
        found = [choose(epsilon, delta, *options.between)]
    else:
        found = optimal_designs(epsilon, delta, prevalence=options.prevalence)
    chosen = found[0]
    rows = [[name, f"{figure:.6g}"] for name, figure in chosen.compared]
    compared = table(["candidate", "figure compared"], rows, {1}) if rows else ""
    words = [each.explain(options.n) for each in found]
    emit(options, [_as_data(each, options.n) for each in found], *words, compared)
    return 0


def _as_data(chosen: Any, n: int) -> dict[str, object]:
    tight = chosen.tight_epsilon
    return {
        "p00": str(chosen.p00),
        "p11": str(chosen.p11),
        "numerators": [str(k) for k in chosen.numerators],
        "epsilon": str(chosen.promise.epsilon),
        "delta": str(chosen.promise.delta),
        "tight_epsilon": None if tight is None else float(tight),
        "proofs": list(chosen.proofs),
        "rule": chosen.rule,
        "reason": chosen.reason,
        "disclosure": chosen.disclosure(n),
        "compared": dict(chosen.compared),
    }


def add_compare(parser: ArgumentParser) -> None:
    """Options of `compare`."""
    parser.add_argument("--epsilon", required=True, help="the ε all procedures are set to")
    parser.add_argument("--prevalence", default="0.1", help="the share of yes to judge at (default: 0.1)")
    parser.add_argument("--innocuous", default="1/4", help="share of yes to the harmless question (default: 1/4)")


def compare(options: Namespace) -> int:
    """The classic procedures side by side."""
    from rrcollect import classic

    lines = classic.compare(options.epsilon, options.prevalence, options.innocuous)
    emit(options, [line.as_dict() for line in lines], classic.comparison_table(lines))
    return 0
