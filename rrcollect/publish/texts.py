"""Text that people read: what may stand in it, and in which language.

Rules
1. Text is hostile until proven otherwise.  No control, format or private character, none that hides, reorders or fakes
   what a person reads.  The table `HIDDEN` is fixed and the same in every client, so that all of them judge alike,
   whatever version of Unicode they know.
2. Text has something visible in it, and neither begins nor ends with white space.
3. The joiner that emoji are made of stands between two visible characters, or not at all.  The non-joiner that Persian
   and the Indian scripts are written with stands between two characters of these scripts (`JOINING`), or not at all.
4. Words are one line; passages may have several.  At most `TALLEST` marks stand on one letter: a pile of them would
   cover the lines above and below, which are not its writer's.
5. A text for people is a map from language to text, {"en": "Ever doped?"}; the survey's own language is always there.
6. Two texts say the same if their letters and digits do (`fingerprint`): a question asked again in capitals, with other
   punctuation, spacing or accents, or in letters that look the same, of another script (`ALIKE`) or two for one
   (`PAIRS`), is the same question.  A number before it ("3. ", "Q3: ", "(c) ", "iv) ") is none of its words.  Of a text
   without letters its digits and pictures are compared.
7. What is asked may stand in the text, in the help below it, or in both: each of them is known, and both together
   (`fingerprints`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping

JOINER, NON_JOINER = "\u200d", "\u200c"
JOINING = "\u0620-\u0dff"  # from Arabic to Sinhala: where a non-joiner changes what is seen
LANGUAGE = r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$"

# Ranges of code points, both ends included: controls, format characters, fillers that show nothing, surrogates,
# private use, and what Unicode reserves for more of these.  (The variation selectors that emoji need are not here.)
HIDDEN = (
    (0x0000, 0x001F), (0x007F, 0x009F), (0x00AD, 0x00AD), (0x034F, 0x034F), (0x0600, 0x0605), (0x061C, 0x061C),
    (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xF8FF),
    (0xFDD0, 0xFDEF), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x110BD, 0x110BD),
    (0x110CD, 0x110CD), (0x13430, 0x13442), (0x16FE4, 0x16FE4), (0x1BCA0, 0x1BCA3), (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A), (0x1FFFE, 0x1FFFF), (0x2FFFE, 0x2FFFF), (0x3FFFE, 0x3FFFF), (0x4FFFE, 0x4FFFF),
    (0x5FFFE, 0x5FFFF), (0x6FFFE, 0x6FFFF), (0x7FFFE, 0x7FFFF), (0x8FFFE, 0x8FFFF), (0x9FFFE, 0x9FFFF),
    (0xAFFFE, 0xAFFFF), (0xBFFFE, 0xBFFFF), (0xCFFFE, 0xCFFFF), (0xDFFFE, 0xDFFFF), (0xE0000, 0xE0FFF),
    (0xEFFFE, 0x10FFFF),
)  # fmt: skip
BLANK = "\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"  # shows nothing, but takes room
TALLEST = 4
MARKS = (  # that are written above or below a letter, and pile up
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
# Letters and digits that can be taken for one another, in small letters or in capitals; the first stands for all.  To
# see too much as alike costs nothing: two different questions hardly differ in these alone.
ALIKE = (
    "a\u0430\u03b1\u0251", "b\u0432\u03b2", "c\u0441", "d\u0501", "e\u0435\u03b5", "g\u0261\u0581",
    "h\u043d\u04bb\u03b7n\u043fv\u03bd\u0570\u0578", "i\u0456\u03b9l\u04cf1\u0269", "j\u0458", "k\u043a\u03ba",
    "m\u043c\u03bc", "o\u043e\u03bf0\u0585\u00f8", "p\u0440\u03c1", "q\u051b", "s\u0455", "t\u0442\u03c4",
    "u\u057d", "w\u051d", "x\u0445\u03c7", "y\u0443\u03c5\u03b3", "z\u03b6",
)  # fmt: skip
PAIRS = {"d": "cl", "m": "rn", "w": "vv"}  # one letter that looks like two
_NUMBER = re.compile(  # what numbers a question: digits, a letter or a small Roman number, and a mark; also "2. a) "
    r"(?:[\W_]*(?:[^\W\d_]?\d{1,3}(?:\.\d{1,3})*\s*(?:[)\]}.:\u3001](?!\d)|[-\u2013\u2014](?=\s+\D))"
    r"|(?:[^\W\d_]|[ivx]{2,5})\s*(?:[)\]}]|[.:\u3001](?=[\s)\]}])|[-\u2013\u2014](?=\s))))+"
)
_HIDDEN = re.compile("[" + "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in HIDDEN) + "]")
_VISIBLE = re.compile(f"[^{BLANK}\n{JOINER}{NON_JOINER}\ufe00-\ufe0f]")
_PILE = re.compile(f"[{MARKS}]{{{TALLEST + 1}}}")
_FIRST = str.maketrans({letter: group[0] for group in ALIKE for letter in group})
_ALIKE = _FIRST | {ord(x): PAIRS[group[0]].translate(_FIRST) for group in ALIKE if group[0] in PAIRS for x in group}
_LOOSE_JOINER = re.compile(f"(?:^|[{BLANK}\n{JOINER}]){JOINER}|{JOINER}(?:$|[{BLANK}\n])")
_LOOSE_NON_JOINER = re.compile(f"(?<![{JOINING}]){NON_JOINER}|{NON_JOINER}(?![{JOINING}])")


def words(text: str) -> str:
    """One line, with nothing hidden in it; `ValueError` with the fault otherwise."""
    return _checked(text, NON_JOINER)


def passage(text: str) -> str:
    """Several lines, with the joiner that emoji are made of; `ValueError` with the fault otherwise."""
    return _checked(text, "\n" + JOINER + NON_JOINER)


def _checked(text: str, also: str) -> str:
    for char in _HIDDEN.findall(text):
        if char not in also:
            raise ValueError(f"the character U+{ord(char):04X} cannot be shown to a person")
    if not _VISIBLE.search(text):
        raise ValueError("it shows nothing")
    if re.match(f"[{BLANK}\n]", text) or re.search(f"[{BLANK}\n]\\Z", text):
        raise ValueError("it begins or ends with white space")
    if _LOOSE_JOINER.search(text) or _LOOSE_NON_JOINER.search(text):
        raise ValueError("a joiner stands where it joins nothing")
    if _PILE.search(text):
        raise ValueError(f"more than {TALLEST} marks stand on one letter")
    return text


def fingerprint(text: str) -> str:
    """A hash that is equal for texts with the same letters and digits, however numbered, spaced, marked or cased.

    >>> fingerprint("Ever doped?") == fingerprint("2. ever  DOPED") == fingerprint("Ever d\\u043eped?")
    True
    """
    whole = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c)[0] != "M")
    folded = "".join(c.upper().lower() for c in whole)  # each by itself: ß is ss
    number = _NUMBER.match(folded)
    plain = _compared(folded[number.end() if number else 0 :]) or _compared(folded)
    return hashlib.sha256(plain.translate(_ALIKE).encode()).hexdigest()


def _compared(text: str) -> str:
    """Letters and digits; if there are no letters, digits and pictures."""
    kinds = [unicodedata.category(c) for c in text]
    kept = "LN" if any(kind[0] == "L" for kind in kinds) else "NS"
    return "".join(c for c, kind in zip(text, kinds, strict=True) if kind[0] in kept and kind != "Sk")


def fingerprints(*passages: Mapping[str, str]) -> frozenset[str]:
    """Of each of these texts by language, and of those of one language together."""
    spoken = [[text[language] for text in passages if language in text] for language in set().union(*passages)]
    return frozenset(fingerprint(text) for texts in spoken for text in (*texts, " ".join(texts)))
