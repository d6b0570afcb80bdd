"""For survey scientists: reanalysing a published randomised-response survey from its printed numbers.

Shows how to get from a printed estimate back to the count behind it, that our estimate is the printed one, and what
changes when the error bar is one with guaranteed coverage instead of ±1.96 standard errors cut off at 0.

    python examples/published_survey.py

Sources, as seen:
[1] C. H. Chang, M. J. L. F. Cruyff: vignette of the R package zapstRR, 2018-02-23, and the help page of its data set
    `huntRRdata` (https://github.com/charlottehchang/zapstRR): 189 men in Southwest China were asked, by forced
    response with p00 = p11 = 5/6, which birds they had hunted in the past year.  The vignette prints, in percent,
    estimate, standard error and 95 % limits; it does not print the counts.
[2] D. W. Heck: manual of the R package RRreg, 2018-06-03.  Not a survey: data simulated by Warner's model with
    p = 0.2, n = 1000, and true prevalence 0.3.
[3] Pennsylvania State University, STAT 506, lesson 12.3, "Try it!": n = 400 and 128 yes, a coin decides between the
    sensitive question and one with a known share of 1/2.  A textbook exercise; its formulas are applied here.
"""

import math
from dataclasses import dataclass

from rrcollect import Design, classic
from server_agg import Estimate, Tally, estimate


@dataclass(frozen=True)
class PrintedLine:
    """One line of a source; shares in percent, as printed, with so many decimals."""

    what: str
    design: Design
    n: int
    value: str
    error: str
    limits: tuple[str, str] | None = None


DIE = classic.forced_response(yes="1/6", no="1/6")
PRINTED = [
    PrintedLine("barbet [1]", DIE, 189, "1.2", "4.1", ("0.0", "9.3")),
    PrintedLine("bulbul [1]", DIE, 189, "19.4", "5.0", ("9.7", "29.2")),
    PrintedLine("partridge [1]", DIE, 189, "-0.4", "4.0", ("0.0", "7.5")),
    PrintedLine("simulated [2]", classic.warner("0.2"), 1000, "26.6667", "2.5311"),
]


def as_printed(share: float, example: str) -> str:
    """A share in percent with as many decimals as the example."""
    return f"{100 * share:.{len(example.partition('.')[2])}f}"


def counts_behind(line: PrintedLine) -> list[int]:
    """Every count of yes that gives the printed estimate."""
    every = [estimate(Tally(line.design, line.n, ones)) for ones in range(line.n + 1)]
    return [e.tally.ones for e in every if as_printed(e.value, line.value) == line.value]


def reanalysis(line: PrintedLine) -> Estimate:
    (ones,) = counts_behind(line)  # one count and no other, or there is nothing to reanalyse
    ours: Estimate = estimate(Tally(line.design, line.n, ones))
    low, high = ours.interval()
    print(f"{line.what}: {ones} yes of {line.n}, the only count that gives the printed estimate")
    ends = "no limits" if line.limits is None else f"{line.limits[0]} to {line.limits[1]} %"
    print(f"    printed  {line.value} %, standard error {line.error}, {ends}")
    error, ends = as_printed(ours.standard_error, line.error), f"{100 * low:.1f} to {100 * high:.1f} %"
    print(f"    ours     {as_printed(ours.value, line.value)} %, standard error {error}, {ends} (exact, guaranteed)")
    return ours


found = {line.what: reanalysis(line) for line in PRINTED}
print("The standard errors of [1] fit a division by n, ours (and that of [2]) divide by n − 1.\n")

print(f"The die of [1] keeps ε = {DIE.tight_epsilon} = {DIE.epsilon():.4g}: an answer changes the odds by 5 at most.")
for what in ("barbet [1]", "partridge [1]"):
    wald, exact = (found[what].interval(method=method).high for method in ("wald", "exact"))
    print(f"{what}: ±1.96 standard errors end at {100 * wald:.1f} %, a guaranteed bar at {100 * exact:.1f} %")
bulbul = found["bulbul [1]"]
print(f"bulbul [1]: the 189 answers tell as much as {bulbul.effective_sample_size:.0f} direct and honest ones,")
moved = 100 * bulbul.manipulation("0.01")
print(f"    and each 1 % of dishonest reporters could move the estimate by {moved:.1f} points\n")

exercise = estimate(Tally(classic.unrelated_question(p="1/2", prevalence="1/2"), 400, 128))
value, error = 2 * (128 / 400 - 1 / 4), math.sqrt(4 / 400 * 128 / 400 * (1 - 128 / 400))
print(f"[3] by its own formulas  {value:.3f}, standard error {error:.4f}")
print(f"    ours                 {exercise.value:.3f}, standard error {exercise.standard_error:.4f}")
print(f"    {exercise.sentence()}")
