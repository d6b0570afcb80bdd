"""What a benchmark found, in one form: timings, ratios with their floors, curves, notes; saved as JSON and read back.

Rules
1. A ratio says how many times better we are than what a user would pick instead: the competitor's time (or memory) over
   ours, or our rate over theirs.  More is better, always; 1 is a draw.  Times are never compared between runs.
2. `value` comes from the best of the interleaved repetitions, `median` from their medians.
3. A floor is a promise, judged by `value`: what noise adds to the best repetition is least.  A ratio below its floor is
   shown as such, never left out, and the run that found it ends with status 1; one whose medians alone fall below the
   floor is shown as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from tests.benchmarks.measure import Timing


@dataclass(frozen=True)
class Effort:
    """How much to measure: all for the page; fewer repetitions and no curves for the guard; small sizes for a test."""

    repetitions: int = 15
    curves: bool = True
    scale: float = 1.0

    def size(self, full: int) -> int:
        """A size scaled down, a multiple of 128."""
        return max(128, int(full * self.scale) // 128 * 128)


FULL, GUARD = Effort(), Effort(repetitions=5, curves=False)


class Row(BaseModel):
    """One contestant: best and median of the repetitions, in the unit of its table."""

    name: str
    best: float
    median: float


class Ratio(BaseModel):
    """Ours against theirs; more is better."""

    ours: str
    theirs: str
    value: float
    median: float
    floor: float | None = None

    @property
    def name(self) -> str:
        return f"{self.ours} / {self.theirs}"

    @property
    def below(self) -> bool:
        return self.floor is not None and self.value < self.floor

    @property
    def judged(self) -> str:
        """What the page says of the floor."""
        if self.floor is None:
            return ""
        if self.below:
            return "below"
        return "kept" if self.median >= self.floor else "kept, medians below"


class Curve(BaseModel):
    """How something grows: one line for each contestant."""

    name: str
    title: str
    xlabel: str
    ylabel: str
    lines: dict[str, list[tuple[float, float]]]


class Section(BaseModel):
    """One benchmark's findings."""

    name: str
    title: str
    text: str
    unit: str
    rows: list[Row]
    ratios: list[Ratio] = []
    curves: list[Curve] = []
    notes: list[str] = []
    table: list[list[str]] = []
    machine: str = ""
    seconds: float = 0.0

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.json").write_text(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, folder: Path, name: str) -> Section | None:
        """The saved section; None if there is none, or one that cannot be read."""
        try:
            return cls.model_validate_json((folder / f"{name}.json").read_text())
        except (OSError, ValueError):
            return None


def compare(
    timings: dict[str, Timing], wanted: dict[tuple[str, str], float | None], missing: list[str] | None = None
) -> list[Ratio]:
    """The ratios of the pairs (ours, theirs) that were both timed; whom we could not time goes to `missing`."""
    found = []
    for (ours, theirs), floor in wanted.items():
        if ours in timings and theirs in timings:
            a, b = timings[ours], timings[theirs]
            value, median = b.best / a.best, b.median / a.median
            found.append(Ratio(ours=ours, theirs=theirs, value=value, median=median, floor=floor))
        elif missing is not None and theirs not in missing:
            missing.append(theirs)
    return found


def rates(timings: dict[str, Timing], factor: float = 1e-6) -> list[Row]:
    """Items per second (in millions), best and median."""
    return [Row(name=t.name, best=factor / t.best, median=factor / t.median) for t in timings.values()]


def durations(timings: dict[str, Timing], factor: float) -> list[Row]:
    """Time per item, in the unit that `factor` makes of seconds."""
    return [Row(name=t.name, best=factor * t.best, median=factor * t.median) for t in timings.values()]
