"""Canonical JSON against the rfc8785 package; refusals by hypothesis and by example."""

import contextlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import SurveyRefused
from rrcollect.errors import DuplicateKey, FloatInDocument, MalformedDocument, NotCanonical, Oversize
from rrcollect.publish.canonical import LARGEST_INTEGER
from tests.inside.publish import canonical, read, read_canonical

text = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_the_bytes_are_rfc_8785s_and_round_trip(value):
    data = canonical(value)
    assert data == rfc8785.dumps(value)
    assert read_canonical(data, 10**6) == value


@given(values)
def test_another_spelling_is_refused(value):
    spaced = json.dumps(value, indent=1).encode()
    if spaced != canonical(value):
        with pytest.raises(NotCanonical):
            read_canonical(spaced, 10**6)
        assert read(spaced, 10**6) == value


def test_keys_are_sorted_by_utf16_code_units():
    assert canonical({"\U0001f600": 1, "\ufb33": 2}) == rfc8785.dumps({"\U0001f600": 1, "\ufb33": 2})


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_typed_error(data):
    with contextlib.suppress(SurveyRefused):
        assert canonical(read_canonical(data, 150)) == data


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'{"a":1,"a":1}', DuplicateKey),
        (b'{"a":{"b":1,"b":2}}', DuplicateKey),
        (b"1.0", FloatInDocument),
        (b"[1E2]", FloatInDocument),
        (b"[NaN]", FloatInDocument),
        (b"9007199254740992", FloatInDocument),
        (b"-9007199254740992", FloatInDocument),
        (b"[" * 17 + b"]" * 17, Oversize),
        (b"[" * 100_000, Oversize),
        (b"01", MalformedDocument),
        (b'"\xed\xa0\x80"', MalformedDocument),
        (b'"\\ud800"', MalformedDocument),
        (b'"a\x01"', MalformedDocument),
        (b"", MalformedDocument),
    ],
)
def test_refusals(data, error):
    with pytest.raises(error):
        read_canonical(data, 10**6)


def test_sixteen_levels_are_fine_and_brackets_in_strings_do_not_count():
    assert read(b"[" * 16 + b"]" * 16, 100)
    assert read(b'"' + b"[{" * 50 + b'\\"["', 1000)


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**53, {1: 2}, {"a": object()}, {1, 2}, b"x", "\ud800"])
def test_values_without_a_form(value):
    with pytest.raises(MalformedDocument):
        canonical(value)


def test_the_size_is_checked_first():
    with pytest.raises(Oversize, match="11 bytes; at most 10"):
        read(b"x" * 11, 10)
