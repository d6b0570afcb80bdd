"""`rrcollect design`, the candidates side by side with reasons and warnings, and `rrcollect compare`.

In the table: `× least` the variance against the least; `yes ×` and `no ×` by how much an answer changes the odds;
`devices` what those with the default policy do.  n·variance is taken at the prevalence given, else at the worst one in
the interval given (or in [0, 1]).
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server_agg.cli.designing_kinds import design_choice, design_two_sided
from server_agg.cli.terminal import emit, table

if TYPE_CHECKING:
    from rrcollect import ChosenDesign, Design

LEGEND = "yes ×, no ×: by how much such an answer changes the odds; devices: those with the default policy"
DEVICE_RATIO = 9  # a device with the default policy lets no answer change the odds by more (ε = ln 9)


def add_design(parser: ArgumentParser) -> None:
    """Options of `design`."""
    parser.add_argument("--epsilon", help="ε as typed: 1, 0.5, 1/3, 'ln 3'")
    parser.add_argument("--delta", default="0", help="δ, between 0 and 1 (default: 0)")
    parser.add_argument("--options", type=int, metavar="K", help="one of so many options, instead of yes or no")
    parser.add_argument("--epsilon-yes", help="two promises: what a yes may tell; with --epsilon-no")
    parser.add_argument("--epsilon-no", help="and what a no may tell")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --options: others' designs over ε, a picture")
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--prevalence", help="the expected share of yes")
    known.add_argument(
        "--prior", nargs="+", metavar="SHARE:WEIGHT", help="or a prior on it, e.g. 0.05:3 0.2:1 (or its mean alone)"
    )
    known.add_argument("--between", nargs=2, metavar=("LOW", "HIGH"), help="or an interval in which it lies")
    parser.add_argument(
        "--regret", action="store_true", help="with --between: least regret instead of least worst variance"
    )
    parser.add_argument("--max-ratio", help="no answer may change the odds by more than this factor")
    parser.add_argument("--n", type=int, default=1000, help="respondents to speak of (default: 1000)")


def design(options: Namespace) -> int:
    """Choose a design, say why, and show what else there was."""
    from rrcollect.errors import ParameterError

    if options.options is not None:
        return design_choice(options)
    if options.epsilon_yes is not None or options.epsilon_no is not None:
        return design_two_sided(options)
    if options.epsilon is None:
        raise ParameterError("--epsilon", None, "an ε such as 1 or 'ln 3'; or --epsilon-yes and --epsilon-no")
    if options.plot is not None:
        raise ParameterError("--plot", str(options.plot), "together with --options")
    found = _chosen(options)
    candidates = _candidates(found, options)
    warnings = _warnings(found)
    low, high = found[0].low, found[0].high
    where = "at the worst prevalence" if low is None or high is None else f"at prevalence {float(low):.4g}"
    if low is not None and low != high:
        where = f"at the worst prevalence in [{float(low):.4g}, {float(high or 0):.4g}]"
    head = ["candidate", "p00", "p11", "n·variance", "× least", "yes ×", "no ×", "devices", ""]
    drawn = table(head, [_row(one) for one in candidates], {1, 2, 3, 4, 5, 6})
    notes = "\n".join(f"Warning: {each}" for each in warnings)
    data = {
        "chosen": [_as_data(each, options.n) for each in found],
        "candidates": candidates,
        "judged": where,
        "warnings": warnings,
    }
    emit(
        options,
        data,
        *[each.explain(options.n) for each in found],
        f"Candidates, n·variance {where}:",
        drawn,
        LEGEND,
        notes,
    )
    return 0


def _chosen(options: Namespace) -> list[ChosenDesign]:
    from rrcollect import full_support_design, minimax_design, minimax_regret_design, optimal_designs, prior_design
    from rrcollect.errors import ParameterError

    epsilon, delta = options.epsilon, options.delta
    if options.regret and not options.between:
        raise ParameterError("--regret", True, "together with --between LOW HIGH")
    if options.max_ratio and (options.between or options.prior):
        raise ParameterError(
            "--max-ratio", options.max_ratio, "with --prevalence or alone, not with --between or --prior"
        )
    if options.max_ratio:
        return [full_support_design(epsilon, delta, max_ratio=options.max_ratio, prevalence=options.prevalence)]
    if options.between:
        choose = minimax_regret_design if options.regret else minimax_design
        return [choose(epsilon, delta, *options.between)]
    if options.prior:
        return [prior_design(epsilon, delta, _prior(options.prior))]
    return optimal_designs(epsilon, delta, prevalence=options.prevalence)


def _prior(words: list[str]) -> Any:
    from rrcollect.errors import ParameterError

    if len(words) == 1 and ":" not in words[0]:
        return words[0]
    pairs = [word.partition(":")[::2] for word in words]
    if not all(weight for _, weight in pairs):
        raise ParameterError("--prior", " ".join(words), "SHARE:WEIGHT pairs such as 0.05:3 0.2:1, or one mean")
    return dict(pairs)


def _candidates(found: list[ChosenDesign], options: Namespace) -> list[dict[str, Any]]:
    """The corners of the promise, the chosen designs, and the best that no device with the default policy refuses."""
    from rrcollect import full_support_design
    from rrcollect.design.optimal import corners

    chosen = found[0]
    named: dict[Design, str] = {corner.to_design(): corner.name for corner in corners(chosen.promise)}
    for each in found:
        named.setdefault(each, "balanced" if options.regret else "under the cap")
    at = chosen.low if chosen.low == chosen.high else None
    capped = full_support_design(options.epsilon, options.delta, max_ratio=DEVICE_RATIO, prevalence=at)
    named.setdefault(capped, f"ratio at most {DEVICE_RATIO}")
    figures = {each: _figure(each, chosen.low, chosen.high) for each in named}
    least = min(figures.values())
    return [
        {
            "name": name,
            "design": each.to_wire(),
            "shown": [f"{float(each.p00):.4g}", f"{float(each.p11):.4g}"],
            "n_variance": float(figures[each]),
            "times_the_least": float(figures[each] / least) if least else None,
            "odds_yes": None if math.isinf(each.likelihood_ratio(1)) else float(each.likelihood_ratio(1)),
            "odds_no": None if math.isinf(each.likelihood_ratio(0)) else float(each.likelihood_ratio(0)),
            "chosen": each in found,
            "proofs": list(each.proofs),
            "refused": _refusal(each),
        }
        for each, name in named.items()
    ]


def _figure(design: Design, low: Fraction | None, high: Fraction | None) -> Fraction:
    """n·variance at its worst in [low, high]."""
    from server_agg.plan.size import worst_prevalence

    return design.variance(
        min(max(worst_prevalence(design), low or Fraction(0)), Fraction(1) if high is None else high)
    )


def _refusal(design: Design) -> str | None:
    """Why a device with the default policy would not answer by this design."""
    from rrcollect import Disclosure, Policy, Question
    from rrcollect.errors import SurveyRefused

    meant = Disclosure(exposed=1, respondents=1)  # even if the publisher signs that it is meant
    try:
        asked = Question(id="q", attribute="a", text="?", design=design, promise=design.loss, disclosure=meant)
        Policy().cost(asked)
    except SurveyRefused as error:
        return str(error).removeprefix("question 'q'").lstrip(": ")
    return None


def _row(one: dict[str, Any]) -> list[str]:
    def odds(ratio: float | None) -> str:
        return "proof" if ratio is None else f"{ratio:.4g}"

    times = one["times_the_least"]
    return [
        one["name"],
        *one["shown"],
        f"{one['n_variance']:.5g}",
        "" if times is None else f"{times:.3g}",
        odds(one["odds_yes"]),
        odds(one["odds_no"]),
        "refuse" if one["refused"] else "accept",
        "◄ chosen" if one["chosen"] else "",
    ]


def _warnings(found: list[ChosenDesign]) -> list[str]:
    said = []
    for each in found:
        if each.proofs:
            proofs = " and a ".join(f'"{word}"' for word in each.proofs)
            said.append(f"a {proofs} is a proof (see People); publishing it needs your signed `disclosure`")
        refused = _refusal(each)
        if refused:
            said.append(f"a device with the default policy would not answer by it: {refused}")
    return list(dict.fromkeys(said))


def _as_data(chosen: ChosenDesign, n: int) -> dict[str, object]:
    tight = chosen.tight_epsilon
    return {
        "design": chosen.to_wire(),
        "numerators": [str(k) for k in chosen.numerators],
        "epsilon": str(chosen.promise.epsilon),
        "delta": str(chosen.promise.delta),
        "tight_epsilon": None if tight is None else float(tight),
        "proofs": list(chosen.proofs),
        "rule": chosen.rule,
        "reason": chosen.reason,
        "disclosure": chosen.explain_exposure(n),
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
    from rrcollect.classic.comparison import HEAD, NUMERIC

    lines = classic.compare(options.epsilon, options.prevalence, options.innocuous)
    drawn = table(HEAD, [line.cells() for line in lines], set(NUMERIC))
    words = "effective: what an answer is worth against a direct and honest one"
    emit(options, [line.as_dict() for line in lines], drawn, words)
    return 0
