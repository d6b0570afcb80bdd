# %% [markdown]
"""A tour in ten minutes' reading, for whoever meets the project: from a promise to a number that may be published.

Shows every step once, in the order in which it happens: design, publish, answer, deliver, tally, estimate, compare,
plan.  The cells (`# %%`) run in Jupyter, VS Code or Spyder, one by one; or all at once:

    python examples/tour.py
"""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import rrcollect as rr
import server_agg as agg

# %% 1. A design is a die: how often a true "no" is answered "no" (p00), and a true "yes" with "yes" (p11).
# ε = ln 3 means: whatever is answered, the odds about a person change by a factor of 3 at most.  Of all dice that
# keep this promise `optimal_design` takes the one whose estimate has the least error; `explain` says why.
design = rr.optimal_design("ln 3")
print(design.explain())

# %% Promises are decided exactly, for your dice too.  This one has been in use for fifty years:
die = rr.classic.forced_response(yes="1/6", no="1/6")
print(f"\nA die with forced answers on 1 and 6 keeps ε = {die.tight_epsilon}; ε = ln 3? {die.satisfies('ln 3')}")

# %% 2. A publisher asks, and signs.  Devices take nothing that a key they trust has not signed.
key = rr.SigningKey.generate()
survey = rr.Survey(
    name="clean-sport",
    version=1,
    title="Clean sport",
    publisher="Example Institute",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    segments={"level": ["amateur", "elite"]},
    questions=[rr.Question(id="doped", attribute="doped", text="Have you ever doped?", design=design)],
)
publication = survey.publish([key])
print(f"\nPublished: {len(publication.envelope)} signed bytes")
print(publication.composition.explain())

# %% 3. A device answers.  It checks the signature, the promise and its own budget before the truth is read; it draws
# with the operating system's generator, once, and writes the answer down before anything leaves.
folder = tempfile.TemporaryDirectory()
policy = rr.Policy([rr.TrustedPublisher("Example Institute", [key.public])])
device = rr.Client(Path(folder.name, "ledger.sqlite3"), attributes=["doped"], policy=policy, spread=0)  # at once
accepted = device.accept(publication.envelope)
report = device.answer(accepted, "doped", truth=lambda: True, segments={"level": "elite"})
again = device.answer(accepted, "doped", truth=lambda: bool(1 / 0))  # asked again: the truth is not even read
print(f"\nAsked again, the same report: {report == again}")
print(device.budget().explain())

# %% What it refuses, it refuses by name, before a random byte is drawn.
try:
    device.accept(publication.envelope.replace(b"e", b"f", 1))
except rr.SurveyRefused as refusal:
    print(f"\nA copy altered on the way: {type(refusal).__name__}")

# %% 4. Reports are delivered, each in a request of its own, until the collector has said that it has them.
collector = rr.SimulatedCollector([survey], failures=["before"])  # in life: rr.HttpTransport()
device.deliver(collector)
print(f"\nDelivered: {device.deliver(collector, within=10).delivered}, after one lost request")

# %% 5. A crowd: three thousand made-up athletes.  A gateway that holds truths randomises them in bulk, by the same
# law, exactly.
people = np.random.default_rng()
tallies = {}
for level, n, share in (("amateur", 2000, 0.10), ("elite", 1000, 0.40)):
    answers = rr.randomise_many(people.random(n) < share, design)
    tallies[level] = agg.Tally.of(answers, design)
print("\nCounted:", {level: (tally.n, tally.ones) for level, tally in tallies.items()})

# %% 6. Counts become an estimate.  It is unbiased, and its bar covers at least 95 % of the time, guaranteed: for
# every design, every share and every number of answers, if people follow the protocol and were drawn at random.
elite = agg.estimate(tallies["elite"])
print("\nElite, in truth 40 %:", elite.sentence())
print(f"As good as {elite.effective_sample_size:.0f} direct answers; "
      f"1 % of dishonest reporters move it by {100 * elite.manipulation('0.01'):.1f} points at most")  # fmt: skip

# %% 7. Groups side by side, with bars that hold all at once, and the difference with its own.
compared = agg.compare({name: tallies[name] for name in ("elite", "amateur")})
print(f"\n{compared}")
gap = compared.difference.interval()
print("elite minus amateur, in truth 30 points: {:.1f} to {:.1f}".format(*(100 * end for end in gap)))

# %% 8. Before the next one: how many answers for ±3 points, and what ε would four thousand people need for it?
print("\nAnswers for ±3 points:", agg.plan.sample_size(design, margin="0.03"))
print(f"ε with which 4000 people reach it: {agg.plan.epsilon(4000, margin='0.03'):.2f}")
print(agg.plan.price(["1/2", 1, "ln 3", 2], margin="0.03"))
folder.cleanup()

# %% Where to go on: survey_app.py and browser_survey/ (asking), telemetry.py (asking every week),
# nightly_batch_duckdb.py (counting), choose_epsilon.py and audit_a_design.py (deciding), published_survey.py (other
# people's numbers); docs/examples.md lists them all.
