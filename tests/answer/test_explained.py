"""What people are told is true: limits against the definition, foreign text that cannot imitate ours, one table."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import Design, Disclosure, Epsilon, Policy, Question, SimulatedCollector, Survey, optimal_design
from rrcollect.answer.explain.bound import MOST_SHOWN, bound
from rrcollect.design.sentences import at_least, at_most, decimal, rounded_down, rounded_up
from rrcollect.errors import MalformedDocument
from rrcollect.publish.document import SegmentValue
from rrcollect.publish.texts import passage
from tests.inside.answer import LANGUAGES, Words, marked, shown_lines, survey_lines
from tests.inside.design import PRACTICAL_PROOF
from tests.inside.publish import Segment, words
from tests.support.devices import POLICY, VECTORS, client, envelope, load, question, survey
from tests.support.republishing import CountingSource
from tests.vectors.explained_cases import budget_of, drawn_of, explained, said_of

OPEN = Policy(POLICY.publishers, allow_disclosure=True, max_ratio=10**30, max_epsilon=100)
EIGHTHS = [Design(Fraction(a, 8), Fraction(b, 8)) for a in range(1, 9) for b in range(1, 9) if a + b > 8]
NEAR = [Design("1023/1024", "999/1024"), Design("1023/1024", "1000/1024"), Design("1/1024", "1024/1024")]


# ---- the bound is the definition's ----------------------------------------------------------------------------------


def by_definition(draws: list[tuple[Design, int]]) -> tuple[Fraction, Fraction]:
    """Over every row of truths and of answers: the largest ratio of two chances of one row of answers in which none
    tells, and the largest chance of a row in which one does."""
    designs = [design for design, times in draws for _ in range(times)]
    truths = list(itertools.product((0, 1), repeat=len(designs)))
    ratio, told = Fraction(1), dict.fromkeys(truths, Fraction(0))
    for answers in truths:
        chances = {
            truth: math.prod(
                (d.matrix[t][a] for d, t, a in zip(designs, truth, answers, strict=True)), start=Fraction(1)
            )
            for truth in truths
        }
        if any(design.likelihood_ratio(a) >= PRACTICAL_PROOF for design, a in zip(designs, answers, strict=True)):
            for truth, chance in chances.items():
                told[truth] += chance
        else:
            ratio = max(ratio, max(chances.values()) / min(chances.values()))
    return ratio, max(told.values())


@pytest.mark.parametrize("design", [*EIGHTHS, *NEAR], ids=str)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_bound_of_rounds_is_the_definition_over_all_truths_and_answers(design, times):
    ratio, told = by_definition([(design, times)])
    assert (bound([(design, times)]).ratio or MOST_SHOWN + 1) == min(ratio, MOST_SHOWN + 1)
    assert bound([(design, times)]).telling == told


@given(st.lists(st.tuples(st.sampled_from([*EIGHTHS, *NEAR]), st.just(1)), min_size=1, max_size=4))
def test_the_bound_of_a_survey_is_the_definition_over_all_truths_and_answers(draws):
    ratio, told = by_definition(draws)
    found = bound(draws)
    assert found.telling == told
    assert told == 1 or found.ratio == (None if ratio > MOST_SHOWN else ratio)  # if one tells for certain, none is left


@pytest.mark.parametrize("times", [1000, 16000])
def test_a_bound_over_very_many_draws_is_rounded_outward_and_hardly_at_all(times):
    half, step = Fraction(1, 2), Fraction(1, 2**64)
    design = Design(half + 2**40 * step, half + 1000 * step)
    exact = design.worst_likelihood_ratio**times
    found = bound([(design, times)]).ratio
    assert exact <= found < exact * (1 + Fraction(1, 2**200))
    proof = Design(1, 2**50 * step + step)
    exact = 1 - (1 - proof.p11) ** times
    assert exact <= bound([(proof, times)]).telling < exact * (1 + Fraction(1, 2**200))
    assert bound([(Design("31/32", "31/32"), times)]).ratio is None


# ---- the number shown is an upper bound, rounded up -----------------------------------------------------------------


def checked_numbers(round_up: Any) -> None:
    """A number shown is not below the exact one, has three digits, and no smaller number of three digits would do."""
    for n, d in itertools.product(range(1, 400, 7), (1, 3, 7, 64, 1000, 2**70)):
        for exact in (Fraction(n, d), Fraction(n, d) + 1, Fraction(n * 1000 + 1, d)):
            shown = round_up(exact)
            assert shown >= exact, (exact, shown)
            digits = decimal(shown).replace(".", "").strip("0")
            assert len(digits) <= 3
            assert shown < exact * Fraction(101, 100), (exact, shown)


def test_numbers_are_rounded_up_and_by_less_than_one_in_a_hundred():
    checked_numbers(rounded_up)
    assert [at_most(Fraction(n)) for n in (1, 3, 81, 243, 999, 1000, 1001, 59049)] == [
        "1", "3", "81", "243", "999", "1000", "1010", "59100",
    ]  # fmt: skip
    assert at_most(Epsilon(1).exp) == "2.72"
    assert (at_least(Fraction(1, 3)), at_least(Fraction(25)), rounded_down(Fraction(0))) == ("0.333", "25", 0)


def test_the_check_of_numbers_sees_one_that_is_rounded_to_the_nearest():
    with pytest.raises(AssertionError):
        checked_numbers(lambda exact: Fraction(f"{float(exact):.3g}"))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_rounding_down_mirrors_rounding_up(exact):
    below, above = rounded_down(exact), rounded_up(exact)
    assert below <= exact <= above
    assert (below == exact) == (above == exact)
    assert above <= below * Fraction(101, 100)


def limits(text: str) -> list[str]:
    return re.findall(r"at most ([0-9.]+) times", text)


def asked(*designs: Design, rounds: int = 1) -> list[Question]:
    disclosure = Disclosure(exposed=1, respondents=10**9)
    return [
        question(id=f"q{n}", attribute=f"a{n}", design=design, rounds=rounds, disclosure=disclosure)
        for n, design in enumerate(designs)
    ]


@pytest.mark.parametrize("design", [d for d in EIGHTHS if not d.telling()[1]], ids=str)
@pytest.mark.parametrize(("rounds", "origins"), [(1, 1), (4, 1), (2, 3)])
def test_what_a_survey_says_is_above_the_exact_bound_and_within_rounding(design, rounds, origins):
    listed = [f"https://s{n}.example" for n in range(origins)]
    accepted = OPEN.accept(envelope(*asked(design, Design("3/4", "3/4"), rounds=rounds), origins=listed))
    said = limits(accepted.explain(page=True))
    exact = [design.worst_likelihood_ratio ** (rounds * origins), Fraction(3) ** (rounds * origins)]
    exact.append(exact[0] * exact[1])  # all questions together
    if exact[2] > MOST_SHOWN:
        assert "All questions together: there is no useful limit" in accepted.explain(page=True)
    shown = [number for number in exact if number <= MOST_SHOWN]
    assert len(said) == len(shown)
    for text, number in zip(said, shown, strict=True):
        assert number <= Fraction(text) < number * Fraction(101, 100)


def test_four_rounds_of_a_factor_of_3_are_a_factor_of_81_and_a_page_of_two_origins_squares_it():
    accepted = POLICY.accept(envelope(question(rounds=4), origins=["https://a.example", "https://b.example"]))
    assert limits(accepted.explain()) == ["81"]
    assert limits(accepted.explain(page=True)) == ["6570"]  # 6561
    assert "> https://a.example\n> https://b.example" in accepted.explain(page=True)


@pytest.mark.parametrize(
    ("design", "rounds", "said"),
    [
        (Design(1, "1/128"), 1, ["If “yes” is sent, this proves", "in up to 0.782 of 100 cases", "at most 1.01 times"]),
        (Design(1, "1/128"), 3, ["in up to 2.33 of 100 cases", "in up to 3 rounds", "at most 1.03 times"]),
        (Design("1/4", 1), 2, ["If “no” is sent, this proves", "in up to 43.8 of 100 cases", "at most 1.78 times"]),
        (Design(1, 1), 1, ["Your answer is sent as you give it", "is sent about you for certain"]),
        (Design("1023/1024", "1000/1024"), 1, ["If “yes” is sent, this is as good as a proof", "97.7 of 100 cases"]),
    ],
    ids=str,
)
def test_an_answer_that_tells_the_truth_is_said_plainly(design, rounds, said):
    text = OPEN.accept(envelope(*asked(design, rounds=rounds))).explain()
    for words_ in said:
        assert words_ in text, text


def test_the_optimal_design_with_a_delta_and_no_proof_is_told_by_its_ratio():
    design = optimal_design(1, "1/10", prevalence="1/2")
    assert not design.telling()[1]
    text = OPEN.accept(envelope(*asked(design))).explain()
    assert limits(text) == [at_most(design.worst_likelihood_ratio)]
    assert Fraction(limits(text)[0]) > 3  # above e, which ε alone would say


def test_what_the_publisher_is_told_is_rounded_up_too():

    whole = survey(question(design=optimal_design(1))).composition
    assert "factor of at most 2.719" in whole.explain()  # e = 2.71828…
    assert 'a "yes" by at most 2.719' in optimal_design(1).choice.explain_exposure()


# ---- every circumstance has its sentence ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "A lost, reset or new device does not remember."),
        ({}, "Each answer is sent by itself, without your name"),
        ({}, "You may decline any question."),
        ({"pilot": True}, "This is a trial"),
        ({"invite_only": True}, "Whoever issued the invites can tell which answers came from one invite."),
        ({"collector": "carried"}, "It can tell that they come from one person"),
        ({"opens": "2026-02-01T10:30:00Z"}, "from 1 February 2026, 10:30 UTC until 1 January 2100, 00:00 UTC"),
        (
            {"segments": {"sport": ["run", "ski"]}},
            "never changed by chance. Taken together it can point to you:\n> sport",
        ),
    ],
)
def test_every_circumstance_has_its_sentence(changes, said):
    assert said in POLICY.accept(envelope(**changes)).explain()


KEYS = list(Words.of("en").table)
TOLD = set(KEYS[: KEYS.index("asked_by")]) - {
    "name",
    "decimal",
    "numbers",
    "months",
    "supplied",
}  # the rest is a page's


def test_every_sentence_is_said_somewhere_in_the_vectors(monkeypatch):
    said, real = set(), Words.say

    def say(words: Words, key: str, **places: str) -> str:
        said.add((words.language, key))
        return real(words, key, **places)

    monkeypatch.setattr(Words, "say", say)
    explained()
    assert said == set(itertools.product(LANGUAGES, TOLD))


def test_the_vectors_are_what_this_client_says():
    stored = load(VECTORS / "explained.json")
    for case in stored["surveys"]:
        assert {**case, **said_of(case, case["words"])} == case
    for case in stored["budgets"]:
        assert {**case, **drawn_of(case, case["words"])} == case


def test_the_survey_is_told_in_the_persons_language_if_it_has_it():
    several = question(text={"en": "Ever doped?", "de": "Je gedopt?"})
    accepted = POLICY.accept(envelope(several))
    assert "> Je gedopt?" in accepted.explain("de-AT")
    assert "> Ever doped?" in accepted.explain("fr")


OURS_IN_ENGLISH = [text for text in Words.of("en").table.values() if isinstance(text, str)]

# ---- text of others cannot imitate ours -----------------------------------------------------------------------------

HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=["C"]), min_size=1),
    st.text(st.sampled_from("> \nab.\u0645\u200c\u200d🏅清"), min_size=1, max_size=400),
    st.lists(st.sampled_from(["\n", "> ", " ", "x" * 70, *OURS_IN_ENGLISH]), min_size=1).map("".join),
)


def allowed(check: Any, longest: int) -> Any:
    def good(text: str) -> bool:
        try:
            return bool(check(text)) and len(text) <= longest
        except ValueError:
            return False

    return HOSTILE.map(str.strip).map(lambda text: text[:longest]).filter(good)


ONE_LINE, LINES = allowed(words, 200), allowed(passage, 2000)


def told(title: str, publisher: str, text: str, help_: str, value: str, label: str) -> Survey:
    segment = Segment(values=[SegmentValue(value=value, label={"en": label})], label={"en": label})
    return survey(question(text=text, help=help_), title=title, publisher=publisher, segments={"sport": segment})


OURS = [line for line in shown_lines(survey_lines(told("t", "p", "x", "y", "v", "l"))).split("\n") if line[:2] != "> "]


@given(ONE_LINE, ONE_LINE, LINES, LINES, ONE_LINE, ONE_LINE)
def test_whatever_a_survey_says_the_unmarked_lines_are_ours(title, publisher, text, help_, value, label):
    lines = shown_lines(survey_lines(told(title, publisher, text, help_, value, label))).split("\n")
    assert [line for line in lines if not line.startswith("> ")] == OURS
    for whole in (title, publisher, text, help_):  # and nothing of theirs is lost
        assert [line.removeprefix("> ") for line in marked(whole) if line not in lines] == []
    assert all(sum(2 if c >= "\u1100" else 1 for c in line) <= 78 for line in lines if line.startswith("> "))


def test_the_check_sees_text_that_is_marked_in_its_first_line_only():
    forged = "Ever doped?\nSomebody who sees it learns nothing."
    assert len([line for line in ("> " + forged).split("\n") if not line.startswith("> ")]) == 1
    assert [line for line in marked(forged) if not line.startswith("> ")] == []


@given(LINES)
def test_breaking_lines_loses_nothing_but_the_space_at_the_break(text):
    parts = [line.removeprefix("> ") for line in marked(text)]
    assert re.sub(r"[ \n]", "", "".join(parts)) == re.sub(r"[ \n]", "", text)


def test_the_name_of_an_attribute_is_marked_too(tmp_path):
    from rrcollect import EveryAttributeOf

    device = client(tmp_path, attributes=[EveryAttributeOf("Example Institute")])
    device.answer(device.accept(envelope()), "q1", True)
    assert "\n> Example Institute/doped\n" in device.budget().explain()


def test_persian_is_written_with_its_non_joiner_on_every_surface():
    from tests.inside.cli import plain

    text = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    accepted = POLICY.accept(envelope(question(text=text), title=text))
    assert plain(accepted.explain()).count(text) == 2
    for bad in ("a\u200cb", "\u200c" + text, text + "\u200c", "\u0645\u200c\u200c\u0645"):
        with pytest.raises(MalformedDocument, match="joiner"):
            question(text=bad)


# ---- what was drawn is shown after it left --------------------------------------------------------------------------


def test_until_a_report_has_left_nothing_that_is_shown_depends_on_the_draw(tmp_path):
    shown = []
    for name, draw in (("yes", bytes(8)), ("no", b"\xff" * 8)):
        (tmp_path / name).mkdir()
        device = client(tmp_path / name, source=CountingSource(draw))
        accepted = device.accept(envelope(question(design=Design("7/8", "1/2"))))
        device.answer(accepted, "q1", True)
        budget = device.budget()
        shown.append((budget.explain(), budget.export()["answers"], budget.spent))
        device.deliver(SimulatedCollector([accepted.survey]))
        after = device.budget()
        assert f"“{name}” was sent or may have been sent" in after.explain()
        assert after.export()["answers"][0]["sent"] == ("1" if name == "yes" else "0")
    assert shown[0] == shown[1]
    assert "It is shown here after it was sent." in shown[0][0]
    assert shown[0][1][0]["sent"] is None


@pytest.mark.parametrize(
    ("state", "attempts", "left"),
    [
        ("waiting", 0, False), ("waiting", 1, True), ("delivered", 1, True), ("refused", 1, True),
        ("cancelled", 0, False), ("cancelled", 3, True), ("withdrawn", 0, False), ("carried", 0, True),
    ],
)  # fmt: skip
def test_a_report_that_was_attempted_may_have_left(state, attempts, left):
    drawn = {"attribute": "a", "round": 0, "kind": "yes_no", "design": Design("3/4", "3/4").text, "answer": "1"}
    report = {"attribute": "a", "round": 0, "state": state, "attempts": attempts}
    assert ("may have been sent" in budget_of([drawn], [report], {}).explain()) is left


def test_the_limit_for_life_is_rounded_up_and_says_what_it_leaves_out():
    assert (
        "stops at 20.1 times. Nothing renews." in budget_of([], [], {"lifetime_epsilon": "3"}).explain()
    )  # e^3 = 20.09
    assert "no useful limit for your whole life" in budget_of([], [], {"lifetime_epsilon": "14"}).explain()
    both = budget_of([], [], {"allow_disclosure": True, "lifetime_delta": "1/30"}).explain()
    assert "in up to 3.34 of 100 cases" in both


def test_an_answer_sent_under_a_later_name_is_told_as_sent(tmp_path):
    from rrcollect import Attribute

    first = client(tmp_path, attributes=["doped"], source=CountingSource(bytes(8)))
    stopped = first.accept(envelope())
    first.answer(stopped, "q1", True)
    first.decline(stopped, "q1")
    renamed = client(tmp_path, attributes=[Attribute("used", asked_as=("doped",), aliases=("doped",))], spread=0)
    accepted = renamed.accept(envelope(name="again"))
    renamed.answer(accepted, "q1", lambda: 1 / 0)
    assert "may have been sent" not in renamed.budget().explain()
    renamed.deliver(SimulatedCollector([accepted.survey]))
    assert "> doped\n“yes” was sent or may have been sent, in 1 report." in renamed.budget().explain()
