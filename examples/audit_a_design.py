"""For auditors and ethics boards: what does somebody else's procedure promise?

Shows how to read ε off a die, cards, decks, a spinner and a program's floating-point numbers, exactly; and what can
be said of a program that shows nothing but its answers: a lower bound on its ε, wrong at most once in 10⁹ audits.

    python examples/audit_a_design.py
"""

import math
from collections.abc import Callable

from rrcollect import Design, classic, optimal_design, randomise
from server_agg import Tally, estimate

die = classic.forced_response(yes="1/6", no="1/6")
coin = classic.forced_response(yes="1/2", no=0)
procedures = {
    "die: forced yes on 1, forced no on 6": die,
    "coin: heads say yes, tails the truth": coin,
    "Warner's cards, 7 of 10 ask directly": classic.warner("0.7"),
    "Kuk's decks, 80 % and 20 % red": classic.kuk("0.8", "0.2"),
    "the same decks, two cards each": classic.kuk("0.8", "0.2", draws=2),
    "spinner: 3/4 sensitive, 1/4 'born in May?'": classic.unrelated_question(p="3/4", prevalence="1/12"),
}

print("What each promises: the most one answer can change the odds (e^ε), and what 100 answers are worth at 10 %")
for name, procedure in procedures.items():
    tight = procedure.tight_epsilon
    promise = "none, see below" if tight is None else f"ε = {float(tight):.4f} = {tight}"
    worth = 100 * float(procedure.effective_sample_ratio("0.1"))
    print(f"  {name:42}  {promise:26}  {worth:4.1f} direct answers")

print(f'\nThe die: "ε = 1.6"? {die.satisfies("1.6")}.  "ε = 1.61"? {die.satisfies("1.61")}.  Both are decided exactly.')
share = float(coin.exposed("0.1"))
print(f'The coin: a "{coin.proofs[0]}" proves that a person is free of it; at 10 % that exposes {share:.0%} of all.')
print(f"It keeps (1, δ) with δ = {coin.delta(1):.4g}: no small chance of an accident, but the half who get tails.")

print("\nA program's numbers: it says ε = 1 and uses p = e/(e + 1) = 0.7310585786300049, a double")
naive = Design(0.7310585786300049, 0.7310585786300049)
print(f"  keeps ε = 1? {naive.satisfies(1)}: the double is a hair too large")
ours = optimal_design(1)
print(f"  ours, {ours.numerators[0]}/2^64, keeps it? {ours.satisfies(1)}")


def direct_bar(yes: int, n: int, level: float) -> tuple[float, float]:
    """Clopper–Pearson for a share seen directly: Design(1, 1) changes nothing."""
    low, high = estimate(Tally(Design(1, 1), n, yes)).interval(level)
    return low, high


def shown_epsilon(mechanism: Callable[[bool], bool], n: int, error: float = 1e-9) -> float:
    """A lower bound on the ε of a black box from n answers to each truth; above its true ε with probability <= error.

    The two bars hold together with probability 1 − error (Bonferroni), and then every ratio of their ends does.
    """
    no, yes = (direct_bar(sum(mechanism(truth) for _ in range(n)), n, 1 - error / 2) for truth in (False, True))
    ratios = [yes[0] / no[1], no[0] / yes[1], (1 - yes[1]) / (1 - no[0]), (1 - no[1]) / (1 - yes[0])]
    return max(0.0, *(math.log(ratio) for ratio in ratios if ratio > 0))


def honest(truth: bool) -> bool:
    return randomise(truth, ours) == "1"


def redrawing(truth: bool) -> bool:
    """A bug: every call draws afresh, and what goes out is the majority of three."""
    return sum(honest(truth) for _ in range(3)) >= 2


print("\nBlack boxes that claim ε = 1, from 20,000 answers to each truth")
for name, box in (("vendor A", honest), ("vendor B", redrawing)):
    bound = shown_epsilon(box, 20_000)
    verdict = "the claim is refuted" if bound > 1 else "nothing speaks against the claim; that is not a proof of it"
    print(f"  {name}: ε is at least {bound:.2f}: {verdict}")
