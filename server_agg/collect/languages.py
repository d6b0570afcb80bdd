"""The language of a page for a person, from what the browser asks for.

Rules
1. Accept-Language (RFC 9110, 12.5.4) is read up to `LONGEST` characters and `MOST` languages; what is not of its form is
   passed over.
2. The first of our languages by weight, then by place, is taken; English if there is none.  A weight of 0 means never.
"""

from __future__ import annotations

import re

from rrcollect.answer.words import LANGUAGES, Words

__all__ = ["words_for"]

LONGEST, MOST = 1000, 50
_RANGE = re.compile(r"([A-Za-z]{1,8})(?:-[A-Za-z0-9]{1,8})*(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")


def words_for(accepted: str) -> Words:
    """Our words in the language that this header prefers.

    >>> words_for("pt-BR, fr-CH;q=0.8, de;q=0.9").language, words_for("de;q=0").language, words_for("*").language
    ('de', 'en', 'en')
    """
    weighed = []
    for place, part in enumerate(accepted[:LONGEST].split(",")[:MOST]):
        found = _RANGE.fullmatch(part.strip(" \t"))
        if found and found[1].lower() in LANGUAGES and (weight := float(found[2] or 1)):
            weighed.append((-weight, place, found[1]))
    return Words.of(min(weighed)[2] if weighed else None)
