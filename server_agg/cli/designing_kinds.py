"""`rrcollect design` for one of several options (`--options`) and for two promises (`--epsilon-yes`, `--epsilon-no`).

Beside the design chosen stand others at the same promises: their designs for options, and for two promises the one that
keeps the smaller of both for either answer.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from server_agg.cli.terminal import emit, table

LEGEND = "n·MSE and people for equal shares; a dishonest reporter: one false report of n, in shares"


def refuse_others(options: Namespace, word: str, *allowed: str) -> None:
    """Refuse the words of other designs."""
    from rrcollect.errors import ParameterError

    every = {"epsilon": None, "delta": "0", "prevalence": None, "prior": None, "between": None, "regret": False,
             "max_ratio": None, "options": None, "epsilon_yes": None, "epsilon_no": None, "plot": None}  # fmt: skip
    for name, default in every.items():
        if name not in allowed and getattr(options, name) != default:
            raise ParameterError(f"--{name.replace('_', '-')}", getattr(options, name), f"not together with {word}")


def design_choice(options: Namespace) -> int:
    """The best design for so many options, in words, and others' beside it."""
    from rrcollect import optimal_choice
    from rrcollect.classic.others import HEAD, NUMERIC, compare_choices, plot_choices
    from rrcollect.errors import ParameterError

    refuse_others(options, "--options", "options", "epsilon", "delta", "plot")
    if options.epsilon is None:
        raise ParameterError("--epsilon", None, "an ε such as 1 or 'ln 3'")
    chosen = optimal_choice(options.epsilon, options.options, options.delta)
    lines = compare_choices(options.epsilon, options.options)
    drawn = table(HEAD, [line.cells() for line in lines], set(NUMERIC))
    if options.plot is not None:
        from server_agg.cli.plotting import save

        save(plot_choices(options.options), options.plot, force=False)
    data = {
        "design": chosen.to_wire(),
        "epsilon": chosen.epsilon(),
        "explained": chosen.explain(options.n),
        "compared": [line.as_dict() for line in lines],
    }
    emit(options, data, chosen.explain(options.n), "Others at the same ε:", drawn, LEGEND)
    return 0


def design_two_sided(options: Namespace) -> int:
    """The best design under two promises, in words, beside the one that keeps the smaller of both."""
    from rrcollect import Epsilon, optimal_design, two_sided_design
    from rrcollect.errors import ParameterError

    refuse_others(options, "--epsilon-yes", "epsilon_yes", "epsilon_no", "prevalence")
    if options.epsilon_yes is None or options.epsilon_no is None:
        raise ParameterError("--epsilon-yes and --epsilon-no", None, "both of them")
    chosen = two_sided_design(options.epsilon_yes, options.epsilon_no)
    strict = optimal_design(min(Epsilon(options.epsilon_yes), Epsilon(options.epsilon_no)))
    at = options.prevalence or "0.1"
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "design": each.to_wire(),
            "n_variance": float(each.variance(at)),
            "odds_yes": float(each.likelihood_ratio(1)),
            "odds_no": float(each.likelihood_ratio(0)),
        }
        for name, each in (("two promises", chosen), ("the smaller for both", strict))
    ]
    cells = [
        [row["name"], f"{float(each.p00):.4g}", f"{float(each.p11):.4g}",
         *(f"{row[name]:.4g}" for name in ("n_variance", "odds_yes", "odds_no"))]
        for row, each in zip(rows, (chosen, strict), strict=True)
    ]  # fmt: skip
    head = ["candidate", "p00", "p11", "n·variance", "yes ×", "no ×"]
    data = {"design": chosen.to_wire(), "reason": chosen.reason, "prevalence": at, "candidates": rows}
    drawn = table(head, cells, set(range(1, 6)))
    emit(options, data, chosen.explain(options.n), f"n·variance at prevalence {at}:", drawn)
    return 0
