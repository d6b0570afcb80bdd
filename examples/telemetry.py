"""For developers of an application with telemetry that people switch on.

Shows weekly rounds: every week a fresh draw at ε = 1/2, a cap of ε = 2 for life on "crashed", what a device does when
that is spent, and how a fleet in which every device falls silent after four weeks still gives a trend, because new
devices join every week.

    python examples/telemetry.py

One device is the real client with its ledger; the fleet's truths are made up with NumPy, independent from week to
week as `trend` assumes, and randomised in bulk.
"""

import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from rrcollect import (
    AnswerRefused,
    Attribute,
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
from server_agg import margin_of_error, tally_from_answers, trend

WEEKS, JOINING, ACTIVE = 8, 100_000, 4  # devices that join every week, and weeks until they have spent their budget
CRASHES = [0.05] * 4 + [0.09] * 4  # in truth: the release of week 4 made it worse

design = optimal_design("1/2")
key = SigningKey.generate()
survey = Survey(
    name="stability",
    version=1,
    title="Stability",
    publisher="Example Software",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    questions=[
        Question(id="crash", attribute="crashed", text="Did it crash this week?", design=design, rounds=WEEKS),
    ],
)
envelope = publish_survey(survey, [key]).envelope
collector = SimulatedCollector([survey])


def crashed_in(week: int) -> bool:
    """What this device's own log says."""
    return week == 4


print("One device, switched on by its owner")
policy = Policy([TrustedPublisher("Example Software", [key.public])], attribute_epsilon=2)
with tempfile.TemporaryDirectory() as folder:
    # In life leave `spread` out: reports then leave at random moments of the next six hours, and `deliver` is called at
    # every start of the program and at the `next_moment` it returns.
    ledger, asked = Path(folder, "ledger.sqlite3"), [Attribute("crashed", rounds=WEEKS)]
    device = Client(ledger, attributes=asked, policy=policy, spread=0)
    accepted = device.accept(envelope)
    for week in range(WEEKS):
        try:
            device.answer(accepted, "crash", truth=partial(crashed_in, week), round=week)
            said = f"delivered {device.deliver(collector).delivered}"
        except AnswerRefused as refusal:  # decided before the truth is read; to be silent is all the app has to do
            said, why = f"silent ({type(refusal).__name__})", str(refusal)
        print(f"  week {week}: {said}")
    print(f"  why: {why}")

print(f"\nThe fleet: {JOINING:,} devices join every week and answer for {ACTIVE} weeks")
truths = np.random.default_rng()
weeks = {}
for week in range(WEEKS):
    answering = JOINING * min(week + 1, ACTIVE)
    crashed = truths.random(answering) < CRASHES[week]
    weeks[week] = tally_from_answers(design, randomise_many(crashed, design))
found = trend(weeks)
print(found.table)
print(found.describe())
for week, change in enumerate(found.changes(), start=1):
    low, high = (100 * end for end in change.interval(level=1 - 0.05 / (WEEKS - 1)))  # all the changes at once
    if low > 0 or high < 0:
        print(f"week {week}: {100 * change.difference:+.1f} points in one week (bar: {low:+.1f} to {high:+.1f})")
print(f"in truth {CRASHES[0]:.0%}, and {CRASHES[-1]:.0%} from week 4 on")

margins = [margin_of_error(design, n, prevalence="0.05") for n in (JOINING, JOINING * ACTIVE)]
print("±{:.1f} points in week 0, ±{:.1f} with all {} weeks' devices".format(*(100 * m for m in margins), ACTIVE))
