"""Reports: one spelling, constant length, and the shared vectors."""

import pickle
from dataclasses import replace
from types import MappingProxyType

import pytest

from rrcollect import Design, Report, optimal_design
from rrcollect.errors import MalformedReport
from rrcollect.publish.question import MOST_ROUNDS
from tests.support.devices import cases, unb64

REPORT = Report(survey="0" * 64, question="q1", design=optimal_design(1), answer="1", id="f" * 32)
GOOD, BAD = cases("reports", "good_"), cases("reports", "bad_")


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_good_reports_round_trip(case):
    data = unb64(case["report"])
    assert Report.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_reports_are_refused(case):
    with pytest.raises(MalformedReport):
        Report.from_bytes(unb64(case["report"]))


def test_there_are_enough():
    assert len(BAD) >= 40


def test_the_length_is_the_same_for_both_answers():
    for design in (Design("3/4", "3/4"), optimal_design(1), Design(1, "1/128")):
        lengths = {len(replace(REPORT, design=design, answer=a).to_bytes()) for a in ("0", "1")}
        assert len(lengths) == 1


def test_the_two_answers_differ_in_one_byte_only():
    yes, no = (replace(REPORT, answer=a).to_bytes() for a in ("1", "0"))
    assert sum(a != b for a, b in zip(yes, no, strict=True)) == 1


def test_no_clock_no_address_no_device():
    fields = set(load_fields(REPORT.to_bytes()))
    assert fields == {"answer", "design", "id", "question", "round", "segments", "survey", "ticket"}


def load_fields(data: bytes):
    import json

    return json.loads(data)


def test_the_repr_does_not_show_the_answer_and_it_pickles():
    assert repr(REPORT) == repr(replace(REPORT, answer="0"))
    assert "5ec4e7" not in repr(replace(REPORT, ticket="5ec4e7" + "0" * 26))
    assert pickle.loads(pickle.dumps(REPORT)) == REPORT  # noqa: S301
    assert hash(REPORT) == hash(replace(REPORT))


@pytest.mark.parametrize(
    ("name", "shortest", "longest"),
    [("question", "q", "q" * 64), ("round", 0, MOST_ROUNDS - 1)],
)
def test_limits_are_kept_to_the_last_unit(name, shortest, longest):
    for good in (shortest, longest):
        report = replace(REPORT, **{name: good})
        assert Report.from_bytes(report.to_bytes()) == report
    for bad in (longest + longest[:1], "") if isinstance(longest, str) else (longest + 1, -1):
        with pytest.raises(MalformedReport, match=name):
            replace(REPORT, **{name: bad})


def test_a_report_does_not_change_with_the_segments_it_was_made_of():
    given = {"sport": "ski"}
    report = replace(REPORT, segments=given)
    given["sport"] = "row"
    assert report.segments == {"sport": "ski"}
    assert type(replace(REPORT, segments=MappingProxyType(given)).segments) is dict


def test_another_answer_takes_the_place_of_the_old_one():
    """What `with_answer` makes is what a report with that answer is, byte for byte; nothing else moves."""
    for answer in ("0", "1"):
        made = REPORT.with_answer(answer)
        assert made == replace(REPORT, answer=answer)
        assert made.to_bytes() == replace(REPORT, answer=answer).to_bytes()
        assert Report.from_bytes(made.to_bytes()).answer == answer
    assert REPORT.answer == "1"
    for bad in ("", "2", "01", "yes"):
        with pytest.raises(MalformedReport, match="answer"):
            REPORT.with_answer(bad)


@pytest.mark.parametrize(
    "change",
    [
        {"segments": {f"s{i}": "清" * 190 for i in range(16)}},
        {"segments": {"x": "\ud800"}},
        {"segments": {"\udfff": "x"}},
    ],
    ids=["oversize", "half_surrogate", "half_surrogate_name"],
)
def test_what_cannot_be_sent_is_not_a_report(change):
    with pytest.raises(MalformedReport):
        replace(REPORT, **change)
