"""What a run may know without opening the ledger: the consent, and until when there is nothing to do.

Rules
1. The note is no authority.  It says that the ledger need not be opened.  If it is missing, damaged, or not about this
   survey, these questions and this clock, the ledger is opened, which is always safe.
2. Neither file holds a truth, a draw, or what was answered.  Both are replaced whole, for their owner alone.
3. A consent is to one signed survey, by its bytes.  Another survey is asked about again.
4. Nothing here imports more than the standard library's small modules: a run with nothing to do pays for this alone.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

LONGEST = 40 * 86_400.0  # seconds: a note from a clock that ran far ahead is not believed for longer
NAME, CONSENT = "telemetry.json", "consent.json"


def mark_of(envelope: bytes) -> str:
    """What names the bytes of a survey in a note."""
    return sha256(envelope).hexdigest()


class Note(NamedTuple):
    """At `made` nothing was to be drawn for these questions of the survey until `draw`, nothing to be sent until
    `send`; infinity where nothing is left."""

    survey: str
    questions: tuple[str, ...]
    made: float
    draw: float
    send: float

    def quiet(self, survey: str, questions: Collection[str], now: float) -> bool:
        """Whether nothing is to be drawn now.

        >>> Note("a", ("q1",), 100.0, math.inf, math.inf).quiet("a", ["q1"], 200.0)
        True
        >>> Note("a", ("q1",), 100.0, 150.0, math.inf).quiet("a", ["q1"], 200.0)
        False
        """
        fits = self.survey == survey and set(questions) <= set(self.questions)
        return fits and self.made <= now < min(self.draw, self.made + LONGEST)

    def to_send(self, now: float) -> bool:
        """Whether a report is due, or a clock was wrong.

        >>> Note("a", (), 100.0, math.inf, 150.0).to_send(120.0)
        False
        """
        return now >= self.send or now < self.made

    def write(self, folder: str) -> None:
        """Replace the note of this folder."""
        _write(folder, NAME, {**self._asdict(), "draw": _finite(self.draw), "send": _finite(self.send)})

    @classmethod
    def read(cls, folder: str) -> Note | None:
        """The note of this folder; None where there is none to rely on."""
        try:
            found = cls(**_read(folder, NAME))
            times = [math.inf if time is None else float(time) for time in (found.draw, found.send)]
            return cls(str(found.survey), tuple(map(str, found.questions)), float(found.made), *times)
        except (OSError, ValueError, TypeError):
            return None


def read_consent(folder: str, survey: str) -> bool | None:
    """What was said to this survey; None where nobody was asked."""
    try:
        found = _read(folder, CONSENT)
    except (OSError, ValueError):
        return None
    given = found.get("given") if found.get("survey") == survey else None
    return given if isinstance(given, bool) else None


def write_consent(folder: str, survey: str, given: bool) -> None:
    """Remember it."""
    _write(folder, CONSENT, {"survey": survey, "given": given})


def _finite(moment: float) -> float | None:
    return moment if math.isfinite(moment) else None


def _read(folder: str, name: str) -> dict[str, Any]:
    with open(os.path.join(folder, name), "rb") as file:
        found = json.loads(file.read(1 << 16))
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def _write(folder: str, name: str, values: dict[str, Any]) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, name)
    fresh = f"{path}.{os.getpid()}"
    try:
        with open(fresh, "x", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(values, file, allow_nan=False)
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise
