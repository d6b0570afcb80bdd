"""For the meeting in which ε is decided: survey scientist, stakeholder, and somebody who speaks for the respondents.

Shows what one answer can reveal at each ε, what that ε costs in answers, which ε your number of respondents needs,
what δ > 0 would really buy, and what the classic procedures cost at the ε you chose; and draws it.

    python examples/choose_epsilon.py FOLDER          # for the three pictures
"""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from rrcollect import Design, optimal_design
from server_agg import plan

EPSILONS = ["1/2", "1", "ln 3", "2", "ln 9", "4"]
PEOPLE, MARGIN, PREVALENCE = 3000, "0.03", "0.1"  # who will answer, how exact it must be, what share is expected


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def suspicion(design: Design, before: str) -> str:
    """How sure somebody who held the attribute likely with probability `before` can be after hearing a "yes"."""
    prior = Fraction(before)
    return f"{float(design.p11 * prior / design.says_yes(prior)):.1%}"


def save(drawn: Any, path: Path) -> None:
    drawn.save(path)
    print(f"written: {path}")


if len(sys.argv) != 2:
    sys.exit("usage: python examples/choose_epsilon.py FOLDER (for the pictures)")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)

title('What a "yes" reveals, to somebody who thought it 1 %, 10 % or 50 % likely before')
for epsilon in EPSILONS:
    design = optimal_design(epsilon)
    after = "   ".join(f"{before} -> {suspicion(design, f'{before[:-1]}/100'):>6}" for before in ("1%", "10%", "50%"))
    print(f"ε = {epsilon:>4}   flips {float(1 - design.p11):6.1%}   {after}")

title(f"What it costs: answers for ±{MARGIN} where about one in ten has the attribute")
prices = plan.price(EPSILONS, margin=MARGIN, prevalence=PREVALENCE)
print(prices)

title(f"With {PEOPLE} respondents")
for epsilon in EPSILONS:
    points = 100 * plan.margin(optimal_design(epsilon), PEOPLE, prevalence=PREVALENCE)
    print(f"ε = {epsilon:>4} gives ±{points:.1f} points")
needed = plan.epsilon(PEOPLE, margin=MARGIN, prevalence=PREVALENCE)
print(f"the least ε that reaches ±{MARGIN} is {needed:.3f}")

title("The strict promise ε = ln 3: one design is optimal whatever the prevalence")
chosen = optimal_design("ln 3")
print(chosen.explain())

title("A relaxed promise (ε, δ) = (1, 0.4): what δ buys, and who pays for it")
print(f"g(ε, δ) = {optimal_design(1, '0.4').choice.switch_point:.4f}: below this prevalence the optimum discloses")
print(optimal_design(1, "0.4", prevalence=PREVALENCE).explain(n=PEOPLE))
print("At the switch both are optimal, and one of them exposes nobody: (ε, δ) = (ln 2, 1/4), prevalence 1/4")
for tied in optimal_design("ln 2", "1/4", prevalence="1/4").choice.ties:
    print(f"  {tied}   n·variance = {tied.variance('1/4')}   proofs: {', '.join(tied.proofs) or 'none'}")

title("Classic procedures at ε = ln 3, prevalence 10 %")
for line in plan.compare_procedures("ln 3", PREVALENCE):
    print("  ".join(line.cells()))

title("Pictures")
save(prices.plot(methods=["exact", "chebyshev", "hoeffding"]), folder / "price.png")
save(plan.plot_region("ln 3", prevalence=PREVALENCE), folder / "feasible.png")
save(plan.plot_switch(levels=[0.01, 0.05, 0.1, 0.2]), folder / "switch.png")
