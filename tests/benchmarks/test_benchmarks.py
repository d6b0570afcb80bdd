"""The harness of the benchmarks: the guard catches a planted slow-down, floors are kept or named, the page is as saved.

No test here judges speed: times come from a clock the test moves, or a slow-down is planted that no noise can hide.
"""

import re
from functools import partial

import pytest

from rrcollect import randomise_many
from tests.benchmarks import bulk, check, report, run
from tests.benchmarks.measure import interleave
from tests.benchmarks.section import Curve, Effort, Ratio, Row, Section, compare, rates

TINY = Effort(repetitions=3, curves=False, scale=0.002)


class MovedClock:
    """Stands still but for what the work adds."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, *seconds):
        """Work that takes the given seconds in turn."""
        turns = iter(seconds)

        def run():
            self.now += next(turns)

        return run


def timings(ours, theirs):
    clock = MovedClock()
    contestants = {"ours": (10, clock.work(*ours)), "theirs": (10, clock.work(*theirs))}
    return interleave(contestants, len(ours), clock=clock)


def found(ours, theirs, floor=None):
    timed = timings(ours, theirs)
    ratios = compare(timed, {("ours", "theirs"): floor, ("ours", "absent"): 5})
    return Section(name="bulk", title="Bulk", text="Some.", unit="per second", rows=rates(timed), ratios=ratios)


def test_best_and_median_of_interleaved_repetitions():
    timed = timings([1.0, 2.0, 30.0], [5.0, 4.0, 8.0])
    assert (timed["ours"].best, timed["ours"].median) == pytest.approx((0.1, 0.2))
    assert (timed["theirs"].best, timed["theirs"].median) == pytest.approx((0.4, 0.5))
    (ratio,) = found([1.0, 2.0, 30.0], [5.0, 4.0, 8.0]).ratios
    assert (ratio.value, ratio.median) == pytest.approx((4.0, 2.5))


# ---- the guard ------------------------------------------------------------------------------------------------------


def guard(record, *runs):
    """The guard's lines when its measurements give these sections in turn, and how often it measured."""
    turns = list(runs)
    lines = check.check(record, ["bulk"], TINY, lambda name, effort: turns.pop(0))
    return lines, len(runs) - len(turns)


def test_the_guard_catches_a_fall_of_more_than_a_third_and_nothing_less():
    record = check.record_of([found([1.0], [6.0])])
    same, slightly, slow = found([2.0], [12.0]), found([1.49], [6.0]), found([1.51], [6.0])
    assert guard(record, same) == ([], 1)  # a machine half as fast, the same ratio
    assert guard(record, slightly) == ([], 1)
    lines, measured = guard(record, slow, slow)
    assert measured == 2
    assert lines == ["bulk: ours / theirs fell to 3.97 from 6 (66%)"]


def test_noise_that_does_not_come_back_passes():
    record = check.record_of([found([1.0], [6.0])])
    assert guard(record, found([9.0], [6.0]), found([1.1], [6.0])) == ([], 2)


def test_the_guard_catches_a_ratio_below_its_floor_whatever_the_record_says():
    """A record that was itself written below the floor, or none, does not hide it; a floor just kept passes."""
    broken, kept = found([1.0], [6.0], floor=6.1), found([1.0], [6.0], floor=5.9)
    for record in ({}, check.record_of([broken])):
        assert guard(record, broken, broken) == (["bulk: ours / theirs is 6, below its floor of 6.1"], 2)
        assert guard(record, kept) == ([], 1)


def test_a_ratio_below_its_floor_is_measured_once_more():
    record = check.record_of([found([1.0], [6.0])])
    assert guard(record, found([1.2], [6.0], floor=5.5), found([1.0], [6.0], floor=5.5)) == ([], 2)


def test_a_ratio_that_fell_below_its_floor_is_one_line():
    record, slow = check.record_of([found([1.0], [6.0])]), found([2.0], [6.0], floor=5.0)
    assert guard(record, slow, slow) == (["bulk: ours / theirs fell to 3 from 6 (50%), below its floor of 5"], 2)


@pytest.mark.parametrize(("floor", "status"), [(6.1, 1), (5.9, 0)])
def test_the_guard_ends_with_status_1_if_a_floor_is_broken(monkeypatch, tmp_path, capsys, floor, status):
    section = found([1.0], [6.0], floor=floor)
    monkeypatch.setattr(check, "RECORD", tmp_path / "recorded.json")
    monkeypatch.setattr(check, "GUARDED", ["bulk"])
    monkeypatch.setattr(run, "measure", lambda name, effort: section)
    check.write_record([section], check.RECORD)
    assert check.main() == status
    assert capsys.readouterr().out.splitlines() == ["bulk: ours / theirs is 6, below its floor of 6.1"] * status


def test_every_section_is_guarded():
    assert run.NAMES == check.GUARDED


def test_a_missing_competitor_is_told_and_not_counted(capsys):
    record = {"bulk": {"ours / theirs": 6.0, "ours / gone": 100.0}}
    assert guard(record, found([1.0], [6.0])) == ([], 1)
    assert "ours / gone was not measured now" in capsys.readouterr().err


@pytest.mark.process
def test_a_slow_down_planted_in_the_library_is_caught(monkeypatch, tmp_path, capsys):
    """The real section, a small size, and `randomise_many` that works sixty times: status 1, lines that name it."""
    monkeypatch.setattr(check, "RECORD", tmp_path / "recorded.json")
    monkeypatch.setattr(check, "GUARDED", ["bulk"])
    monkeypatch.setattr(check, "GUARD", TINY)
    monkeypatch.setattr(bulk, "one_at_a_time", lambda *given: {})
    check.write_record([run.measure("bulk", TINY)], check.RECORD)

    def slow(truths, design, **packed):
        return [randomise_many(truths, design, **packed) for _ in range(60)][-1]

    monkeypatch.setattr(bulk, "randomise_many", slow)
    capsys.readouterr()
    assert check.main() == 1
    lines = capsys.readouterr().out.splitlines()
    for form in ("symmetric", "asymmetric"):
        assert any(line.startswith(f"bulk: booleans, {form} / NumPy") for line in lines)
    assert all(" fell to " in line or " below its floor of " in line for line in lines)
    assert any(
        line.startswith("bulk: booleans, symmetric / NumPy shortcut") and " floor of 4" in line for line in lines
    )


def test_without_a_record_the_guard_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(check, "RECORD", tmp_path / "none.json")
    assert check.main() == 2
    assert "make bench first" in capsys.readouterr().out


# ---- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_page_is_composed_from_the_saved_findings_alone(tmp_path):
    curve = Curve(name="growth", title="Growth", xlabel="n", ylabel="s", lines={"ours": [(1, 2), (10, 3)]})
    section = found([1.0], [6.0], floor=7.0).model_copy(update={"curves": [curve], "machine": "A machine, today"})
    section.save(tmp_path / "saved")
    loaded = Section.load(tmp_path / "saved", "bulk")
    assert loaded == section
    report.write([loaded], tmp_path, "make bench")
    page = (tmp_path / "performance.md").read_text()
    assert "A machine, today" in page
    assert "`make bench`" in page
    assert "| ours | theirs | 6 **below** | 6 | 7 |" in page
    assert "1 of the floors are not kept" in page
    for link in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / link).read_text().startswith("<?xml")
    assert run.below_floor([loaded]) == ["BELOW ITS FLOOR  bulk: ours / theirs = 6, floor 7"]
    assert run.below_floor([found([1.0], [6.0], floor=5.9)]) == []


@pytest.mark.parametrize(("floor", "status"), [(6.1, 1), (5.9, 0)])
def test_a_run_writes_its_pages_and_then_fails_if_a_floor_is_broken(monkeypatch, tmp_path, capsys, floor, status):
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "SAVED", tmp_path / "saved")
    monkeypatch.setattr(run, "NAMES", ("bulk",))
    monkeypatch.setattr(run, "write_record", partial(check.write_record, path=tmp_path / "recorded.json"))
    monkeypatch.setattr(run, "measure", lambda name, effort: found([1.0], [6.0], floor=floor))
    for arguments in ([], ["--page"]):
        assert run.main(arguments) == status
        named = "BELOW ITS FLOOR  bulk: ours / theirs = 6, floor 6.1\n"
        assert capsys.readouterr().out == (named if status else "all floors that were measured are kept\n")
        assert "| ours | theirs | 6 | 6 |" in (tmp_path / "docs" / "performance.md").read_text()
        assert check.read_record(tmp_path / "recorded.json") == {"bulk": {"ours / theirs": 6.0}}


def test_floors_are_judged_by_the_best_and_the_page_says_where_the_medians_miss_them():
    def judged(floor):
        (ratio,) = found([1.0, 2.0, 30.0], [5.0, 4.0, 8.0], floor=floor).ratios  # 4 by the best, 2.5 by the medians
        return ratio.below, ratio.judged

    assert [judged(floor) for floor in (None, 2.4, 3.9, 4.1)] == [
        (False, ""),
        (False, "kept"),
        (False, "kept, medians below"),
        (True, "below"),
    ]
    page = report.page([found([1.0, 2.0, 30.0], [5.0, 4.0, 8.0], floor=3.9)], "make bench")
    assert "| ours | theirs | 4 | 2.5 | 3.9 | kept, medians below |" in page
    assert "A floor is judged by the ratio of the best repetitions" in page


def test_an_interrupted_run_is_resumed(monkeypatch, tmp_path):
    asked = []

    def measure(name, effort):
        asked.append(name)
        return found([1.0], [6.0]).model_copy(update={"name": name})

    monkeypatch.setattr(run, "measure", measure)
    run.measured(["single", "bulk"], TINY, tmp_path, resume=False)
    (tmp_path / "bulk.json").write_text('{"name": "bulk", "ti')  # killed while writing
    sections = run.measured(["single", "bulk", "cold"], TINY, tmp_path, resume=True)
    assert asked == ["single", "bulk", "bulk", "cold"]
    assert [s.name for s in sections] == ["single", "bulk", "cold"]


def test_the_committed_record_and_page_belong_together():
    """Every recorded ratio stands in the page."""
    page = (run.ROOT / "docs" / "performance.md").read_text()
    record = check.read_record()
    assert set(check.GUARDED) <= set(record) <= set(run.NAMES)
    for ratios in record.values():
        for name in ratios:
            ours, theirs = name.split(" / ")
            assert f"| {ours} | {theirs} |" in page


def test_a_ratio_without_a_floor_is_never_below():
    assert not Ratio(ours="a", theirs="b", value=0.0, median=0.0).below
    assert Row(name="a", best=1, median=2).best == 1
