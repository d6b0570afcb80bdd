"""What people and machines are given: sentences, tables, JSON, HTML, plots, documents; and how light the import is."""

from __future__ import annotations

import doctest
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import server_agg
from rrcollect import Design, classic, optimal_design
from rrcollect.errors import MissingExtra
from server_agg import Tally, compare, estimate, models, plan, sampling, trend
from tests.support.aims import aimed
from tests.support.comparing import both

ROOT = Path(__file__).parents[2]
E1 = optimal_design(1)


def test_the_sentence():
    found = estimate(Tally(E1, 1000, 400)).sentence()
    assert found.startswith("28.4 % (95 % exact interval 21.8–35.1 %), n = 1000, ε = 1")
    assert found.endswith("target: the population")
    sample = estimate(Tally(E1, 1000, 400), target="sample").sentence(0.9, "wilson")
    assert "90 % wilson interval" in sample
    assert sample.endswith("target: the sample; coverage approximate")
    assert estimate(Tally(E1, 1000, 400), population=5000).sentence().endswith("target: the population of 5000")
    outside = estimate(Tally(E1, 100, 20)).sentence()
    assert outside.startswith("0.0 % (95 % exact")
    assert "; unclipped −14.9 %; " in outside
    proof = estimate(Tally(Design(1, "0.3"), 100, 20)).sentence()
    assert 'ε = ∞ (a "yes" is a proof)' in proof
    narrow = estimate(Tally(E1, 10**8, 4 * 10**7)).sentence()
    assert narrow.startswith("28.36")


def test_every_bar_says_what_it_covers():
    for target in ("population", "sample", 5000):
        for method in ("exact", "wilson", "chebyshev", "hoeffding", "wald"):
            bar = estimate(Tally(E1, 1000, 400), **aimed(target)).interval(0.9, method)
            words = bar.describe()
            assert "90 %" in words
            assert method in words
            assert str(target) in words
            assert bar.guaranteed is (method in ("exact", "chebyshev", "hoeffding"))
            assert bool(bar.warning) is (method == "wald")
            again = pickle.loads(pickle.dumps(bar))  # noqa: S301
            assert again == bar
            assert again.as_dict() == bar.as_dict()


@pytest.mark.parametrize("ones", [0, 1, 20, 400, 999, 1000])
@pytest.mark.parametrize("design", [E1, Design(1, "0.05"), Design(1, 1), Design("0.2", "0.3")], ids=repr)
@pytest.mark.parametrize("target", ["population", "sample", 2000])
def test_json_text_and_html_hold_no_nan(design, ones, target):
    e = estimate(Tally(design, 1000, ones), **aimed(target))
    given = json.loads(e.to_json(), parse_constant=pytest.fail)
    assert given["tallies"] == [json.loads(e.tally.to_json())]
    assert given["rows"][0]["interval"]["low"] <= given["rows"][0]["interval"]["high"]
    for words in (str(e), e._repr_html_(), e.sentence(), repr(e)):
        assert "nan" not in words.lower().replace("unanswered", "")
        assert "inf" not in words.lower().replace("information", "")


@pytest.mark.parametrize("n", [2, 3, 1000, 10**9, 10**15, 2**63 - 1])
@pytest.mark.parametrize("epsilon", ["1e-9", 1, 40])
def test_extreme_counts_and_designs_give_finite_bars(n, epsilon):
    for design in (optimal_design(epsilon), Design(1, "1e-15"), Design(0, 0), Design(1, 1)):
        for ones in (0, 1, n // 3, n):
            for target in ("population", "sample"):
                e = estimate(Tally(design, n, ones), **aimed(target))
                for method in ("exact", "wilson", "chebyshev", "hoeffding", "wald"):
                    low, high = e.interval(0.95, method)
                    assert 0 <= low <= high <= 1
                    assert low - 1e-9 <= e.clipped <= high + 1e-9
            for method in ("likelihood", "credible"):
                low, high = estimate(Tally(design, n, ones)).interval(0.95, method)
                assert 0 <= low <= high <= 1


def test_the_text_table_names_all_that_is_promised():
    words = str(estimate(Tally(E1, 1000, 400)))
    for part in ("unbiased", "clipped", "1.96σ", "4.5σ", "direct", "dishonest", "fit", *("exact", "wald", "credible")):
        assert part in words
    html = estimate(Tally(E1, 1000, 400))._repr_html_()
    assert html.count("<table>") == 2
    pooled = estimate([Tally(E1, 600, 230), Tally(optimal_design(2), 400, 100)])
    assert "one prevalence behind all designs: X² = " in pooled.sentence()


def test_every_result_shows_itself():
    design, moors = Design("3/4", "3/4"), classic.moors("0.7")
    tallies = {"a": Tally(design, 60, 20), "b": Tally(design, 50, 30)}
    results = [
        estimate(tallies.values()),
        both(tallies["a"], tallies["b"]),
        sampling.estimate([1, 0, 1], design, weights=[1.0, 2.0, 1.0]),
        sampling.estimate(tallies, population={"a": 600, "b": 700}),
        sampling.estimate(tallies, weights={"a": 1, "b": 2}),
        models.moors((50, 20), (30, 10), moors),
        models.kuk([5, 3, 2], classic.kuk("0.8", "0.2", draws=2)),
        compare(tallies),
        estimate(tallies["a"]),
    ]
    for result in results:
        given = json.loads(result.to_json(), parse_constant=pytest.fail)
        assert given
        assert "95 %" in str(result) or "interval.level" in str(result)
        assert result._repr_html_().startswith("<table>")
    for each in results[2:7]:
        assert each.scale.clipped(each.value) == min(max(each.value, 0), 1)


@pytest.mark.needs("matplotlib")
def test_plots(tmp_path):
    table = compare({"a": Tally(E1, 500, 200), "b": Tally(E1, 60, 5)})
    rounds = trend({1: Tally(E1, 500, 200), 2: Tally(E1, 500, 240)})
    for number, axes in enumerate((table.plot().axes, rounds.plot().axes, plan.price([0.5, 1, 2]).plot().axes)):
        axes.figure.savefig(tmp_path / f"{number}.svg")
        assert (tmp_path / f"{number}.svg").stat().st_size > 1000
    assert "Bonferroni" in table.plot().axes.get_title()
    assert rounds.plot(table.plot().axes) is not None


def test_the_guide_runs():
    for name in ("estimates.md",):
        failed, ran = doctest.testfile(str(ROOT / "docs" / name), module_relative=False, optionflags=doctest.ELLIPSIS)
        assert failed == 0
        assert ran > 30


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.process
def test_the_import_is_light():
    heavy = "('scipy', 'numpy', 'matplotlib')"
    code = f"import sys, server_agg; server_agg.Tally; print([m for m in {heavy} if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_a_missing_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtra, match=r"rrcollect\[estimate\]"):
        estimate(Tally(E1, 1000, 400)).interval()
    assert estimate(Tally(E1, 1000, 400)).value > 0  # the value and its standard error need no SciPy


def test_all_names_are_there():
    for name in server_agg.__all__:
        assert getattr(server_agg, name) is not None
        assert name in dir(server_agg)
    assert callable(server_agg.estimate)
    with pytest.raises(AttributeError):
        server_agg.nothing  # noqa: B018


def test_rrcollect_never_imports_the_aggregator():
    for path in (ROOT / "rrcollect").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) server_agg", path.read_text(encoding="utf-8"), re.MULTILINE), path


def test_a_margin_of_nothing_is_not_printed_beside_a_bar():
    text = str(estimate(Tally(Design(1, "0.3"), 30, 0)))
    assert "±0.00" not in text
    assert "none: all answers are alike" in text
