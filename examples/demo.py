"""The whole flow on one machine, no server and no configuration.  Run by `make demo`.

A publisher signs a survey of two sensitive questions.  A hundred respondents answer with the client an app would embed,
each with a ledger of its own; a gateway randomises the stored truths of twenty thousand more in bulk.  A collector
in memory takes the reports, and the estimates come with error bars.  The simulation knows the truth and prints it.
"""

import secrets
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rrcollect import (
    Client,
    Policy,
    Question,
    SigningKey,
    SimulatedCollector,
    Survey,
    TrustedPublisher,
    optimal_design,
    publish_survey,
    randomise_many,
)
from server_agg import estimate, tallies_from_reports, tally_from_answers

RESPONDENTS, STORED = 100, 20_000
TRUE_SHARE = {"doped": 0.16, "pressured": 0.35}


def said(step: str, text: str) -> None:
    print(f"{step:>9} │ " + text.replace("\n", "\n          │ "))


def has(attribute: str) -> bool:
    """The truth of one simulated person."""
    return secrets.randbelow(1000) < TRUE_SHARE[attribute] * 1000


design = optimal_design("ln 3")
said("design", design.explain())

key = SigningKey.generate()
survey = Survey(
    name="clean-sport",
    version=1,
    title="Clean sport",
    publisher="Example Institute",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    questions=[
        Question(id="q1", attribute="doped", text="Have you ever doped?", design=design),
        Question(id="q2", attribute="pressured", text="Were you ever pressed to dope?", design=design),
    ],
)
publication = publish_survey(survey, [key])
said("publish", f"{len(publication.envelope)} signed bytes, digest {publication.digest[:16]}…")
said("publish", publication.composition.explain())

collector = SimulatedCollector([survey])
policy = Policy([TrustedPublisher("Example Institute", [key.public])])
truths: dict[str, list[bool]] = {attribute: [] for attribute in TRUE_SHARE}
with tempfile.TemporaryDirectory() as folder:
    for number in range(RESPONDENTS):
        client = Client(Path(folder, f"{number}.sqlite3"), attributes=list(TRUE_SHARE), policy=policy)
        accepted = client.accept(publication.envelope)
        for question in accepted.survey.questions:
            truth = has(question.attribute)
            report = client.answer(accepted, question.id, truth)
            truths[question.attribute].append(truth)
        client.deliver(collector)
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {RESPONDENTS} respondents", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    said(
        "answer",
        f"{RESPONDENTS} respondents, {2 * RESPONDENTS} answers, each on disk before it leaves; the last device says:",
    )
    said("answer", client.budget().explain())
one = collector.requests[-1].decode()
said("collect", f"{len(collector.reports)} reports, each in a request of its own; one begins {one[:72]}…")

for question in survey.questions:
    tally = tallies_from_reports(collector.reports.values()).where(question=question.id).one()
    share = sum(truths[question.attribute]) / RESPONDENTS
    words = estimate(tally, "sample").sentence()
    said("estimate", f"{question.text}\n{words} (only those who answered)\nin truth {100 * share:.1f} % of them")
said("estimate", f"{RESPONDENTS} are few, so the bars are wide; the truth should lie inside 95 % of such bars")

stored = np.frombuffer(secrets.token_bytes(STORED), np.uint8) < round(256 * TRUE_SHARE["doped"])
tally = tally_from_answers(design, randomise_many(stored, design))
said("bulk", f"{STORED:,} stored truths randomised at once")
said("bulk", f"{estimate(tally, 'sample').sentence()}\nin truth {100 * stored.mean():.1f} % of them")
