"""The language of a page for a person, from what the browser asks for.

Rules
1. Accept-Language (RFC 9110, 12.5.4) is read up to `LONGEST` characters and `MOST` languages; what is not of its form
   is passed over.
2. The first of our languages by weight, then by place, is taken; English if there is none.  A weight of 0 means never.
"""

from __future__ import annotations

import re

from starlette.types import Scope

from rrcollect.answer.words import LANGUAGES, Words
from server_agg.collect.request_body import header

LONGEST, MOST = 1000, 50
_RANGE = re.compile(r"([A-Za-z]{1,8})(?:-[A-Za-z0-9]{1,8})*(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")


def words_for(scope: Scope) -> Words:
    """Our words in the language that a request asks for."""
    return Words.of(preferred((header(scope, b"accept-language") or b"").decode("latin-1")))


def preferred(accepted: str) -> str | None:
    """The language of ours that this header prefers, if it names one.

    >>> preferred("pt-BR, fr-CH;q=0.8, de;q=0.9"), preferred("de;q=0"), preferred("*")
    ('de', None, None)
    """
    weighed = []
    for place, part in enumerate(accepted[:LONGEST].split(",")[:MOST]):
        found = _RANGE.fullmatch(part.strip(" \t"))
        if found and found[1].lower() in LANGUAGES and (weight := float(found[2] or 1)):
            weighed.append((-weight, place, found[1]))
    return min(weighed)[2].lower() if weighed else None
