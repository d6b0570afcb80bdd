"""Which reports a survey allows: every reason, the order of the reasons, and no fault in a good report."""

from dataclasses import replace

import pytest

from rrcollect import Report, optimal_design
from server_agg import REASONS
from tests.inside.publish import COMPARED, fault
from tests.support.devices import question, survey

OPEN = survey(question(rounds=2), segments={"sport": ["ski", "run"]})
INVITED = survey(question(rounds=2), segments={"sport": ["ski", "run"]}, invite_only=True)
REPORT = Report(
    survey=OPEN.digest, question="q1", design=question().design, answer="1", id="0" * 32, segments={"sport": "ski"}
)
BY_A_COLLECTOR_ALONE = {
    "malformed",
    *COMPARED,
    "unknown_ticket",
    "closed",
    "withdrawn",
}  # not seen in one row and its survey
FAULTS = [
    ("unknown_survey", None, {}),
    ("unknown_question", OPEN, {"question": "q9"}),
    ("unknown_question", OPEN, {"question": None}),
    ("wrong_design", OPEN, {"design": optimal_design(1).text}),
    ("wrong_design", OPEN, {"design": '{"p00": "3/4", "p11": "3/4"}'}),
    ("wrong_design", OPEN, {"design": '{"p00":"6/8","p11":"3/4"}'}),
    ("wrong_design", OPEN, {"design": None}),
    ("unknown_round", OPEN, {"round": 2}),
    ("unknown_round", OPEN, {"round": -1}),
    ("unknown_round", OPEN, {"round": None}),
    ("bad_answer", OPEN, {"answer": ""}),
    ("bad_answer", OPEN, {"answer": "2"}),
    ("bad_answer", OPEN, {"answer": "01"}),
    ("bad_answer", OPEN, {"answer": "true"}),
    ("bad_answer", OPEN, {"answer": None}),
    ("undeclared_segment", OPEN, {"segments": '{"sport":"go"}'}),
    ("undeclared_segment", OPEN, {"segments": '{"city":"ski"}'}),
    ("undeclared_segment", OPEN, {"segments": '{"sport": "ski"}'}),
    ("undeclared_segment", OPEN, {"segments": '{"sport":["ski"]}'}),
    ("undeclared_segment", OPEN, {"segments": '{"sport":1}'}),
    ("undeclared_segment", OPEN, {"segments": "[]"}),
    ("undeclared_segment", OPEN, {"segments": ""}),
    ("undeclared_segment", OPEN, {"segments": "\ud800"}),
    ("undeclared_segment", OPEN, {"segments": None}),
    ("missing_ticket", INVITED, {"ticket": None}),
    ("unexpected_ticket", OPEN, {"ticket": "t"}),
    ("bad_ticket", INVITED, {"ticket": ""}),
    ("bad_ticket", INVITED, {"ticket": "a" * 31}),
    ("bad_ticket", INVITED, {"ticket": "a" * 33}),
    ("bad_ticket", INVITED, {"ticket": "A" * 32}),
    ("bad_ticket", INVITED, {"ticket": "g" * 32}),
    ("bad_ticket", INVITED, {"ticket": "a" * 32 + "\n"}),
    ("bad_ticket", INVITED, {"ticket": "٣" * 32}),
    ("bad_id", OPEN, {"id": "0" * 31}),
    ("bad_id", OPEN, {"id": "A" * 32}),
    ("bad_id", OPEN, {"id": None}),
]


@pytest.mark.parametrize(("reason", "published", "change"), FAULTS)
def test_every_fault_has_its_reason(reason, published, change):
    assert fault(REPORT.row._replace(**change), published) == reason


def test_every_reason_occurs_in_a_row_or_is_a_collectors_alone():
    assert {reason for reason, _, _ in FAULTS} == set(REASONS) - BY_A_COLLECTOR_ALONE
    assert len(BY_A_COLLECTOR_ALONE) == 6


@pytest.mark.parametrize(
    ("published", "change"),
    [
        (OPEN, {}),
        (OPEN, {"answer": "0", "round": 1, "segments": {}}),
        (INVITED, {"ticket": "a" * 32}),
        (INVITED, {"ticket": "0123456789abcdef" * 2}),
    ],
)
def test_a_good_report_has_no_fault_as_itself_and_as_a_row(published, change):
    report = replace(REPORT, survey=published.digest, **change)
    assert fault(report, published) is None
    assert fault(report.row, published) is None


def test_of_several_faults_the_first_in_the_list_is_told():
    """The faults of a row are put together from the last of the list to the first."""
    worst, told = {}, []
    for reason, published, change in reversed(FAULTS):
        if published is OPEN:
            worst |= change
            told.append(fault(REPORT.row._replace(**worst), OPEN))
            assert told[-1] == reason
    assert list(dict.fromkeys(reversed(told))) == [reason for reason in REASONS if reason in told]
