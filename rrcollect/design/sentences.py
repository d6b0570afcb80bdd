"""What people are told, before it is said in their language: keys, places, and numbers rounded to the safe side.

Rules
1. What is called "at most" is rounded up and what is called "at least" is rounded down, decided exactly.
2. A number that has so few digits stays as it is: 81 is at most 81.
3. How often an answer is switched is said from the exact chance: 1/n (and up to `EXACT` above it, since a device's
   probabilities are multiples of 2^-64) is "one in n"; any other is "about k of 100", rounded down, or below 1/50 the
   next 1/n that is not above it.  So protection is never overstated.
4. "Proves nothing" is said if an answer changes the odds between any two things about a person by a factor of at most
   `PROVES_NOTHING`.  Above it the factor is said, rounded up; a proof is said to be one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.exponential import ExpNumber

PRACTICAL_PROOF = 1000  # odds of 1 : 1000 become even by one such answer
PROVES_NOTHING = 4  # who thought two things equally likely before is then wrong in one case of five or more
EXACT = Fraction(1, 2**60)
FINE = 50  # below 1/50 the next 1/n is closer than the next hundredth
MOST_COUNTED = 1000  # "one in 1000", and not rarer
RARE = Fraction(1, 10**4)
MOST_REPEATED = 8  # values of a report that a device repeats for another question about the attribute


def bits_of(values: int) -> int:
    """The bits that so many values take, rounded up.

    >>> bits_of(2), bits_of(252), bits_of(847660528)
    (1, 8, 30)
    """
    return (values - 1).bit_length()


class Said(NamedTuple):
    """A sentence or a word: its key in the words of a language, and what stands in its places.  A text stands as it is,
    a whole number is spelled out where the language does, another `Said` is said in its place."""

    key: str
    places: Mapping[str, str | int | Said] = {}


class Sentences(NamedTuple):
    """What people read about a mechanism before they answer."""

    happens: Said  # to the answer, in one sentence
    drawn: Said  # instead of the truth, exactly
    proofs: tuple[Said, ...]  # answers that are proofs, or as good as proofs
    proves: tuple[Said, ...]  # what a single other answer proves
    changed: Mapping[str, int | Fraction]  # how often an answer is changed, by what it says: plain numbers for a page


def often(chance: Fraction) -> Said:
    """How often, at least, an answer is changed.

    >>> often(Fraction(1, 3))
    Said(key='share', places={'number': '33.3'})
    """
    if not chance:
        return Said("never")
    return Said("share", {"number": at_least(100 * chance)}) if chance >= RARE else Said("rarely")


def in_words(key: str, chance: Fraction) -> Said:
    """A chance in words, never above what it is (rule 3).

    >>> in_words("case", Fraction(1, 4)), in_words("case", Fraction(2, 5)).key
    (Said(key='case_one', places={'count': '4', 'number': 4}), 'case_about')
    """
    if not chance:
        return Said("never")
    whole = math.ceil(1 / chance)
    if whole > MOST_COUNTED:
        return Said(f"{key}_few")
    if whole > FINE or (whole > 1 and chance - Fraction(1, whole) <= EXACT):
        return Said(f"{key}_one", {"count": str(whole), "number": whole})
    return Said(f"{key}_about", {"number": str(math.floor(100 * chance))})


def rounded_up(value: Fraction | ExpNumber, digits: int = 3) -> Fraction:
    """The least number with so many digits that is not below the value, which is 0 or more.

    >>> rounded_up(Fraction(81)), rounded_up(Fraction(3001, 1000)), rounded_up(Fraction(9991, 10))
    (Fraction(81, 1), Fraction(301, 100), Fraction(1000, 1))
    """
    unit = _unit(value, digits)
    return -math.floor(value / -unit) * unit


def rounded_down(value: Fraction, digits: int = 3) -> Fraction:
    """The largest number with so many digits that is not above the value, which is 0 or more.

    >>> rounded_down(Fraction(1, 4)), rounded_down(Fraction(2, 3))
    (Fraction(1, 4), Fraction(333, 500))
    """
    unit = _unit(value, digits)
    return math.floor(value / unit) * unit


def _unit(value: Fraction | ExpNumber, digits: int) -> Fraction:
    """The power of ten of which a number has so many digits."""
    unit = Fraction(1)
    while value >= unit * 10**digits:
        unit *= 10
    while 0 < value < unit * 10 ** (digits - 1):
        unit /= 10
    return unit


def decimal(value: Fraction) -> str:
    """A number of finitely many decimal digits, written with all of them and no more.

    >>> decimal(Fraction(301, 100)), decimal(Fraction(59100)), decimal(Fraction(1, 8))
    ('3.01', '59100', '0.125')
    """
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(value.numerator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def at_most(value: Fraction | ExpNumber, digits: int = 3) -> str:
    """The value rounded up, as text.

    >>> at_most(Fraction(2187, 1000)), at_most(Fraction(59049))
    ('2.19', '59100')
    """
    return decimal(rounded_up(value, digits))


def at_least(value: Fraction, digits: int = 3) -> str:
    """The value rounded down, as text.

    >>> at_least(Fraction(2187, 1000))
    '2.18'
    """
    return decimal(rounded_down(value, digits))


# ---- yes and no, and "low" and "high" for a number ------------------------------------------------------------------

ANSWERS = {"number": ("low", "high")}  # the words of the answers 0 and 1, if not "no" and "yes"
Ratio = Fraction | float


def _word(answer: int, kind: str) -> Said:
    return Said(ANSWERS.get(kind, ("no", "yes"))[answer])


def yes_no_sentences(
    kept: tuple[Fraction, Fraction], ratios: tuple[Ratio, Ratio], telling: tuple[Fraction, Fraction], kind: str
) -> Sentences:
    """Of a 2×2 design: `kept` are p00 and p11, `ratios` the likelihood ratios of the answers 0 and 1."""
    no, yes = (1 - chance for chance in kept)
    prefix = "number_" if kind == "number" else ""
    proofs = tuple(
        Said(f"{prefix}{'' if ratios[answer] == math.inf else 'nearly_'}proof", {"word": _word(answer, kind)})
        for answer in (1, 0)
        if ratios[answer] >= PRACTICAL_PROOF
    )
    changed = {"no": no, "yes": yes}
    if kind == "number":
        drawn = Said("number", {"low": at_least(100 * no), "high": at_most(100 * kept[1])})
        quiet, tells = telling
        strong = quiet > PROVES_NOTHING
        proves = Said("still_number", {"ratio": at_most(quiet)}) if strong else Said("number_proves_nothing")
        return Sentences(Said("number_drawn"), drawn, proofs, () if tells else (proves,), changed)
    if no != yes:
        happens = Said("switched_unequally", {"no": in_words("case", no), "yes": in_words("case", yes)})
    else:
        happens = in_words("switched", no) if no else Said("unchanged")
    said = often(no), often(yes)
    if said[0] != said[1]:
        drawn = Said("changed_unequally", {"no": said[0], "yes": said[1]})
    else:
        drawn = Said("changed", {"share": said[0]}) if no else Said("unchanged")
    return Sentences(happens, drawn, proofs, _yes_and_no(ratios, equal=no == yes), changed)


def _yes_and_no(ratios: tuple[Ratio, Ratio], *, equal: bool) -> tuple[Said, ...]:
    """What a single "yes" or "no" proves that is not a proof by itself."""
    others = [answer for answer in (1, 0) if ratios[answer] < PRACTICAL_PROOF]
    strong = [answer for answer in others if ratios[answer] > PROVES_NOTHING]
    if len(others) == 2 and not strong:
        return (Said("proves_nothing" if equal else "neither_proves"),)
    if strong and equal:
        return (Said("still_sent", {"ratio": at_most(Fraction(ratios[1]))}),)
    return tuple(
        Said("still", {"word": _word(answer, ""), "ratio": at_most(Fraction(ratios[answer]))}) for answer in strong
    )


def yes_no_told(answer: int, ratio: Ratio, kind: str) -> tuple[Said, Said]:
    """(what was sent, what it can tell) of the answer 0 or 1 with this likelihood ratio."""
    sent, start = Said("sent", {"word": _word(answer, kind)}), "means_number" if kind == "number" else "means"
    if ratio >= PRACTICAL_PROOF:
        return sent, Said(f"{start}_proof" if ratio == math.inf else f"{start}_nearly_proof")
    return sent, Said(start, {"ratio": at_most(Fraction(ratio))})


# ---- sets of options ------------------------------------------------------------------------------------------------


def set_sentences(
    options: int, size: int, out: Fraction, telling: tuple[Fraction, Fraction], kind: str = ""
) -> Sentences:
    """Of sets of so many options, or parts of a range; `out` is the chance that the truth is not among them."""
    sizes, one = {"size": str(size), "options": str(options)}, size == 1 and kind != "number"
    if kind == "number":
        happens = Said("parts_drawn", {"share": in_words("case", out), **sizes})
        drawn = Said("parts_sent", {"share": often(out), **sizes})
    elif not out:
        happens = drawn = Said("unchanged") if one else Said("choice_set_always", sizes)
    elif one:
        happens = Said("replaced", {"share": in_words("case", out)})
        drawn = Said("choice_one", {"share": often(out)})
    else:
        happens = Said("set_drawn", {"share": in_words("case", out), **sizes})
        drawn = Said("choice_set", {"share": often(out), **sizes})
    ratio, tells = telling
    proofs = (Said("set_nearly_proof" if out else "set_proof"),) if tells else ()
    if kind == "number":
        proofs = (Said("parts_nearly_proof" if out else "parts_proof"),) if tells else ()
        proves = (
            Said("still_number", {"ratio": at_most(ratio)}) if ratio > PROVES_NOTHING else Said("bin_proves_nothing")
        )
    elif ratio > PROVES_NOTHING:
        proves = Said("still_option", {"ratio": at_most(ratio)})
    else:
        proves = Said("option_proves_nothing" if one else "set_proves_nothing")
    changed: dict[str, int | Fraction] = {"size": size, "options": options, "missing": out}
    return Sentences(happens, drawn, proofs, () if tells else (proves,), changed)


def set_told(
    answer: str, size: int, out: Fraction, telling: tuple[Fraction, Fraction], kind: str = ""
) -> tuple[Said, Said]:
    """(what was sent, what it can tell) of one set."""
    listed = ", ".join(str(place) for place, bit in enumerate(answer, 1) if bit == "1")
    if kind == "number":
        means = bin_told(not out, telling)[1]
        return Said("sent_parts", {"list": listed}), means
    sent, (ratio, tells) = Said("sent_option" if size == 1 else "sent_set", {"list": listed}), telling
    if tells:
        return sent, Said("means_set_nearly_proof" if out else "means_set_proof")
    return sent, Said("means_option", {"ratio": at_most(ratio)})


# ---- drawn questions ------------------------------------------------------------------------------------------------


def several_sentences(options: int, of_one: Sentences) -> Sentences:
    """Of one of so many options, asked as a yes/no of which these are the sentences."""
    happens, drawn = (
        Said(key, {"options": str(options), "then": then})
        for key, then in (("one_drawn", of_one.happens), ("one_asked", of_one.drawn))
    )
    return of_one._replace(happens=happens, drawn=drawn)


def several_told(option: int, of_one: tuple[Said, Said]) -> tuple[Said, Said]:
    """(what was sent, what it can tell) of the answer about an option, by its number from 1."""
    sent, means = of_one
    return Said("sent_about", {"list": str(option), **sent.places}), means


def bin_sentences(of_one: Sentences, telling: tuple[Fraction, Fraction]) -> Sentences:
    """Of one question about where a number lies, a yes/no of which these are the sentences."""
    ratio, tells = telling
    proof = "bin_proof" if of_one.changed["no"] == 0 else "bin_nearly_proof"
    proves = _of_a_number(ratio)
    return Sentences(
        Said("bin_drawn", {"then": of_one.happens}), Said("bin_asked", {"then": of_one.drawn}),
        (Said(proof),) if tells else (), () if tells else (proves,), of_one.changed,
    )  # fmt: skip


def _of_a_number(ratio: Fraction) -> Said:
    """What an answer that is no proof proves about a number."""
    return Said("still_number", {"ratio": at_most(ratio)}) if ratio > PROVES_NOTHING else Said("bin_proves_nothing")


def bin_told(certain: bool, telling: tuple[Fraction, Fraction]) -> tuple[Said, Said]:
    """(what was sent, what it can tell) of an answer about where a number lies."""
    ratio, tells = telling
    if tells:
        return Said("sent_bin"), Said("means_bin_proof" if certain else "means_bin_nearly_proof")
    return Said("sent_bin"), Said("means_number", {"ratio": at_most(ratio)})


# ---- blocks of a space ----------------------------------------------------------------------------------------------


def block_sentences(options: int, size: int, out: Fraction, telling: tuple[Fraction, Fraction]) -> Sentences:
    """Of groups of so many of so many options, fixed beforehand; `out` is the chance that the truth is not in it."""
    sizes = {"size": str(size), "options": str(options)}
    of_sets = set_sentences(options, size, out, telling)
    if not out:
        return of_sets._replace(happens=Said("choice_block_always", sizes), drawn=Said("choice_block_always", sizes))
    happens = Said("block_drawn", {"share": in_words("case", out), **sizes})
    return of_sets._replace(happens=happens, drawn=Said("choice_block", {"share": often(out), **sizes}))


def block_told(answer: str, out: Fraction, telling: tuple[Fraction, Fraction]) -> tuple[Said, Said]:
    """(what was sent, what it can tell) of one block."""
    return Said("sent_block", {"number": answer}), set_told("", 2, out, telling)[1]
