"""Packed files: what is written is counted, what is damaged is refused, the envelope decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import Design, ParameterError, SigningKey, randomise_many
from rrcollect.errors import UntrustedKey
from server_agg import Tally, read_packed, tally_reports, write_packed
from server_agg.errors import UnreadableReports
from tests.inside.batch import Summary
from tests.inside.count import count_ones
from tests.support.batch_reference import CLOSED, KEY, OPEN, PUBLICATION


def packed(n: int, ones: int) -> np.ndarray:
    return np.packbits(np.arange(n) < ones, bitorder="little")


@given(st.binary(max_size=300), st.integers(0, 9))
def test_ones_are_counted_wherever_the_array_begins(data: bytes, start: int) -> None:
    array = np.frombuffer(data, np.uint8)[start:]
    assert count_ones(array) == int(np.unpackbits(array).sum())
    assert count_ones(array[::2]) == int(np.unpackbits(array[::2]).sum())


@pytest.mark.parametrize("n", [0, 1, 8, 13, 100_003])
def test_a_gateway_s_file_alone_suffices(n: int, tmp_path: Path) -> None:
    path = tmp_path / "gateway.rrbits"
    truths = np.packbits(np.arange(n) % 3 == 0, bitorder="little")
    answers = randomise_many(truths, Design("3/4", "3/4"), packed=n)
    write_packed(path, answers, n, PUBLICATION, "q1", segments={"region": "north"})
    result = tally_reports(path, trusted=[KEY.public])
    assert result == tally_reports(path, OPEN)
    ((key, tally),) = result.tallies.items()
    assert (key.survey, key.question, key.segments) == (OPEN.digest, "q1", (("region", "north"),))
    assert tally == Tally.of(answers, Design("3/4", "3/4"), n=n, bitorder="little")
    with pytest.raises(UntrustedKey):
        tally_reports(path, trusted=[SigningKey.generate().public])
    with pytest.raises(ParameterError, match="surveys"):
        tally_reports(path)


@pytest.mark.engine
def test_both_bit_orders_and_other_files_beside(tmp_path: Path) -> None:
    from server_agg import write_reports
    from tests.support.batch_reference import reports

    bits = np.packbits([1, 1, 0, 1, 0, 0, 0, 0, 0, 1])
    write_packed(tmp_path / "a.rrbits", bits, 10, PUBLICATION, "q1", bitorder="big")
    write_packed(tmp_path / "b.rrbits", packed(20, 5), 20, PUBLICATION, "q2", round=2)
    write_reports(tmp_path / "c.jsonl", reports(3))
    result = tally_reports(tmp_path, OPEN)
    assert result.summary == Summary(33, 33)
    assert result.tallies.where(question="q1").one() == Tally(Design("3/4", "3/4"), 13, 7)
    assert result.tallies.where(question="q2", round=2).one() == Tally(Design("3/4", "5/8"), 20, 5)


def test_a_file_counts_once(tmp_path: Path) -> None:
    write_packed(tmp_path / "a.rrbits", packed(20, 5), 20, PUBLICATION, "q1")
    (tmp_path / "b.rrbits").write_bytes((tmp_path / "a.rrbits").read_bytes())
    assert tally_reports(tmp_path, OPEN).summary == Summary(40, 20, 20)
    assert tally_reports(tmp_path, OPEN, deduplicate=False).summary == Summary(40, 40)
    again = tally_reports(tmp_path / "b.rrbits", OPEN, earlier=tmp_path / "a.rrbits")
    assert again.summary == Summary(20, 0, 20)
    head, _, body = (tmp_path / "a.rrbits").read_bytes().partition(b"\n")
    forged = head.replace(b'"question":"q1"', b'"question":"q2"')
    (tmp_path / "b.rrbits").write_bytes(forged + b"\n" + body)
    assert tally_reports(tmp_path, OPEN).summary == Summary(40, 0, 0, {"conflicting_id": 40})


@pytest.mark.parametrize(
    ("fields", "survey", "reason"),
    [
        ({"question": "q9"}, OPEN, "unknown_question"),
        ({"round": 1}, OPEN, "unknown_round"),
        ({"segments": {"region": "west"}}, OPEN, "undeclared_segment"),
        ({}, CLOSED, "unknown_survey"),
        ({"publication": CLOSED.publish([KEY])}, CLOSED, "missing_ticket"),
    ],
)
def test_files_that_the_survey_does_not_allow_are_refused(
    fields: dict[str, Any], survey: Any, reason: str, tmp_path: Path
) -> None:
    given_fields = {"publication": PUBLICATION, "question": "q1", **fields}
    write_packed(tmp_path / "a.rrbits", packed(20, 5), 20, **given_fields)
    assert tally_reports(tmp_path, survey).summary == Summary(20, 0, 0, {reason: 20})


def test_every_cut_and_every_flipped_bit_of_the_bits_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.rrbits"
    write_packed(path, packed(77, 40), 77, PUBLICATION, "q1")
    whole = path.read_bytes()
    body = whole.index(b"\n") + 1
    assert body % 64 == 0
    for size in [*range(0, body, 97), *range(body, len(whole))]:
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableReports):
            read_packed(path)
    for place in range(body, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(UnreadableReports):
            read_packed(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(UnreadableReports, match="announced"):
        read_packed(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"answers":77', b'"answers":-1'),
        (b'"answers":77', b'"answers":"77"'),
        (b'"round":0', b'"round":-1'),
        (b'"bitorder":"little"', b'"bitorder":"middle"'),
        (b'"segments":{}', b'"segments":{"a":1}'),
        (b'"format":"rrcollect-packed-1"', b'"format":"rrcollect-packed-2"'),
        (b'"envelope":"', b'"envelope":"*'),
        (b'"id":"', b'"id":"g'),
        (b"{", b"{ "),
        (b"{", b""),
    ],
)
def test_an_invalid_header_is_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.rrbits"
    write_packed(path, packed(77, 40), 77, PUBLICATION, "q1")
    head, _, body = path.read_bytes().partition(b"\n")
    head = head.rstrip().replace(old, new, 1)
    path.write_bytes(head + b" " * (-(len(head) + 1) % 64) + b"\n" + body)
    with pytest.raises(UnreadableReports):
        read_packed(path)


def test_an_invalid_envelope_is_refused(tmp_path: Path) -> None:
    write_packed(tmp_path / "a.rrbits", packed(8, 4), 8, b"{}", "q1")
    with pytest.raises(UnreadableReports, match="envelope"):
        tally_reports(tmp_path, OPEN)
    with pytest.raises(UnreadableReports, match="cannot be read"):
        read_packed(tmp_path / "none.rrbits")


def test_packed_answers_that_do_not_fit_their_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rrbits"
    for bits, n, options in [
        (packed(8, 4), 9, {}),
        (np.array([255], np.uint8), 7, {}),
        (packed(8, 4), 8, {"bitorder": "middle"}),
        (packed(8, 4).astype(np.int64), 8, {}),
    ]:
        with pytest.raises(ParameterError):
            write_packed(path, bits, n, PUBLICATION, "q1", **options)
    with pytest.raises(ParameterError, match="rrbits"):
        write_packed(tmp_path / "a.npz", packed(8, 4), 8, PUBLICATION, "q1")
    assert list(tmp_path.iterdir()) == []
