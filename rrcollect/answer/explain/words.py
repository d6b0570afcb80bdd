"""What a person is told by this device: every sentence, in one table per language, and how others' text is kept apart.

Rules
1. A sentence here is true of every survey and device that it is said of; its places hold numbers, moments and the words
   of other sentences, never text that somebody else wrote.
2. Text that somebody else wrote (a title, a publisher, a question, a segment, an attribute, an address) has lines of
   its own.  Each of them begins with "> ", also where it goes on: long lines are broken here, because a terminal that
   breaks them would begin a line without the mark.
3. There is one file per language, rrcollect/web/src/words/de.json, which pages load and this module reads.  All have
   the same keys and places.  What else a person is told is in no other place.
4. A sentence that counts may have several forms, by the plural categories of Unicode (`plural`).  Numbers have the
   language's decimal sign and the digits 0 to 9 in every language.
5. Somebody else may supply a language that is not ours, whole and in the same form.  The first line then says so, in
   our words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from types import MappingProxyType

from rrcollect.design.sentences import Said
from rrcollect.errors import ParameterError
from rrcollect.publish.texts import LANGUAGE
from rrcollect.publish.texts import words as one_line

LANGUAGES = ("en", "de", "fr", "es", "ar")
RIGHT_TO_LEFT = {"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}
LEFT_TO_RIGHT = "\u200e"  # the mark that Unicode writes before the minus of such a language
FORMS = ("zero", "one", "two", "few", "many", "other")
LONGEST = 2000  # characters of a sentence
MARK = "> "
COLUMNS = 76  # of a marked line, without the mark
WIDE = "\u1100"  # from here on a character may take two columns

Forms = Mapping[str, str]
Table = Mapping[str, str | Forms]
_PLACE = re.compile(r"\{([a-z]+)\}")
_DECIMAL = re.compile(r"(-?[0-9]+)\.([0-9]+)")


@dataclass(frozen=True)
class Line:
    """Some text, whether somebody else wrote it (then it may have several lines), and the question it belongs to."""

    text: str
    foreign: bool = False
    question: str | None = None


def direction(language: str) -> str:
    """The direction in which a language is written.

    >>> direction("ar-EG"), direction("uz-Arab"), direction("de")
    ('rtl', 'rtl', 'ltr')
    """
    parts = language.split("-")
    return "rtl" if parts[0] in RIGHT_TO_LEFT or {"Arab", "Hebr"} & set(parts) else "ltr"


def plural(language: str, count: int) -> str:
    """The form that so many things take.  Other languages than ours are given that of English.

    >>> [plural("ar", count) for count in (0, 1, 2, 3, 11, 100)]
    ['zero', 'one', 'two', 'few', 'many', 'other']
    """
    if language == "ar":
        if count < 3:
            return FORMS[count]
        return "few" if 3 <= count % 100 <= 10 else "many" if count % 100 > 10 else "other"
    return "one" if count == 1 or (language == "fr" and count == 0) else "other"


class Words:
    """The sentences of one language.

    >>> Words.of("de-AT").say("progress", number="2", count="5")
    'Frage 2 von 5'
    """

    def __init__(self, language: str, table: Table) -> None:
        """A language that is not ours, as somebody else supplies it; it must be whole."""
        if not re.match(LANGUAGE, language) or _base(language) in LANGUAGES:
            raise ParameterError("language", language, f"a language such as 'it' that is not ours ({_listed()})")
        _check(language, table)
        self._set(language, table, supplied=True)

    def _set(self, language: str, table: Table, *, supplied: bool) -> None:
        self.language, self.table, self.supplied = language, MappingProxyType(dict(table)), supplied
        self.direction = direction(language)

    @staticmethod
    def of(language: str | None) -> Words:
        """Our words in this language, or in English if we do not have it."""
        base = _base(language or "en")
        return _ours(base if base in LANGUAGES else "en")

    def say(self, key: str, **places: str) -> str:
        """The sentence with its places filled; `count` chooses its form.

        >>> Words.of("en").say("share", number="25"), Words.of("fr").say("share", number="2.5")
        ('in at least 25 of 100 cases', 'dans au moins 2,5 cas sur 100')
        """
        text = self.table[key]
        if not isinstance(text, str):
            text = text.get(plural(self.language, int(places["count"])), text["other"])
        return _PLACE.sub(lambda found: self._number(places[found[1]]), text)

    def spoken(self, said: Said, **more: str) -> str:
        """A sentence of a mechanism, its places filled, with what else it needs.

        >>> from rrcollect import Design
        >>> Words.of("en").spoken(Design("3/4", "3/4").sentences().drawn)
        'Before your answer is sent, this device changes it by chance in at least 25 of 100 cases.'
        """
        places = {name: self._place(value) for name, value in said.places.items()}
        return self.say(said.key, **places, **more)

    def _place(self, value: str | int | Said) -> str:
        if isinstance(value, Said):
            return self.spoken(value)
        return self.counted(value) if isinstance(value, int) else value

    def _number(self, text: str) -> str:
        """A number with the decimal sign of this language, and its minus where it is read; anything else as it is."""
        found = _DECIMAL.fullmatch(text)
        written = f"{found[1]}{self.table['decimal']}{found[2]}" if found else text
        return f"{LEFT_TO_RIGHT}{written}" if self.direction == "rtl" and re.match("-[0-9]", text) else written

    def counted(self, number: int) -> str:
        """A small number as a word, as the sentences with "one in four" need it."""
        small = str(self.table["numbers"]).split()
        return small[number - 2] if 2 <= number < 2 + len(small) else str(number)

    def moment(self, moment: datetime) -> str:
        """A day and a time of it.

        >>> from datetime import UTC
        >>> Words.of("fr").moment(datetime(2100, 1, 1, tzinfo=UTC))
        '1er janvier 2100 à 00:00'
        """
        month, time = str(self.table["months"]).split()[moment.month - 1], f"{moment:%H:%M}"
        return self.say("moment", count=str(moment.day), month=month, year=str(moment.year), time=time)


@cache
def _ours(language: str) -> Words:
    text = resources.files("rrcollect.web").joinpath("src", "words", f"{language}.json").read_text("utf-8")
    made = Words.__new__(Words)
    made._set(language, json.loads(text), supplied=False)
    return made


def _base(language: str) -> str:
    return language.partition("-")[0].lower()


def _listed() -> str:
    return ", ".join(LANGUAGES)


def _forms(text: str | Forms) -> Forms:
    return {"other": text} if isinstance(text, str) else text


def _check(language: str, table: Table) -> None:
    """Refuse a table that lacks a sentence or a place, or has one too many, or hides something."""
    form, what = _ours("en").table, f"words[{language!r}]"
    if missing := sorted(set(form) ^ set(table)):
        raise ParameterError(what, missing[0], f"the keys of words/en.json; {len(missing)} are missing or too many")
    for key, ours in form.items():
        places = {place for text in _forms(ours).values() for place in _PLACE.findall(text)}
        forms = _forms(table[key])
        if not isinstance(forms, Mapping) or not {"other"} <= set(forms) <= set(FORMS):
            raise ParameterError(f"{what}[{key!r}]", forms, f"a text, or texts by {', '.join(FORMS)}")
        for text in forms.values():
            if not isinstance(text, str) or set(_PLACE.findall(text)) - places - {"count"} or len(text) > LONGEST:
                raise ParameterError(f"{what}[{key!r}]", text, f"at most {LONGEST} characters; places: {places or '-'}")
            try:
                one_line(text)
            except ValueError as error:
                raise ParameterError(f"{what}[{key!r}]", text, f"text that can be shown ({error})") from None
        if places - set(_PLACE.findall(forms["other"])):
            raise ParameterError(f"{what}[{key!r}]", forms["other"], f"a text with the places {sorted(places)}")


def marked(text: str) -> list[str]:
    """Foreign text as lines that each begin with the mark.

    >>> marked("Ever doped?\\nNothing is sent.")
    ['> Ever doped?', '> Nothing is sent.']
    """
    return [MARK + part for line in text.split("\n") for part in _broken(line)]


def shown_lines(lines: Iterable[Line]) -> str:
    """The whole text: ours as it is, theirs marked."""
    return "\n".join(part for line in lines for part in (marked(line.text) if line.foreign else [line.text]))


def _broken(line: str) -> list[str]:
    """The line in parts that fit, broken at spaces where there are some."""
    parts = []
    while (cut := _fitting(line)) < len(line):
        space = line.rfind(" ", 1, cut + 1)
        at = space if space > 0 else cut
        parts.append(line[:at])
        line = line[at + (space > 0) :]
    return [*parts, line]


def _fitting(line: str) -> int:
    """How many characters of the line fit."""
    columns = 0
    for number, character in enumerate(line):
        columns += 2 if character >= WIDE else 1
        if columns > COLUMNS:
            return number
    return len(line)
