"""Choosing a design, exactly: the strict and the relaxed optimum, a tie, somebody else's survey, the classics."""

from rrcollect import Design, classic, optimal_design, optimal_designs, switch_point


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


title("The strict promise ε = 1: one design is optimal whatever the prevalence")
strict = optimal_design(1)
print(strict.explain())
print("Applied by a device as", " and ".join(f"{k}/2^64" for k in strict.numerators))

title("A relaxed promise (ε, δ) = (1, 0.4) where about one in ten has the attribute")
print(f"g(ε, δ) = {switch_point(1, '0.4'):.4f}: below this prevalence the optimum discloses")
print(optimal_design(1, "0.4", prevalence="0.1").explain(n=1000))

title("An exact tie: (ε, δ) = (ln 2, 1/4), prevalence 1/4")
for design in optimal_designs("ln 2", "1/4", prevalence="1/4"):
    print(design, "  n·variance =", design.variance("1/4"))

title("Somebody else's survey: a die with forced yes on 1 and forced no on 6")
die = classic.forced_response(yes="1/6", no="1/6")
print(f"{die}: tight ε = {die.tight_epsilon} = {die.epsilon():.6g}")
print("keeps ε = 1.6?", die.satisfies("1.6"), "  keeps ε = 1.61?", die.satisfies("1.61"))
print("share of the sample left at prevalence 10 %:", f"{float(die.effective_sample_ratio('0.1')):.1%}")

title("Classic procedures at ε = 1, prevalence 10 %")
print(classic.comparison_table(classic.compare(1, "0.1")))

title("What doubles would have done")
naive = Design(0.7310585786300049, 0.7310585786300049)
print(f"p = e/(e+1) as a double keeps ε = 1? {naive.satisfies(1)}.  Ours: {strict.satisfies(1)}")
