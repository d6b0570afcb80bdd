"""A search for truths in what a browser left behind.

A person answers many questions, whose truths are fair coins, independent of all else.  Every question's id is a random
marker.  Two searches run over every stream of bytes:

1. Around the markers.  A feature is a byte at a distance from the marker, or a word near it.  If truths were not
   stored, then whether a question has the feature agrees with its truth by chance: with probability ½ for each
   question, or at most `honest` where the randomised answer lies beside its id.  A feature that agrees (or disagrees)
   so often that this has probability below FALSE_ALARM, all features of the stream counted, is a truth that was
   stored.
2. In order.  Two words that follow each other as the truths of the questions do (one word per question, or two as in
   "on off", "off on").  By chance with probability 2^-n for each place and pair of words, n >= 50.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

FALSE_ALARM = Fraction(1, 10**10)  # of one stream; a profile has several that hold markers at all
BEFORE, AFTER, APART = 120, 240, 400  # bytes
MOST_PLACES, MOST_WORDS = 24, 40
MARK = re.compile(rb"[g-z][0-9a-f]{10}")  # begins with a letter that no other id holds: all are found in one pass
WIDE_MARK = re.compile(rb"[g-z]\0(?:[0-9a-f]\0){10}")
WORD = re.compile(rb"(?:[0-9A-Za-z_]\0){2,40}|[0-9A-Za-z_]{2,40}")  # UTF-16 or ASCII


def truths_found(data: bytes, truths: Mapping[str, bool], honest: Fraction) -> list[str]:
    """What in these bytes tells truths of these questions; empty if nothing does."""
    return [*_around(data, truths, honest), *in_order(data, truths)]


def marked(data: bytes, truths: Mapping[str, Any]) -> list[str]:
    """The questions whose ids stand in these bytes.

    >>> marked(b"eq0123456789" + "labcdef0123".encode("utf-16-le"), {"q0123456789": 1, "labcdef0123": 1, "q9": 1})
    Traceback (most recent call last):
    ...
    ValueError: an id is a letter beyond f and ten hexadecimal digits: 'q9'
    >>> marked(b"eq0123456789" + "labcdef0123".encode("utf-16-le"), {"q0123456789": True, "labcdef0123": 7})
    ['q0123456789', 'labcdef0123']
    """
    for name in truths:
        if not MARK.fullmatch(name.encode()):
            raise ValueError(f"an id is a letter beyond f and ten hexadecimal digits: {name!r}")
    there = {*MARK.findall(data), *(mark[::2] for mark in WIDE_MARK.findall(data))}
    return [name for name in truths if name.encode() in there]


def _around(data: bytes, truths: Mapping[str, bool], honest: Fraction) -> Iterator[str]:
    names = marked(data, truths)
    whole = (1 << len(names)) - 1
    told = sum(1 << place for place, name in enumerate(names) if truths[name])
    owners: Counter[tuple[int | None, bytes]] = Counter()
    for place, name in enumerate(names):
        for feature in set(_features(data, name)):
            owners[feature] |= 1 << place
    enough = _agreements(len(names), honest, FALSE_ALARM / max(1, 2 * len(owners)))
    for (distance, what), mask in owners.items():
        agreed = len(names) - ((mask ^ told) & whole).bit_count()
        if max(agreed, len(names) - agreed) >= enough:
            yield f"{what!r} at {'any distance' if distance is None else distance}: {agreed} of {len(names)} agree"


def _agreements(n: int, chance: Fraction, alarm: Fraction) -> int:
    """The least k with P(at least k of n agree) <= alarm; n + 1 if there is none."""
    tail, k = Fraction(0), n + 1
    while k > 0:
        tail += math.comb(n, k - 1) * chance ** (k - 1) * (1 - chance) ** (n - k + 1)
        if tail > alarm:
            return k
        k -= 1
    return k


def _features(data: bytes, name: str) -> Iterator[tuple[int | None, bytes]]:
    for mark in (name.encode(), name.encode("utf-16-le")):
        for first in _thinned(_apart(data, mark)):
            start = max(0, first - BEFORE)
            window = data[start : first + len(mark) + AFTER]
            for place in range(len(window)):
                yield place + start - first, window[place : place + 1]
            for word in WORD.finditer(window):
                yield None, word.group()


def _apart(data: bytes, mark: bytes) -> Iterator[int]:
    """Where the mark stands; places close together are one thing that names the question twice, such as two buttons."""
    last, place = -APART, data.find(mark)
    while place >= 0:
        if place - last >= APART:
            yield place
        last, place = place, data.find(mark, place + 1)


def _thinned(places: Iterable[int]) -> list[int]:
    """At most MOST_PLACES of them, the first and the last among them: a log has the same text many times."""
    all_ = list(places)
    if len(all_) <= MOST_PLACES:
        return all_
    return [all_[i * (len(all_) - 1) // (MOST_PLACES - 1)] for i in range(MOST_PLACES)]


def in_order(data: bytes, truths: Mapping[str, bool]) -> Iterator[str]:
    """Pairs of words that follow each other as the truths do: of all questions, of every second one, of the others."""
    order = list(truths.values())
    words = WORD.findall(data)
    often = [word for word, many in Counter(words).most_common(MOST_WORDS) if many >= len(order) // 8]
    number = {word: place for place, word in enumerate(often)}
    line = np.array([number[word] for word in words if word in number], dtype=np.int8)
    for yes, no in itertools.combinations(range(len(often)), 2):
        said = (line[(line == yes) | (line == no)] == yes).astype(np.uint8).tobytes()
        for part in (order, order[::2], order[1::2]):
            single = bytes(part)
            for wanted in (single, bytes(b for truth in part for b in (truth, not truth))):
                if len(said) >= len(wanted) and (wanted in said or bytes(1 - b for b in wanted) in said):
                    yield f"{often[yes]!r} and {often[no]!r} follow each other as the truths do"
