"""Results of choices and numbers: the numbers are the estimators', bars hold at once, small cells stay hidden."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest

from rrcollect import Choice, Design, Number, ParameterError, SetDesign, optimal_design
from server_agg import Estimate, Tallies, Tally, TallyKey, estimate, survey_results
from server_agg.survey_page.released import fakes_words
from tests.inside.collect import HEAD, as_csv
from tests.inside.survey_page import ReleaseFacts, crowd_words, released_results
from tests.support.devices import question, survey

SETS = optimal_design(1, options=4)
PARTY = Choice(options=[{"en": name, "de": name.upper()} for name in ("red", "blue", "green", "other")])
HOURS = Number(low=0, high=40, unit={"en": "hours"})


def asked(rounds=1, panel=False, **more):
    how = {"rounds": rounds, "panel": panel}
    return survey(
        question(id="party", attribute="party", kind=PARTY, design=SETS, **how),
        question(id="hours", attribute="hours", kind=HOURS, design=optimal_design(1), **how),
        question(),
        **more,
    )


def counted(made, cells):
    designs = {q.id: q.design for q in made.questions}
    return Tallies({
        TallyKey(made.digest, q, designs[q], tuple(segments), r): Tally(designs[q], n, sums)
        for (q, r, segments), (n, sums) in cells.items()
    })  # fmt: skip


def page(made, cells, **how):
    found = survey_results(counted(made, cells), made, **how).page()
    json.dumps(found, allow_nan=False)
    return {each["id"]: each for each in found["questions"]}


WHOLE = {("party", 0, ()): (1000, [420, 260, 180, 140]), ("hours", 0, ()): (1000, [520]), ("q1", 0, ()): (100, [40])}


def test_a_choice_shows_every_option_with_bars_that_hold_at_once():
    found = page(asked(), WHOLE)["party"]
    wanted = estimate(Tally(SETS, 1000, [420, 260, 180, 140]))
    options = found["estimate"]["options"]
    assert [one["label"] for one in options] == ["red", "blue", "green", "other"]
    assert [one["value"] for one in options] == [row.value for row in wanted.rows]
    assert sum(one["value"] for one in options) == pytest.approx(1)
    assert [one["simplex"] for one in options] == wanted.simplex()
    assert [(one["low"], one["high"]) for one in options] == [tuple(bar) for bar in wanted.intervals()]
    assert options[3]["value"] < 0 == options[3]["shown"]
    assert "misfit" not in str(found["notes"])
    assert "0.00669" in found["estimate"]["misfit"] or "do not fit" in found["estimate"]["misfit"]
    assert "all options at once" in found["estimate"]["bar"]
    assert found["kind"] == "choice"
    assert found["told"].startswith("Before your answer is sent, this device changes it to another option by chance")


def test_a_number_shows_its_mean_in_its_unit():
    found = page(asked(), WHOLE)["hours"]
    wanted = estimate(Tally(optimal_design(1), 1000, 520), bounds=(0, 40), unit="hours")
    told = found["estimate"]
    assert (told["value"], told["low"], told["high"]) == (wanted.value, *wanted.interval())
    assert told["value"] == pytest.approx(40 * 0.543279068275)
    assert told["bar"] == "95 % exact interval 19.0–24.4 hours"
    assert found["scale"] == {"low": 0.0, "high": 40.0, "unit": "hours"}
    assert any("hours" in note for note in found["notes"])


@pytest.mark.needs("pandas")
def test_the_table_and_the_frame_have_a_line_for_every_option():
    made = asked()
    found = survey_results(counted(made, WHOLE), made)
    assert [row.name for row in found.rows] == [
        "hours", "party: red", "party: blue", "party: green", "party: other", "q1",
    ]  # fmt: skip
    lines = str(found).splitlines()
    assert re.match(r"question +n +estimate +low +high +privacy", lines[0])
    assert re.match(r"hours +1000 +21.7 hours +19.0 +24.4 +ε = 1$", lines[1])
    assert "those of a choice hold for all its options at once" in found.notes[-1]
    frame = found.to_frame()
    assert set(frame["option"].dropna()) == {"red", "blue", "green", "other"}
    assert len(found.plot().axes.get_yticklabels()) == 5  # the mean has an axis of its own
    alone = survey_results(counted(made, {key: WHOLE[key] for key in WHOLE if key[0] != "hours"}), made)
    assert "estimate %" in str(alone)


def test_without_the_survey_a_choice_is_still_a_choice():
    made = asked()
    found = survey_results(counted(made, WHOLE), minimum=30)
    assert [one.extras["option"] for one in found.round("party", 0).rows] == [f"option {j}" for j in range(1, 5)]
    assert found.round("hours", 0).value == pytest.approx(0.543279068275)  # a share of the range


def test_too_few_answers_show_nothing_of_any_kind():
    few = {("party", 0, ()): (29, [12, 8, 6, 3]), ("hours", 0, ()): (29, [12])}
    for found in page(asked(), few).values():
        assert (found["estimate"], found["segments"], found["trend"]) == (None, [], None)


def test_groups_of_a_choice_hold_at_once_and_small_ones_are_merged():
    made = asked(segments={"sport": ["run", "ski", "golf"]})
    cells = {}
    for sport, n in (("run", 400), ("ski", 100), ("golf", 3)):
        cells["party", 0, (("sport", sport),)] = (n, [n - 3 * (n // 4), n // 4, n // 4, n // 4])
        cells["hours", 0, (("sport", sport),)] = (n, [n // 2])
    found = page(made, cells)
    (sport,) = found["party"]["segments"]
    assert [option["label"] for option in sport["options"]] == ["red", "blue", "green", "other"]
    for option in sport["options"]:
        assert [row["label"] for row in option["rows"]] == ["run", "(merged)"]
    assert sport["note"].startswith(
        "95 % exact bars for the population, all 2 groups and 4 options at once (Bonferroni)"
    )
    run = Tally(SETS, 400, [100] * 4)[0]
    bar = estimate(run).interval(1 - 0.05 / 8)
    assert sport["options"][0]["rows"][0]["low"] == pytest.approx(bar.low)
    (hours,) = found["hours"]["segments"]
    assert [row["label"] for row in hours["rows"]] == ["run", "(merged)"]
    assert 0 <= hours["rows"][0]["low"] < 20 < hours["rows"][0]["high"] <= 40


def test_rounds_of_a_choice_and_of_a_number_have_trends():
    made = asked(rounds=5)
    cells = {("party", r, ()): (500, [150 + 10 * r, 150 - 10 * r, 100, 100]) for r in range(4)}
    cells |= {("hours", r, ()): (500, [200 + 20 * r]) for r in range(4)}
    found = page(made, cells)
    trend = found["party"]["trend"]
    assert [option["label"] for option in trend["options"]] == ["red", "blue", "green", "other"]
    assert trend["options"][0]["slope"] > 0 > trend["options"][1]["slope"]
    assert sum(option["slope"] for option in trend["options"][:2]) == pytest.approx(0, abs=0.02)
    for option in trend["options"]:
        assert [row["round"] for row in option["rounds"]] == [0, 1, 2, 3]
        assert all(row["low"] <= row["shown"] <= row["high"] for row in option["rounds"])
    hours = found["hours"]["trend"]
    single = survey_results(counted(made, cells)).trend("hours")
    assert hours["slope"] == pytest.approx(40 * single.slope.value)
    assert "hours per round" in hours["note"]
    assert found["party"]["estimate"]["n"] == 2000  # the whole: every round by its answers
    assert "over 4 rounds" in found["party"]["estimate"]["target"]
    chosen = page(made, cells, headline=2)
    assert chosen["party"]["estimate"]["n"] == 500
    wanted = estimate(Tally(SETS, 500, [170, 130, 100, 100]))
    assert [one["value"] for one in chosen["party"]["estimate"]["options"]] == [row.value for row in wanted.rows]


def test_the_whole_of_a_panel_is_one_sample_and_that_of_the_same_people_is_not():
    """In a panel different people answer in each round: the whole has the bar of all answers together."""
    cells = {("party", r, ()): (500, [200, 120, 100, 80]) for r in range(3)}
    cells |= {("hours", r, ()): (500, [250 + r]) for r in range(3)}
    again, once = asked(rounds=3), asked(rounds=3, panel=True)
    wide, narrow = (page(made, cells) for made in (again, once))
    bar = estimate(Tally(SETS, 1500, [600, 360, 300, 240])).intervals()[0]
    first = narrow["party"]["estimate"]["options"][0]
    assert (first["low"], first["high"]) == tuple(bar)
    other = wide["party"]["estimate"]["options"][0]
    assert other["value"] == pytest.approx(first["value"])
    assert other["high"] - other["low"] > 1.5 * (first["high"] - first["low"])
    assert narrow["hours"]["estimate"]["target"] == "the population, over 3 rounds"
    assert narrow["hours"]["estimate"]["n"] == 1500


def test_several_designs_of_a_choice_are_pooled_with_shares_that_add_up_to_one():
    other = optimal_design(2, options=4)
    keys = [TallyKey("s1", "party", SETS), TallyKey("s2", "party", other)]
    tallies = Tallies({
        keys[0]: Tally(SETS, 600, [250, 150, 110, 90]),
        keys[1]: Tally(other, 400, [220, 90, 50, 40]),
    })  # fmt: skip
    found = survey_results(tallies).round("party", 0)
    assert isinstance(found.estimate, Estimate)
    assert sum(found.estimate.exact_values) == 1
    assert found.method == "hoeffding"
    bars = zip(found.rows, found.intervals(), strict=True)
    assert all(bar.low <= one.value <= bar.high or one.value < 0 for one, bar in bars)
    guaranteed = survey_results(tallies, method="hoeffding").round("party", 0)
    assert all(bar.guaranteed for bar in guaranteed.intervals())
    assert found.privacy == "several designs"
    mixed = Tallies(
        {keys[0]: tallies[keys[0]], TallyKey("s3", "party", Design("3/4", "3/4")): Tally(Design("3/4", "3/4"), 9, 3)}
    )
    with pytest.raises(ParameterError, match="tallies"):
        survey_results(mixed).round("party", 0).estimate  # noqa: B018


def test_numbers_by_two_designs_are_pooled_on_their_scale():
    made = asked()
    first = TallyKey(made.digest, "hours", optimal_design(1))
    second = TallyKey(made.digest, "hours", optimal_design(2))
    tallies = Tallies({first: Tally(first.design, 600, 310), second: Tally(second.design, 400, 210)})
    found = survey_results(tallies, made).round("hours", 0)
    share = survey_results(tallies).round("hours", 0)
    assert found.value == pytest.approx(40 * share.value)
    assert tuple(found.bar) == pytest.approx([40 * end for end in share.bar])
    assert found.as_dict()["bounds"]["unit"] == "hours"


def test_those_who_answered_have_bars_too():
    made = asked()
    for name in ("party", "hours", "q1"):
        found = survey_results(counted(made, WHOLE), made, target="sample").round(name, 0)
        assert all(bar.guaranteed for bar in found.intervals())
    assert survey_results(counted(made, WHOLE), made, target="sample").round("hours", 0).standard_error is None
    with pytest.raises(ParameterError, match="exact"):
        survey_results(counted(made, WHOLE), made, target="sample", method="wald").round("hours", 0).intervals()


def test_a_release_of_a_choice_says_what_the_crowd_adds():
    made = asked()
    facts = ReleaseFacts(1, datetime(2026, 1, 1, tzinfo=UTC), None, {"party": 1000})
    found = released_results(counted(made, WHOLE), made, facts).page()
    party = found["questions"][0]
    assert any(note.startswith("In addition to the local promise (ε = 1)") for note in party["notes"])
    assert any("the share of one option" in note for note in party["notes"])
    assert crowd_words(SetDesign(3, 1, 1), 1000).startswith("The crowd adds nothing")


def test_fakes_move_one_option_by_at_most_what_the_design_says():
    """KINDS: 1/(nc) per report, k = 10, ε = 1: 3.7799001723/n for ω = 3."""
    words = fakes_words(optimal_design(1, options=10), 1000)
    assert "the share of one option by up to 3.78 points, 10 fakes by up to 3.78, 100 fakes by up to 37.80" in words


def test_csv_has_a_line_for_every_option_and_the_unit_of_a_number():
    made = asked(rounds=2, segments={"sport": ["run", "ski"]})
    cells = {("party", r, (("sport", s),)): (100, [40, 30, 20, 10]) for r in (0, 1) for s in ("run", "ski")}
    cells |= {("hours", r, (("sport", s),)): (100, [50]) for r in (0, 1) for s in ("run", "ski")}
    found = survey_results(counted(made, cells), made, headline=1).page()
    lines = list(csv.DictReader(io.StringIO(as_csv([found]))))
    party = [line for line in lines if line["question"] == "party"]
    hours = [line for line in lines if line["question"] == "hours"]
    assert len(party) == 4 * (1 + 2 + 2)
    assert len(hours) == 1 + 2 + 2
    assert {line["unit"] for line in hours} == {"hours"}
    assert {line["unit"] for line in party} == {""}
    assert [line["option"] for line in party[:4]] == ["red", "blue", "green", "other"]
    assert set(lines[0]) == set(HEAD)
