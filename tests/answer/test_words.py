"""What a person read identifies a draw, whatever an app calls it; an alias says that two names are one attribute."""

import itertools
import json
import re
from pathlib import Path

import pytest

from rrcollect import Attribute, EveryAttributeOf, ParameterError, Survey
from rrcollect.errors import AlreadyAnswered, BudgetExhausted
from rrcollect.publish.texts import ALIKE, PAIRS, fingerprint
from tests.support.devices import KEY, PUBLISHER, VECTORS, Policy, client, envelope, load, question, survey
from tests.support.republishing import CountingSource
from tests.vectors.text_cases import OTHERS

SAME = [
    "Ever doped?",
    "EVER DOPED",
    "ever  doped ?!",
    "Ｅver doped?",  # full width: one letter under NFKC
]


def never():
    raise AssertionError("the truth was read")


def asked(name, text, **changes):
    return envelope(question(id="q", attribute=name, text=text), name=f"survey-{name}", **changes)


def test_the_same_words_under_six_attributes_are_drawn_once(tmp_path):
    """Six registered attributes gave six draws of one person; the first is named, and how to declare an alias."""
    source, names = CountingSource(), [f"a{i}" for i in range(6)]
    device = client(tmp_path, attributes=names, source=source)
    device.answer(device.accept(asked("a0", SAME[0])), "q", True)
    for i, name in enumerate(names[1:]):
        with pytest.raises(AlreadyAnswered, match=r"for the attribute 'a0'.*aliases=\('a0',\)"):
            device.answer(device.accept(asked(name, SAME[i % 4])), "q", never)
    assert source.times == 1
    assert [draw.attribute for draw in device.budget().draws] == ["a0"]


def test_words_are_compared_in_all_languages_of_the_survey(tmp_path):
    device = client(tmp_path, attributes=["a", "b", "c"])
    both = {"en": "Ever doped?", "de": "Je gedopt?"}
    device.answer(device.accept(asked("a", both)), "q", True)
    for name, text in [("b", "je gedopt"), ("c", {"en": "Something else?", "fr": "EVER DOPED"})]:
        with pytest.raises(AlreadyAnswered, match="these words"):
            device.answer(device.accept(asked(name, text)), "q", never)


def test_the_words_of_a_repeated_answer_are_remembered_too(tmp_path):
    device = client(tmp_path, attributes=["a", "b"])
    device.answer(device.accept(asked("a", "Ever doped?")), "q", True)
    again = envelope(question(id="q", attribute="a", text="Ever taken EPO?"), name="again")
    device.answer(device.accept(again), "q", never)
    with pytest.raises(AlreadyAnswered):
        device.answer(device.accept(asked("b", "Ever taken EPO?")), "q", never)


def test_two_questions_of_one_survey_in_the_same_words_are_one(tmp_path):
    device = client(tmp_path, attributes=["a", "b"])
    twice = device.accept(
        envelope(question(id="q1", attribute="a", text=SAME[0]), question(id="q2", attribute="b", text=SAME[1]))
    )
    device.answer(twice, "q1", True)
    with pytest.raises(AlreadyAnswered):
        device.answer(twice, "q2", never)


@pytest.mark.parametrize("old", [["doped"], [EveryAttributeOf(PUBLISHER)]])
def test_a_renamed_attribute_is_refused_without_an_alias_and_repeated_with_one(tmp_path, old):
    """Going from EveryAttributeOf to a named attribute drew again."""
    source = CountingSource()
    device = client(tmp_path, attributes=old, source=source)
    first = device.answer(device.accept(asked("doped", "Ever doped?")), "q", True)
    (was,) = {draw.attribute for draw in device.budget().draws}
    other = envelope(question(id="q", attribute="doped", text="Other words?"), name="other")
    plain = client(tmp_path, attributes=[Attribute("doping", asked_as=("doped",))], source=source)
    with pytest.raises(AlreadyAnswered, match=was):
        plain.answer(plain.accept(asked("doped", "Ever doped?")), "q", never)
    renamed = Attribute("doping", asked_as=("doped",), aliases=(was,))
    device = client(tmp_path, attributes=[renamed], source=source)
    assert device.answer(device.accept(asked("doped", "Ever doped?")), "q", never) == first
    assert device.answer(device.accept(other), "q", never).answer == first.answer
    assert source.times == 1
    assert device.budget().spent_on("doping") == device.budget().spent


def test_a_publishers_name_that_is_an_alias_leads_to_the_attribute(tmp_path):
    source = CountingSource()
    renamed = Attribute("doping", asked_as=("doping",), aliases=(f"{PUBLISHER}/doped",))
    device = client(tmp_path, attributes=[renamed, EveryAttributeOf(PUBLISHER)], source=source)
    first = device.answer(device.accept(asked("doping", "Ever doping?")), "q", True)
    assert device.answer(device.accept(asked("doped", "In other words?")), "q", never).answer == first.answer
    assert source.times == 1


def test_of_two_draws_made_before_the_alias_the_earliest_is_repeated(tmp_path):
    device = client(tmp_path, attributes=["old", "new"], source=bytes)
    first = device.answer(device.accept(asked("old", "Old words?")), "q", True)
    flipped = client(tmp_path, attributes=["old", "new"], source=lambda n: b"\xff" * n)
    second = flipped.answer(flipped.accept(asked("new", "New words?")), "q", True)
    assert (first.answer, second.answer) == ("1", "0")
    device = client(tmp_path, attributes=[Attribute("new", aliases=("old",))])
    third = envelope(question(id="q", attribute="new", text="Third words?"), name="third")
    assert device.answer(device.accept(third), "q", never).answer == first.answer
    assert str(device.budget().spent_on("new").epsilon) == "ln(9)"


def test_what_was_spent_under_an_alias_is_spent(tmp_path):
    policy = Policy(client(tmp_path).policy.publishers, attribute_epsilon="ln 3")
    device = client(tmp_path, attributes=["old"], policy=policy)
    device.answer(device.accept(asked("old", "Old words?")), "q", True)
    renamed = [Attribute("new", rounds=2, aliases=("old",))]
    device = client(tmp_path, attributes=renamed, policy=policy)
    rounds = envelope(question(id="q", attribute="new", text="New words?", rounds=2), name="rounds")
    with pytest.raises(BudgetExhausted):
        device.answer(device.accept(rounds), "q", never, round=1)


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ([Attribute("a", aliases=("a",))], "'a'"),
        (["b", Attribute("a", aliases=("b",))], "'b'"),
        ([Attribute("a", aliases=("x",)), Attribute("b", aliases=("x",))], "'x'"),
    ],
)
def test_an_alias_is_an_earlier_name_of_one_attribute(tmp_path, attributes, name):
    with pytest.raises(ParameterError, match=f"aliases is {name}"):
        client(tmp_path, attributes=attributes)


@pytest.mark.parametrize("aliases", ["old", ("",), (1,), ["old"]])
def test_aliases_are_a_tuple_of_names(aliases):
    with pytest.raises(ParameterError, match="aliases"):
        Attribute("a", aliases=aliases)


def test_the_search_catches_a_ledger_that_does_not_look_at_words(tmp_path, monkeypatch):
    """The planted bug: fingerprints that are never found."""
    fresh = itertools.count()
    monkeypatch.setattr("rrcollect.publish.texts.fingerprint", lambda text: str(next(fresh)))
    source = CountingSource()
    device = client(tmp_path, attributes=["a", "b"], source=source)
    for name in ("a", "b"):
        device.answer(device.accept(asked(name, "Ever doped?")), "q", True)
    assert source.times == 2


def test_a_policy_is_a_policy(tmp_path):
    for nonsense in (None, {}, Survey):
        with pytest.raises(ParameterError, match="policy"):
            client(tmp_path, policy=nonsense)


TWINS = [
    ("Ever doped?", "Ever d\u043eped?"),  # a Cyrillic o
    ("Ever doped?", "\u0395\u03bder doped?"),  # a Greek capital E, and a small nu
    ("HAVE YOU EVER?", "\u041d\u0410V\u0415 Y\u041eU EVER?"),  # Cyrillic capitals
    ("Were you ill in 2010?", "Were you iIl in 2O1O?"),
    ("Auf der Straße gedopt?", "AUF DER STRASSE GEDOPT?"),
    ("Έχετε ντοπαριστεί ποτέ μόνος;", "ΈΧΕΤΕ ΝΤΟΠΑΡΙΣΤΕΊ ΠΟΤΈ ΜΌΝΟΣ;"),
    ("Вы принимали допинг?", "ВЫ ПРИНИМАЛИ ДОПИНГ"),
    ("Ever doped?", "Ẹver dọpẹd?"),  # dots that are hardly seen
    ("Ever doped?", "Éver do\u0323ped?"),
    ("Have you ever gambled?", "H\u0251ve yo\u057d ever \u0261ambled?"),  # letters of phonetics and of Armenian
    ("Вы ещё курите?", "Вы еще курите?"),
]
APART = [
    ("Ever doped?", "Ever hoped?"),
    ("Вы принимали допинг?", "Вы принимали кофе?"),
    ("In 2010?", "In 2012?"),
    ("7", "8"),
    *[(one, other) for one, others in OTHERS.items() for other in others],
]


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_words_that_look_the_same_are_the_same(tmp_path, one, other):
    """Letters of another script drew again, and so did a spelling in capitals."""
    device = client(tmp_path, attributes=["a", "b"])
    device.answer(device.accept(asked("a", one)), "q", True)
    with pytest.raises(AlreadyAnswered, match="these words"):
        device.answer(device.accept(asked("b", other)), "q", never)


@pytest.mark.parametrize(("one", "other"), APART)
def test_words_that_are_read_otherwise_are_others(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_the_browser_client_has_the_same_table_of_letters():
    text = Path(__file__).parents[2].joinpath("rrcollect/web/src/publish/texts.mjs").read_text(encoding="utf-8")
    table = re.search(r"const ALIKE = (\[.*?\n\]);", text, re.DOTALL)[1]
    assert json.loads(re.sub(r",\s*\]", "]", table)) == list(ALIKE)
    assert len("".join(ALIKE)) == len(set("".join(ALIKE)))
    pairs = re.search(r"const PAIRS = (\{.*?\});", text)[1]
    assert dict(re.findall(r'(\w): "(\w+)"', pairs)) == PAIRS


KNOWN = load(VECTORS / "words.json")


@pytest.mark.parametrize("vector", [one for one in KNOWN if one["like"] is not None], ids=lambda one: str(one["text"]))
def test_the_same_in_other_signs_numbers_or_places_draws_nothing(tmp_path, vector):
    """Of the words of a question each way in which they were changed: in its text, in its help, or from one to the
    other.  Old fingerprints (text alone; letters of two for one, numbers and punctuation counted) drew again."""
    source, first = CountingSource(), KNOWN[vector["like"]]
    device = client(tmp_path, attributes=["a", "b"], source=source)
    language = next(iter(vector["text"]))
    for name, asked_in, of in (("a", "en", first), ("b", language, vector)):
        asked = question(id="q", attribute=name, text=of["text"], help=of["help"])
        titled = {"title": dict.fromkeys([*of["text"], *of["help"]], "T"), "language": asked_in}
        if asked_in not in of["help"]:
            asked = question(id="q", attribute=name, text=of["text"], help={**of["help"], asked_in: f"Help of {name}"})
        accepted = device.accept(envelope(asked, name=name, **titled))
        if name == "a":
            device.answer(accepted, "q", True)
        else:
            with pytest.raises(AlreadyAnswered, match="these words"):
                device.answer(accepted, "q", never)
    assert source.times == 1


def test_publishing_warns_of_two_questions_in_the_same_words():
    same = {"help": "Think of the last twelve months."}
    one, other = question(**same), question(id="q2", attribute="b", **same)
    (warning,) = survey(one, other).publish([KEY]).warnings
    assert "questions 'q1' and 'q2' have the same text or help" in warning
    assert survey(one, question(id="q2", attribute="b")).publish([KEY]).warnings == ()


# ---- names that were used as one are one for good -------------------------------------------------------------------


def test_a_dropped_alias_brings_no_second_draw(tmp_path):
    """Release 1 knows "a", release 2 calls it "b", release 3 has forgotten that; release 4 has both, release 5 "c"."""
    source = CountingSource()
    releases = [["a"], [Attribute("b", aliases=("a",))], ["b"], ["a", "b"], [Attribute("c", aliases=("b",))], ["c"]]
    answers = set()
    for number, attributes in enumerate(releases):
        device = client(tmp_path, attributes=attributes, source=source)
        name = attributes[-1] if isinstance(attributes[-1], str) else attributes[-1].name
        answers.add(
            device.answer(device.accept(asked(name, f"Wording {number}?", version=number + 1)), "q", True).answer
        )
    assert source.times == 1
    assert len(answers) == 1


def test_an_alias_counts_from_its_first_use_on_in_both_directions(tmp_path):
    """Nothing was drawn under the alias when it was used; later the app asks under the alias alone."""
    source = CountingSource()
    first = client(tmp_path, attributes=[Attribute("b", aliases=("a",))], source=source)
    first.answer(first.accept(asked("b", "Ever?")), "q", True)
    later = client(tmp_path, attributes=["a"], source=source)
    later.answer(later.accept(asked("a", "Otherwise?")), "q", True)
    assert source.times == 1


def test_a_panel_keeps_its_round_when_the_alias_is_dropped(tmp_path):
    drawn = set()
    for number, attributes in enumerate([["a"], [Attribute("b", aliases=("a",))], ["b"]]):
        device = client(tmp_path, attributes=attributes)
        about = "a" if number == 0 else "b"
        panel = question(id="q", attribute=about, text=f"{number}?", rounds=500, panel=True)
        drawn.add(device.panel_round(device.accept(envelope(panel, name=f"s{number}")), "q"))
    assert len(drawn) == 1
