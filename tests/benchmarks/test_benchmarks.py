"""The harness of the benchmarks: the guard catches a planted slow-down, the page is what was saved, C keeps the law.

No test here judges speed: times come from a clock the test moves, or a slow-down is planted that no noise can hide.
"""

import re
import shutil
from ctypes.util import find_library
from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from benchmarks import bulk, check, report, run
from benchmarks.c_loop import openssl_loop, register_loop
from benchmarks.measure import interleave
from benchmarks.section import Curve, Effort, Ratio, Row, Section, compare, rates
from rrcollect import randomise_many

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
    return Section(name="bulk", title="Bulk", text="Some.", unit="a second", rows=rates(timed), ratios=ratios)


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


def test_a_missing_competitor_is_told_and_not_counted(capsys):
    record = {"bulk": {"ours / theirs": 6.0, "ours / gone": 100.0}}
    assert guard(record, found([1.0], [6.0])) == ([], 1)
    assert "ours / gone was not measured now" in capsys.readouterr().err


def test_a_slow_down_planted_in_the_library_is_caught(monkeypatch, tmp_path, capsys):
    """The real section, a small size, and `randomise_many` that works sixty times: status 1, lines that name it."""
    monkeypatch.setattr(check, "RECORD", tmp_path / "recorded.json")
    monkeypatch.setattr(check, "GUARDED", ["bulk"])
    monkeypatch.setattr(check, "GUARD", TINY)
    monkeypatch.setattr(bulk, "one_at_a_time", lambda *given: {})
    check.write_record([run.measure("bulk", TINY)], check.RECORD)

    def slow(truths, design):
        return [randomise_many(truths, design) for _ in range(60)][-1]

    monkeypatch.setattr(bulk, "randomise_many", slow)
    capsys.readouterr()
    assert check.main() == 1
    lines = capsys.readouterr().out.splitlines()
    for form in ("symmetric", "asymmetric"):
        assert any(line.startswith(f"bulk: booleans, {form} / NumPy") for line in lines)
    assert all(" fell to " in line for line in lines)


def test_without_a_record_the_guard_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(check, "RECORD", tmp_path / "none.json")
    assert check.main() == 2
    assert "make bench first" in capsys.readouterr().out


# ---- the page -------------------------------------------------------------------------------------------------------


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


# ---- the C loops are a fair limit -----------------------------------------------------------------------------------


def compiled(loop, *, needs=None):
    """The loop, if it can be compiled here; the page says so if it cannot, and the reason must be one of these."""
    if loop is None:
        assert shutil.which("cc") is None or (needs and find_library(needs) is None)
    return loop


def answered_exactly(answer, u):
    """Against thresholds 2^56·t the answers are exactly [u > 255 − t]."""
    truths = np.arange(u.size) % 3 == 0
    for t0, t1 in ((1, 255), (68, 209), (128, 128)):
        expected = u > np.where(truths, 255 - t1, 255 - t0)
        assert np.array_equal(answer(truths, (t0 << 56, t1 << 56)), expected)


@pytest.mark.parametrize("size", [16, 32])
def test_the_loop_in_registers_draws_aes_in_counter_mode(size):
    if loop := compiled(register_loop()):
        key, n = bytes(range(size)), 1280
        blocks = b"".join(i.to_bytes(16, "little") for i in range(n // 16))
        drawn = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks)  # noqa: S305
        answered_exactly(partial(loop.booleans, key=key), np.frombuffer(drawn, np.uint8))


def test_the_openssl_loop_draws_aes_in_counter_mode():
    if loop := compiled(openssl_loop(), needs="crypto"):
        key, nonce = bytes(range(32)), bytes(range(16))
        drawn = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor().update(bytes(12_800))
        answered_exactly(partial(loop.booleans, key=key, nonce=nonce), np.frombuffer(drawn, np.uint8))


def test_the_c_loops_keep_the_law():
    """|z| < 7 in 12 comparisons: false alarms below 12 · 2.6e-12 a run.  The second pair is decided by the rests."""
    n = 1_280_000
    truths = np.arange(n) % 2 == 0
    bits = np.packbits(truths, bitorder="little")
    loops = []
    if plain := compiled(openssl_loop(), needs="crypto"):
        loops.append(plain.booleans)
    if loop := compiled(register_loop()):
        packed = lambda _, limits: np.unpackbits(loop.packed(bits, limits), bitorder="little").view(bool)  # noqa: E731
        loops += [loop.booleans, packed]
    for limits in ((4960000000000000000, 15080000000000000000), (1 << 54, 3 << 54)):
        for answer in loops:
            said = answer(truths, limits)
            for truth in (False, True):
                p, m = limits[truth] / 2**64, n // 2
                assert abs(said[truths == truth].sum() - m * p) < 7 * (m * p * (1 - p)) ** 0.5


def test_what_the_c_loops_cannot_do_is_refused():
    if loop := compiled(openssl_loop(), needs="crypto"):
        with pytest.raises(ValueError, match="multiples of 8 truths, not 7"):
            loop.booleans(np.zeros(7, bool), (1, 2))
        with pytest.raises(ValueError, match=r"below 2\^64"):
            loop.booleans(np.zeros(8, bool), (1, 1 << 64))
