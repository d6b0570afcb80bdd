"""`rrcollect design`: the best design for a promise in words, beside the alternatives with reasons and warnings.

In the table: `× least` the variance against the least; `yes ×` and `no ×` by how much an answer changes the odds;
`devices` what those with the default policy do.  n·variance is taken at the prevalence given, else at the worst one in
the interval given (or in [0, 1]).  For a choice (`--options`) other people's designs are shown at the same ε, and for
two promises (`--epsilon-yes`, `--epsilon-no`) the design that keeps the smaller of both for either answer.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.design.sentences import MOST_REPEATED, bits_of
from rrcollect.errors import ParameterError
from server_agg.cli.options import DESIGN, KIND, NAMES, PLOT, add, design_of, given_of, refuse
from server_agg.cli.terminal import Output, table

if TYPE_CHECKING:
    from rrcollect import Design
    from rrcollect.design.mechanism import Mechanism

LEGEND = "yes ×, no ×: by how much such an answer changes the odds; devices: those with the default policy"
OTHERS = "n·MSE and people for equal shares; a dishonest reporter: one false report of n, in shares"
DEVICE_RATIO = 9  # a device with the default policy lets no answer change the odds by more (ε = ln 9)
HEAD = ["candidate", "p00", "p11", "n·variance", "× least", "yes ×", "no ×", "devices", ""]
NUMERIC = {1, 2, 3, 4, 5, 6}
EPSILON = "an ε such as 1 or 'ln 3'"
TWO = {"epsilon_yes", "epsilon_no"}


def add_design(parser: ArgumentParser) -> None:
    """Options of `design`."""
    add(
        parser,
        DESIGN,
        ("--epsilon-yes", str, "two promises: what a yes may reveal; with --epsilon-no"),
        ("--epsilon-no", str, "and what a no may reveal"),
    )
    prior = {"nargs": "+", "metavar": "SHARE:WEIGHT"}
    add(
        parser.add_mutually_exclusive_group(),
        ("--prevalence", str, "the expected share of yes"),
        ("--prior", str, "or a prior on it, e.g. 0.05:3 0.2:1 (or its mean alone)", prior),
        ("--between", str, "or an interval in which it lies", {"nargs": 2, "metavar": ("LOW", "HIGH")}),
    )
    add(
        parser,
        ("--regret", bool, "with --between: least regret instead of least worst variance"),
        ("--max-ratio", str, "no answer may change the odds by more than this factor"),
        ("--innocuous", str, "with --classic: share of yes to the harmless question (default: 1/4)"),
        ("--n", int, "number of respondents used in the explanation (1000)", {"default": 1000}),
        KIND,
        *PLOT,
    )


def design(options: Namespace) -> Output:
    """Choose a design, say why, and show what else there was."""
    given = given_of(options, *NAMES, "delta", "prevalence", "prior", "between", "regret", "max_ratio", "options",
                     "bounds", "epsilon_yes", "epsilon_no", "innocuous")  # fmt: skip
    ways: dict[str, tuple[bool, set[str], Callable[[Namespace], Output]]] = {
        "--classic": (options.classic == [], {"epsilon", "prevalence", "innocuous"}, _procedures),
        "--options": (options.options is not None, {"options", "epsilon", "delta"}, _choice),
        "--epsilon-yes": (bool(given & TWO), TWO | {"prevalence"}, _two_sided),
    }
    for word, (meant, allowed, run) in ways.items():
        if meant:
            for name in sorted(given - allowed):
                raise ParameterError(f"--{name.replace('_', '-')}", "given", f"not together with {word}")
            return run(options)
    if options.classic or given & {"p00", "p11", "forced_yes", "forced_no"}:
        return _given(options)
    return _switch(options) if options.epsilon is None else _yes_no(options)


def _bits(design: Mechanism) -> str:
    """How many bits a report carries, and what follows."""
    bits = bits_of(design.values)
    once = "; a device sends it once and refuses other surveys and versions about the attribute in that round"
    return f"Report    carries {bits} bit{'s' * (bits > 1)}{once * (design.values > MOST_REPEATED)}"


def _switch(options: Namespace) -> Output:
    """Without an ε, only the figure of the paper."""
    from server_agg import plan

    refuse((options.plot is None, "--epsilon", None, f"{EPSILON}; or --epsilon-yes and --epsilon-no"))
    words = "where the optimum switches ([HLM17] Figure 1)"
    return Output({"file": str(options.plot)}, words, picture=plan.plot_switch)


def _given(options: Namespace) -> Output:
    """A design of the caller's own: what an answer tells, and what devices do."""
    found: Any = design_of(options)
    at = None if options.prevalence is None else Fraction(options.prevalence)
    row = _described(found.to_grid(), "given", _figure(found, at, at))
    where = "the worst prevalence" if at is None else f"prevalence {options.prevalence}"
    said = [f"{found}: {found.loss}, n·variance at {where}", _table([row]), LEGEND, _bits(found)]
    return Output({**row, "judged": where, "bits": bits_of(found.values)}, *said, "\n".join(_warned(found.to_grid())))


def _yes_no(options: Namespace) -> Output:
    """The optimum for a yes or no, beside the candidates."""
    from server_agg import plan

    found = _chosen(options)
    candidates = _candidates(found, options)
    warnings = list(dict.fromkeys(said for each in found for said in _warned(each)))
    low, high = found[0].choice.low, found[0].choice.high
    where = "at the worst prevalence" if low is None or high is None else f"at prevalence {float(low):.4g}"
    if low is not None and low != high:
        where = f"at the worst prevalence in [{float(low):.4g}, {float(high or 0):.4g}]"
    notes = "\n".join(f"Warning: {each}" for each in warnings)
    data = {"chosen": [_as_data(each, options.n) for each in found], "candidates": candidates}
    explained = [f"{each.explain(options.n)}\n{_bits(each)}" for each in found]
    return Output(
        {**data, "judged": where, "warnings": warnings},
        *(*explained, f"Candidates, n·variance {where}:", _table(candidates), LEGEND, notes),
        picture=lambda: plan.plot_region(options.epsilon, options.delta, prevalence=options.prevalence or "0.1"),
    )


def _chosen(options: Namespace) -> list[Design]:
    from rrcollect import Promise, optimal_design

    epsilon, delta, ratio = options.epsilon, options.delta, options.max_ratio
    alone = "with --prevalence or alone, not with --between or --prior"
    refuse(
        (options.regret and not options.between, "--regret", True, "together with --between LOW HIGH"),
        (ratio and (options.between or options.prior), "--max-ratio", ratio, alone),
    )
    if ratio:
        return [optimal_design(Promise.capped(epsilon, delta, ratio), prevalence=options.prevalence)]
    if options.between:
        criterion: Literal["variance", "regret"] = "regret" if options.regret else "variance"
        return [optimal_design(epsilon, delta, prevalence=tuple(options.between), criterion=criterion)]
    if options.prior:
        return [optimal_design(epsilon, delta, prevalence=_prior(options.prior))]
    best = optimal_design(epsilon, delta, prevalence=options.prevalence)
    return [best, *(tie for tie in best.choice.ties if tie != best)]


def _prior(words: list[str]) -> Any:
    if len(words) == 1 and ":" not in words[0]:
        return words[0]
    pairs = [word.partition(":")[::2] for word in words]
    if not all(weight for _, weight in pairs):
        raise ParameterError("--prior", " ".join(words), "SHARE:WEIGHT pairs such as 0.05:3 0.2:1, or one mean")
    return dict(pairs)


def _candidates(found: list[Design], options: Namespace) -> list[dict[str, Any]]:
    """The corners of the promise, the chosen designs, and the best that no device with the default policy refuses."""
    from rrcollect import Promise, optimal_design
    from rrcollect.design.corners import corners

    choice = found[0].choice
    named: dict[Design, str] = {corner.to_design(): corner.name for corner in corners(choice.promise)}
    for each in found:
        named.setdefault(each, "balanced" if options.regret else "under the cap")
    at = choice.low if choice.low == choice.high else None
    capped = optimal_design(Promise.capped(options.epsilon, options.delta, DEVICE_RATIO), prevalence=at)
    named.setdefault(capped, f"ratio at most {DEVICE_RATIO}")
    figures = {each: _figure(each, choice.low, choice.high) for each in named}
    least = min(figures.values())
    times = {each: float(figure / least) if least else None for each, figure in figures.items()}
    return [_described(each, name, figures[each], times[each], each in found) for each, name in named.items()]


def _described(
    design: Design, name: str, n_variance: Fraction, times: float | None = None, chosen: bool = False
) -> dict[str, Any]:
    """One row of the table."""
    ratios = [design.likelihood_ratio(bit) for bit in (1, 0)]
    yes, no = (None if math.isinf(ratio) else float(ratio) for ratio in ratios)
    return {
        "name": name,
        "design": design.to_wire(),
        "shown": [f"{float(design.p00):.4g}", f"{float(design.p11):.4g}"],
        "n_variance": float(n_variance),
        "times_the_least": times,
        "odds_yes": yes,
        "odds_no": no,
        "chosen": chosen,
        "proofs": list(design.proofs),
        "refused": _refusal(design),
    }


def _figure(design: Design, low: Fraction | None, high: Fraction | None) -> Fraction:
    """n·variance at its worst in [low, high]."""
    from server_agg.plan.size import worst_prevalence

    worst = max(worst_prevalence(design), low or Fraction(0))
    return design.variance(worst if high is None else min(worst, high))


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


def _table(described: list[dict[str, Any]]) -> str:
    rows = []
    for one in described:
        times = one["times_the_least"]
        odds = ["proof" if ratio is None else f"{ratio:.4g}" for ratio in (one["odds_yes"], one["odds_no"])]
        figures = [f"{one['n_variance']:.5g}", "" if times is None else f"{times:.3g}"]
        devices = ["refuse" if one["refused"] else "accept", "◄ chosen" if one["chosen"] else ""]
        rows.append([one["name"], *one["shown"], *figures, *odds, *devices])
    return table(HEAD, rows, NUMERIC)


def _warned(design: Design) -> list[str]:
    """What a publisher must know before asking by this design."""
    said = []
    if design.proofs:
        proofs = " and a ".join(f'"{word}"' for word in design.proofs)
        said.append(f"a {proofs} is a proof (see People); publishing it needs your signed `disclosure`")
    if refused := _refusal(design):
        said.append(f"a device with the default policy would not answer by it: {refused}")
    return said


def _as_data(chosen: Design, n: int) -> dict[str, object]:
    tight = chosen.tight_epsilon
    return {
        "design": chosen.to_wire(),
        "bits": bits_of(chosen.values),
        "numerators": [str(k) for k in chosen.numerators],
        "epsilon": str(chosen.choice.promise.epsilon),
        "delta": str(chosen.choice.promise.delta),
        "tight_epsilon": None if tight is None else float(tight),
        "proofs": list(chosen.proofs),
        "rule": chosen.choice.rule,
        "reason": chosen.choice.reason,
        "disclosure": chosen.choice.explain_exposure(n),
        "compared": dict(chosen.choice.compared),
    }


def _choice(options: Namespace) -> Output:
    """The best design for so many options, in words, and others' beside it."""
    from rrcollect.design.many_options import best_for_options
    from server_agg.plan.procedures import OTHERS_HEAD, OTHERS_NUMERIC, compare_choices, plot_choices

    refuse((options.epsilon is None, "--epsilon", None, EPSILON))
    chosen = best_for_options(options.epsilon, options.options, options.delta)
    lines = compare_choices(options.epsilon, options.options)
    drawn = table(OTHERS_HEAD, [line.cells() for line in lines], set(OTHERS_NUMERIC))
    explained = f"{chosen.explain(options.n)}\n{_bits(chosen)}"
    data = {"design": chosen.to_wire(), "epsilon": chosen.epsilon(), "explained": explained}
    data["bits"] = bits_of(chosen.values)
    data["compared"] = [line.as_dict() for line in lines]
    said = (explained, "Others at the same ε:", drawn, OTHERS)
    return Output(data, *said, picture=lambda: plot_choices(options.options))


def _two_sided(options: Namespace) -> Output:
    """The best design under two promises, in words, beside the one that keeps the smaller of both."""
    from rrcollect import Epsilon, Promise, optimal_design

    refuse((None in (options.epsilon_yes, options.epsilon_no), "--epsilon-yes and --epsilon-no", None, "both of them"))
    chosen = optimal_design(Promise.two_sided(options.epsilon_yes, options.epsilon_no))
    strict = optimal_design(min(Epsilon(options.epsilon_yes), Epsilon(options.epsilon_no)))
    at = options.prevalence or "0.1"
    named = {"two promises": chosen, "the smaller for both": strict}
    rows = [_described(each, name, each.variance(at)) for name, each in named.items()]
    data = {"design": chosen.to_wire(), "reason": chosen.choice.reason, "prevalence": at, "candidates": rows}
    data["bits"] = bits_of(chosen.values)
    explained = f"{chosen.explain(options.n)}\n{_bits(chosen)}"
    return Output(data, explained, f"n·variance at prevalence {at}:", _table(rows))


def _procedures(options: Namespace) -> Output:
    """The classic procedures side by side, graded at the same ε."""
    from server_agg.plan.procedures import HEAD, NUMERIC, compare_procedures

    refuse((options.epsilon is None, "--epsilon", None, EPSILON))
    lines = compare_procedures(options.epsilon, options.prevalence or "0.1", options.innocuous or "1/4")
    drawn = table(HEAD, [line.cells() for line in lines], set(NUMERIC))
    words = "effective: what an answer is worth against a direct and honest one"
    return Output([line.as_dict() for line in lines], drawn, words)
