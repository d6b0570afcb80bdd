"""Every parser of the project as a function of bytes that must not raise anything but an `RRCollectError`.

Targets are fed by atheris (coverage-guided, in a process of its own: `fuzz_atheris`), or by `fuzzing.mutated`.  Seeds
are good and bad documents of the test vectors.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from rrcollect import Report, RRCollectError, Survey
from server_agg import Tallies, read_packed, tally_reports
from server_agg.batch.sources import csv_header, first_fault
from tests.assurance.ledger.world import SCRATCH
from tests.inside.batch import COLUMNS
from tests.inside.collect import Admission
from tests.inside.publish import LARGEST_ENVELOPE, read, read_canonical, verify
from tests.support.devices import KEY, cases, envelope, question, survey, unb64

LARGEST = 4096


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz", dir=SCRATCH)


def _file(ending: str) -> Path:
    return Path(_folder().name, f"input{ending}")


def _at(ending: str, data: bytes) -> Path:
    _file(ending).write_bytes(data)
    return _file(ending)


def a_report(data: bytes) -> object:
    return Report.from_bytes(data)


def an_envelope(data: bytes) -> object:
    return verify(data, [KEY.public])


def a_survey(data: bytes) -> object:
    found = Survey.from_payload(data)
    found.check()
    return found


def some_json(data: bytes) -> object:
    read(data, LARGEST_ENVELOPE)
    return read_canonical(data, LARGEST_ENVELOPE)


def a_survey_as_written(data: bytes) -> object:
    """The TOML that `rrcollect publish` reads."""
    return Survey.read(_at(".toml", data))


def a_packed_file(data: bytes) -> object:
    found = read_packed(_at(".rrbits", data))
    return found.ones, found.survey_digest


def a_line_of_json(data: bytes) -> object:
    return first_fault(str(_at(".jsonl", data)))


def a_row_of_csv(data: bytes) -> object:
    path = str(_at(".csv", data))
    return csv_header(path), first_fault(path)


def a_batch(data: bytes) -> object:
    """A file as the batch reads it, by the embedded engine; slow, so that it gets a small share."""
    for lenient in (False, True):
        tally_reports(_at(".jsonl", data), survey(), lenient=lenient, progress=False, threads=1)
    return None


def some_tallies(data: bytes) -> object:
    return Tallies.from_json(data.decode("utf-8", "replace"))


def a_body(data: bytes) -> object:
    """The body of POST /reports."""
    return _admission().admit(data)


@cache
def _admission() -> Admission:
    from datetime import timedelta

    from server_agg.collect.catalogue import CatalogueEntry
    from tests.inside.collect import PublishedSurvey

    entry = CatalogueEntry(survey(), PublishedSurvey(survey().digest, b"", (), "P", "n", 1, 30))
    known = {survey().digest: entry}
    return Admission(known.get, grace=timedelta(days=7), list_limit=100)


TARGETS: dict[str, Callable[[bytes], object]] = {
    "report": a_report,
    "envelope": an_envelope,
    "survey": a_survey,
    "json": some_json,
    "toml": a_survey_as_written,
    "packed": a_packed_file,
    "jsonl": a_line_of_json,
    "csv": a_row_of_csv,
    "tallies": some_tallies,
    "body": a_body,
    "batch": a_batch,
}

TOML = b"""name = "clean-sport"
version = 1
title = "Clean sport"
publisher = "Example Institute"
expires = "2100-01-01T00:00:00Z"
segments = {sport = ["run", "ski"]}
[[questions]]
id = "q1"
attribute = "doped"
text = "Ever doped?"
epsilon = "ln 3"
rounds = 2
[[questions]]
id = "q2"
attribute = "tax"
text = "Ever cheated?"
p00 = "3/4"
p11 = "0.75"
disclosure = {exposed = 1, respondents = 10}
"""


@cache
def seeds(name: str) -> list[bytes]:
    """Inputs to begin with."""
    surveys = [unb64(case["envelope"]) for case in cases("surveys").values()]
    payloads = [survey().payload(), survey(question(rounds=3), segments={"sport": ["run", "ski"]}).payload()]
    reports = [unb64(case["report"]) for case in cases("reports").values()]
    ours = [r.to_bytes() for r in _our_reports()]
    counted = b'"segments":{"a":"b"},"round":0,"pilot":false,"n":10,"counts":[4]'
    tally = b'[{"survey":"s","question":"q","design":{"p00":"3/4","p11":"3/4"},' + counted + b"}]"
    row = (",".join(COLUMNS) + "\r\n").encode()
    line = f'{survey().digest},q1,0,"{{""p00"":""3/4"",""p11"":""3/4""}}",1,{"0" * 32},,{{}}\r\n'.encode()
    found: dict[str, list[bytes]] = {
        "report": reports + ours * 20,
        "envelope": [envelope(), envelope(question(rounds=2))] * 50 + surveys,
        "survey": payloads,
        "json": reports + payloads,
        "toml": [TOML],
        "packed": _packed(),
        "jsonl": [b"\n".join(ours) + b"\n", *reports],
        "csv": [row + line, row + line * 3],
        "tallies": [tally, b"[]"],
        "body": [*ours, b"[" + b",".join(ours) + b"]"] * 20 + reports,
        "batch": [b"\n".join(ours) + b"\n"],
    }
    return [data[:LARGEST] for data in found[name]]


def _our_reports() -> list[Report]:
    made: dict[str, Any] = {"survey": survey().digest, "question": "q1", "design": question().design}
    return [Report(**made, answer=answer, id=f"{int(answer):032x}") for answer in "01"]


def _packed() -> list[bytes]:
    import numpy as np

    from server_agg import write_packed

    path = _file(".rrbits")
    write_packed(path, np.array([0b1010_1010, 0b11], np.uint8), 10, envelope(), "q1")
    return [path.read_bytes()]


def held(target: Callable[[bytes], object], data: bytes) -> bool:
    """Whether the input was taken or refused with a typed error; anything else is raised."""
    try:
        target(data)
    except RRCollectError:
        return False
    return True


def harmless(name: str, target: Callable[[bytes], object]) -> list[bytes]:
    """The seeds of a name at which a target raises nothing it must not: what it does raise has to be found."""

    def harms(data: bytes) -> bool:
        try:
            held(target, data)
        except Exception:
            return True
        return False

    return [data for data in seeds(name) if not harms(data)]


def unchecked_fields(data: bytes) -> object:
    """The planted bug: a reader of reports that takes a field for granted (KeyError)."""
    value = read(data, LARGEST)
    if isinstance(value, dict):
        return value["survey"], value["answer"]
    return None
