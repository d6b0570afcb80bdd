"""Choices, numbers and two promises through the whole device: file, signature, policy, ledger, draw, report, budget."""

from __future__ import annotations

import tomllib
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from rrcollect import (
    Choice,
    Clients,
    Design,
    Number,
    Policy,
    Promise,
    Question,
    Report,
    SetDesign,
    SimulatedCollector,
    Survey,
    optimal_design,
    randomise,
)
from rrcollect.errors import (
    AlreadyAnswered,
    BadTruth,
    BudgetExhausted,
    CertainDisclosure,
    MalformedDocument,
    OverPolicy,
)
from tests.inside.design import Mechanism, made_for
from tests.support.devices import KEY, POLICY, VECTORS, client, envelope, load, question, survey

COLOURS = Choice(options=["Red", "Green", "Blue", "White", "Other"])
TWO_OF_FIVE, HOURS = SetDesign(5, 2, "3/4"), Number(low=0, high=24, unit="hours")


def asked(kind: Any, design: Mechanism, **changes: Any) -> Question:
    return question(kind=kind, design=design, **changes)


class Bytes:
    """A generator that gives these bytes, then zeros."""

    def __init__(self, *words: int) -> None:
        self.data = b"".join(word.to_bytes(8, "big") for word in words)

    def __call__(self, n: int) -> bytes:
        drawn, self.data = self.data[:n], self.data[n:]
        return drawn + bytes(n - len(drawn))


# ---- one answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "design", "truth", "word", "answer"),
    [
        (Choice(options=["a", "b", "c"]), SetDesign(3, 1, "1/2"), 1, 2**64 - 1, "010"),  # the last step is the truth
        (Choice(options=["a", "b", "c"]), SetDesign(3, 1, "1/2"), 1, 0, "100"),
        (COLOURS, TWO_OF_FIVE, 3, 0, "00011"),
        (HOURS, Design("3/4", "3/4"), 24, 3 * 2**62 - 1, "1"),
        (HOURS, Design("3/4", "3/4"), 24, 3 * 2**62, "0"),
        (HOURS, Design("3/4", "3/4"), Fraction(12), 2**63 - 1, "1"),
        (HOURS, Design("3/4", "3/4"), Decimal("12"), 2**63, "0"),
        (HOURS, Design("3/4", "3/4"), 0.0, 2**62, "0"),
    ],
    ids=str,
)
def test_a_kind_is_answered_kept_delivered_and_repeated(tmp_path, kind, design, truth, word, answer):
    device = client(tmp_path, source=Bytes(word))
    accepted = device.accept(envelope(asked(kind, design)))
    report = device.answer(accepted, "q1", truth)
    assert (report.answer, report.design) == (answer, design)
    assert device.answer(accepted, "q1", lambda: 1 / 0) == report  # not read again
    collector = SimulatedCollector([accepted.survey])
    assert device.deliver(collector).delivered == 1
    assert list(collector.reports.values()) == [report]
    (draw,) = device.budget().draws
    assert (draw.answer, draw.kind, draw.cost) == (answer, kind.truths, design.loss)
    assert device.budget().export()["answers"][0]["kind"] == kind.truths
    again = client(tmp_path, source=lambda n: 1 / 0)
    other = again.accept(envelope(asked(kind, design, id="q9"), name="another"))
    if design.values > 8:  # it would be a mark of the person: see test_few_bits
        with pytest.raises(AlreadyAnswered, match="would mark this person"):
            again.answer(other, "q9", lambda: 1 / 0)
    else:
        assert again.answer(other, "q9", lambda: 1 / 0).answer == answer  # another survey, the same draw


def test_a_report_is_as_long_whatever_is_answered(tmp_path):
    lengths = set()
    for place in range(20):
        folder = tmp_path / str(place)
        folder.mkdir()
        device = client(folder)
        accepted = device.accept(envelope(asked(COLOURS, TWO_OF_FIVE)))
        lengths.add(len(device.answer(accepted, "q1", place % 5).to_bytes()))
    assert len(lengths) == 1


@pytest.mark.parametrize("design", [Design("3/4", "3/4"), TWO_OF_FIVE, made_for(1, 200, 54), SetDesign(2, 1, "3/4")])
def test_what_stands_in_a_report_until_it_is_drawn_is_an_answer(design):
    assert design.allows(design.blank)


@pytest.mark.parametrize(
    ("kind", "design", "truth"),
    [
        (COLOURS, TWO_OF_FIVE, 5),
        (COLOURS, TWO_OF_FIVE, -1),
        (COLOURS, TWO_OF_FIVE, True),
        (COLOURS, TWO_OF_FIVE, "Red"),
        (COLOURS, TWO_OF_FIVE, 2.0),
        (HOURS, Design("3/4", "3/4"), 77777),
        (HOURS, Design("3/4", "3/4"), float("nan")),
        (HOURS, Design("3/4", "3/4"), True),
        (HOURS, Design("3/4", "3/4"), "12"),
    ],
    ids=str,
)
def test_a_bad_truth_is_refused_and_not_shown(tmp_path, kind, design, truth):
    device = client(tmp_path, source=lambda n: 1 / 0)
    accepted = device.accept(envelope(asked(kind, design)))
    with pytest.raises(BadTruth) as error:
        device.answer(accepted, "q1", truth)
    assert "77777" not in str(error.value)
    assert device.budget().draws == ()


def test_only_the_signed_kind_clips(tmp_path):
    device = client(tmp_path, source=Bytes(2**63))
    clipping = Number(low=0, high=24, clip=True)
    accepted = device.accept(envelope(asked(clipping, Design("3/4", "3/4"))))
    assert device.answer(accepted, "q1", 10**6).answer == "1"


def test_two_promises_are_an_ordinary_question_charged_the_larger(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(question(design=optimal_design(Promise.two_sided("ln 2", "ln 6")))))
    device.answer(accepted, "q1", True)
    assert float(device.budget().spent.epsilon) == pytest.approx(1.791759, abs=1e-6)
    assert "a true “no” in at least 45.4 of 100 cases, a true “yes” in at least 9.09" in accepted.explain()


def test_numbers_are_drawn_as_the_vectors_say():
    cases = load(VECTORS / "numbers.json")
    assert len(cases) > 90
    for case in cases:
        drawn = bytes.fromhex(case["draw"])
        design = Design.from_wire(case["design"])
        said = randomise(
            Fraction(case["number"]), design, bounds=(case["low"], case["high"]), source=lambda n, d=drawn: d
        )
        assert said == str(case["answer"]), case


# ---- other truths ---------------------------------------------------------------------------------------------------


def test_an_answer_stands_for_its_own_truths_alone(tmp_path):
    design = Design("3/4", "3/4")
    device = client(tmp_path)
    accepted = device.accept(envelope(asked(HOURS, design)))
    device.answer(accepted, "q1", 3)
    for number, kind in enumerate((None, Number(low=0, high=25), Number(low=1, high=24))):
        changed = question(design=design) if kind is None else asked(kind, design)
        other = device.accept(envelope(changed, name=f"other-{number}"))
        with pytest.raises(AlreadyAnswered, match="was answered before as number from 0 to 24"):
            device.answer(other, "q1", lambda: 1 / 0)
    clipped = device.accept(envelope(asked(Number(low=0, high=24, clip=True), design), name="clipped"))
    assert device.answer(clipped, "q1", lambda: 1 / 0)


def test_a_choice_with_more_options_has_other_truths(tmp_path):
    device = client(tmp_path)
    device.answer(device.accept(envelope(asked(COLOURS, SetDesign(5, 1, "1/2")))), "q1", 1)
    six = Choice(options=["1", "2", "3", "4", "5", "6"])
    other = device.accept(envelope(asked(six, SetDesign(6, 1, "3/8")), name="six"))
    with pytest.raises(AlreadyAnswered, match="answered before as choice of "):
        device.answer(other, "q1", lambda: 1 / 0)


@pytest.mark.parametrize(
    "other",
    [["b", "a", "c"], ["a", "b", "d"], ["a", "b", {"en": "c", "de": "a"}]],
    ids=["in another order", "another label", "another language"],
)
def test_options_in_another_order_do_not_get_the_answers_of_others(tmp_path, other):
    three, source = SetDesign(3, 1, "1/2").to_grid(), Bytes(2**64 - 1)
    device = client(tmp_path, source=source)
    device.answer(device.accept(envelope(asked(Choice(["a", "b", "c"]), three))), "q1", 0)
    later = device.accept(envelope(asked(Choice(other), three), version=2))
    with pytest.raises(AlreadyAnswered, match="answered before as choice of "):
        device.answer(later, "q1", lambda: 1 / 0)
    before = survey(asked(Choice(["a", "b", "c"]), three))
    assert before.publish([KEY], before=before).warnings == ()
    (warning,) = later.survey.publish([KEY], before=before).warnings
    assert "its options, or their order, are not those of the version before" in warning


# ---- policy and budget ----------------------------------------------------------------------------------------------


def test_a_set_is_charged_by_the_mechanism_and_not_by_a_column():
    """S(5, 2, 2/3): 3, where a bit alone shows 2."""
    design = SetDesign(5, 2, Fraction(2**65 // 3, 2**64))
    cost = Policy().cost(asked(COLOURS, design))
    assert float(cost.epsilon) == pytest.approx(1.0986, abs=1e-4)
    with pytest.raises(OverPolicy):
        Policy(max_epsilon=1).cost(asked(COLOURS, design))
    Policy(max_epsilon=1).cost(question(design=design.column))  # the trap: the column would have passed


def test_the_budget_for_life_holds_for_every_kind(tmp_path):
    policy = Policy(POLICY.publishers, lifetime_epsilon="ln 9")
    device = client(tmp_path, policy=policy, attributes=["a", "b", "c"])
    made = [
        asked(COLOURS, TWO_OF_FIVE, id="q1", attribute="a"),  # ln 4.5
        asked(Number(low=0, high=1), Design("2/3", "2/3").to_grid(), id="q2", attribute="b"),  # ln 2
        question(id="q3", attribute="c"),
    ]
    accepted = device.accept(envelope(*made))
    device.answer(accepted, "q1", 0)
    device.answer(accepted, "q2", 1)
    with pytest.raises(BudgetExhausted):
        device.answer(accepted, "q3", True)


def test_a_set_that_proves_something_needs_the_publishers_word():
    certain = asked(COLOURS, SetDesign(5, 2, 1), promise=Promise.of("ln 9", "3/4"))
    with pytest.raises(CertainDisclosure, match="an answer would be a proof .*Otherwise use"):
        Survey(**_survey(certain)).publish([KEY])
    nearly = asked(COLOURS, SetDesign(5, 2, 1 - Fraction(1, 2**20)))
    with pytest.raises(CertainDisclosure, match="as good as a proof"):
        Survey(**_survey(nearly)).publish([KEY])
    number = asked(HOURS, Design(1, "1/2"))
    with pytest.raises(CertainDisclosure, match="an answer would be a proof"):
        Survey(**_survey(number)).publish([KEY])


def _survey(*questions: Question) -> dict[str, Any]:
    return {"name": "s", "version": 1, "title": "S", "publisher": "P", "collector": "carried",
            "expires": "2100-01-01T00:00:00Z", "questions": list(questions)}  # fmt: skip


# ---- words ----------------------------------------------------------------------------------------------------------


def test_words_of_each_kind_are_true_of_it(tmp_path):
    device = client(tmp_path, attributes=["a", "b", "c"], source=Bytes(0, 0, 0, 2**64 - 1))
    made = [
        asked(COLOURS, TWO_OF_FIVE, id="q1", attribute="a"),
        asked(Number(low=0, high=24, clip=True), Design("3/4", "3/4"), id="q2", attribute="b"),
        asked(Choice(options=["x", "y"]), SetDesign(2, 1, "3/4"), id="q3", attribute="c"),
    ]
    accepted = device.accept(envelope(*made))
    told = accepted.explain()
    assert "sends 2 of the 5 options, drawn by chance; yours is not among them in at least 25 of 100 cases" in told
    assert "“high” is sent in at least 25 and at most 75 of 100 cases." in told
    assert "A number below 0 counts as 0, one above 24 as 24." in told
    assert "changes it to another option by chance in at least 25 of 100 cases" in told
    for number, truth in enumerate((0, 3.5, 1), 1):
        device.answer(accepted, f"q{number}", truth)
    assert "The option" not in device.budget().explain()  # nothing is shown before it has left
    device.deliver(SimulatedCollector([accepted.survey]))
    said = device.budget().explain()
    assert "The options 1, 2 were sent or may have been sent, in 1 report." in said
    assert "It can make one option at most 4.5 times as likely as another" in said
    assert "“high” was sent or may have been sent" in said
    assert "It can make one number at most 3 times as likely as another" in said
    assert "The option 2 was sent or may have been sent" in said


# ---- a person per ledger --------------------------------------------------------------------------------------------


def test_clients_and_interviews_draw_each_their_own_question_and_round(tmp_path):
    made = [question(id=f"q{n}", attribute=f"a{n}", rounds=3, panel=True) for n in range(3)]
    signed = envelope(*made, ask="one")
    clients = Clients(tmp_path, key=b"sixteen bytes or more", attributes=["a0", "a1", "a2"], policy=POLICY, spread=0)
    found = Counter()
    for number in range(12):
        device = clients.of(f"person {number}")
        accepted = device.accept(signed)
        drawn = device.drawn_question(accepted)
        found[drawn, device.panel_round(accepted, drawn)] += 1
        assert clients.of(f"person {number}").drawn_question(accepted) == drawn
    assert len(found) > 1  # by chance the same for all: 9^-11 < 1e-10
    with clients.interview() as interview:
        accepted = interview.accept(signed)
        assert isinstance(interview.answer(accepted, interview.drawn_question(accepted), True), Report)


# ---- the survey's file ----------------------------------------------------------------------------------------------

HEAD = 'name="a"\nversion=1\ntitle="T"\npublisher="P"\ncollector="carried"\nexpires="2100-01-01T00:00:00Z"\n'
START = HEAD + '{}[[questions]]\nid="q"\nattribute="a"\ntext="?"\n{}'


def written(question: str, top: str = "") -> Survey:
    made = Survey.from_entries(tomllib.loads(START.format(top, question)))
    made.check()
    return made


@pytest.mark.parametrize(
    ("text", "design"),
    [
        ('kind="choice"\noptions=["a","b","c"]\nepsilon="ln 2"', SetDesign(3, 1, "1/2")),
        ('kind="choice"\noptions=["a","b",{en="c",de="C"}]\nepsilon="ln 2"', SetDesign(3, 1, "1/2")),
        ('kind="choice"\noptions=["a","b","c","d","e"]\nsize=2\np="3/4"', TWO_OF_FIVE),
        ('kind="number"\nlow=0\nhigh=24\nepsilon="ln 3"', Design("3/4", "3/4")),
        ('kind="number"\nlow="-1/2"\nhigh=0.5\nunit="m"\nclip=true\np00="3/4"\np11="3/4"', Design("3/4", "3/4")),
        ('epsilon_yes="ln 2"\nepsilon_no="ln 6"', optimal_design(Promise.two_sided("ln 2", "ln 6"))),
        ('kind="yes_no"\nepsilon="ln 3"\nrounds=4\npanel=true', Design("3/4", "3/4")),
    ],
)
def test_a_question_of_every_kind_is_written_in_a_file(text, design):
    (made,) = written(text).questions
    assert made.design == design
    assert written(text, 'ask="one"\n').ask == "one"


def test_options_and_units_are_in_the_surveys_language():
    made = written('kind="choice"\noptions=["a","b"]\nepsilon=1')
    assert made.questions[0].kind.options[0] == {"en": "a"}
    text = START.replace('title="T"', 'title="T"\nlanguage="de"')
    german = Survey.from_entries(
        tomllib.loads(text.format("", 'kind="number"\nlow=0\nhigh=9\nunit="Stunden"\nepsilon=1'))
    )
    assert german.questions[0].kind.unit == {"de": "Stunden"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('kind="choice"\noptions=["a","b","c"]\nepsilon=1\ndelta="1/4"', "question 'q': delta"),
        ('kind="choice"\noptions=["a"]\nepsilon=1', "question 'q': options"),
        ('kind="choice"\nepsilon=1', "question 'q': options: is missing"),
        ('kind="chioce"\nepsilon=1', "question 'q': kind: 'chioce' is not a kind of question"),
        ('kind="number"\nlow=3\nhigh=2\nepsilon=1', "question 'q': low must be below high"),
        ('kind="number"\nlow=3\nhigh="many"\nepsilon=1', "question 'q': high"),
        ('kind="number"\nlow=3\nhigh=9\nepsilon=1\nprevalence=0.1', "question 'q': give epsilon, or p00 and p11"),
        ('kind="number"\nlow=0\nhigh=9\nepsilon=1\nclip=1', "question 'q': clip"),
        ('options=["a","b"]\nepsilon=1', "question 'q': options: a yes_no question has none"),
        ('kind="choice"\noptions=["a","b"]\np00="3/4"\np11="3/4"', "question 'q': give epsilon (and delta), or size"),
        ("epsilon_yes=1", "question 'q': give epsilon"),
        ("epsilon=1\nepsilon_yes=1\nepsilon_no=2", "question 'q': give epsilon"),
        ('kind="choice"\noptions=["a",3]\nepsilon=1', "question 'q': options.1: must be words"),
        ('kind="choice"\noptions="a"\nepsilon=1', "question 'q': options: must be a list"),
        ("epsilon=1\npanel=true", "question 'q': a panel needs two rounds or more"),
        ('kind="choice"\noptions=["a","b"]\nsize=1\np="1/2"', "question 'q': p = 1/2 is not above 1/2"),
    ],
)
def test_a_fault_in_a_question_names_its_place(text, hint):
    from rrcollect import RRCollectError

    with pytest.raises(RRCollectError) as error:
        written(text)
    assert str(error.value).startswith(hint), str(error.value)


def test_a_word_that_is_not_one_of_ask_is_refused():
    with pytest.raises(MalformedDocument, match="ask"):
        written("epsilon=1", 'ask="some"\n')
