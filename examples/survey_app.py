"""For developers who put a survey into an app.

Shows the whole life of an answer on one device: verify the survey, show what is asked and what an answer can reveal,
ask for consent, answer or decline, deliver over a network that loses things, show what was spent, and be asked again.

    python examples/survey_app.py [FOLDER]            # answer at the keyboard; FOLDER keeps the ledger (./survey-app)
    yes | python examples/survey_app.py               # or let somebody else type

Run it twice: the device remembers.  The publisher and the collector are played here too; in an app you have the
publisher's public key and `HttpTransport()` instead.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rrcollect import (
    Client,
    Policy,
    Question,
    SigningKey,
    SimulatedCollector,
    Survey,
    SurveyRefused,
    TrustedPublisher,
    optimal_design,
)

PUBLISHER = "Example Institute"
COLLECTOR = "https://collect.example.org/reports"
DESIGN = optimal_design("ln 3")  # an answer changes the odds by a factor of 3 at most


def publish(key: SigningKey, name: str, texts: dict[str, str]) -> Any:
    """The publisher's side: one question for each attribute."""
    questions = [Question(id=a, attribute=a, text=text, design=DESIGN) for a, text in texts.items()]
    survey = Survey(
        name=name,
        version=1,
        title="Clean sport",
        publisher=PUBLISHER,
        collector=COLLECTOR,
        expires=datetime(2100, 1, 1, tzinfo=UTC),
        questions=questions,
    )
    return survey.publish([key])


def ask(prompt: str, allowed: str) -> str:
    """One letter of those allowed; the last of them if nobody is there."""
    while True:
        try:
            said = input(prompt).strip().lower()[:1]
        except EOFError:
            said = allowed[-1]
        if not sys.stdin.isatty():
            print(said)  # the keyboard would have shown it
        if said and said in allowed:
            return said


def interview(client: Client, survey: Any) -> None:
    """Ask what is open.  What is typed goes to the client and nowhere else."""
    for question in client.open_questions(survey):
        said = ask(f"> {question.text['en']}\n[y/n, d: rather not say] ", "ynd")
        if said == "d":
            client.decline(survey, question.id)
        else:
            client.answer(survey, question.id, truth=said == "y")
    print(f"Open questions: {len(client.open_questions(survey))}\n")


def deliver(client: Client, collector: SimulatedCollector) -> None:
    """Until the outbox is empty; an app would come back at `next_moment` instead of waiting for it."""
    waiting, patience = 1, 0
    while waiting:
        done = client.deliver(collector, within=patience)
        waiting, patience = done.waiting, 60
        print(f"Delivered {done.delivered}, waiting {waiting}" + (f" ({done.last_failure})" if waiting else ""))
    print(f"The collector was sent {len(collector.requests)} requests and has {len(collector.reports)} reports.\n")


def never() -> bool:
    raise AssertionError("the truth was read a second time")


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "survey-app")
folder.mkdir(exist_ok=True)
key_file = folder / "publisher.pem"
if not key_file.exists():
    SigningKey.generate().save(key_file)
key = SigningKey.load(key_file)
first = publish(key, "clean-sport", {"doped": "Have you ever doped?", "pressed": "Were you ever pressed to dope?"})

# From here on it is the app.  Its attributes are its own names: it answers about nothing else.
policy = Policy([TrustedPublisher(PUBLISHER, [key.public])])
client = Client(folder / "ledger.sqlite3", attributes=["doped", "pressed"], policy=policy, spread=0)
try:
    client.accept(first.envelope.replace(b"e", b"f", 1))
except SurveyRefused as refusal:
    print(f"A copy altered on the way is refused: {type(refusal).__name__}\n")
survey = client.accept(first.envelope)
print(survey.explain())
if client.open_questions(survey) and ask("Take part? [y/n] ", "yn") == "n":
    print("Nothing was asked, nothing was sent.")
    sys.exit()
interview(client, survey)

again = publish(key, "doping-2", {"doped": "The same in other words: did you use what is forbidden?"})
if float(client.budget().spent_on("doped").epsilon):
    client.answer(client.accept(again.envelope), "doped", truth=never)
    print("Asked the same by another survey: the answer is repeated, the truth is not read, nothing is spent.")

deliver(client, SimulatedCollector([first.survey, again.survey], failures=["before", "after"]))  # a bad network
print(client.budget().explain(), "\n")  # what was drawn is shown after it was sent
print("A report has no name on it and cannot be called back once it is sent; decline before that, if you like.")
