"""What a person is told of tokens, where a survey has an issuer.

Rules
1. That nobody can tell whose answer it is holds among the people who accepted this very survey and were served.  It is
   said only where the app checks that there are others: it pins the digest, or demands a log with witnesses.
2. What remains is said: the issuer sees invite, address and moment of one request; somebody who watches the network
   sees when reports leave; and no answer can be deleted later.
"""

from __future__ import annotations

from collections.abc import Iterator

from rrcollect.answer.explain.words import Line, Words
from rrcollect.publish.survey import Survey


def issuer_lines(survey: Survey, words: Words, *, pinned: bool) -> Iterator[Line]:
    """Who issues, what tokens hide, when answers leave, and that they are there for good; nothing without an issuer."""
    if survey.issuer is None:
        return
    yield Line(words.say("issuer"))
    yield Line(survey.issuer.address, foreign=True)
    for key in ("issuer_unlinkable" if pinned else "issuer_unchecked", "issuer_window", "issuer_for_good"):
        yield Line(words.say(key))
