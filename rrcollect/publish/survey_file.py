"""A survey as a person writes it: TOML, or JSON with the same names.

`Survey.read` reads it; the designs of its questions are chosen by `question`.  `TEMPLATE` is a survey to start from;
the demo runs it as it stands.
"""

from __future__ import annotations

import json
import os
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rrcollect.errors import MalformedDocument
from rrcollect.publish.document import by_language
from rrcollect.publish.question import known, question_from

TEMPLATE = """\
# A survey for `rrcollect publish`.  What stands here is signed, and devices check it again.
name = "clean-sport"                # with the version: its identity among your surveys
version = 1                         # raise it with every change
title = "Clean sport"
publisher = "Example Institute"     # the name devices trust, with your public key
collector = "{here}/reports"  # where devices send their reports, and nowhere else
origins = ["{here}"]  # where its page may be answered; each is a draw of its own, so usually one
expires = "{expires}"
invite_only = {invited}                 # true: answers need an invite, which `rrcollect invite` makes

[segments]                          # groups a respondent may declare; sent as they are, not randomised
sport = ["athletics", "cycling", "swimming", "weightlifting"]

[[questions]]
id = "doped"
attribute = "doped"                 # the fact asked about: a device answers about it once for life
text = "Have you ever taken a banned substance?"
epsilon = "ln 3"                    # an answer changes the odds about a person by a factor of 3 at most

[[questions]]
id = "pressed"
attribute = "pressed-to-dope"
text = "Did anybody press you to dope this season?"
epsilon = "ln 2"                    # more private, so less is learned from each answer
rounds = 2                          # asked again next season: each round is an answer of its own, and costs again

[[questions]]
id = "fixed"
attribute = "lost-on-purpose"
text = "Were you ever paid to lose on purpose?"
epsilon = "ln 2"
delta = "1/4"                       # for a rare fact an unequal design is better: few people say yes by chance
prevalence = "0.05"                 # what you expect; it steers the design, never the estimate
max_ratio = 8                       # and no answer may change the odds by more than this

[[questions]]
id = "tempted"
attribute = "tempted-by"
kind = "choice"                     # one of several options; the device sends some of them, drawn by chance
options = ["A contract", "A medal", "An injury", "What others do", "Nothing"]    # their order stays for good
text = "What would tempt you most to dope?"
epsilon = 1

[[questions]]
id = "hours"
attribute = "hours-trained"
kind = "number"                     # a number from low to high; the device sends one bit, "high" or "low"
low = 0
high = 40
unit = "hours"
clip = true                         # what lies outside counts as the nearer end; without this it is refused
text = "How many hours did you train last week?"
epsilon = 1
"""


def template(here: str = "https://collect.example.org", *, invited: bool = False) -> str:
    """A survey to start from, good for a year; `here` is the origin of its collector."""
    expires = (datetime.now(UTC) + timedelta(days=365)).strftime("%Y-%m-%dT00:00:00Z")
    return TEMPLATE.format(here=here, expires=expires, invited=str(invited).lower())


def read_survey(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The survey as written, from TOML or JSON.  A file that is neither is a `MalformedDocument` that names it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        value = json.loads(text) if Path(path).suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise MalformedDocument(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise MalformedDocument(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise MalformedDocument(f"{path}: a survey is a table of names and values")
    return value


def fields_of(written: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a survey, which has these names; its questions' designs are chosen from their promises."""
    known(written, names)
    asked, declared, language = written.get("questions"), written.get("segments"), written.get("language", "en")
    fields = dict(written)
    if isinstance(asked, list):
        fields["questions"] = [question_from(q, place, language) for place, q in enumerate(asked, 1)]
    if isinstance(declared, dict):
        fields["segments"] = {
            name: by_language(group, ("label", "help"), language) if isinstance(group, dict) else group
            for name, group in declared.items()
        }
    return fields
