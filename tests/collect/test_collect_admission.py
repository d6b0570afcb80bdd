"""Where a list of reports ends, how much of it is read, and when a survey is open: the rules without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rrcollect import Report
from rrcollect.errors import MalformedReport
from server_agg import open_store
from server_agg.collect.admission import MOST_BRACKETS
from server_agg.errors import Refusal
from tests.inside.collect import Admission, Catalogue
from tests.support.collector_running import body, publication
from tests.support.devices import KEY

OPENS = datetime(2027, 1, 1, tzinfo=UTC)
Published = Callable[..., tuple[str, Admission]]


@pytest.fixture
def published(tmp_path: Path) -> Iterator[Published]:
    """A survey's digest, and the rules for lists of up to three at some moment."""
    store = open_store(tmp_path / "a.sqlite3")
    catalogue = Catalogue(store.shelf)

    def one(now: datetime = OPENS, **changes: Any) -> tuple[str, Admission]:
        listed, _ = catalogue.publish(publication(**changes).envelope, [KEY.public.raw.hex()])
        admission = Admission(catalogue.known, grace=timedelta(0), list_limit=3, clock=now.timestamp)
        return listed.published.digest, admission

    yield one
    store.disconnect()


def refusal(admission: Admission, text: bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        admission.admit(text)
    return caught.value


@pytest.mark.parametrize("remembered", [False, True])
def test_a_list_is_one_to_three_reports_and_nothing_after_them(published: Published, remembered: bool) -> None:
    digest, admission = published()
    one, two, three, four = (body(digest) for _ in range(4))
    if remembered:
        admission.admit(one)
    for good in ([one], [one, two, three]):
        assert len(admission.admit(b"[" + b",".join(good) + b"]")) == len(good)
    for bad in (
        b"[" + one + b"]x",
        b"[" + one + b"]]",
        b"[" + one + b"," + two + b"]" + three,
        b"[" + one + b"}",
        b"[" + one + b";" + two + b"]",
        b"[" + one + b"," + two,
        b"[" + b",".join([one, two, three, four]) + b"]",
        b"[]",
    ):
        if not remembered:
            admission.frames.clear()
        found = refusal(admission, bad)
        assert (found.code, found.reason) == ("malformed", "a list holds 1 to 3 reports, as canonical JSON")


@pytest.mark.parametrize("bracket", [b"[", b"{"])
def test_brackets_are_counted_before_a_list_is_read(published: Published, bracket: bytes) -> None:
    _, admission = published()
    most = MOST_BRACKETS * 3
    assert refusal(admission, b"[" + bracket * most).reason == f"a list of reports has at most {most} brackets"
    assert refusal(admission, b"[" + bracket * (most - 1)).reason == "a list holds 1 to 3 reports, as canonical JSON"


def test_what_is_not_a_report_is_told_in_the_words_of_the_format(published: Published) -> None:
    _, admission = published()
    with pytest.raises(MalformedReport) as told:
        Report.from_bytes(b"{}")
    assert refusal(admission, b"{}").reason == str(told.value)
    assert refusal(admission, b"[{}]").reason == f"report 0 of the list: {told.value}"


@pytest.mark.parametrize("listed", [False, True])
def test_a_survey_is_open_from_its_moment_on(published: Published, listed: bool) -> None:
    digest, early = published(OPENS - timedelta(seconds=1), opens=OPENS)
    _, now = published(OPENS, opens=OPENS)
    text = b"[" + body(digest) + b"]" if listed else body(digest)
    found = refusal(early, text)
    assert (found.status, found.code) == (425, "not_open")
    assert len(now.admit(text)) == 1
