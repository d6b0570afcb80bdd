"""A survey as a person writes it: TOML, or JSON with the same names.

A question names its promise (`epsilon`, and if wanted `delta`, `prevalence` and `max_ratio`, from which the optimal
design is chosen) or its matrix (`p00` and `p11`).  `TEMPLATE` is a survey to start from; the demo runs it as it stands.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rrcollect.design.full_support import full_support_design
from rrcollect.design.optimal import optimal_design
from rrcollect.design.yes_no import Design
from rrcollect.errors import (
    MalformedDocument,
    OffGridDesign,
    ParameterError,
    SurveyRefused,
    UninformativeDesign,
    shown,
)
from rrcollect.publish.document import by_language
from rrcollect.publish.question import Disclosure, Question
from rrcollect.publish.survey import Survey

__all__ = ["at", "parse", "read_survey", "survey_from", "template"]

PROMISE, MATRIX = ("epsilon", "delta", "prevalence", "max_ratio"), ("p00", "p11")
MADE = ("design", "promise")  # fields of a question that follow from what is written
NAMES = "a name of small letters, digits, and . _ - after the first, 64 characters at most"
MEANT = {  # words for programs, and what they mean to whoever writes a survey
    "Field required": "is missing",
    "Extra inputs are not permitted": "means nothing here",
    "Input should be a valid integer": "must be a whole number",
    "Input should be a valid": "must be a",
    "disclosure=Disclosure(exposed=…, respondents=…)": "the line `disclosure = { exposed = …, respondents = … }`",
}

TEMPLATE = """\
# A survey for `rrcollect publish`.  What stands here is signed, and devices check it again.
name = "clean-sport"                # with the version: its identity among your surveys
version = 1                         # raise it with every change
title = "Clean sport"
publisher = "Example Institute"     # the name devices trust, with your public key
collector = "{here}/reports"  # where devices send their reports, and nowhere else
origins = ["{here}"]  # where its page may be answered; each is a draw of its own, so usually one
expires = "{expires}"
invite_only = {invited}                 # true: answers need an invite, which `rrcollect invites` makes

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
"""


def template(here: str = "https://collect.example.org", *, invited: bool = False) -> str:
    """A survey to start from, good for a year; `here` is the origin of its collector."""
    expires = (datetime.now(UTC) + timedelta(days=365)).strftime("%Y-%m-%dT00:00:00Z")
    return TEMPLATE.format(here=here, expires=expires, invited=str(invited).lower())


def read_survey(path: Path) -> dict[str, Any]:
    """The survey as written, from TOML or JSON.  A file that is neither is a `MalformedDocument` that names it."""
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text) if path.suffix == ".json" else parse(text)
    except OSError as error:
        raise MalformedDocument(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise MalformedDocument(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise MalformedDocument(f"{path}: a survey is a table of names and values")
    return value


def parse(text: str) -> dict[str, Any]:
    """A survey's TOML as names and values."""
    return tomllib.loads(text)


def survey_from(written: dict[str, Any]) -> Survey:
    """The survey, its questions' designs chosen from their promises."""
    _known(written, tuple(Survey.model_fields))
    asked, declared, language = written.get("questions"), written.get("segments"), written.get("language", "en")
    fields = dict(written)
    if isinstance(asked, list):
        fields["questions"] = [_question(q, place, language) for place, q in enumerate(asked, 1)]
    if isinstance(declared, dict):
        fields["segments"] = {
            name: by_language(group, ("label", "help"), language) if isinstance(group, dict) else group
            for name, group in declared.items()
        }
    return Survey(**fields)


def _question(written: Any, place: int, language: object) -> Any:
    if not isinstance(written, dict):
        raise MalformedDocument("a question is a table of names and values")
    fields = by_language(written, ("text", "help"), language)
    with at(f"question {written['id']!r}" if isinstance(written.get("id"), str) else f"question {place}"):
        _known(written, (*(name for name in Question.model_fields if name not in MADE), *PROMISE, *MATRIX))
        promise = {name: fields.pop(name) for name in PROMISE if name in fields}
        matrix = {name: fields.pop(name) for name in MATRIX if name in fields}
        if "epsilon" in promise and not matrix:
            epsilon, delta = promise.pop("epsilon"), promise.pop("delta", 0)
            choose = full_support_design if "max_ratio" in promise else optimal_design
            fields["design"] = choose(epsilon, delta, **promise)
        elif len(matrix) == 2 and not promise:
            fields["design"] = Design(matrix["p00"], matrix["p11"]).to_grid()
        else:
            raise MalformedDocument("give epsilon (and delta), or p00 and p11")
        if isinstance(fields.get("disclosure"), dict):
            with at("disclosure"):
                fields["disclosure"] = Disclosure(**fields["disclosure"])
        return Question(**fields)


def _known(written: dict[str, Any], names: Sequence[str]) -> None:
    """Refuse a name that means nothing, with the one it may have been."""
    for name in written:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
            raise MalformedDocument(f"the name {shown(name)} means nothing here; {hint}")


@contextmanager
def at(place: str) -> Iterator[None]:
    """A refusal of what stands at this place of the file names the place, in words of the file."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{place}: {error.name}", error.value, error.allowed) from None
    except (SurveyRefused, UninformativeDesign, OffGridDesign) as error:
        raise type(error)(f"{place}: {_as_written(str(error)).removeprefix(f'{place}: ')}") from None


def _as_written(words: str) -> str:
    """A refusal's words for whoever writes the file, not for a program."""
    for said, meant in MEANT.items():
        words = words.replace(said, meant)
    return re.sub(r"String should match pattern '[^']*'", NAMES, words)
