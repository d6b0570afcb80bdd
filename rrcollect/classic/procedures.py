"""The classic randomised-response procedures, each as the design matrix it really is.

Rules
1. A procedure is told as an interviewer would tell it, with its source, and becomes a `Design`: one place where its
   privacy and its variance come from.  ε is the tight one, read off the matrix.
2. A probability of 0 or 1 that makes an answer a proof is allowed here (people did run such surveys); the design says
   so (`proofs`, `epsilon() == inf`).
3. Where privacy rests on a trait of the respondent instead of a random device (unrelated question, crosswise,
   triangular, Moors), ε is *nominal*: it fails against anyone who knows that trait.  See `NOMINAL`.
"""

from __future__ import annotations

from fractions import Fraction

from rrcollect.classic.repeated import MoorsDesign, RepeatedDesign
from rrcollect.design.corners import Chosen, symmetric_probability
from rrcollect.design.parameters import EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Promise
from rrcollect.design.sets import SetDesign
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError

NOMINAL = frozenset({"unrelated_question", "crosswise", "triangular", "moors"})


def warner(p: NumberLike | None = None, *, epsilon: EpsilonLike | None = None, delta: NumberLike = 0) -> Design:
    """Warner 1965 [War65]: "Spin the spinner where I cannot see it. With probability p it shows the question 'Do
    you have the attribute?', otherwise 'Are you free of it?'. Answer the one it shows, truthfully."

    p00 = p11 = p, tight ε = |ln(p/(1−p))|, δ(ε) = max(p, 1−p) − e^ε min(p, 1−p) where positive. For p < 1/2 the
    answers mean their opposite (c < 0).

    With `epsilon` (and `delta`) instead of p: the best design with p00 = p11 under that promise, at every prevalence:
    (e^ε + δ)/(e^ε + 1), on the grid ([HLM17] Theorem 4).

    >>> round(warner("0.8").epsilon(), 10), warner(epsilon="ln 3").p00
    (1.3862943611, Fraction(3, 4))
    """
    if (p is None) == (epsilon is None):
        raise ParameterError("p", p, "either p, or epsilon (and delta)")
    if epsilon is not None:
        promise = Promise.of(epsilon, delta)
        q = symmetric_probability(promise)
        reason = "the variance falls as p00 = p11 grows, so both stand at the promise's limit (e^ε + δ)/(e^ε + 1)"
        return Chosen(Design(q, q), promise, "[HLM17] Theorem 4 (Warner)", reason).attached()
    exact = probability("p", p)
    return Design(exact, exact)


def forced_response(yes: NumberLike, no: NumberLike) -> Design:
    """Boruch 1971 [Bor71]: "Roll a die where I cannot see it. On some faces say yes, on some say no, whatever is
    true; on the others answer truthfully." `yes` and `no` are the probabilities of a forced yes and a forced no.

    p00 = 1 − yes, p11 = 1 − no. Tight ε = max(ln((1−no)/yes), ln((1−yes)/no)). With `yes` = 0 a "yes"
    is a proof, with `no` = 0 a "no" is.

    >>> die = forced_response(yes="1/6", no="1/6")     # forced yes on 1, forced no on 6
    >>> die.worst_likelihood_ratio                     # ε = ln 5
    Fraction(5, 1)
    """
    forced_yes, forced_no = probability("yes", yes), probability("no", no)
    if forced_yes + forced_no > 1:
        raise ParameterError(
            "yes + no", str(forced_yes + forced_no), "at most 1: the forced answers exclude each other"
        )
    return Design(1 - forced_yes, 1 - forced_no)


def unrelated_question(p: NumberLike, prevalence: NumberLike) -> Design:
    """Greenberg et al. 1969 [GAS69]: "With probability p the card asks the sensitive question, otherwise a harmless
    one, such as 'Were you born in April?'. Answer what your card asks." `prevalence` is the known share of yes to
    the harmless one.

    With u that share: p00 = 1 − (1−p)u, p11 = p + (1−p)u, ε = ln(1 + p/((1−p) min(u, 1−u))).
    Nominal: who knows the person's birthday knows more.

    >>> unrelated_question(p="1/2", prevalence="1/2")
    Design('3/4', '3/4')
    """
    exact, u = probability("p", p), probability("prevalence", prevalence)
    return Design(1 - (1 - exact) * u, exact + (1 - exact) * u)


def mangat_singh(t: NumberLike, p: NumberLike) -> Design:
    """Mangat and Singh 1990 [MS90], two stages: "With probability t your first card says: answer truthfully.
    Otherwise go to Warner's spinner with probability p."

    p00 = p11 = t + (1−t)p; ε as Warner's with that probability.

    >>> mangat_singh(t="1/2", p="1/2")
    Design('3/4', '3/4')
    """
    first, exact = probability("t", t), probability("p", p)
    return warner(first + (1 - first) * exact)


def mangat(p: NumberLike) -> Design:
    """Mangat 1994 [Man94]: "If you have the attribute, say yes. If not, spin: with probability p say no, otherwise
    yes."

    p00 = p, p11 = 1.  A "no" proves that the person is free of the attribute: ε = ∞, δ(ε) = p for every ε.

    >>> mangat("0.7").proofs, mangat("0.7").delta(3)
    (('no',), 0.7)
    """
    return Design(probability("p", p), 1)


def crosswise(prevalence: NumberLike, one: str = "likelier") -> Design:
    """Yu, Tian and Tang 2008 [YTT08]: "Think of the sensitive question and of 'Is your mother born between January
    and March?'. Tell me only whether your two answers are the same or different." `prevalence` is the share u of
    yes to the second.

    `one` is the coding, which of the two is counted as 1: "same" (as R's RRreg: p00 = p11 = u), "different"
    (p00 = p11 = 1 − u), or the "likelier" under the attribute ("same" if u > 1/2, else "different").  The wrong coding
    turns every estimate into one minus itself.  ε as Warner's, by each.  Nominal.

    >>> crosswise("1/4"), crosswise("1/4", one="same")
    (Design('3/4', '3/4'), Design('1/4', '1/4'))
    """
    u = probability("prevalence", prevalence)
    codings = {"likelier": max(u, 1 - u), "same": u, "different": 1 - u}
    if one not in codings:
        raise ParameterError("one", one, f"one of {', '.join(codings)}")
    return warner(codings[one])


def triangular(prevalence: NumberLike) -> Design:
    """Yu, Tian and Tang 2008 [YTT08]: "If you neither have the attribute nor were born in the first quarter, say A;
    otherwise say B." `prevalence` is the share u of people born then; B is counted as 1.

    p00 = 1 − u, p11 = 1. An "A" proves that the person is free of the attribute: ε = ∞, δ(ε) = 1 − u. It is
    nominal as well.

    >>> triangular("1/4")
    Design('3/4', '1')
    """
    return Design(1 - probability("prevalence", prevalence), 1)


def kuk(theta1: NumberLike, theta2: NumberLike, draws: int = 1) -> Design | RepeatedDesign:
    """Kuk 1990 [Kuk90]: "Here are two decks. Draw a card from the first if you have the attribute, from the second
    if not, and tell me only its colour." `theta1`, `theta2` are the shares of red in the decks; repeated `draws`
    times, with replacement, the answer is the number of reds.

    One draw: p11 = θ1, p00 = 1 − θ2, a `Design`.  k draws: a `RepeatedDesign` with tight ε = k times that of one draw.

    >>> kuk("0.8", "0.2", draws=2).worst_likelihood_ratio
    Fraction(16, 1)
    """
    design = Design(1 - probability("theta2", theta2), probability("theta1", theta1))
    times = whole_number("draws", draws)
    return design if times == 1 else RepeatedDesign(design, times)


def moors(p: NumberLike) -> MoorsDesign:
    """Moors 1971 [Moo71]: as the unrelated question, but the harmless question's share of yes is not known; a
    second sample is asked the harmless question alone and so estimates it.

    >>> moors("0.7").design(prevalence="0.5")
    Design('17/20', '17/20')
    """
    exact = probability("p", p)
    if exact == 0:
        raise ParameterError("p", p, "a probability above 0: at 0 the sensitive question is never asked")
    return MoorsDesign(Fraction(exact))


def rappor(f: NumberLike, p: NumberLike, q: NumberLike) -> Design:
    """Erlingsson, Pihur and Korolova 2014 [EPK14], one bit of a report: "With probability f replace the bit, once and
    for ever, by a coin's; each time send 1 with probability q if the bit is now 1, with probability p if it is 0."

    p11 = q(1 − f/2) + pf/2, p00 = 1 − p(1 − f/2) − qf/2.  Its ε is that of one bit in one report; what all reports of
    a bit together can tell is the ε of `forced_response(f/2, f/2)`.  Two strings of h bits each differ in up to 2h
    bits: for them one report has ε = h ln(p11 p00/((1 − p11)(1 − p00))), all together 2h times that of the forced one.

    >>> rappor(f="1/2", p="1/4", q="3/4")                       # Chrome's, for the bits of strings
    Design('5/8', '5/8')
    """
    replaced, zero, one = probability("f", f), probability("p", p), probability("q", q)
    return Design(1 - zero * (1 - replaced / 2) - one * replaced / 2, one * (1 - replaced / 2) + zero * replaced / 2)


def k_ary_response(options: int, replaced: NumberLike) -> SetDesign:
    """[HLM16] told the other way round: with probability `replaced` the truth is replaced by one of all `options`, each
    as likely (itself among them).

    p = 1 − replaced + replaced/options.

    >>> design = k_ary_response(3, "0.0000025")                 # Chrome's, for a view of an advertisement
    >>> round(design.epsilon(), 2)
    14.0
    """
    k, rate = whole_number("options", options, 2), probability("replaced", replaced)
    return SetDesign(k, 1, 1 - rate + rate / k)
