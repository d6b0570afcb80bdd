"""What the parts of the check of the collector are made of."""

import pytest

from server_agg import open_store
from tests.assurance.check import Outcome
from tests.assurance.collector.check import _caught, _in_time
from tests.assurance.collector.fuzz_targets import TARGETS, harmless, held, seeds, unchecked_fields
from tests.assurance.collector.planted import keyless
from tests.inside.collect import IncomingReport
from tests.inside.publish import ReportRow
from tests.support.collector_crashing import counted


def step(done, total):
    pass


def test_a_planted_bug_begins_without_the_seeds_that_meet_it():
    left = harmless("report", unchecked_fields)
    out = [data for data in seeds("report") if data not in left]
    assert out
    assert len(left) > 10
    for data in out:
        with pytest.raises(KeyError):
            held(unchecked_fields, data)
    assert harmless("report", TARGETS["report"]) == seeds("report")


@pytest.mark.parametrize(("passed", "lost", "caught"), [(False, 2, True), (False, 0, False), (True, 2, False)])
def test_a_planted_bug_is_caught_by_the_figure_it_is_about(passed, lost, caught):
    assert _caught(lambda piece, step: Outcome(passed, {"lost": lost}), "lost")(0, step).passed is caught


def test_a_planted_bug_is_searched_until_it_is_found_and_no_more_often_than_said():
    searched = []

    def search(piece, step):
        searched.append(piece)
        return Outcome(len(searched) < 3, {"lost": len(searched) // 3})

    assert not _in_time(search, "lost", 2)(0, step).passed
    assert _in_time(search, "lost", 2)(0, step) == Outcome(True, {"searches until it was found": 1, "lost": 1})


@pytest.mark.parametrize(("store", "twice"), [(open_store, 0), (keyless, 2)])
def test_a_report_that_is_there_three_times_is_counted_twice_too_often(tmp_path, monkeypatch, store, twice):
    monkeypatch.delenv("RRCOLLECT_EPOCH_KEYS", raising=False)  # both stores have their keys beside the file
    opened = store(tmp_path / "a.sqlite3")
    row = ReportRow("0" * 64, "q1", 0, '{"p00":"3/4","p11":"3/4"}', "1", "1" * 32, None, "{}")
    for _ in range(3):
        opened.take([IncomingReport(row)])
    opened.disconnect()
    ids, more = counted(str(tmp_path / "a.sqlite3"))
    assert (set(ids), more) == ({row.id}, twice)
