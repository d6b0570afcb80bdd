"""Reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from rrcollect import optimal_design
from tests.inside.publish import canonical
from tests.vectors.parts import SET_DESIGN, SURVEY, loose

REPORT: dict[str, Any] = {
    "answer": "1",
    "design": {"p00": "3/4", "p11": "3/4"},
    "id": "0123456789abcdef0123456789abcdef",
    "question": "q1",
    "round": 0,
    "segments": {"sport": "ski"},
    "survey": hashlib.sha256(canonical(SURVEY)).hexdigest(),
    "ticket": None,
}


def good_reports() -> Iterator[tuple[str, bytes]]:
    yield "yes", canonical(REPORT)
    yield "no", canonical({**REPORT, "answer": "0"})
    yield "no_segments", canonical({**REPORT, "segments": {}})
    yield "ticket", canonical({**REPORT, "ticket": "0123456789abcdef" * 2})
    yield "token", canonical({**REPORT, "ticket": "0123456789abcdef" * 8})
    yield "round", canonical({**REPORT, "round": 51})
    yield "option", canonical({**REPORT, "answer": "010", "design": SET_DESIGN})
    yield "set", canonical(SET_REPORT)
    yield (
        "grid_set",
        canonical({**REPORT, "answer": "1101" + "0" * 6, "design": optimal_design(1, options=10).to_wire()}),
    )
    yield "grid_design", canonical({**REPORT, "design": optimal_design(1).to_wire()})


SET_REPORT: dict[str, Any] = {**REPORT, "answer": "01010", "design": {"options": 5, "p": "3/4", "size": 2}}


def bad_reports() -> Iterator[tuple[str, bytes]]:
    for field in REPORT:
        yield f"without_{field}", loose({k: v for k, v in REPORT.items() if k != field})
        if field != "ticket":
            yield f"{field}_null", loose({**REPORT, field: None})
    changes: dict[str, dict[str, Any]] = {
        "extra": {"time": 1},
        "answer_number": {"answer": 1},
        "answer_zero_number": {"answer": 0},
        "answer_true": {"answer": True},
        "answer_float": {"answer": 1.0},
        "answer_array": {"answer": ["1"]},
        "answer_empty": {"answer": ""},
        "answer_two": {"answer": "2"},
        "answer_two_characters": {"answer": "01"},
        "answer_word": {"answer": "yes"},
        "answer_spaced": {"answer": " 1"},
        "answer_minus": {"answer": "-1"},
        "answer_other_digit": {"answer": "１"},
        "id_short": {"id": "0" * 31},
        "id_upper": {"id": "A" * 32},
        "survey_short": {"survey": "0" * 63},
        "survey_upper": {"survey": "F" * 64},
        "round_negative": {"round": -1},
        "round_many": {"round": 1000},
        "round_true": {"round": True},
        "question_empty": {"question": ""},
        "question_long": {"question": "q" * 65},
        "ticket_number": {"ticket": 5},
        "ticket_empty": {"ticket": ""},
        "ticket_long": {"ticket": "0" * 33},
        "ticket_short": {"ticket": "0" * 31},
        "token_nonce_alone": {"ticket": "0" * 64},
        "token_long": {"ticket": "0" * 129},
        "token_short": {"ticket": "0" * 127},
        "token_upper": {"ticket": "A" * 128},
        "ticket_upper": {"ticket": "A" * 32},
        "ticket_other_digits": {"ticket": "٣" * 32},
        "ticket_called_invite": {"invite": None},
        "segments_array": {"segments": []},
        "segments_number": {"segments": {"sport": 1}},
        "design_decimal": {"design": {"p00": "0.75", "p11": "3/4"}},
        "design_not_lowest": {"design": {"p00": "6/8", "p11": "3/4"}},
        "design_sum_one": {"design": {"p00": "1/4", "p11": "3/4"}},
        "design_above_one": {"design": {"p00": "3/2", "p11": "3/4"}},
        "design_float": {"design": {"p00": 0.75, "p11": "3/4"}},
        "design_missing": {"design": {"p00": "3/4"}},
        "design_extra": {"design": {"p00": "3/4", "p11": "3/4", "p": "1"}},
        "design_array": {"design": ["3/4", "3/4"]},
        "design_for_options": {"design": SET_DESIGN},
        "design_too_many_bits": {"design": {"p00": str(Fraction(2**512, 2**512 + 1)), "p11": "3/4"}},
        "design_text": {"design": '{"p00":"3/4","p11":"3/4"}'},
    }
    for name, change in changes.items():
        yield name, loose({**REPORT, **change})
    sets: dict[str, dict[str, Any]] = {
        "set_too_small": {"answer": "01000"}, "set_too_large": {"answer": "01110"}, "set_short": {"answer": "0101"},
        "set_long": {"answer": "010100"}, "set_of_letters": {"answer": "0l0l0"}, "set_of_a_list": {"answer": [1, 3]},
        "set_as_a_number": {"answer": 1010}, "set_empty": {"answer": ""}, "set_other_digits": {"answer": "0１0１0"},
        "set_design_not_lowest": {"design": {"options": 5, "p": "6/8", "size": 2}},
        "set_design_told_apart_never": {"design": {"options": 5, "p": "2/5", "size": 2}},
        "set_design_of_all": {"design": {"options": 5, "p": "3/4", "size": 5}, "answer": "11111"},
        "set_design_extra": {"design": {"options": 5, "p": "3/4", "size": 2, "q": "1/4"}},
    }  # fmt: skip
    for name, change in sets.items():
        yield name, loose({**SET_REPORT, **change})
    yield "empty", b""
    yield "array", b"[]"
    yield "truncated", canonical(REPORT)[:-1]
    yield "spaced", json.dumps(REPORT, sort_keys=True).encode()
    yield "out_of_order", json.dumps(dict(reversed(REPORT.items())), separators=(",", ":")).encode()
    yield "duplicate_key", canonical(REPORT).replace(b'"answer":"1"', b'"answer":"1","answer":"0"')
    yield "too_large", canonical({**REPORT, "segments": {"sport": "x" * 9000}})
    yield "too_deep", b"[" * 5000
    yield "not_utf8", canonical(REPORT).replace(b"ski", b"\xff\xff\xff")
    yield "escaped_answer", canonical(REPORT).replace(b'"answer":"1"', b'"answer":"\\u0031"')
    yield "half_surrogate", canonical({**REPORT, "ticket": "abc"}).replace(b"abc", b"\\ud800")
