"""Text that people read: what may stand in it, and in which language.

Rules
1. Text is hostile until proven otherwise.  No control, format or private character, none that hides, reorders or fakes
   what a person reads.  The table `HIDDEN` is fixed and the same in every client, so that all of them judge alike,
   whatever version of Unicode they know.
2. Text has something visible in it, and neither begins nor ends with white space.
3. The joiner that emoji are made of stands between two visible characters, or not at all.  The non-joiner that Persian
   and the Indian scripts are written with stands between two characters of these scripts (`JOINING`), or not at all.
4. Words are one line; passages may have several.
5. A text for people is a map from language to text, {"en": "Ever doped?"}; the survey's own language is always there.
6. Two texts say the same if their letters and digits do (`fingerprint`): a question asked again in capitals, with other
   punctuation or spacing, is the same question.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping

__all__ = ["JOINER", "LANGUAGE", "NON_JOINER", "fingerprint", "in_language", "passage", "words"]

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
    (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0x1FFFE, 0x1FFFF),
    (0x2FFFE, 0x2FFFF), (0x3FFFE, 0x3FFFF), (0x4FFFE, 0x4FFFF), (0x5FFFE, 0x5FFFF), (0x6FFFE, 0x6FFFF),
    (0x7FFFE, 0x7FFFF), (0x8FFFE, 0x8FFFF), (0x9FFFE, 0x9FFFF), (0xAFFFE, 0xAFFFF), (0xBFFFE, 0xBFFFF),
    (0xCFFFE, 0xCFFFF), (0xDFFFE, 0xDFFFF), (0xE0000, 0xE0FFF), (0xEFFFE, 0x10FFFF),
)  # fmt: skip
BLANK = "\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"  # shows nothing, but takes room
_HIDDEN = re.compile("[" + "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in HIDDEN) + "]")
_VISIBLE = re.compile(f"[^{BLANK}\n{JOINER}{NON_JOINER}\ufe00-\ufe0f]")
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
    return text


def in_language(texts: Mapping[str, str], wanted: str | None, default: str) -> str:
    """The text in the wanted language, else in its base language, else in the survey's own; "" if there is none.

    >>> in_language({"en": "Send", "de": "Senden"}, "de-AT", "en")
    'Senden'
    """
    for language in (wanted or default, (wanted or default).split("-")[0], default):
        if language in texts:
            return texts[language]
    return ""


def fingerprint(text: str) -> str:
    """A hash that is equal for texts with the same letters and digits, however they are spaced, dotted or cased.

    >>> fingerprint("Ever doped?") == fingerprint("ever  DOPED")
    True
    """
    plain = "".join(c for c in unicodedata.normalize("NFKC", text).lower() if unicodedata.category(c)[0] in "LN")
    return hashlib.sha256((plain or text).encode()).hexdigest()
