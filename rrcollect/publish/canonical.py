"""JSON without surprises: one text for one value, and no text with two readings.

Rules
1. Values are objects, arrays, strings, integers within ±(2^53 − 1), true, false and null.  No floats.
2. Writing follows RFC 8785 (keys by UTF-16 code units, no white space, minimal escapes), so equal values are equal
   bytes in every language.
3. Reading refuses duplicate keys, floats, NaN, integers out of range, invalid Unicode, nesting deeper than
   `DEEPEST`, and more than `limit` bytes; the size is checked before anything is parsed.
4. `read_canonical` also refuses bytes that are not the canonical form of what they say: two documents that differ in
   one bit differ in what they say.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from rrcollect.errors import DuplicateKey, FloatInDocument, MalformedDocument, NotCanonical, Oversize, shown

DEEPEST = 16
LARGEST_INTEGER = 2**53 - 1
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)  # a whole string (or the rest), or a bracket


def canonical(value: object) -> bytes:
    """The canonical bytes of a value.

    >>> canonical({"b": [1, True, None], "a": "é"})
    b'{"a":"\\xc3\\xa9","b":[1,true,null]}'
    """
    try:
        return _text(value).encode("utf-8")
    except UnicodeEncodeError:
        raise MalformedDocument("a string holds half of a surrogate pair: it is not valid Unicode") from None


def _text(value: object) -> str:
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise FloatInDocument(f"the integer {shown(value)} is not exact in every language; write it as a string")
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise MalformedDocument("every key of an object must be a string")
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))  # by code units
        return "{" + ",".join(f"{_text(key)}:{_text(value[key])}" for key in keys) + "}"
    if isinstance(value, float):
        raise FloatInDocument(f"the float {shown(value)}: numbers that matter are strings such as '1/3', or integers")
    raise MalformedDocument(f"a {type(value).__name__} has no JSON form")


def read(data: bytes, limit: int, largest: int = LARGEST_INTEGER) -> Any:
    """The value of JSON bytes, under the rules above; they need not be canonical.  `largest` is the largest integer.

    >>> read(b'{"a": 1}', limit=100)
    {'a': 1}
    """
    if len(data) > limit:
        raise Oversize(f"the document has {len(data)} bytes; at most {limit} are read")
    _check_depth(data)
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=_no_float,
            parse_constant=_no_float,
            parse_int=lambda digits: _integer(digits, largest),
        )
    except UnicodeDecodeError:
        raise MalformedDocument("the document is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise MalformedDocument(f"the document is not JSON: {shown(str(error))}") from None
    return value


def read_canonical(data: bytes, limit: int) -> Any:
    """The value of canonical JSON bytes; any other spelling of the same value is refused."""
    value = read(data, limit)
    if canonical(value) != data:
        raise NotCanonical("the bytes are not in canonical form (RFC 8785): key order, white space or escapes differ")
    return value


def _check_depth(data: bytes) -> None:
    """Refuse deep nesting before the parser recurses; brackets inside strings do not count."""
    depth = 0
    for found in _NESTING.finditer(data):
        token = found[0]
        if token in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise Oversize(f"the document is nested deeper than {DEEPEST} levels")
        elif token in b"]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise DuplicateKey(f"the key {shown(key)} stands twice in one object")
        made[key] = value
    return made


def _no_float(text: str) -> NoReturn:
    raise FloatInDocument(f"the number {shown(text)}: numbers that matter are strings such as '1/3', or integers")


def _integer(text: str, largest: int) -> int:
    if len(text) > 20 or abs(int(text)) > largest:
        raise FloatInDocument(f"the integer {shown(text)} is not exact in every language; write it as a string")
    if text == "-0":
        raise FloatInDocument("the number -0 has two readings")
    return int(text)
