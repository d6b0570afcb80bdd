"""What people are told: surveys and ledgers, and the text of each, word for word."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from rrcollect import BlockDesign, Design, Policy, Question, RRCollectError, SetDesign, Survey, optimal_design
from rrcollect.answer.explain.bound import ledgers_of
from rrcollect.answer.explain.budget import Budget
from rrcollect.answer.explain.headline import share_of_life, survey_headline
from rrcollect.answer.ledger.ledger import Draw
from rrcollect.deliver.outbox import OutboxReport
from tests.inside.answer import LANGUAGES, Words, question_headline, shown_lines, survey_lines
from tests.inside.design import BinDesign, Mechanism, SeveralDesign, from_text
from tests.inside.publish import canonical
from tests.vectors.parts import (
    ALL_THAT_APPLY,
    FAMILY,
    GRID,
    IN_BINS,
    KINDS,
    MEANT,
    NOW,
    PERSIAN,
    QUESTION,
    SETS_OF_BINS,
    SURVEY,
    b64,
    segments,
    times,
)
from tests.vectors.relay_cases import RELAY
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


def optioned(options: int, size: int, p: Any, **changes: Any) -> dict[str, Any]:
    """A question about so many options with this design."""
    kind = {"kind": "choice", "options": [{"en": f"Option {n}", "de": f"Wahl {n}"} for n in range(options)]}
    design = {"options": options, "p": str(Fraction(p)), "size": size}
    return {**QUESTION, "kind": kind, "design": design, "promise": {"epsilon": "0", "delta": "1"}, **changes}


def of_drawn(question: dict[str, Any], rounds: int = 1, **design: Any) -> dict[str, Any]:
    """The question with another design."""
    return {**question, "design": design, "promise": {"epsilon": "0", "delta": "1"}, "rounds": rounds}


def blocked(options: int, p: Any, **changes: Any) -> dict[str, Any]:
    """A question about so many options with blocks of the 781 of PG(4, 5)."""
    design = {"dimension": 5, "field": 5, "p": str(Fraction(p))}
    return {**optioned(options, 1, 1, **changes), "design": design}


EVERY_KIND: dict[str, dict[str, Any]] = {
    "option": optioned(3, 1, "1/2"),
    "option_nearly_always": optioned(3, 1, 1 - 2 * STEP),
    "option_as_it_is": optioned(3, 1, 1),
    "set": optioned(5, 2, "3/4", rounds=3),
    "set_rarely_without": optioned(5, 2, 1 - STEP),
    "set_always_with": optioned(5, 2, 1),
    "grid_set": {**optioned(10, 3, 1), "design": optimal_design(1, options=10).to_wire()},
    "number": {**QUESTION, "kind": KINDS["number"]},
    "number_on_the_grid": {**GRID, "kind": KINDS["number_without_unit"], "rounds": 2},
    "number_proof": designed("1", "1/128", kind=KINDS["number"]),
    "number_nearly_proof": designed("1023/1024", "1000/1024", kind=KINDS["number"]),
    "several": {**ALL_THAT_APPLY, "rounds": 2},
    "several_strong": of_drawn(ALL_THAT_APPLY, several=3, p="15/16"),
    "several_proof": of_drawn(ALL_THAT_APPLY, several=3, p="1"),
    "bins": IN_BINS,
    "bins_strong": of_drawn(IN_BINS, bins=16, p="15/16", rounds=2),
    "bins_proof": of_drawn(IN_BINS, bins=16, p="1"),
    "bins_nearly_proof": of_drawn(IN_BINS, bins=16, p=str(1 - STEP)),
    "parts": SETS_OF_BINS,
    "parts_proof": of_drawn(SETS_OF_BINS, options=4, p="1", size=2),
    "parts_nearly_proof": of_drawn(SETS_OF_BINS, options=4, p=str(1 - STEP), size=2),
    "panel": {**QUESTION, "rounds": 52, "panel": True},
    "panel_of_a_choice": optioned(4, 1, "5/8", rounds=2, panel=True),
    "block": blocked(6, "1/2", rounds=3),
    "block_always_with": blocked(3, 1),
}

THIRD = Fraction(2**64 * 2 // 3, 2**64)  # 2/3 as a device draws it
FIRST_READ: dict[str, dict[str, Any]] = {
    "one_in_two": designed(Fraction(1, 2) + STEP, Fraction(1, 2) + STEP),
    "one_in_three": designed(THIRD, THIRD),
    "one_in_five": designed(Fraction(2**64 * 4 // 5, 2**64), Fraction(2**64 * 4 // 5, 2**64)),
    "nearly_one_in_four": designed("47/64", "47/64"),
    "one_in_64": designed("63/64", "63/64"),
    "one_in_31": designed("31/32", "125/128"),
    "one_in_86": designed(1 - Fraction(3, 256), 1 - Fraction(3, 256)),
    "very_few": designed("2047/2048", "2047/2048"),
    "strong_and_weak": designed("15/16", "1/2"),
    "proof_and_strong": designed("1", "7/8"),
    "two_weak_rounds": designed("5/8", "5/8", rounds=2),
    "two_rounds": {**QUESTION, "rounds": 2},
    "eleven_rounds": {**QUESTION, "rounds": 11},
    "hundred_rounds": {**QUESTION, "rounds": 100},
    "option_of_eight": optioned(9, 1, "3/4"),
    "set_of_two": optioned(4, 2, "7/8"),
    "set_of_three": optioned(6, 3, "3/4"),
    "strong_number": designed("15/16", "15/16", kind=KINDS["number"]),
}
WIDE = {"allow_disclosure": True, "max_epsilon": "20", "max_ratio": "1000000"}
CAPS: list[dict[str, Any]] = [
    {**WIDE, "attribute_epsilon": "20", "lifetime_epsilon": epsilon, "lifetime_delta": delta, "attribute_delta": delta}
    for epsilon, delta in (("ln(59049)", "1/100"), ("20", "1/2"), ("3", "1"), ("2000", "1/3"), ("ln(9)", "0"))
]


def surveys() -> Iterator[tuple[dict[str, Any], str | None, bool]]:
    """(survey, language, whether on its page)."""
    for _, envelope, _ in good():
        document = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
        yield document, None, False
        yield document, "de-AT", True
    for question in DESIGNS.values():
        yield {**SURVEY, "questions": [question]}, None, False
        yield {**SURVEY, "questions": [question], "origins": ORIGINS[:2]}, None, True
        yield {**SURVEY, "questions": [question], "origins": ORIGINS[:1], "frames": ORIGINS[1:3]}, None, True
    several = [{**q, "id": f"q{n}", "attribute": f"a{n}"} for n, q in enumerate(DESIGNS.values())]
    yield {**SURVEY, "questions": several}, None, False
    for count in (2, 5, 6):
        yield {**SURVEY, "questions": several[:1] + several[5 : 5 + count], "origins": ORIGINS[:3]}, None, True
    many = [{**DESIGNS["nearly_nothing"], "id": f"q{n}", "attribute": f"a{n}"} for n in range(200)]
    yield {**SURVEY, "questions": many, "origins": ORIGINS}, None, True
    rare = [{**DESIGNS["hardly_ever_a_proof"], "id": f"q{n}", "attribute": f"a{n}", "rounds": 1000} for n in range(9)]
    yield {**SURVEY, "questions": rare, "origins": ORIGINS}, None, True
    for question in EVERY_KIND.values():
        yield {**SURVEY, "questions": [question]}, None, False
        yield {**SURVEY, "questions": [question], "origins": ORIGINS[:3]}, "de", True
    mixed = [{**q, "id": f"q{n}", "attribute": f"a{n}"} for n, q in enumerate(EVERY_KIND.values())]
    for ask in ("all", "one"):
        for listed in (mixed, mixed[:1], [mixed[0], mixed[3], mixed[7]], mixed[-2:], mixed[9:11] + mixed[-2:]):
            yield {**SURVEY, "ask": ask, "questions": listed}, None, False
            yield {**SURVEY, "ask": ask, "questions": listed, "origins": ORIGINS[:2]}, None, True
    yield {**SURVEY, "ask": "one", "questions": several[:6]}, None, False
    for number, question in enumerate(FIRST_READ.values()):
        yield (
            {**SURVEY, "questions": [question, {**question, "id": "q2", "attribute": "b"}][: 1 + number % 2]},
            None,
            False,
        )
    told = {"pilot": True, "invite_only": True, "collector": "carried", "opens": NOW, "publisher": "All is well."}
    labelled = segments([{"value": "run", "label": {"en": "Running", "fa": PERSIAN}}, "ski"], label={"en": "Sport"})
    numbered = {"10": segments(["a"])["sport"], "9": segments(["b", "c"])["sport"], **labelled}
    yield {**SURVEY, **told, "segments": numbered}, "fa", False
    yield {**SURVEY, "rounds": times("11-01", "11-02", "11-02", "12-31"), "questions": [
        {**QUESTION, "rounds": 2, "help": {"en": "Think of last year.\nAll of it."}}]}, None, False  # fmt: skip
    yield {**SURVEY, "relay": RELAY}, None, False
    yield {**SURVEY, "relay": RELAY, "origins": ORIGINS[:1]}, "fr", True
    wide, long = FAMILY * 60 + "清洁运动" * 40, "word " * 60 + "w" * 90 + " end"
    for text in (FORGED, wide, long, "a\n\nb", PERSIAN * 20, "x" * 76, "x" * 77, "x" * 75 + " y", "x" * 76 + " y"):
        yield {**SURVEY, "questions": [{**QUESTION, "text": {"en": text}, "help": {"en": text}}]}, None, False


def budgets() -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]]:
    """(draws, reports, caps): made as a ledger holds them."""

    def drawn(attribute: str, design: Mechanism, answer: str, round_: int = 0, kind: str = "") -> dict[str, Any]:
        cost, kind = design.loss, kind or ("yes_no" if isinstance(design, Design) else "choice")
        return {"attribute": attribute, "round": round_, "kind": kind, "design": design.text, "answer": answer,
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
    hours = "number from 0 to 24"
    for round_ in (0, 2):
        for answer in "01":
            for design in (three, proof, nearly):
                yield [drawn("h", design, answer, round_, hours)], [report("h", "delivered", 1, round_)], disclosing
    for number, design in enumerate((SetDesign(3, 1, "1/2"), SetDesign(5, 2, "3/4"), SetDesign(3, 1, 1),
                                     SetDesign(5, 2, 1), SetDesign(5, 2, 1 - STEP))):  # fmt: skip
        answer = "0" * (design.options - design.size) + "1" * design.size
        for round_ in (0, 1):
            sent = [report("c", "delivered", 1, round_)] * (1 + number % 2)
            yield [drawn("c", design, answer, round_), drawn("d", three, "0")], sent, disclosing
        yield [drawn("c", design, answer)], [], {}
    sixteen = "number from 0 to 24 in 16 bins"
    for design, kind, answer in (
        (SeveralDesign(3, "3/4"), "several", "3"), (SeveralDesign(3, 1), "several", "4"),
        (BinDesign(16, "3/4"), sixteen, "29"), (BinDesign(16, 1), sixteen, "00"),
        (BinDesign(16, 1 - STEP), sixteen, "07"), (SetDesign(4, 1, "7/16"), "number from 0 to 24 in 4 bins", "0100"),
    ):  # fmt: skip
        for round_ in (0, 1):
            yield [drawn("s", design, answer, round_, kind)], [report("s", "delivered", 1, round_)], disclosing
    for round_ in (0, 1):
        yield [drawn("c", BlockDesign(5, 5, "1/2"), "042", round_)], [report("c", "delivered", 1, round_)], {}
    yield [drawn(f"a{n}", three, "1") for n in range(13)], [], {"lifetime_epsilon": "14", "lifetime_delta": "0"}
    yield [], [], {**disclosing, "lifetime_epsilon": "13.8155105579642741", "lifetime_delta": "0"}
    yield [], [], {"lifetime_epsilon": "0"}
    yield [drawn("a", three, "1")], [], {"lifetime_epsilon": "2000"}


def explained() -> dict[str, Any]:
    """The content of explained.json."""
    told, spent, heard = [], [], Heard()
    for number, (document, language, page) in enumerate(surveys()):
        given = {
            "survey": b64(canonical(document)),
            "language": language,
            "page": page,
            "caps": CAPS[number % len(CAPS)],
        }
        own = Words.of(language or document["language"]).language
        told += [{**given, "words": words, **said_of(given, words)} for words in spoken(heard, own, said_of, given)]
    for draws, reports, caps in budgets():
        made = {"draws": draws, "reports": reports, "caps": caps}
        spent += [{**made, "words": words, **drawn_of(made, words)} for words in spoken(heard, "en", drawn_of, made)]
    return {"surveys": told, "budgets": spent}


class Heard(Words):
    """English, and which of its sentences were said."""

    def __init__(self) -> None:
        self._set("en", Words.of("en").table, supplied=False)
        self.keys: set[str] = set()

    def say(self, key: str, **places: str) -> str:
        self.keys.add(key)
        return super().say(key, **places)


def spoken(heard: Heard, own: str, tell: Callable[[dict[str, Any], Words], object], case: dict[str, Any]) -> list[str]:
    """The languages a case is told in: its own, and all if it says something that no case before it said."""
    before = len(heard.keys)
    tell(case, heard)
    return sorted(LANGUAGES) if len(heard.keys) > before else [own]


def said_of(case: dict[str, Any], words: Words | str) -> dict[str, Any]:
    """What is told about a survey: all of it, the first sentences, and the share of the budget of each question."""
    words = words if isinstance(words, Words) else Words.of(words)
    survey, page = Survey.from_payload(base64.b64decode(case["survey"])), case["page"]
    ledgers = ledgers_of(survey, page=page)
    top = {
        "survey": survey_headline(survey, words, page=page),
        "questions": {q.id: question_headline(q, words, ledgers) for q in survey.questions},
    }
    shares = [_share(question, Policy(**case["caps"]), words) for question in survey.questions]
    lines = survey_lines(survey, case["language"], page=page, words=words)
    return {"text": shown_lines(lines), "headlines": top, "shares": shares}


def _share(question: Question, policy: Policy, words: Words) -> str:
    try:
        return share_of_life(policy.cost(question), policy.life, words)
    except RRCollectError:  # it does not allow the question
        return ""


def drawn_of(case: dict[str, Any], words: Words | str) -> dict[str, Any]:
    """What is told about a ledger."""
    words = words if isinstance(words, Words) else Words.of(words)
    return {"text": budget_of(case["draws"], case["reports"], case["caps"]).explain(words=words)}


def budget_of(draws: list[dict[str, Any]], reports: list[dict[str, Any]], caps: dict[str, Any]) -> Budget:
    """The budget of a ledger with these draws and reports."""
    made = [
        Draw(
            seq,
            d["attribute"],
            d["round"],
            design := from_text(d["design"]),
            d["answer"],
            design.loss,
            d["kind"],
        )
        for seq, d in enumerate(draws, 1)
    ]
    sent = [
        OutboxReport(
            "0" * 32, "0" * 64, "q", r["round"], r["attribute"], "", b"", r["state"], None, "", (), r["attempts"]
        )
        for r in reports
    ]
    return Budget(tuple(made), tuple(sent), Policy(**caps))
