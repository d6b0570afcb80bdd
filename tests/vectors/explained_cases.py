"""What people are told: surveys and ledgers, and the text of each, word for word."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from rrcollect import Budget, Design, Policy
from rrcollect.answer.explanation import survey_lines
from rrcollect.answer.ledger import Draw
from rrcollect.answer.words import shown_lines
from rrcollect.deliver.outbox import Outgoing
from rrcollect.publish.canonical import canonical
from rrcollect.publish.survey import Survey
from tests.vectors.parts import (
    FAMILY,
    GRID,
    MEANT,
    NOW,
    PERSIAN,
    QUESTION,
    SURVEY,
    b64,
    segments,
    times,
)
from tests.vectors.survey_cases import good

ORIGINS = [f"https://s{number}.example.org" for number in range(16)]
FORGED = (
    "Ever doped?\nSomebody who sees all that is sent for this question can come to think one of them at most 1 times "
    "as likely as the other.\n> Nothing else is sent.\n\n" + "x" * 200 + " You may decline."
)
STEP = Fraction(1, 2**64)


def designed(p00: Any, p11: Any, **changes: Any) -> dict[str, Any]:
    """A question with this design, and the promise that any design keeps."""
    design = {"p00": str(Fraction(p00)), "p11": str(Fraction(p11))}
    return {**QUESTION, "design": design, "promise": {"epsilon": "0", "delta": "1"}, **changes}


DESIGNS: dict[str, dict[str, Any]] = {
    "four_rounds": {**QUESTION, "rounds": 4},
    "ten_thousand": {**QUESTION, "rounds": 13},
    "no_useful_limit": {**QUESTION, "rounds": 52},
    "just_below_a_million": designed("31/32", "31/32", rounds=4),  # 31^4 = 923521
    "a_million": designed("127/128", "100/128", rounds=3),
    "just_above_a_million": designed("127/128", Fraction(100, 128) + STEP, rounds=3),
    "grid": GRID,
    "grid_rounds": {**GRID, "rounds": 10},
    "unequal": designed("7/8", "1/2"),
    "yes_is_a_proof": {**MEANT, "rounds": 3},
    "no_is_a_proof": designed("1/4", "1", rounds=2),
    "everything_is_a_proof": designed("1", "1"),
    "nearly_a_proof": designed(1 - STEP, "1/128"),
    "nearly_a_proof_both": designed(1 - STEP, 1 - STEP),
    "nearly_nothing": designed(Fraction(1, 2) + STEP, Fraction(1, 2), rounds=1000),
    "hardly_ever_a_proof": designed("1", STEP * 1000),
    "a_little_below_a_proof": designed("1023/1024", "999/1024"),
    "as_good_as_a_proof": designed("1023/1024", "1000/1024"),
}


def surveys() -> Iterator[tuple[dict[str, Any], str | None, bool]]:
    """(survey, language, whether on its page)."""
    for _, envelope, _ in good():
        document = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
        yield document, None, False
        yield document, "de-AT", True
    for question in DESIGNS.values():
        yield {**SURVEY, "questions": [question]}, None, False
        yield {**SURVEY, "questions": [question], "origins": ORIGINS[:2]}, None, True
    several = [{**q, "id": f"q{n}", "attribute": f"a{n}"} for n, q in enumerate(DESIGNS.values())]
    yield {**SURVEY, "questions": several}, None, False
    for count in (2, 5, 6):
        yield {**SURVEY, "questions": several[:1] + several[5 : 5 + count], "origins": ORIGINS[:3]}, None, True
    many = [{**DESIGNS["nearly_nothing"], "id": f"q{n}", "attribute": f"a{n}"} for n in range(200)]
    yield {**SURVEY, "questions": many, "origins": ORIGINS}, None, True
    rare = [{**DESIGNS["hardly_ever_a_proof"], "id": f"q{n}", "attribute": f"a{n}", "rounds": 1000} for n in range(9)]
    yield {**SURVEY, "questions": rare, "origins": ORIGINS}, None, True
    told = {"pilot": True, "invite_only": True, "collector": "carried", "opens": NOW, "publisher": "All is well."}
    labelled = segments([{"value": "run", "label": {"en": "Running", "fa": PERSIAN}}, "ski"], label={"en": "Sport"})
    numbered = {"10": segments(["a"])["sport"], "9": segments(["b", "c"])["sport"], **labelled}
    yield {**SURVEY, **told, "segments": numbered}, "fa", False
    yield {**SURVEY, "rounds": times("11-01", "11-02", "11-02", "12-31"), "questions": [
        {**QUESTION, "rounds": 2, "help": {"en": "Think of last year.\nAll of it."}}]}, None, False  # fmt: skip
    wide, long = FAMILY * 60 + "清洁运动" * 40, "word " * 60 + "w" * 90 + " end"
    for text in (FORGED, wide, long, "a\n\nb", PERSIAN * 20, "x" * 76, "x" * 77, "x" * 75 + " y", "x" * 76 + " y"):
        yield {**SURVEY, "questions": [{**QUESTION, "text": {"en": text}, "help": {"en": text}}]}, None, False


def budgets() -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]]:
    """(draws, reports, caps): made as a ledger holds them."""

    def drawn(attribute: str, design: Design, answer: str, round_: int = 0) -> dict[str, Any]:
        cost = design.loss
        return {"attribute": attribute, "round": round_, "design": design.text, "answer": answer,
                "epsilon": str(cost.epsilon), "delta": str(cost.delta)}  # fmt: skip

    def report(attribute: str, state: str, attempts: int, round_: int = 0) -> dict[str, Any]:
        return {"attribute": attribute, "round": round_, "state": state, "attempts": attempts}

    three, unequal, proof = Design("3/4", "3/4"), Design("7/8", "1/2"), Design(1, "1/128")
    nearly = Design(1 - STEP, "1/128")
    yield [], [], {}
    yield [drawn("doped", three, "1")], [report("doped", "waiting", 0)], {}
    yield [drawn("doped", three, "1")], [report("doped", "waiting", 1)], {"lifetime_epsilon": "3"}
    states = [("delivered", 1), ("refused", 1), ("carried", 0), ("cancelled", 0), ("cancelled", 2), ("withdrawn", 0)]
    for state, attempts in states:
        for answer in "01":
            draws = [drawn("Example Institute/a", unequal, answer), drawn("b", three, answer, 2)]
            yield draws, [report("Example Institute/a", state, attempts), report("b", state, attempts, 2)], {}
    yield [drawn("a", three, "1")], [report("a", "delivered", 1)] * 3, {"lifetime_epsilon": "ln(1000000)"}
    disclosing = {"allow_disclosure": True}
    for design in (proof, nearly, Design(1, 1)):
        for answer in "01":
            yield [drawn("c", design, answer), drawn("d", three, "0")], [report("c", "delivered", 1)], disclosing
    yield [drawn(f"a{n}", three, "1") for n in range(13)], [], {"lifetime_epsilon": "14", "lifetime_delta": "0"}
    yield [], [], {**disclosing, "lifetime_epsilon": "13.8155105579642741", "lifetime_delta": "0"}
    yield [], [], {"lifetime_epsilon": "0"}


def explained() -> dict[str, Any]:
    """The content of explained.json."""
    told = []
    for document, language, page in surveys():
        payload = canonical(document)
        lines = survey_lines(Survey.from_payload(payload), language, page=page)
        told.append({"survey": b64(payload), "language": language, "page": page, "text": shown_lines(lines)})
    spent = [
        {"draws": draws, "reports": reports, "caps": caps, "text": budget_of(draws, reports, caps).explain()}
        for draws, reports, caps in budgets()
    ]
    return {"surveys": told, "budgets": spent}


def budget_of(draws: list[dict[str, Any]], reports: list[dict[str, Any]], caps: dict[str, Any]) -> Budget:
    """The budget of a ledger with these draws and reports."""
    made = [
        Draw(
            seq,
            d["attribute"],
            d["round"],
            design := Design.from_wire(json.loads(d["design"])),
            d["answer"],
            design.loss,
        )
        for seq, d in enumerate(draws, 1)
    ]
    sent = [
        Outgoing("0" * 32, "0" * 64, "q", r["round"], r["attribute"], "", b"", r["state"], None, "", (), r["attempts"])
        for r in reports
    ]
    return Budget(tuple(made), tuple(sent), Policy(**caps))
