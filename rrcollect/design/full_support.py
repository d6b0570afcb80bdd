"""The best design in which no answer is a proof, under a cap on the likelihood ratio.

Under (ε, δ) alone there is no best full-support design: where (1, δ) wins, (1−η, …) gets as close to it as one likes,
and exposes people as surely.  So a cap R on the likelihood ratio is part of the question.

Theorem (ours; [HLM17] Lemmas 2-4 carry over).  Let E = e^ε, q = (E+δ)/(E+1), s = (E+δ)/(1−δ) the ratio of (q, q).
  R <= s:  the promise (ε, δ) is implied by the pure one (ln R, 0); by Theorem 2 the optimum is R/(R+1) twice.
  R >  s:  the feasible region has the corners (q, q), V = (1 − u, R·u) with u = δ/(R − E), and V mirrored.  On the part
           of the edge where the ratio binds the variance falls towards V (proof of Theorem 2); on the part where (ε, δ)
           binds its minimum is at an end (Lemma 3).  The optimum is the best of the three corners.
Without a cap, R = s is taken: the symmetric corner, the one with the least ratio of all corners.
"""

from __future__ import annotations

from fractions import Fraction

from rrcollect.design.chosen import ChosenDesign
from rrcollect.design.optimal import Corner, exact_minimum, optimal_design
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction, probability
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, UninformativeDesign


def full_support_design(
    epsilon: EpsilonLike,
    delta: NumberLike = 0,
    *,
    max_ratio: NumberLike | None = None,
    prevalence: NumberLike | None = None,
) -> ChosenDesign:
    """The least variance under (ε, δ) with no answer changing the odds by more than `max_ratio`.

    Without `max_ratio`: the symmetric design.  Without a prevalence: the best symmetric design under the cap.

    >>> capped = full_support_design(1, "2/5", max_ratio=20, prevalence=0.1)
    >>> capped.worst_likelihood_ratio <= 20, float(capped.variance(0.1))
    (True, 0.3237741184035233)
    >>> float(full_support_design(1, "2/5").variance(0.1))  # without a cap: symmetric, a larger variance here
    0.3850244102670324
    """
    promise = Promise.of(epsilon, delta)
    if max_ratio is None and prevalence is None:
        return optimal_design(epsilon, delta)
    big_e, d = promise.epsilon.exp, promise.delta
    cap = fraction("max_ratio", max_ratio) if max_ratio is not None else None
    if cap is not None and cap <= 1:
        raise ParameterError("max_ratio", max_ratio, "a number above 1 (at 1 every answer is pure noise)")
    pi = None if prevalence is None else probability("prevalence", prevalence)
    if cap is None:
        chosen = optimal_design(epsilon, delta)
        return ChosenDesign(
            chosen, promise=promise, rule="best full-support corner", reason=chosen.reason, low=pi, high=pi
        )
    if d == 1 or (big_e + d) / (1 - d) >= cap:
        binding = Corner("symmetric at the cap", big_e * 0 + cap / (cap + 1), big_e * 0 + cap / (cap + 1))
        candidates = [binding]
    else:
        q = (big_e + d) / (big_e + 1)
        candidates = [Corner("symmetric", q, q)]
        if d > 0 and pi is not None:
            u = d / (cap - big_e)
            candidates += [Corner('"yes" at the cap', 1 - u, cap * u), Corner('"no" at the cap', cap * u, 1 - u)]
    candidates = [corner for corner in candidates if corner.usable()]
    if not candidates:
        raise UninformativeDesign(f"{promise} with max_ratio = {cap} leaves nothing to learn on the grid of 1/2^64")
    judged_at = Fraction(1, 2) if pi is None else pi
    best, compared = exact_minimum([(corner, corner.n_variance(judged_at)) for corner in candidates])
    figures = "; ".join(f"{name} {value:.6g}" for name, value in compared)
    reason = f"corners of the region with likelihood ratio at most {float(cap):.6g}, n·variance: {figures}"
    rule = "best full-support design under a ratio cap ([HLM17] Lemmas 2-4)"
    design: Design = best[0].to_design()
    return ChosenDesign(design, promise=promise, rule=rule, reason=reason, compared=compared, low=pi, high=pi)
