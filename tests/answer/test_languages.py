"""The words of every language: one form, nothing missing or left in English, right plurals, others' words marked."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import unicodedata
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rrcollect import Design, Disclosure, ParameterError
from rrcollect.answer.explain.words import FORMS, direction, plural
from tests.inside.answer import LANGUAGES, Words, question_headline
from tests.inside.publish import words as one_line
from tests.support.devices import POLICY, envelope, question

FOLDER = Path(__file__).parents[2] / "rrcollect" / "web" / "src" / "words"
PLACE = re.compile(r"\{([a-z]+)\}")
COUNTED = {
    "smallest_crowd": range(2, 1001),  # the counts that each of these sentences is said of
    "moment": range(1, 32), "reports": range(1, 1001), "rounds": range(2, 1001), "panel": range(2, 1001),
    "ask_one": range(2, 201), "drew_one": range(2, 201), "origins": range(2, 17), "scroll": range(7, 201),
    "switched_one": range(2, 1001), "case_one": range(2, 1001), "life_part": range(2, 1001),
    "spent_part": range(2, 1001), "bits": range(1, 4), "bits_once": range(4, 250), "carried_bits": range(1, 1001),
}  # fmt: skip
SAME = {  # what may be spelt as in English
    "decimal": {"ar"}, "moment": {"ar"}, "minus": {"de"}, "name": set(), "details": set(), "contact": {"fr"},
    "no_button": {"es"}, "question": set(), "progress": set(),
}  # fmt: skip
LATIN = {"UTC", "JavaScript", "https"}  # words that an Arabic sentence may hold


def tables() -> dict[str, dict[str, Any]]:
    return {language: dict(Words.of(language).table) for language in LANGUAGES}


def forms(said: Any) -> dict[str, str]:
    return {"other": said} if isinstance(said, str) else said


def faults(given: dict[str, dict[str, Any]]) -> list[str]:
    """What is wrong with these tables, as lines."""
    english, found = given["en"], []
    for language, table in given.items():
        if list(table) != list(english):
            found.append(f"{language}: other keys, or in another order")
            continue
        for key, said in table.items():
            where, places = (
                f"{language}.{key}",
                {p for text in forms(english[key]).values() for p in PLACE.findall(text)},
            )
            needed = {plural(language, count) for count in COUNTED.get(key, ())}
            written = set(forms(said))
            if "other" not in written or not written - {"other"} <= needed:
                found.append(f"{where}: forms {written}, needed {needed}")
            if language == "ar" and key in COUNTED and key != "moment" and "few" not in written:
                found.append(f"{where}: one form for all numbers")
            for form, text in forms(said).items():
                held = set(PLACE.findall(text))
                exact = form in ("one", "two")  # a form for one number need not show it
                if held - places or (places - held and not (exact and places - held <= {"count", "number"})):
                    found.append(f"{where}: the places {held}, not {places}")
                if language != "en" and text == forms(english[key]).get(form) and language not in SAME.get(key, set()):
                    found.append(f"{where}: left in English")
                if language == "ar" and set(re.findall(r"[A-Za-z]+", PLACE.sub("", text))) - LATIN:
                    found.append(f"{where}: {text}")
                if language == "fr" and re.search(r"(?<!\u00a0)[:;?!»]|«(?!\u00a0)|\d\d{3}", text):
                    found.append(f"{where}: a line may break before its signs, or within a number")
                if one_line(text) != text or unicodedata.normalize("NFC", text) != text or "  " in text or '"' in text:
                    found.append(f"{where}: not plain text")
                if text[-1] in ".?:؟" and forms(english[key])["other"][-1] not in ".?:" and key != "decimal":
                    found.append(f"{where}: ends as a sentence")
    return found


def test_every_language_says_everything():
    assert faults(tables()) == []


@pytest.mark.parametrize(
    ("language", "key", "text"),
    [
        ("de", "send", None), ("fr", "share", "souvent"), ("es", "send", "Send"), ("ar", "send", "Send"),
        ("de", "share", "in {number} von {hundert} Fällen"), ("ar", "rounds", {"few": "{count} جولات"}),
        ("ar", "reports", {"one": "رسالة", "other": "{count} رسالة", "zero": "لا"}), ("fr", "how", "Comment ?\u202e"),
        ("de", "send", "Senden."), ("de", "how", {"one": "Wie?", "other": "Wie?"}),
        ("fr", "how", "Comment ?"), ("fr", "yes", "« oui »"), ("fr", "case_few", "moins de 1 cas sur 1000"),
        ("es", "yes", '"sí"'),
    ],
)  # fmt: skip
def test_the_check_of_languages_sees_what_is_wrong(language, key, text):
    planted = tables()
    if text is None:
        del planted[language][key]
    else:
        planted[language][key] = text
    with contextlib.suppress(ValueError):  # it cannot be shown at all
        assert faults(planted) != []


def test_a_file_is_json_without_repeated_keys_and_all_are_listed():
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(LANGUAGES)
    for path in FOLDER.iterdir():
        pairs = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=list)
        assert len({key for key, _ in pairs}) == len(pairs)


@pytest.mark.browser
def test_plurals_are_those_of_unicode():
    code = """
        const said = {};
        for (const language of ["en", "de", "fr", "es", "ar"]) {
          const rules = new Intl.PluralRules(language);
          said[language] = Array.from({ length: 1200 }, (_, count) => rules.select(count));
        }
        console.log(JSON.stringify(said));
    """
    done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    judged = json.loads(done.stdout)
    for language in LANGUAGES:
        assert [plural(language, count) for count in range(1200)] == judged[language]
    assert set(judged["ar"]) == set(FORMS)  # so the rules were there


def test_months_and_small_numbers_are_all_there():
    for language in LANGUAGES:
        words = Words.of(language)
        assert len({words.moment(datetime(2100, month, 1, tzinfo=UTC)) for month in range(1, 13)}) == 12
        assert len(str(words.table["months"]).split()) == 12
        assert len({words.counted(number) for number in range(2, 11)}) == 9
        assert words.counted(11) == "11"
    assert Words.of("de").moment(datetime(2100, 3, 1, 9, 5, tzinfo=UTC)) == "1. März 2100, 09:05 Uhr"
    assert [Words.of("fr").moment(datetime(2100, 3, day, tzinfo=UTC)).split()[0] for day in (1, 2)] == ["1er", "2"]


def test_numbers_have_the_sign_of_the_language_and_the_same_digits_everywhere():
    said = {language: Words.of(language).say("share", number="2.5") for language in LANGUAGES}
    assert {language: "2,5" in text for language, text in said.items()} == {
        "en": False, "de": True, "fr": True, "es": True, "ar": False,
    }  # fmt: skip
    assert "2.5" in said["ar"]
    assert Words.of("de").say("clipped", low="1/3", high="-0.5").count("-0,5") == 2
    below = {language: Words.of(language).say("from_to", low="-5", high="5") for language in LANGUAGES}
    assert [language for language, text in below.items() if "\u200e-5" in text] == ["ar"]  # else it is read as 5-
    assert not any(
        unicodedata.category(c) == "Nd" and c not in "0123456789" for text in map(str, tables().values()) for c in text
    )


def test_a_language_is_found_by_its_base_and_english_stands_in_for_others():
    assert [Words.of(language).language for language in ("de-AT", "AR-EG", "pt", None)] == ["de", "ar", "en", "en"]
    assert [Words.of(language).direction for language in LANGUAGES] == ["ltr"] * 4 + ["rtl"]
    assert [direction(language) for language in ("he", "fa-IR", "az-Arab", "az-Latn")] == ["rtl", "rtl", "rtl", "ltr"]


def test_the_client_speaks_the_language_it_is_asked_for_or_that_of_the_survey(tmp_path):
    accepted = POLICY.accept(envelope())
    assert "Sie können jede Frage ablehnen." in accepted.explain("de")
    assert accepted.headline("fr").startswith("Une réponse sur quatre est inversée")
    german = POLICY.accept(envelope(question(text={"de": "Gedopt?"}), language="de", title={"de": "Sport"}))
    assert "Sie können jede Frage ablehnen." in german.explain()
    assert "You may decline any question." in german.explain("en")


# ---- words that somebody else supplies ------------------------------------------------------------------------------


def supplied() -> dict[str, Any]:
    """A table in a language that is not ours."""
    return {key: said if key in ("numbers", "months") else _turned(said) for key, said in Words.of("en").table.items()}


def _turned(said: Any) -> Any:
    return f"IT {said}" if isinstance(said, str) else {form: f"IT {text}" for form, text in said.items()}


def test_words_that_somebody_supplies_are_used_and_marked():
    words = Words("it", supplied())
    lines = POLICY.accept(envelope()).explain("it", words=words).split("\n")
    assert lines[0] == Words.of("en").say("supplied")  # in our words, not in theirs
    assert lines[1].startswith("IT Lines that begin")


@pytest.mark.parametrize(
    ("language", "change"),
    [
        ("de", {}), ("de-AT", {}), ("Italian", {}), ("it", {"send": None}), ("it", {"more": "x"}),
        ("it", {"share": "spesso"}), ("it", {"send": "{word}"}), ("it", {"send": "a\u202eb"}), ("it", {"send": "a\nb"}),
        ("it", {"send": {"one": "x"}}), ("it", {"send": {"other": "x", "lots": "y"}}), ("it", {"send": 5}),
        ("it", {"send": "x" * 2001}), ("it", {"send": ""}),
    ],
)  # fmt: skip
def test_words_that_are_not_whole_or_are_ours_are_refused(language, change):
    table = {key: said for key, said in {**supplied(), **change}.items() if said is not None}
    with pytest.raises(ParameterError):
        Words(language, table)
    assert Words("it", supplied()).supplied


# ---- what is read first ---------------------------------------------------------------------------------------------


def test_one_answer_in_four():
    assert POLICY.accept(envelope()).headline() == (
        "One answer in four is switched before it leaves this device. So a “yes” from you proves nothing."
    )


def test_that_nothing_is_proved_is_said_up_to_a_factor_of_4_and_protection_is_never_overstated():
    said = {}
    for k in range(33, 64):
        for j in range(65 - k, 64):
            design = Design(Fraction(k, 64), Fraction(j, 64))
            asked = question(design=design, disclosure=Disclosure(exposed=1, respondents=10**9))
            said[k, j] = text = " ".join(question_headline(asked, Words.of("en")))
            nothing = re.search(r"proves (nothing|anything)", text) is not None
            assert nothing == (design.worst_likelihood_ratio <= 4), (design, text)
            for ratio in re.findall(r"up to ([0-9.]+) times", text):
                assert Fraction(ratio) <= design.worst_likelihood_ratio * Fraction(101, 100)
            assert (
                nothing
                or max(map(Fraction, re.findall(r"up to ([0-9.]+) times", text))) >= design.worst_likelihood_ratio
            )
            shares = [Fraction(int(n), 100) for n in re.findall(r"about ([0-9]+) of 100", text.lower())]
            assert all(any(0 <= 1 - Fraction(p, 64) - share < Fraction(1, 100) for p in (k, j)) for share in shares)
    assert said[48, 48].startswith("One answer in four")
    assert said[47, 47].startswith("About 26 of 100 answers")


def test_questions_that_differ_are_told_one_by_one():
    other = question(id="q2", attribute="b", design=Design("5/8", "5/8"))
    assert "at each question" in POLICY.accept(envelope(question(), other)).headline()
    same = question(id="q2", attribute="b")
    assert "One answer in four" in POLICY.accept(envelope(question(), same)).headline()


def test_several_rounds_or_origins_are_counted_together():
    rounds = POLICY.accept(envelope(question(rounds=4)))
    assert "at most 81 times" in rounds.headline()
    two = POLICY.accept(envelope(origins=["https://a.example", "https://b.example"]))
    assert "proves nothing" in two.headline()
    assert "at most 9 times" in two.headline(page=True)
