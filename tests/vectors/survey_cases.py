"""Surveys: good ones, and every field of the document but its texts and questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rrcollect import Promise, optimal_design
from tests.inside.design import best_for_options
from tests.inside.publish import canonical
from tests.vectors.parts import (
    ALICE,
    ALL_THAT_APPLY,
    BOB,
    CERTAIN_SET,
    FAMILY,
    GOOD_ENVELOPE,
    GRID,
    HOURS,
    IN_BINS,
    ISSUED,
    KINDS,
    LONG,
    MALLORY,
    MEANT,
    ONE_OF_THREE,
    OPEN,
    PANEL,
    PERSIAN,
    POLICY,
    QUESTION,
    SETS_OF_BINS,
    SURVEY,
    TWO_KEYS,
    TWO_OF_FIVE,
    WRITTEN,
    jpeg,
    logo,
    png,
    segments,
    signed,
    times,
    with_question,
    with_survey,
)

COLOUR_ALONE = {"colour": "#aabbcc"}
COLOUR = {**COLOUR_ALONE, "logo": None}
COMMENT = b"\xff\xfe\x00\x06\xff\xc0\x00\x01"  # what looks like a frame is a comment
UNTOLD = {"options": 3, "p": "1/3", "size": 1}  # every option is in the set with the same chance


def chosen(epsilon: Any, options: int, n: int = 1) -> dict[str, Any]:
    """A question about so many options with the best design for ε."""
    design = best_for_options(epsilon, options)
    labels = [{"en": f"Option {number}"} for number in range(options)]
    return {**QUESTION, "id": f"q{n}", "attribute": f"a{n}", "kind": {"kind": "choice", "options": labels},
            "design": design.to_wire(), "promise": design.loss.to_wire()}  # fmt: skip


def good() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """(name, envelope, policy)."""
    yield "plain", GOOD_ENVELOPE, POLICY
    yield "version_4", with_survey(version=4), POLICY
    yield "grid_design", with_survey(questions=[GRID]), POLICY
    yield "two_signers", signed(canonical(SURVEY), ALICE, BOB), TWO_KEYS
    yield "unknown_extra_signer", signed(canonical(SURVEY), ALICE, MALLORY), POLICY
    yield "rounds", with_question(rounds=52), POLICY
    yield "looser_promise", with_question(promise={"epsilon": "2", "delta": "1/1000"}), POLICY
    yield "longest_number", with_question(promise={"epsilon": f"2 + ln({LONG})", "delta": "0"}), POLICY
    yield "no_segments", with_survey(segments={}), POLICY
    yield "invite_only", with_survey(invite_only=True), POLICY
    yield (
        "unicode",
        with_survey(title={"en": "Sauberer Sport – 清洁运动 🏅"}, segments=segments(["бег", "ski"])),
        POLICY,
    )
    yield "two_lines", with_question(text={"en": "First line\nsecond line"}), POLICY
    yield "joiner", with_question(text={"en": f"Is this {FAMILY}, your family?\n{FAMILY}"}), POLICY
    yield "four_marks", with_survey(title={"en": "a" + "\u0301" * 4, "th": "\u0e01" + "\u0e47" * 4}), POLICY
    yield "persian", with_survey(language="fa", title={"fa": PERSIAN}, questions=[
        {**QUESTION, "text": {"fa": f"{PERSIAN}\n{PERSIAN}"}}]), POLICY  # fmt: skip
    edges = "\u0620\u200c\u0620 \u0dff\u200c\u0dff \u0915\u094d\u200c\u0937 \u0645\u064e\u200c\u0645"
    yield "non_joiner_edges", with_survey(title={"en": edges}, segments=segments([edges, "ski"])), POLICY
    yield "variation_selector", with_survey(title={"en": "\u2764\ufe0f"}), POLICY
    yield "longest_texts", with_survey(title={"en": "🏅" * 200}, thanks={"en": "x" * 2000}), POLICY
    yield "texts", with_survey(**WRITTEN), POLICY
    tags = ("en", "de", "de-AT", "haw", "zh-Hant", "zh-Hant-TW")
    yield "languages", with_survey(title={tag: f"Title {tag}" for tag in tags}), POLICY
    yield "another_language", with_survey(language="de", title={"de": "Sport"}, questions=[
        {**QUESTION, "text": {"de": "Gedopt?", "en": "Doped?"}, "help": {"de": "Ehrlich."}}]), POLICY  # fmt: skip
    many = {f"{a}{b}": "x" for a in "abcde" for b in "abcdefghij"}
    yield "fifty_languages", with_survey(language="aa", title=many, questions=[{**QUESTION, "text": many}]), POLICY
    yield "pilot", with_survey(pilot=True), POLICY
    yield "look", with_survey(look={**logo("png", png(60, 30)), **COLOUR_ALONE}), POLICY
    for name, look in {"png": logo("png", png(1024, 1024)), "jpeg": logo("jpeg", jpeg(1024, 1024)),
                       "jpeg_extended": logo("jpeg", jpeg(1, 1, 0xC1)),
                       "jpeg_comment": logo("jpeg", jpeg(9, 9, before=COMMENT))}.items():  # fmt: skip
        yield f"look_{name}", with_survey(look=look), POLICY
    yield "look_colour", with_survey(look=COLOUR), POLICY
    for name, address in {"carried": "carried", "here": "http://127.0.0.1:8000/reports",
                          "here_by_name": "http://localhost/reports", "here_by_six": "http://[::1]:80/reports",
                          "deep": "https://a.b-c.example:8443/v1/reports~x_y"}.items():  # fmt: skip
        yield f"collector_{name}", with_survey(collector=address), POLICY
    origins = ["https://survey.example.org", "https://a.example:8443", "http://localhost:8000", "http://[::1]"]
    yield "origins", with_survey(origins=origins), POLICY
    yield "frames", with_survey(origins=origins[:1], frames=origins), POLICY
    yield "opens", with_survey(opens="2027-01-30T23:59:59Z"), POLICY
    yield "round_times", with_survey(rounds=times("11-01", "11-02", "11-02", "12-31"), questions=[
        {**QUESTION, "rounds": 2}]), POLICY  # fmt: skip
    yield "minimum", with_survey(minimum=2), POLICY
    labelled = segments([{"value": "run", "label": {"en": "Running"}}, "ski"], label={"en": "Sport"},
                        help={"en": "The one you train most.\nOr leave it open."})  # fmt: skip
    yield "segment_labels", with_survey(segments=labelled), POLICY
    yield "segment_named_constructor", with_survey(segments={"constructor": segments(["x"])["sport"]}), POLICY
    yield "help", with_question(help={"en": "In the last twelve months."}), POLICY
    yield "choice", with_survey(questions=[ONE_OF_THREE]), POLICY
    yield "choice_of_two", with_question(kind={"kind": "choice", "options": [{"en": "Left"}, {"en": "Right"}]},
                                         design={"options": 2, "p": "3/4", "size": 1}), POLICY  # fmt: skip
    yield "choice_of_sets", with_survey(questions=[TWO_OF_FIVE]), POLICY
    yield "choice_on_the_grid", with_survey(questions=[chosen("ln 3", 200), chosen(1, 4, n=2)]), POLICY
    yield "choice_disclosing", with_survey(questions=[CERTAIN_SET]), OPEN
    yield "number", with_survey(questions=[HOURS]), POLICY
    yield "several", with_survey(questions=[ALL_THAT_APPLY]), POLICY
    yield "number_in_bins", with_survey(questions=[IN_BINS]), POLICY
    yield "number_in_sets_of_bins", with_survey(questions=[SETS_OF_BINS]), POLICY
    yield "number_without_unit", with_question(kind=KINDS["number_without_unit"]), POLICY
    yield "two_promises", with_question(design=optimal_design(Promise.two_sided("ln 2", "ln 6")).to_wire(),
                                        promise={"epsilon": "ln(6)", "delta": "0"}), POLICY  # fmt: skip
    yield "panel", with_survey(questions=[PANEL]), POLICY
    yield "panel_with_times", with_survey(questions=[{**PANEL, "rounds": 2}], rounds=times(
        "10-01", "10-02", "11-02", "12-31")), POLICY  # fmt: skip
    yield "ask_one", with_survey(ask="one", questions=[
        ONE_OF_THREE, {**HOURS, "id": "q2", "attribute": "hours"}, {**PANEL, "id": "q3", "attribute": "b"}]
    ), POLICY  # fmt: skip
    yield "ask_one_of_one", with_survey(ask="one"), POLICY
    yield "meant_disclosure", with_survey(questions=[MEANT]), OPEN
    yield "same_version_again", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 3, "digest": "same"}}
    yield "newer_version", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 2, "digest": "0" * 64}}


WRONG: dict[str, Any] = {"null": None, "true": True, "number": 7, "text": "x", "list": [], "object": {}}
TEXT, BOOLEAN, INTEGER, LIST, MAP = {"text"}, {"true"}, {"number"}, {"list"}, {"object"}
SURVEY_SHAPES = {
    "name": TEXT, "version": INTEGER, "publisher": TEXT, "pilot": BOOLEAN, "language": set(), "title": set(),
    "introduction": MAP, "consent": MAP, "contact": MAP, "privacy": MAP, "thanks": MAP, "look": set(),
    "collector": set(), "relay": {"null"}, "origins": LIST, "frames": LIST, "opens": {"null"}, "expires": set(),
    "rounds": LIST, "ask": set(), "minimum": INTEGER, "invite_only": BOOLEAN, "issuer": {"null"}, "segments": MAP,
    "questions": set(),
}  # fmt: skip
QUESTION_SHAPES = {
    "id": TEXT, "attribute": TEXT, "kind": set(), "text": set(), "help": MAP, "design": set(), "promise": set(),
    "rounds": INTEGER, "panel": BOOLEAN, "disclosure": {"null"},
}  # fmt: skip


def bad_issuers() -> Iterator[tuple[str, str, bytes]]:
    """What an issuer may not be."""
    keys = ISSUED["keys"]
    twice = {**QUESTION, "rounds": 2}

    def made(change: dict[str, Any], **more: Any) -> bytes:
        issuer = {k: v for k, v in {**ISSUED, **change}.items() if v is not ...}
        return with_survey(**{"invite_only": True, "questions": [twice], "issuer": issuer, **more})

    changes: dict[str, dict[str, Any]] = {
        "identity": {"keys": {**keys, "q1/0": "0" * 64}},
        "equal_keys": {"keys": dict.fromkeys(keys, keys["q1/0"])},
        "no_point": {"keys": {**keys, "q1/0": "01" + "ff" * 31}},
        "point_not_canonical": {"keys": {**keys, "q1/0": "ed" + "ff" * 30 + "7f"}},
        "no_keys": {"keys": {}},
        "a_place_missing": {"keys": {"q1/0": keys["q1/0"]}},
        "a_place_more": {"keys": {**keys, "q1/2": keys["q1/0"][:-2] + "75"}},
        "another_place": {"keys": {"q1/0": keys["q1/0"], "q2/1": keys["q1/1"]}},
        "short_key": {"keys": {**keys, "q1/0": "e2f2"}},
        "upper_key": {"keys": {**keys, "q1/0": keys["q1/0"].upper()}},
        "key_number": {"keys": {**keys, "q1/0": 5}},
        "short_salt": {"salt": "0123"},
        "no_salt": {"salt": ...},
        "salt_null": {"salt": None},
        "window_of_a_minute": {"window": 60},
        "window_of_a_month": {"window": 2_678_400},
        "window_text": {"window": "3600"},
        "carried": {"address": "carried"},
        "plain_http": {"address": "http://collect.example.org/tokens"},
        "extra": {"relay": None},
    }
    for name, change in changes.items():
        yield f"issuer_{name}", "MalformedDocument", made(change)
    yield "issuer_open_to_everybody", "MalformedDocument", made({}, invite_only=False)
    yield "issuer_of_a_carried_survey", "MalformedDocument", made({}, collector="carried")
    yield "issuer_ask_one_with_rounds", "MalformedDocument", made({"keys": {"*": keys["q1/0"]}}, ask="one")


def bad_fields() -> Iterator[tuple[str, str, bytes]]:
    """Every field missing, and every field of every other JSON type."""
    makers: list[tuple[str, dict[str, Any], dict[str, set[str]], Callable[..., bytes]]] = [
        ("survey", SURVEY, SURVEY_SHAPES, with_survey),
        ("question", QUESTION, QUESTION_SHAPES, with_question),
    ]
    for what, whole, shapes, make in makers:
        assert list(shapes) == list(whole)
        yield f"{what}_extra_field", "MalformedDocument", make(tracking="on")
        for field, right in shapes.items():
            yield f"{what}_without_{field}", "MalformedDocument", make(**{field: ...})
            for name, value in WRONG.items():
                if name not in right:
                    yield f"{what}_{field}_{name}", "MalformedDocument", make(**{field: value})
    for name in ("self", "model_config", "__proto__", "constructor", "inviteOnly"):
        yield f"survey_called_{name}", "MalformedDocument", with_survey(**{name: 1})


def bad_surveys() -> Iterator[tuple[str, str, bytes]]:
    for name, value in {
        "upper": "Clean",
        "empty": "",
        "long": "a" * 65,
        "newline": "clean\n",
        "space": "a b",
        "path": "../etc",
    }.items():
        yield f"name_{name}", "MalformedDocument", with_survey(name=value)
    for name, value in {"zero": 0, "negative": -1, "text": "3", "true": True, "huge": 2**40}.items():
        yield f"version_{name}", "MalformedDocument", with_survey(version=value)
    yield "version_float", "FloatInDocument", with_survey(version=3.0)
    for name, value in {"one": 1, "zero": 0, "huge": 10**9 + 1}.items():
        yield f"minimum_{name}", "MalformedDocument", with_survey(minimum=value)
    yield "minimum_float", "FloatInDocument", with_survey(minimum=30.5)
    yield "ask_some", "MalformedDocument", with_survey(ask="some")
    yield "ask_newline", "MalformedDocument", with_survey(ask="all\n")
    looks: dict[str, Any] = {
        "empty": {}, "without_logo": {"colour": None}, "extra": {"colour": None, "logo": None, "font": None},
        "colour_word": {"colour": "red", "logo": None}, "colour_upper": {"colour": "#AABBCC", "logo": None},
        "colour_short": {"colour": "#abc", "logo": None}, "colour_css": {"colour": "#aabbcc;}", "logo": None},
        "logo_address": {"colour": None, "logo": "https://example.org/logo.png"},
        "logo_html": {"colour": None, "logo": "data:text/html;base64,YWJj"},
        "logo_unpadded": {"colour": None, "logo": "data:image/png;base64,YQ"},
        "logo_svg": logo("svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "logo_gif": logo("gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
        "logo_png_wide": logo("png", png(1025, 1)), "logo_png_high": logo("png", png(1, 1025)),
        "logo_png_huge": logo("png", png(20000, 20000)), "logo_png_flat": logo("png", png(16, 0)),
        "logo_png_negative": logo("png", png(2**32 - 1, 1)), "logo_png_cut": logo("png", png(16, 16)[:23]),
        "logo_png_empty": logo("png", b""), "logo_png_other_chunk": logo("png", png(16, 16).replace(b"IHDR", b"tEXt")),
        "logo_jpeg_as_png": logo("png", jpeg(16, 16)), "logo_png_as_jpeg": logo("jpeg", png(16, 16)),
        "logo_webp_as_png": logo("png", b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(24)),
        "logo_jpeg_wide": logo("jpeg", jpeg(1025, 1)), "logo_jpeg_high": logo("jpeg", jpeg(1, 1025)),
        "logo_jpeg_no_height": logo("jpeg", jpeg(16, 0)), "logo_jpeg_progressive": logo("jpeg", jpeg(16, 16, 0xC2)),
        "logo_jpeg_no_frame": logo("jpeg", b"\xff\xd8" + COMMENT * 4), "logo_jpeg_cut": logo("jpeg", jpeg(16, 16)[:10]),
        "logo_jpeg_backwards": logo("jpeg", jpeg(16, 16, before=b"\xff\xfe\x00\x00")),
        "logo_jpeg_scan_first": logo("jpeg", jpeg(16, 16, before=b"\xff\xda\x00\x02")),
        "logo_long": {"colour": None, "logo": "data:image/png;base64," + "AAAA" * 16384},
    }  # fmt: skip
    for name, value in looks.items():
        yield f"look_{name}", "MalformedDocument", with_survey(look=value)
    yield "questions_empty", "MalformedDocument", with_survey(questions=[])
    yield "questions_object", "MalformedDocument", with_survey(questions={"q1": QUESTION})
    yield (
        "question_id_twice",
        "MalformedDocument",
        with_survey(questions=[QUESTION, {**QUESTION, "attribute": "other"}]),
    )
    yield "attribute_twice", "MalformedDocument", with_survey(questions=[QUESTION, {**QUESTION, "id": "q2"}])
    many = [{**QUESTION, "id": f"q{i}", "attribute": f"a{i}"} for i in range(201)]
    yield "too_many_questions", "MalformedDocument", with_survey(questions=many)


def bad_places() -> Iterator[tuple[str, str, bytes]]:
    """Where reports go, and where the page may be answered."""
    addresses = {
        "empty": "", "host_alone": "https://collect.example.org", "slash_alone": "https://collect.example.org/",
        "ends_in_slash": "https://collect.example.org/reports/", "plain_http": "http://collect.example.org/reports",
        "http_nearly_here": "http://localhost.example.org/reports", "http_private": "http://192.168.0.1/reports",
        "query": "https://collect.example.org/reports?x=1", "fragment": "https://collect.example.org/reports#x",
        "user": "https://me@collect.example.org/reports", "upper": "https://Collect.example.org/reports",
        "space": "https://collect.example.org/re ports", "newline": "https://collect.example.org/reports\n",
        "port_zero": "https://collect.example.org:0/reports", "long_port": "https://collect.example.org:123456/reports",
        "port_empty": "https://collect.example.org:/reports", "file": "file:///etc/passwd", "relative": "/reports",
        "double_slash": "https://collect.example.org//reports", "escape": "https://collect.example.org/%2e",
        "umlaut": "https://exämple.org/reports", "dash_first": "https://-a.example/reports", "Carried": "Carried",
        "carried_spaced": "carried ", "long": "https://collect.example.org/" + "x" * 473,
    }  # fmt: skip
    for name, value in addresses.items():
        yield f"collector_{name}", "MalformedDocument", with_survey(collector=value)
    origins: dict[str, Any] = {
        "plain_http": "http://survey.example.org", "http_nearly_here": "http://localhost.example.org", "empty": "",
        "path": "https://survey.example.org/", "long_path": "https://survey.example.org/page", "star": "https://*.org",
        "upper": "https://Survey.example.org", "null_text": "null", "user": "https://me@survey.example.org",
        "port_zero": "https://survey.example.org:0", "long_port": "https://survey.example.org:123456",
        "newline": "https://survey.example.org\n", "host_missing": "https://", "number": 7, "null": None,
        "long_host": "https://" + "a" * 254,
    }  # fmt: skip
    for name, value in origins.items():
        yield f"origins_{name}", "MalformedDocument", with_survey(origins=[value])
        yield f"frames_{name}", "MalformedDocument", with_survey(frames=[value])
    yield "frames_twice", "MalformedDocument", with_survey(frames=["https://a.example", "https://a.example"])
    yield "too_many_frames", "MalformedDocument", with_survey(frames=[f"https://a{i}.example" for i in range(17)])
    yield "origins_twice", "MalformedDocument", with_survey(origins=["https://a.example", "https://a.example"])
    yield "too_many_origins", "MalformedDocument", with_survey(origins=[f"https://a{i}.example" for i in range(17)])


def bad_moments() -> Iterator[tuple[str, str, bytes]]:
    dates = {
        "date_only": "2027-01-31", "offset": "2027-01-31T00:00:00+01:00", "month_13": "2027-13-01T00:00:00Z",
        "fraction": "2027-01-31T00:00:00.5Z", "small_z": "2027-01-31T00:00:00z", "small_t": "2027-01-31t00:00:00Z",
        "unpadded": "2027-1-31T00:00:00Z", "day_30_of_february": "2027-02-30T00:00:00Z",
        "day_00": "2027-01-00T00:00:00Z",
        "hour_24": "2027-01-30T24:00:00Z", "second_60": "2027-01-30T23:59:60Z", "spaced_day": "2027-01- 1T00:00:00Z",
        "other_digits": "٢٠٢٧-01-31T00:00:00Z", "long_year": "+002027-01-31T00:00:00Z",
        "year_1999": "1999-12-31T00:00:00Z",
        "year_9001": "9001-01-01T00:00:00Z", "newline": "2027-01-31T00:00:00Z\n", "empty": "",
    }  # fmt: skip
    for name, value in dates.items():
        yield f"expires_{name}", "MalformedDocument", with_survey(expires=value)
        yield f"opens_{name}", "MalformedDocument", with_survey(opens=value, expires="9000-12-31T23:59:59Z")
    yield "opens_at_expiry", "MalformedDocument", with_survey(opens=SURVEY["expires"])
    yield "opens_after_expiry", "MalformedDocument", with_survey(opens="2027-02-01T00:00:00Z")
    rounds: dict[str, Any] = {
        "out_of_order": times("12-01", "12-02", "11-01", "11-02"),
        "overlapping": times("11-01", "11-03", "11-02", "11-04"),
        "closes_first": times("11-02", "11-01"), "closes_at_once": times("11-01", "11-01"), "text": ["2026-11-01"],
        "after_expiry": [{"opens": "2026-11-01T00:00:00Z", "closes": "2027-01-31T00:00:01Z"}], "null": [None],
        "without_closes": [{"opens": "2026-11-01T00:00:00Z"}],
        "opens_null": [{"opens": None, "closes": SURVEY["expires"]}],
        "extra": [{**times("11-01", "11-02")[0], "note": "x"}], "object": {"0": times("11-01", "11-02")[0]},
        "other_spelling": [{"opens": "2026-11-1T00:00:00Z", "closes": "2026-11-02T00:00:00Z"}],
        "too_many": [{"opens": f"{y}-01-01T00:00:00Z", "closes": f"{y}-02-01T00:00:00Z"} for y in range(2027, 3028)],
    }  # fmt: skip
    for name, value in rounds.items():
        late = {"expires": "9000-01-01T00:00:00Z"} if name == "too_many" else {}
        yield f"round_times_{name}", "MalformedDocument", with_survey(rounds=value, **late)
    yield (
        "more_rounds_than_times",
        "MalformedDocument",
        with_survey(rounds=times("11-01", "11-02"), questions=[{**QUESTION, "rounds": 2}]),
    )


def bad_segments() -> Iterator[tuple[str, str, bytes]]:
    values: dict[str, Any] = {
        "array": [],
        "values_text": {"sport": "ski"},
        "plain_values": {"sport": ["run", "ski"]},
        "bad_name": {"Sport!": segments(["ski"])["sport"]},
        "null": {"sport": None},
        "no_values": segments([]),
        "value_twice": segments(["ski", "ski"]),
        "value_number": segments([1]),
        "value_plain": {"sport": {"values": ["ski"], "label": {}, "help": {}}},
        "value_of_a_number": segments([{"value": 1, "label": {}}]),
        "value_without_label": segments([{"value": "ski"}]),
        "value_extra": segments([{"value": "ski", "label": {}, "weight": 1}]),
        "control": segments(["s\x00ki"]),
        "blank_value": segments(["\u2800"]),
        "joiner_value": segments([FAMILY]),
        "without_help": segments(["ski"], help=...),
        "without_label": segments(["ski"], label=...),
        "without_values": segments(["ski"], values=...),
        "extra": segments(["ski"], order=1),
        "label_text": segments(["ski"], label="Sport"),
        "label_null": segments(["ski"], label=None),
        "label_line": segments(["ski"], label={"en": "a\nb"}),
        "label_not_in_the_language": segments(["ski"], label={"de": "Sport"}),
        "help_not_in_the_language": segments(["ski"], help={"de": "Sport"}),
        "value_label_not_in_the_language": segments([{"value": "ski", "label": {"de": "Ski"}}]),
        "value_label_hidden": segments([{"value": "ski", "label": {"en": "a\u202eb"}}]),
        "help_hidden": segments(["ski"], help={"en": "a\u202eb"}),
        "too_many_values": segments([f"v{i}" for i in range(201)]),
        "too_many": {f"s{i}": segments(["a"])["sport"] for i in range(17)},
    }
    for name, value in values.items():
        yield f"segments_{name}", "MalformedDocument", with_survey(segments=value)


def bad_in_order() -> Iterator[tuple[str, str, bytes]]:
    """Of several faults the first is told: fields before values, in their order, then the rules between them."""
    sum_one, lowest = {"p00": "1/4", "p11": "3/4"}, {"p00": "6/8", "p11": "3/4"}
    second = {**QUESTION, "id": "q2", "attribute": "b"}
    yield (
        "order_name_then_design",
        "MalformedDocument",
        with_survey(name="Upper", questions=[{**QUESTION, "design": sum_one}]),
    )
    yield "order_text_then_design", "MalformedDocument", with_question(text={}, design=lowest)
    yield "order_design_then_promise", "NotOriented", with_question(design=sum_one, promise={})
    yield "order_spelling_then_rounds", "NotCanonical", with_question(design=lowest, rounds=0)
    yield "order_set_design_then_rounds", "NotOriented", with_question(design=UNTOLD, rounds=0)
    yield "order_missing_then_set_design", "MalformedDocument", with_question(design=UNTOLD, rounds=...)
    yield "order_unknown_then_set_design", "MalformedDocument", with_question(design=UNTOLD, seed=1)
    yield (
        "order_first_question_first",
        "NotOriented",
        with_survey(questions=[{**QUESTION, "design": UNTOLD}, {**second, "text": {}}]),
    )
    yield (
        "order_second_question_second",
        "MalformedDocument",
        with_survey(questions=[{**QUESTION, "text": {}}, {**second, "design": UNTOLD}]),
    )
    yield (
        "order_values_then_the_whole",
        "NotOriented",
        with_survey(questions=[QUESTION, {**QUESTION, "design": sum_one}]),
    )
    yield (
        "order_whole_then_spelling",
        "MalformedDocument",
        with_survey(questions=[QUESTION, {**QUESTION, "promise": {"epsilon": "ln 3", "delta": "0"}}]),
    )
    yield "order_panel_then_grid", "MalformedDocument", with_question(panel=True, design={"p00": "2/3", "p11": "3/4"})
    yield (
        "order_misfit_then_claim",
        "MalformedDocument",
        with_question(kind=KINDS["choice"], promise={"epsilon": "1", "delta": "0"}),
    )
    yield (
        "order_questions_one_by_one",
        "ClaimTooSmall",
        with_survey(questions=[{**QUESTION, "promise": {"epsilon": "1", "delta": "0"}}, {**second, "panel": True}]),
    )
