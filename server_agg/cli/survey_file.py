"""A survey as a person writes it: TOML, or JSON with the same names.

A question names its promise (`epsilon`, and if wanted `delta`, `prevalence` and `max_ratio`, from which the optimal
design is chosen) or its matrix (`p00` and `p11`).  `TEMPLATE` is a survey to start from; the demo runs it as it stands.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rrcollect import Survey

__all__ = ["read_survey", "survey_from", "template"]

TEMPLATE = """\
# A survey for `rrcollect publish`.  What stands here is signed, and devices check it again.
name = "clean-sport"                # with the version: its identity among your surveys
version = 1                         # raise it with every change
title = "Clean sport"
publisher = "Example Institute"     # the name devices trust, with your public key
expires = "{expires}"

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


def template() -> str:
    """A survey to start from, good for a year."""
    return TEMPLATE.format(expires=(datetime.now(UTC) + timedelta(days=365)).strftime("%Y-%m-%dT00:00:00Z"))


def read_survey(path: Path) -> dict[str, Any]:
    """The survey as written, from TOML or JSON."""
    from rrcollect.errors import MalformedDocument

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
    import tomllib

    return tomllib.loads(text)


def survey_from(written: dict[str, Any]) -> Survey:
    """The survey, its questions' designs chosen from their promises."""
    from rrcollect import Survey

    asked = written.get("questions")
    questions = [_question(q) for q in asked] if isinstance(asked, list) else asked
    return Survey(**{**written, "questions": questions})


def _question(written: Any) -> Any:
    from rrcollect import Design, Disclosure, Question, full_support_design, optimal_design
    from rrcollect.errors import MalformedDocument

    if not isinstance(written, dict):
        raise MalformedDocument("a question is a table of names and values")
    fields = dict(written)
    promise = {name: fields.pop(name) for name in ("epsilon", "delta", "prevalence", "max_ratio") if name in fields}
    matrix = {name: fields.pop(name) for name in ("p00", "p11") if name in fields}
    if "epsilon" in promise and not matrix:
        epsilon, delta = promise.pop("epsilon"), promise.pop("delta", 0)
        choose = full_support_design if "max_ratio" in promise else optimal_design
        fields["design"] = choose(epsilon, delta, **promise)
    elif len(matrix) == 2 and not promise:
        fields["design"] = Design(matrix["p00"], matrix["p11"]).to_grid()
    else:
        raise MalformedDocument(f"question {fields.get('id')!r}: give epsilon (and delta), or p00 and p11")
    if isinstance(fields.get("disclosure"), dict):
        fields["disclosure"] = Disclosure(**fields["disclosure"])
    return Question(**fields)
