"""Check 6: a document that was not signed as it stands is accepted nowhere, and what is wrong with one that was signed
has one name: in Python, in Node, in Chromium."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step, caught
from tests.assurance.documents.hosts import DIFFERENCES, HOSTS, PLANTS, Task
from tests.assurance.documents.mutations import mutated
from tests.support.devices import cases, unb64

EXTRA = "good_unknown_extra_signer"  # its second signature is by nobody we know, is not counted, and may be anything
MUTATED = 3000  # changed surveys per piece; a small run has a tenth
STRIDE = 29  # of a small run; prime, so that every place in a byte has its turn


@cache
def named() -> tuple[Task, list[str]]:
    """Every bad document of the vectors, and the error each must get."""
    surveys = list(cases("surveys", "bad_").values())
    reports = list(cases("reports", "bad_").values())
    return {"surveys": surveys, "reports": reports}, [it["error"] for it in surveys] + ["MalformedReport"] * len(
        reports
    )


def documents() -> list[Task]:
    """Signed surveys, each accepted as it is."""
    return [case for name, case in cases("surveys", "good_").items() if name != EXTRA]


@cache
def changed(piece: int, number: int) -> tuple[Task, list[str]]:
    """Surveys that were changed here and there, and the library's verdicts: the same for every host."""
    task = {"surveys": mutated(piece, number)}
    return task, HOSTS["Python"](task, None)


def flips(document: Task, stride: int) -> Task:
    """The flip of every stride-th bit of a signed survey."""
    return {"flips": [{"document": document, "bits": list(range(0, 8 * len(unb64(document["envelope"])), stride))}]}


def _counted(said: list[str], wanted: list[str]) -> tuple[bool, dict[str, int], str]:
    stray = sum(word.startswith("a stray") for word in said)
    accepted = said.count("accepted")
    wrong = [
        f"{n}: {one}, not {other}" for n, (one, other) in enumerate(zip(said, wanted, strict=True)) if one != other
    ]
    figures = {
        "cases": len(said),
        "refused": len(said) - accepted - stray,
        "accepted": accepted,
        "with the same error": len(said) - len(wrong),
    }
    return not (accepted or stray or wrong), figures, "; ".join(wrong[:5])


def _named(host: str) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        task, wanted = named()
        return Outcome(*_counted(HOSTS[host](task, None), wanted))

    return run


def _flipped(host: str, stride: int) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        document = documents()[piece]
        task = flips(document, stride)
        if HOSTS[host]({"surveys": [document]}, None) != ["accepted"]:
            return Outcome(False, {}, "the document is not accepted as it is")
        return Outcome(*_counted(HOSTS[host](task, None), HOSTS["Python"](task, None)))

    return run


def _planted(host: str, plant: str) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        task, wanted = named()
        both = {**task, **flips(documents()[0], STRIDE)}
        said = HOSTS[host](both, plant)
        right, figures, _ = _counted(said, wanted + HOSTS["Python"](flips(documents()[0], STRIDE), None))
        return Outcome(not right and figures["accepted"] > 0, figures)

    return run


def _differential(host: str, number: int, plant: str | None = None) -> Callable[[int, Step], Outcome]:
    """The same name as the library's, for surveys that were changed here and there and signed as they then stand."""

    def run(piece: int, step: Step) -> Outcome:
        task, wanted = changed(piece, number)
        said = HOSTS[host](task, plant)
        differ = [
            f"{piece}.{n}: {one}, not {other}"
            for n, (one, other) in enumerate(zip(said, wanted, strict=True))
            if one != other
        ]
        stray = sum(word.startswith("a stray") for word in wanted)
        kinds = Counter(wanted)
        figures = {"documents": number, "accepted": kinds.pop("accepted", 0), "most names of refusals": len(kinds)}
        figures["differences"] = len(differ)
        return Outcome(not differ and not stray, figures, "; ".join(differ[:5]))

    return run


def parts(size: Size) -> list[Part]:
    """At full size every bit of every signed survey of the vectors, in every host."""
    full = size is FULL
    found = []
    for host in HOSTS:
        found.append(Part(f"named bad documents in {host}", _named(host)))
        found.append(
            Part(
                f"every bit of a signed survey flipped, in {host}",
                _flipped(host, 1 if full else STRIDE),
                pieces=len(documents()) if full else 1,
            )
        )
        found += [Part(f"{host} ignores the {plant}", _planted(host, plant), planted=True) for plant in PLANTS]
    number = MUTATED if full else MUTATED // 10
    for host in ("Node", "Chromium"):
        found.append(
            Part(
                f"changed surveys get the library's names in {host}",
                _differential(host, number),
                pieces=10 if full else 1,
            )
        )
    found += [
        Part(f"Node differs in {plant}", caught(_differential("Node", MUTATED // 3, plant)), planted=True)
        for plant in DIFFERENCES
    ]
    return found


CHECK = Check(
    6,
    "documents",
    "What was not signed is not accepted",
    "Every bad document of the test vectors is refused, and so is every signed survey in which one bit is flipped, by "
    "the library, by the browser client in Node and by the browser client in Chromium, and all three give the same "
    "error. (For flipped bits, the same error as the library gives.) Surveys that are changed in one to three "
    "places, and signed as they then stand, get the same verdict from all three.",
    (
        "tests/assurance/documents/hosts.py",
        "tests/assurance/documents/documents.mjs",
        "tests/assurance/documents/mutations.py",
        "tests/collect/js/judge.mjs",
        "tests/vectors/surveys.jsonl",
        "tests/vectors/reports.jsonl",
        "rrcollect/answer/acceptance.py",
        "rrcollect/answer/policy.py",
        "rrcollect/publish/report.py",
        "rrcollect/publish",
        "rrcollect/web/src",
    ),
    parts,
    "one bit at a time; other browsers than Chromium are not tried here.",
    alone=False,
)
