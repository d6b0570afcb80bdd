"""Every rule of texts for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rrcollect import Question
from tests.vectors.parts import FAMILY, PUBLISHER, with_question, with_survey

HIDES = {
    "bell": "a\x07b", "escape": "a\x1b[31mb", "tab": "a\tb", "return": "a\rb", "next_line": "a\x85b",
    "delete": "a\x7fb",
    "bidi": "a\u202eb", "isolate": "a\u2067b", "zero_width": "a\u200bb", "non_joiner": "a\u200cb", "mark": "a\u200fb",
    "line_separator": "a\u2028b", "soft_hyphen": "a\u00adb", "byte_order_mark": "a\ufeffb", "word_joiner": "a\u2060b",
    "grapheme_joiner": "a\u034fb", "hangul_filler": "\u3164", "hangul_filler_inside": "a\u3164b",
    "half_filler": "a\uffa0b", "choseong_filler": "a\u115fb", "khmer_vowel": "a\u17b4b", "mongolian": "a\u180eb",
    "annotation": "a\ufffab", "noncharacter": "a\ufffeb", "last_character": "a\U0010ffffb", "private": "a\ue000b",
    "private_plane": "a\U000f0000b", "tag": "a\U000e0041b", "selector_of_a_plane": "a\U000e0100b",
    "shorthand": "a\U0001bca0b", "musical": "a\U0001d173b", "hieroglyph_joiner": "a\U00013430b",
    "hieroglyph_blank": "\U00013441", "null_notehead": "\U0001d159", "khitan_filler": "a\U00016fe4b",
}  # fmt: skip
SHOWS_NOTHING = {
    "empty": "", "space": " ", "no_break_space": "\u00a0", "braille_blank": "\u2800", "ideographic_space": "\u3000",
    "selector_alone": "\ufe0f", "braille_blanks": "\u2800\u2800", "begins_blank": "\u2800a", "ends_blank": "a\u2800",
    "begins_space": " a", "ends_space": "a ", "begins_no_break": "\u00a0a", "ends_thin": "a\u2009",
}  # fmt: skip
JOINS_NOTHING = {
    "joiner_alone": "\u200d", "joiner_first": "\u200da", "joiner_last": "a\u200d", "joiner_twice": "a\u200d\u200db",
    "joiner_after_space": "a \u200db", "joiner_before_space": "a\u200d b", "joiner_after_blank": "a\u2800\u200db",
    "joiner_beside_non_joiner": "\u0645\u200d\u200c\u0645", "non_joiner_beside_joiner": "\u0645\u200c\u200d\u0645",
    "joiner_before_line": "a\u200d\nb", "joiner_after_line": "a\n\u200db", "joiner_at_edges": "\u200da\u200d",
}  # fmt: skip
SEPARATES_NOTHING = {
    "alone": "\u200c", "first": "\u200c\u0645", "last": "\u0645\u200c", "twice": "\u0645\u200c\u200c\u0645",
    "after_space": "\u0645 \u200c\u0645", "before_space": "\u0645\u200c \u0645", "after_latin": "a\u200c\u0645",
    "before_latin": "\u0645\u200ca", "below_the_range": "\u061f\u200c\u0645", "above_the_range": "\u0645\u200c\u0e00",
    "before_selector": "\u0645\u200c\ufe0f\u0645", "between_emoji": "🏅\u200c🏅", "beside_hidden": "\u0645\u200c\u06dd",
}  # fmt: skip
PILES_UP = {
    "latin": "a" + "\u0301" * 5, "below": "a" + "\u0323" * 5, "mixed": "a\u0301\u0323\u0483\u20dd\u1dc0",
    "thai": "\u0e01" + "\u0e47" * 5, "first": "\u0301" * 5 + "a", "arabic": "\u0645" + "\u064e" * 5,
    "inside": "a" + "\u0336" * 9 + "b",
}  # fmt: skip
SAME = {  # in other letters, signs or numbers, the same question
    "Ever doped?": (
        "EVER DOPED", "ever  doped ?!", "Ever d\u043eped?", "\u0395\u03bder doped?", "\u1eb8ver d\u1ecdp\u1eb9d?",
        "\uff25ver doped?", "Ever cloped?", "3. Ever doped?", "12) Ever doped?", "(c) Ever doped?", "Q3: Ever doped?",
        "iv) Ever doped?", "\u0399. Ever doped?", "1.2.3 \u2013 Ever doped?", "# 4: Ever doped?", "2. a) Ever doped?",
        "5\u3001Ever doped?", "\uff11\uff0eEver doped?", "\u0661. Ever doped?", "\u0623) Ever doped?",
    ),
    "Warm milk?": ("vvarrn rnilk", "VVARRN RNILK?", "\u051darm milk?", "warrn milk"),
    "Were you ill in 2010?": ("Were you iIl in 2O1O?",),
    "Auf der Stra\u00dfe?": ("AUF DER STRASSE?",),
    "\U0001f489?": ("\U0001f489", "\U0001f489 !", "\u2026 \U0001f489\ufe0f ?", "7. \U0001f489"),
    "\U0001f44d\U0001f3fd?": ("\U0001f44d?", "\U0001f44d\U0001f3ff"),
    "?": ("!", "??"),
}  # fmt: skip
OTHERS = {  # and these are not
    "Ever doped?": ("Ever hoped?", "Never doped?"),
    "In 2010: ever?": ("In 2011: ever?",),
    "3 times or more?": ("4 times or more?",),
    "1.5 litres?": ("2.5 litres?",),
    "3 - 4 drinks?": ("5 - 6 drinks?",),
    "12:30, asleep?": ("13:30, asleep?",),
    "U.S. citizen?": ("E.U. citizen?",),
    "7": ("8", "7.1"),
    "7.": ("8.",),
    "\U0001f489?": ("\U0001f3c5?", "\U0001f489\U0001f489?"),
}
TAGS = {
    "upper": "EN", "underscore": "en_US", "one_letter": "e", "four_letters": "engl", "small_region": "en-us",
    "long_region": "en-USA", "empty": "", "dash": "en-", "newline": "en\n", "private": "x-klingon", "digits": "e2",
    "script_after_region": "zh-TW-Hant", "proto": "__proto__",
}  # fmt: skip


def bad_texts() -> Iterator[tuple[str, str, bytes]]:
    """Every rule of texts, in one line (the title) and in several (a question)."""
    for name, text in {**HIDES, **SHOWS_NOTHING}.items():
        yield f"title_{name}", "MalformedDocument", with_survey(title={"en": text})
        yield f"text_{name}", "MalformedDocument", with_question(text={"en": text})
    for name, text in JOINS_NOTHING.items():
        yield f"text_{name}", "MalformedDocument", with_question(text={"en": text})
    for name, text in PILES_UP.items():
        yield f"title_pile_{name}", "MalformedDocument", with_survey(title={"en": text})
        yield f"text_pile_{name}", "MalformedDocument", with_question(text={"en": text})
    for name, text in SEPARATES_NOTHING.items():
        yield f"title_non_joiner_{name}", "MalformedDocument", with_survey(title={"en": text})
        yield f"text_non_joiner_{name}", "MalformedDocument", with_question(text={"en": text})
    yield "text_non_joiner_before_line", "MalformedDocument", with_question(text={"en": "\u0645\u200c\n\u0645"})
    yield "text_non_joiner_after_line", "MalformedDocument", with_question(text={"en": "\u0645\n\u200c\u0645"})
    yield "text_begins_line", "MalformedDocument", with_question(text={"en": "\na"})
    yield "text_ends_line", "MalformedDocument", with_question(text={"en": "a\n"})
    yield "text_lines_alone", "MalformedDocument", with_question(text={"en": "\n\n"})
    yield "title_newline", "MalformedDocument", with_survey(title={"en": "a\nb"})
    yield "title_joiner", "MalformedDocument", with_survey(title={"en": FAMILY})
    yield "title_long", "MalformedDocument", with_survey(title={"en": "x" * 201})
    yield "title_long_beyond_the_plane", "MalformedDocument", with_survey(title={"en": "🏅" * 201})
    yield "text_long", "MalformedDocument", with_question(text={"en": "x" * 2001})
    for place in ("introduction", "consent", "contact", "thanks"):
        yield f"{place}_hidden", "MalformedDocument", with_survey(**{place: {"en": "a\u202eb"}})
        yield f"{place}_number", "MalformedDocument", with_survey(**{place: {"en": 7}})
    yield "publisher_hidden", "MalformedDocument", with_survey(publisher=PUBLISHER + "\u3164")
    yield "publisher_long", "MalformedDocument", with_survey(publisher="x" * 201)
    yield "help_hidden", "MalformedDocument", with_question(help={"en": "a\u2066b"})
    links = {"plain_http": "http://example.org/p", "script": "javascript:alert(1)", "space": "https://example.org/a b",
             "umlaut": "https://exämple.org/", "short": "https://ab", "long": "https://" + "x" * 1991,
             "newline": "https://example.org/\n"}  # fmt: skip
    for name, link in links.items():
        yield f"privacy_{name}", "MalformedDocument", with_survey(privacy={"en": link})
    for name, tag in TAGS.items():
        yield f"language_{name}", "MalformedDocument", with_survey(language=tag, title={"en": "x", tag: "x"})
        yield f"title_language_{name}", "MalformedDocument", with_survey(title={"en": "x", tag: "x"})
    yield (
        "too_many_languages",
        "MalformedDocument",
        with_survey(title={"en": "x", **{f"{a}{b}": "x" for a in "abcde" for b in "abcdefghij"}}),
    )
    other = {"de": "Text"}
    yield "title_not_in_the_language", "MalformedDocument", with_survey(title=other)
    for place in ("introduction", "consent", "contact", "thanks"):
        yield f"{place}_not_in_the_language", "MalformedDocument", with_survey(**{place: other})
    yield "privacy_not_in_the_language", "MalformedDocument", with_survey(privacy={"de": "https://example.org"})
    yield "text_not_in_the_language", "MalformedDocument", with_question(text=other)
    yield "help_not_in_the_language", "MalformedDocument", with_question(help=other)
    yield "another_language_nowhere", "MalformedDocument", with_survey(language="de")
    yield "only_a_region_of_the_language", "MalformedDocument", with_survey(title={"en-US": "x"})


def words() -> list[dict[str, Any]]:
    """Texts with their help, and the fingerprints of each; `like` is the place of the text that it is the same as."""
    found: list[dict[str, Any]] = []

    def add(text: dict[str, str], help: dict[str, str], like: int | None = None) -> int:
        made = Question.model_construct(text=text, help=help)
        found.append({"text": text, "help": help, "fingerprints": sorted(made.fingerprints), "like": like})
        return len(found) - 1

    for table in (SAME, OTHERS):
        for one, others in table.items():
            place = add({"en": one}, {})
            for other in others:
                add({"en": other}, {}, place if table is SAME else None)
    place = add({"en": "Question A"}, {"en": "Ever doped?"})
    for text, help in (
        ({"en": "Question B"}, {"en": "EVER DOPED"}),
        ({"en": "Ever doped?"}, {}),
        ({"de": "Frage"}, {"fr": "2. Ever doped"}),
        ({"en": "Question A. Ever"}, {"en": "doped?"}),
        ({"en": "Question", "de": "Frage"}, {"en": "A: ever doped?"}),
    ):
        add(text, help, place)
    add({"en": "Question"}, {"en": "Otherwise"})
    add({"en": "x", "__proto__": "y"}, {"constructor": "z"})
    return found
