"""OpenTelemetry's own SDK: questions answered from its metrics, and nothing of a truth leaves in the clear."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View

from rrcollect import Choice, Number, Question, SigningKey, SimulatedCollector, Survey, optimal_design
from rrcollect.telemetry import RandomisedReader, Telemetry
from tests.inside.telemetry import Metrics

KEY = SigningKey.generate()
EXACT = "ln 9"
SURVEY = Survey(
    name="stability", version=1, title="Stability", publisher="Example Software",
    collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
    questions=[
        Question(id="crashed", attribute="crashed", text="Did it crash?", design=optimal_design(EXACT)),
        Question(id="latency", attribute="latency", text="Median latency?", kind=Number(0, 1000, "ms"),
                 design=optimal_design(EXACT)),
        Question(id="plugin", attribute="plugin", text="Which plug-in?", kind=Choice(["lint", "spell", "git"]),
                 design=optimal_design(EXACT, options=3)),
    ],
)  # fmt: skip
ENVELOPE = SURVEY.publish([KEY]).envelope
PLUGINS = ["lint", "spell", "git"]
QUESTIONS = {
    "crashed": lambda m: m.total("app.crashes") > 0,
    "latency": lambda m: m.percentile("http.duration", 50),
    "plugin": lambda m: None if (said := m.largest("app.crashes", "plugin")) is None else PLUGINS.index(said),
}


def telemetry_in(folder, **how):
    options = {"consent": True, "strict": True, "spread": 0, "transport": SimulatedCollector([SURVEY])} | how
    return Telemetry(folder, ENVELOPE, KEY.public, **options)


@pytest.fixture
def metrics(tmp_path):
    telemetry = telemetry_in(tmp_path / "t")
    reader = RandomisedReader(telemetry, QUESTIONS)
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    yield provider, telemetry, reader
    provider.shutdown()


def answered(telemetry):
    return sorted(sent["question"] for sent in telemetry.sent())


def test_questions_are_answered_from_counters_histograms_and_attributes(metrics):
    provider, telemetry, _ = metrics
    meter = provider.get_meter("app")
    crashes, latency = meter.create_counter("app.crashes"), meter.create_histogram("http.duration")
    for plugin, times in (("lint", 2), ("git", 5)):
        crashes.add(times, {"plugin": plugin})
    for spent in (3, 8, 700):
        latency.record(spent)
    telemetry.finish()
    assert answered(telemetry) == ["crashed", "latency", "plugin"]


def test_what_was_never_recorded_draws_nothing_but_a_counter_is_nought(metrics):
    _, telemetry, _ = metrics
    telemetry.finish()
    assert answered(telemetry) == ["crashed"]


def test_observable_instruments_and_views_are_read(tmp_path):
    from opentelemetry.metrics import Observation

    seen = []
    telemetry = telemetry_in(tmp_path / "t")
    reader = RandomisedReader(telemetry, {"crashed": lambda m: seen.append(m) or True})
    renamed = View(instrument_name="raw", name="renamed", aggregation=ExplicitBucketHistogramAggregation((10, 20)))
    provider = MeterProvider(metric_readers=[reader], views=[renamed], shutdown_on_exit=False)
    meter = provider.get_meter("app")
    meter.create_observable_gauge("open.files", [lambda options: [Observation(7, {"kind": "a"}), Observation(5)]])
    for value in (4, 12, 14, 40):
        meter.create_histogram("raw").record(value)
    telemetry.finish()
    found = seen[0]
    assert (found.total("open.files"), found.total("open.files", kind="a")) == (12, 7)
    assert (found.count("renamed"), found.count("raw")) == (4, 0)
    assert [found.percentile("renamed", p) for p in (0, 25, 50, 75, 100)] == [4, 10, 15, 20, 40]
    provider.shutdown()


def test_the_shutdown_of_the_provider_answers_by_the_last_values(tmp_path):
    telemetry = telemetry_in(tmp_path / "t")
    provider = MeterProvider(metric_readers=[RandomisedReader(telemetry, QUESTIONS)], shutdown_on_exit=False)
    provider.get_meter("app").create_counter("app.crashes").add(1, {"plugin": "git"})
    provider.shutdown()
    assert answered(telemetry) == ["crashed", "plugin"]
    telemetry.finish()  # the reader is closed: its last values are there
    assert answered(telemetry) == ["crashed", "plugin"]


TOLD = """
import sys
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

from rrcollect.telemetry import RandomisedReader, Telemetry
telemetry = Telemetry(sys.argv[1], sys.argv[2], sys.argv[3], consent=True)
ours = RandomisedReader(telemetry, {"crashed": lambda m: m.total("private.crashes") > 0})
theirs = PeriodicExportingMetricReader(ConsoleMetricExporter())
provider = MeterProvider(metric_readers=[ours, theirs][:int(sys.argv[4])])
provider.get_meter("app").create_counter("private.crashes").add(41)
import os
if os.fork() == 0:
    sys.exit(0)
os.wait()
"""


@pytest.mark.process
def test_a_process_that_ends_is_answered_once_also_after_a_fork_and_prints_nothing(tmp_path):
    (tmp_path / "survey.json").write_bytes(ENVELOPE)
    (tmp_path / "app.py").write_text(TOLD)

    def run(readers):
        command = [sys.executable, tmp_path / "app.py", tmp_path / "t", tmp_path / "survey.json", KEY.public.raw.hex()]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        return subprocess.run([*command, readers], capture_output=True, text=True, check=True, env=environment)

    alone = run("1")
    assert (alone.stdout, alone.stderr) == ("", "")  # neither metrics nor a truth
    assert "private.crashes" in run("2").stdout  # the planted leak: what an exporter beside us sends would be found
    assert answered(telemetry_in(tmp_path / "t", consent=False)) == ["crashed"]


def test_metrics_of_nothing_are_empty():
    none = Metrics(None)
    assert (none.total("a"), none.count("a"), none.percentile("a", 50), none.largest("a", "b")) == (0, 0, None, None)


def test_the_files_that_telemetry_leaves_hold_no_truth(tmp_path):
    with tempfile.TemporaryDirectory() as place:
        for crashes in (0, 41):
            folder = Path(place, str(crashes))
            telemetry = telemetry_in(folder, spread=86_400)
            provider = MeterProvider(metric_readers=[RandomisedReader(telemetry, QUESTIONS)], shutdown_on_exit=False)
            provider.get_meter("app").create_counter("app.crashes").add(crashes)
            provider.shutdown()
        names = [sorted(path.name for path in Path(place, str(crashes)).iterdir()) for crashes in (0, 41)]
        assert names[0] == names[1]
        written = b"".join(path.read_bytes() for path in Path(place, "41").iterdir())
        assert b"app.crashes" not in written
        assert b'"41"' not in written
