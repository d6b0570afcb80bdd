"""Documents are read strictly, the first fault is told by its name, no number is slow, and Ctrl-C is Ctrl-C."""

import gc
import hashlib
import json
import os
import signal
import time
from fractions import Fraction

import flint
import pytest

from rrcollect import (
    Attribute,
    Choice,
    Epsilon,
    EveryAttributeOf,
    Number,
    ParameterError,
    Policy,
    Promise,
    Question,
    Report,
    SetDesign,
    Survey,
)
from rrcollect.design.parameters import SIGNED
from rrcollect.errors import MalformedDocument, MalformedReport, NotCanonical
from rrcollect.publish import document, texts
from tests.inside.answer import Attributes
from tests.inside.design import from_text, from_wire
from tests.inside.publish import canonical
from tests.support.devices import VECTORS, load, moment, question, survey, vector_policy
from tests.vectors.parts import NOW, ONE_OF_THREE, QUESTION, SET_DESIGN, SURVEY, b64, with_survey
from tests.vectors.parts import POLICY as RULES
from tests.vectors.report_cases import REPORT

# ---- what a program may leave out is written on the wire -----------------------------------------------------------


def test_a_document_has_one_spelling_in_which_every_field_is_written():
    made = survey()
    assert json.loads(made.payload()) == made.to_wire()
    assert set(made.to_wire()) == set(Survey.model_fields)
    assert set(made.to_wire()["questions"][0]) == set(Question.model_fields)
    assert Survey.from_wire(made.to_wire()) == made


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Clean sport"},  # a program may say so; a document may not
        {"segments": {"sport": ["run", "ski"]}},
        {"questions": [{**QUESTION, "text": "Ever doped?"}]},
        {"self": 1},
        {"language": [], "title": "x"},
    ],
)
def test_on_the_wire_nothing_is_converted(change):
    with pytest.raises(MalformedDocument):
        Survey.from_payload(canonical({**SURVEY, **change}))


def test_a_fault_is_told_with_its_place():
    broken = {**SURVEY, "questions": [QUESTION, {**QUESTION, "id": "q2", "attribute": "b", "text": {"en": 7}}]}
    with pytest.raises(MalformedDocument, match=r"^questions\.1\.text\.en: "):
        Survey.from_payload(canonical(broken))
    with pytest.raises(MalformedDocument, match=r"^questions\.0: it must have exactly the fields id, attribute, kind"):
        Survey.from_payload(canonical({**SURVEY, "questions": [{}]}))


def test_a_kind_may_be_written_plainly_by_a_program():
    assert Number(low=0, high="24").high == "24"
    assert Number(0, 24, "hours") == Number(low=0, high="24", unit={"en": "hours"})
    assert Choice(["a", "b"]) == Choice(options=["a", "b"])
    with pytest.raises(TypeError, match="takes 3 values without a name, not 4"):
        Number(0, 24, "hours", True)  # type: ignore[call-arg]
    assert Choice(options=[{"en": "a"}, {"en": "b"}]).texts == ({"en": "a"}, {"en": "b"})


# ---- mechanisms and the kinds they go with ---------------------------------------------------------------------------


def test_a_design_for_options_is_read_and_goes_with_a_choice_of_as_many():
    assert from_wire(SET_DESIGN) == from_text(canonical(SET_DESIGN).decode()) == SetDesign(3, 1, "1/2")
    with pytest.raises(ParameterError):
        from_wire({**SET_DESIGN, "k": 1})
    with pytest.raises(MalformedDocument, match="^question 'q1': a yes_no question goes with a design of p00 and p11$"):
        Survey.from_payload(canonical({**SURVEY, "questions": [{**QUESTION, "design": SET_DESIGN}]})).check()
    four = {**ONE_OF_THREE, "design": {**SET_DESIGN, "options": 4}}
    with pytest.raises(MalformedDocument, match="^question 'q1': a choice of 3 options goes with a design for 3 opt"):
        Survey.from_payload(canonical({**SURVEY, "questions": [four]})).check()
    Survey.from_payload(canonical({**SURVEY, "questions": [ONE_OF_THREE]})).check()


def test_a_panel_of_one_round_is_refused_by_name():
    with pytest.raises(MalformedDocument, match="^question 'q1': a panel needs two rounds or more$"):
        Survey.from_payload(canonical({**SURVEY, "questions": [{**QUESTION, "panel": True}]})).check()


def test_a_report_holds_a_set_of_the_designs_size():
    for answer in ("100", "010", "001"):
        assert Report.from_bytes(canonical({**REPORT, "design": SET_DESIGN, "answer": answer})).answer == answer
    for answer in ("1", "000", "110", "0100"):
        with pytest.raises(MalformedReport, match="answer must be"):
            Report.from_bytes(canonical({**REPORT, "design": SET_DESIGN, "answer": answer}))


# ---- numbers --------------------------------------------------------------------------------------------------------


def near_a_tie(ratio: Fraction, bits: int) -> Fraction:
    """A number hardly above ln `ratio`, as near as this many bits allow: comparing them costs most."""
    with flint.ctx.workprec(4 * bits):
        logarithm = flint.arb(flint.fmpq(ratio.numerator, ratio.denominator)).log()
        scaled = (logarithm * flint.arb(2) ** (3 * bits)).floor().unique_fmpz()
    exact, largest = Fraction(int(scaled), 2 ** (3 * bits)), 2**bits - 1
    while (found := exact.limit_denominator(largest)) <= exact:
        largest -= largest // 7
    return found


def costly(bits: int) -> bytes:
    """A signed survey of 200 questions, each with a promise that its design keeps by a hair."""
    asked = []
    for number in range(200):
        p = Fraction(3 * 2**62 + 977 * number + 1, 2**64)
        promise = {"epsilon": str(near_a_tie(p / (1 - p), bits)), "delta": "0"}
        changes = {"id": f"q{number}", "attribute": f"a{number}", "design": {"p00": str(p), "p11": str(p)}}
        asked.append({**QUESTION, **changes, "promise": promise})
    return with_survey(questions=asked)


@pytest.mark.process
@pytest.mark.no_cover
def test_no_document_is_slow_to_judge_in_python_or_node():
    from tests.assurance.documents.hosts import node

    signed = costly(SIGNED.bits - 2)
    case = {"now": NOW, "policy": RULES, "envelope": b64(signed)}
    spent = os.times()
    vector_policy(case).accept(signed, now=moment(NOW))
    assert node({"surveys": [case]}) == ["accepted"]
    now = os.times()  # the processor's time, which others on the machine do not lengthen: 0.2 and 0.5 s
    assert now.user - spent.user < 5
    assert now.children_user - spent.children_user < 5


def test_a_number_of_a_document_has_few_bits():
    over = Promise(Epsilon(str(2**512)), Fraction(0))  # a program's own numbers may have more
    with pytest.raises(MalformedDocument, match="promise"):
        question(promise=over)
    assert question(promise=Promise(Epsilon(str(2**512 - 1)), Fraction(0))).promise.epsilon == Epsilon(2**512 - 1)
    with pytest.raises(ParameterError):
        Epsilon(" + ".join(["ln(1e4000)"] * 100))  # a sum is bounded too


# ---- texts ----------------------------------------------------------------------------------------------------------


def test_the_browser_client_has_the_same_table_of_hidden_characters():
    import re

    module = (VECTORS.parents[1] / "rrcollect/web/src/publish/texts.mjs").read_text(encoding="utf-8")
    table = module[module.index("const HIDDEN = [") : module.index("const BLANK = ")]
    listed = tuple((int(a, 16), int(b, 16)) for a, b in re.findall(r"\[0x([0-9A-F]+), 0x([0-9A-F]+)\]", table))
    assert listed == texts.HIDDEN
    (blank,) = re.findall(r'const BLANK = "(.*?)";', module)
    assert blank.replace("\\\\", "\\").encode().decode("unicode-escape") == texts.BLANK


# ---- settings -------------------------------------------------------------------------------------------------------


def test_settings_are_judged_as_in_the_browser_client():
    for case in load(VECTORS / "settings.json"):
        if case["good"]:
            assert isinstance(policy_of(case), Policy)
        else:
            with pytest.raises((ParameterError, TypeError)):
                policy_of(case)


def policy_of(case):
    """As `vector_policy`, for settings that may be anything."""
    listed = case["policy"].get("publishers")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return Policy(**case["policy"])
    for publisher in listed:
        keys = publisher.get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, str) and len(key) == 64 for key in keys):
            raise ParameterError("keys", keys, "keys in hexadecimal")  # Python's keys are objects, not texts
        if set(publisher) - {"name", "keys", "threshold"} or "name" not in publisher:
            raise TypeError("unknown or missing settings")
    return vector_policy(case)


@pytest.mark.parametrize(
    "registered",
    [
        [EveryAttributeOf("P"), EveryAttributeOf("P", rounds=2)],
        [Attribute("a"), "a"],
    ],
)
def test_what_is_registered_twice_is_refused(registered):
    with pytest.raises(ParameterError):
        Attributes(registered)


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_publisher_has_a_name(name):
    with pytest.raises(ParameterError, match="publisher"):
        EveryAttributeOf(name)


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


def interrupted(work):
    """What surfaces when Ctrl-C comes at some moment of the work, at many moments."""
    found = set()
    start = time.perf_counter()
    work()
    lasts = time.perf_counter() - start
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    gc.disable()  # an interrupt in a finaliser is the interpreter's to tell, and it only warns
    try:
        for share in range(1, 60):
            try:
                signal.setitimer(signal.ITIMER_REAL, lasts * share / 60)
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except BaseException as error:
                found.add(type(error).__name__)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    return found


@pytest.mark.long
@pytest.mark.no_cover
def test_an_interrupt_while_a_document_is_read_or_written_is_an_interrupt():
    asked = [question(id=f"q{i}", attribute=f"a{i}", rounds=1 + i) for i in range(40)]
    payload = survey(*asked).payload()

    def work():
        for _ in range(5):
            survey(*asked).payload()
            Survey.from_payload(payload)

    assert interrupted(work) == {"KeyboardInterrupt"}


@pytest.mark.parametrize(("module", "name"), [(texts, "_checked"), (document, "_wire")])
def test_an_interrupt_in_a_function_of_ours_passes_through(monkeypatch, module, name):
    payload = survey().payload()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        Survey.from_payload(payload)


def test_another_spelling_of_a_promise_is_not_canonical():
    spelled = {**QUESTION, "promise": {"epsilon": "ln 3", "delta": "0"}}
    with pytest.raises(NotCanonical):
        Survey.from_payload(canonical({**SURVEY, "questions": [spelled]}))


# ---- frozen, and hashed once ----------------------------------------------------------------------------------------


def test_a_survey_is_frozen_to_its_texts_and_its_digest_is_computed_once(monkeypatch):
    import copy
    import pickle

    from tests.inside.publish import document as document_module

    kind = Choice(options=["Never", "Once"])
    asked = question(kind=kind, design=SetDesign(2, 1, "3/4"))
    made = survey(asked, segments={"sport": ["run"]}, consent={"en": "Yes."}, privacy={"en": "https://example.org"})
    frozen = [made.title, made.consent, made.privacy, made.thanks, made.segments, made.segments["sport"].label]
    frozen += [asked.text, asked.help, kind.options[0]]
    for said in frozen:
        before = dict(said)
        for change in (
            lambda said=said: said.update(en="Other"),
            lambda said=said: said.__setitem__("en", "Other"),
            lambda said=said: said.pop("en", None),
            lambda said=said: said.setdefault("xx", "Other"),
            lambda said=said: said.__ior__({"en": "Other"}),
            said.clear,
        ):
            with pytest.raises(TypeError, match="cannot be changed"):
                change()
        assert said == before
    spelled = []
    real = document_module.canonical
    monkeypatch.setattr(document_module, "canonical", lambda value: (spelled.append(1), real(value))[1])
    payload = made.payload()
    read = Survey.from_payload(payload)
    assert {read.digest for _ in range(5)} == {made.digest for _ in range(5)} == {hashlib.sha256(payload).hexdigest()}
    assert len(spelled) == 2  # `payload()` here, and `made.digest`; `from_payload` compares values
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    other = made.model_copy(update={"version": 2})
    fields = {name: getattr(made, name) for name in Survey.model_fields}
    assert other.digest == Survey(**{**fields, "version": 2}).digest
    assert other.digest != made.digest


def test_a_copy_that_kept_the_digest_would_be_taken_for_the_signed_survey():
    """The planted bug: pydantic's own copy carries along what was computed from the old fields."""
    from pydantic import BaseModel

    made = survey()
    assert made.digest == BaseModel.model_copy(made, update={"version": 2}).digest
    assert made.digest != made.model_copy(update={"version": 2}).digest
