"""The texts of the demo's survey in German and Arabic as well, so that its page can be read in them as a whole.

A plain text of the template becomes a map by language; its names stay as they are.  A text that is not found there is
an error.
"""

from __future__ import annotations

import json
import re

from rrcollect.publish.survey_file import template

TEXTS = {
    "Clean sport": ("Sauberer Sport", "رياضة نظيفة"),
    "Have you ever taken a banned substance?": (
        "Haben Sie je ein verbotenes Mittel genommen?",
        "هل تناولت يومًا مادة محظورة؟",
    ),
    "Did anybody press you to dope this season?": (
        "Hat Sie in dieser Saison jemand zum Doping gedrängt?",
        "هل ضغط عليك أحد لتتعاطى المنشطات هذا الموسم؟",
    ),
    "Were you ever paid to lose on purpose?": (
        "Wurden Sie je dafür bezahlt, absichtlich zu verlieren?",
        "هل دُفع لك يومًا مال لتخسر عمدًا؟",
    ),
    "What would tempt you most to dope?": (
        "Was würde Sie am ehesten zum Doping verleiten?",
        "ما أكثر ما قد يغريك بتعاطي المنشطات؟",
    ),
    "A contract": ("Ein Vertrag", "عقد"),
    "A medal": ("Eine Medaille", "ميدالية"),
    "An injury": ("Eine Verletzung", "إصابة"),
    "What others do": ("Was andere tun", "ما يفعله الآخرون"),
    "Nothing": ("Nichts", "لا شيء"),
    "How many hours did you train last week?": (
        "Wie viele Stunden haben Sie letzte Woche trainiert?",
        "كم ساعة تدربت في الأسبوع الماضي؟",
    ),
    "hours": ("Stunden", "ساعة"),
}
SPORTS = {
    "athletics": ("Leichtathletik", "ألعاب القوى"),
    "cycling": ("Radsport", "ركوب الدراجات"),
    "swimming": ("Schwimmen", "السباحة"),
    "weightlifting": ("Gewichtheben", "رفع الأثقال"),
}
ADDED = {
    "introduction": (
        "We ask athletes what they would tell nobody.",
        "Wir fragen, was Sportler niemandem sagen würden.",
        "نسأل الرياضيين عما لا يقولونه لأحد.",
    ),
    "thanks": (
        "You helped to make sport fairer.",
        "Sie haben geholfen, den Sport fairer zu machen.",
        "لقد ساهمت في جعل الرياضة أكثر عدلًا.",
    ),
    "contact": ("survey@example.org", "umfrage@example.org", "survey@example.org"),
}


def survey_in_languages(here: str) -> str:
    """The template of a survey, with its texts in three languages.

    >>> "ar = " in survey_in_languages("http://127.0.0.1")
    True
    """
    text = template(here)
    for english, others in TEXTS.items():
        made = _map(english, *others)
        text, found = re.subn(rf"(?<!id = ){re.escape(json.dumps(english))}", lambda _, made=made: made, text)  # type: ignore[misc]
        if not found:
            raise ValueError(f"the template has no text {english!r}")
    values = ", ".join(
        f"{{ value = {json.dumps(name)}, label = {_map(name, *said)} }}" for name, said in SPORTS.items()
    )
    sports = f"{{ label = {_map('Sport', 'Sportart', 'الرياضة')}, values = [{values}] }}"
    plain = f"sport = {json.dumps(list(SPORTS))}"
    if plain not in text:
        raise ValueError(f"the template has no segment {plain!r}")
    added = "".join(f"{name} = {_map(*said)}\n" for name, said in ADDED.items())
    return text.replace(plain, f"sport = {sports}").replace("\n[segments]", f"{added}\n[segments]")


def _map(english: str, german: str, arabic: str) -> str:
    """A text by language, in TOML."""
    said = {"en": english, "de": german, "ar": arabic}
    return "{ " + ", ".join(f"{name} = {json.dumps(words, ensure_ascii=False)}" for name, words in said.items()) + " }"
