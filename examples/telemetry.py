"""For developers of an application with telemetry that people switch on.

Shows a crash hook (shared/crash_hook.py) that answers "did it crash this week?": a file that is there while the program
runs, and stays if an exception, a signal or a pulled plug ends it.  The next start finds it, and the client randomises
what was found.  The question has a panel of eight weekly rounds: each device answers in one of them, drawn by chance,
and pays once; in the others it is silent, and the fleet still shows the week in which a release made it worse.

    python examples/telemetry.py

The device is real: programs that end well, by an exception and by a signal, and the client with its ledger.  The
fleet's truths are made up with NumPy and randomised in bulk.
"""

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from shared import crash_hook

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
    randomise_many,
)
from server_agg import Tally, plan, trend

WEEKS, FLEET = 8, 400_000
CRASHES = [0.05] * 4 + [0.09] * 4  # in truth: the release of week 4 made it worse
ENDINGS = ["well", "well", "raising", "well", "killed", "raising", "well", "well"]  # of the one device, by week


design = optimal_design(2)
key = SigningKey.generate()
asked = Question(
    id="crash", attribute="crashed", text="Did it crash this week?", design=design, rounds=WEEKS, panel=True
)
survey = Survey(
    name="stability",
    version=1,
    title="Stability",
    publisher="Example Software",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    questions=[asked],
)
envelope = survey.publish([key]).envelope
collector = SimulatedCollector([survey])
policy = Policy([TrustedPublisher("Example Software", [key.public])], attribute_epsilon=2)

print("One device, switched on by its owner")
with tempfile.TemporaryDirectory() as folder:
    # In life leave `spread` out: reports then leave at random moments of the next six hours, and `deliver` is called at
    # every start of the program and at the `next_moment` it returns.
    ledger, running = Path(folder, "ledger.sqlite3"), Path(folder, "running")
    device = Client(ledger, attributes=[Attribute("crashed", rounds=WEEKS)], policy=policy, spread=0)
    accepted = device.accept(envelope)
    for week, ending in enumerate(ENDINGS):
        subprocess.run([sys.executable, crash_hook.__file__, running, ending], check=False, stderr=subprocess.DEVNULL)
        found = "found" if running.exists() else "not found"
        try:
            device.answer(accepted, "crash", truth=running.exists, round=week)  # called only if this is the week
            said = f"randomised, delivered {device.deliver(collector).delivered}"
        except AnswerRefused as refusal:
            said = f"not asked ({type(refusal).__name__})"
        running.unlink(missing_ok=True)  # the program's own record, asked or not: it is not kept
        print(f"  week {week}: ended {ending}, file {found}: {said}")
    print(" ", device.budget().explain().splitlines()[0])

print(f"\nThe fleet: {FLEET:,} devices, each answers in one of {WEEKS} weeks")
truths = np.random.default_rng()
drawn = np.bincount(truths.integers(WEEKS, size=FLEET), minlength=WEEKS)
weeks = {}
for week, answering in enumerate(drawn):
    crashed = truths.random(answering) < CRASHES[week]
    weeks[week] = Tally.of(randomise_many(crashed, design), design)
trends = trend(weeks)
print(trends)
for week, change in enumerate(trends.changes, start=1):  # all the changes at once
    low, high = (100 * end for end in change.interval())
    if low > 0 or high < 0:
        print(f"week {week}: {100 * (change.value or 0):+.1f} points in one week (bar: {low:+.1f} to {high:+.1f})")
print(f"in truth {CRASHES[0]:.0%}, and {CRASHES[-1]:.0%} from week 4 on")
every = plan.margin(optimal_design("1/4"), FLEET, prevalence="0.05")  # the same ε = 2 in eight weeks
print(f"±{100 * plan.margin(design, FLEET // WEEKS, prevalence='0.05'):.1f} points per week; were everybody asked "
      f"every week at the same cost: ±{100 * every:.1f}")  # fmt: skip
