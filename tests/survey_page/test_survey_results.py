"""Results as data: the numbers are the estimators', small cells stay hidden, and spreadsheets run nothing."""

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tallies, Tally, TallyKey, compare, estimate, survey_results
from server_agg.errors import EmptySelection
from server_agg.survey_page.released import JOINED, NOT_TOLD
from server_agg.survey_page.rounds import UNDECLARED
from tests.inside.collect import HEAD, as_csv
from tests.inside.files import harmless
from tests.inside.survey_page import ReleaseFacts, crowd_words, headline_of, released_results
from tests.support.devices import question, survey

DESIGN = Design("3/4", "3/4")


def counted(asked, cells):
    """Tallies of {(question, round, segments): (n, ones)}."""
    designs = {q.id: q.design for q in asked.questions}
    return Tallies({
        TallyKey(asked.digest, q, designs[q], tuple(segments), r): Tally(designs[q], n, ones)
        for (q, r, segments), (n, ones) in cells.items()
    })  # fmt: skip


def findings(asked, tallies, headline=None):
    """What the results page shows."""
    return survey_results(tallies, asked, headline=headline).page()


def test_the_numbers_are_the_estimators():
    asked = survey(question(design=optimal_design(1)))
    found = findings(asked, counted(asked, {("q1", 0, ()): (1000, 400)}))
    (only,) = found["questions"]
    wanted = estimate(Tally(optimal_design(1), 1000, 400))
    low, high = wanted.interval(0.95)
    assert (only["estimate"]["value"], only["estimate"]["low"], only["estimate"]["high"]) == (wanted.value, low, high)
    assert only["promise"]["exact"] == {"epsilon": "1", "delta": "0"}
    assert only["estimate"]["manipulation"] == pytest.approx(100 * wanted.manipulation("0.01"))
    json.dumps(found, allow_nan=False)


def test_a_question_with_too_few_answers_shows_its_count_alone():
    asked = survey()
    for n, shown in ((0, False), (29, False), (30, True)):
        cells = {("q1", 0, ()): (n, n // 2)} if n else {}
        (only,) = findings(asked, counted(asked, cells))["questions"]
        assert only["n"] == n
        assert (only["estimate"] is not None) is shown
        assert not (only["segments"] or only["trend"]) or shown


def test_the_signed_minimum_counts_for_the_owner_and_for_strangers():
    """An owner once saw nothing where strangers saw a value: there were two minimums."""
    asked = survey(minimum=10)
    tallies = counted(asked, {("q1", 0, ()): (12, 6)})
    facts = ReleaseFacts(1, datetime(2026, 5, 1, tzinfo=UTC), None, {"q1": 10})
    found = [survey_results(tallies, asked), released_results(tallies, asked, facts)]
    (owner,), (strangers,) = (each.page()["questions"] for each in found)
    assert owner["estimate"]["value"] == strangers["estimate"]["value"]
    with pytest.raises(ParameterError, match="that of the signed survey counts"):
        survey_results(tallies, asked, minimum=5)


def test_small_segments_are_merged_so_that_subtraction_finds_nothing():
    asked = survey(segments={"sport": ["run", "ski", "golf"]})
    cells = {("q1", 0, (("sport", s),)): (n, n // 2) for s, n in (("run", 400), ("ski", 100), ("golf", 3))}
    cells["q1", 0, ()] = (50, 20)
    (only,) = findings(asked, counted(asked, cells))["questions"]
    (sport,) = only["segments"]
    assert [row["label"] for row in sport["rows"]] == ["run", "ski", "(merged)"]
    assert set(sport["rows"][2]["cells"]) == {"golf", UNDECLARED}
    assert all(row["n"] >= 30 for row in sport["rows"])
    assert "golf (n = 3)" in sport["note"]
    table = compare({"run": Tally(DESIGN, 400, 200), "ski": Tally(DESIGN, 100, 50), "x": Tally(DESIGN, 53, 21)})
    assert sport["rows"][0]["low"] == table["run"].interval().low


def test_groups_named_like_ours_are_kept_apart():
    asked = survey(segments={"sport": ["(merged)", "(not declared)"]})
    cells = {("q1", 0, (("sport", s),)): (60, 20) for s in ("(merged)", "(not declared)")}
    cells["q1", 0, ()] = (70, 20)
    (only,) = findings(asked, counted(asked, cells))["questions"]
    assert sorted(row["n"] for row in only["segments"][0]["rows"]) == [60, 60, 70]


def test_rounds_are_not_mixed():
    asked = survey(question(rounds=4))
    cells = {("q1", r, ()): (n, ones) for r, n, ones in ((0, 500, 150), (1, 500, 190), (2, 500, 240), (3, 5, 5))}
    (only,) = findings(asked, counted(asked, cells), headline=2)["questions"]
    assert only["round"] == 2  # as the owner chose
    assert only["estimate"]["n"] == 500
    assert [row["round"] for row in only["trend"]["rounds"]] == [0, 1, 2]
    assert only["trend"]["note"].startswith(
        "slope +0.18 per round (SE 0.031); no change: score test, p = 5.09e-09; "
        "95 % exact bars for the population, all 3 rounds at once"
    )


def test_the_headline_is_the_whole_unless_the_owner_chooses_a_round():
    """Thirty strangers in a later round replaced 8.7 % by 96.7 %."""
    asked = survey(question(rounds=3))
    honest = {("q1", 0, ()): (1000, 300)}
    flooded = {**honest, ("q1", 2, ()): (30, 30)}
    first, second = (findings(asked, counted(asked, cells))["questions"][0] for cells in (honest, flooded))
    assert first["estimate"]["shown"] == pytest.approx(0.1)
    assert second["estimate"]["shown"] == pytest.approx((1000 * 0.1 + 30 * 1.5) / 1030)
    assert (second["round"], second["segments"]) == (None, [])
    assert second["beside"][0] == second["notes"][0] == "Rounds 1 and 3 of 3 together."
    (chosen,) = findings(asked, counted(asked, flooded), headline=0)["questions"]
    assert chosen["estimate"]["shown"] == pytest.approx(0.1)
    (nothing,) = findings(asked, counted(asked, flooded), headline=1)["questions"]
    assert nothing["estimate"] is None


def test_the_bar_of_the_whole_is_the_mean_of_the_rounds_bars_at_a_higher_level():
    asked = survey(question(rounds=2))
    cells = {("q1", r, ()): (n, ones) for r, n, ones in ((0, 600, 200), (1, 200, 90))}
    (only,) = findings(asked, counted(asked, cells))["questions"]
    bars = [estimate(Tally(DESIGN, n, ones)).interval("0.975") for n, ones in ((600, 200), (200, 90))]
    assert only["estimate"]["low"] == pytest.approx((3 * bars[0].low + bars[1].low) / 4)
    assert only["estimate"]["high"] == pytest.approx((3 * bars[0].high + bars[1].high) / 4)
    assert only["estimate"]["target"] == "the population, over 2 rounds"


def test_the_fullest_round_is_told_where_none_has_enough():
    asked = survey(question(rounds=3))
    cells = {("q1", r, ()): (n, 5) for r, n in ((0, 21), (1, 20))}
    (only,) = findings(asked, counted(asked, cells))["questions"]
    assert (only["n"], only["estimate"]) == (41, None)
    assert only["notes"] == ["A round needs 30 answers before anything is shown; the fullest has 21."]
    assert "the fullest has 0" in findings(asked, counted(asked, {}))["questions"][0]["notes"][0]


def test_invitations_leave_no_room_for_fakes_and_misfit_is_told():
    asked = survey(invite_only=True)
    (only,) = findings(asked, counted(asked, {("q1", 0, ()): (1000, 100)}))["questions"]
    assert only["estimate"]["manipulation"] is None
    assert "do not fit" in only["estimate"]["misfit"]
    assert only["estimate"]["fit"] == "These counts do not fit the survey's design: do not use this number."
    (near,) = findings(asked, counted(asked, {("q1", 0, ()): (1000, 245)}))["questions"]
    assert "P(a count so far below)" in near["estimate"]["misfit"]
    assert near["estimate"]["fit"].endswith("as chance alone can bring about (see Method).")
    (good,) = findings(asked, counted(asked, {("q1", 0, ()): (1000, 400)}))["questions"]
    assert good["estimate"]["fit"] is None
    assert only["estimate"]["shown"] == 0.0 > only["estimate"]["value"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1"])
def test_a_cell_that_would_run_gets_an_apostrophe(text):
    assert harmless(text) == "'" + text
    assert harmless("a" + text) == "a" + text
    for blank in "\t\r\n":  # may be dropped, or begin another cell: both are seen to
        assert harmless(f"{blank}{text}") == f"'{blank}'{text}"
        assert harmless(f"a{blank}{text}") == f"a{blank}'{text}"


def test_csv_has_a_line_for_every_estimate_and_numbers_stay_numbers():
    asked = survey(question(text="=HYPERLINK(1)", rounds=2), segments={"sport": ["=cmd", "ski"]})
    cells = {("q1", r, (("sport", s),)): (100, 10) for r in (0, 1) for s in ("=cmd", "ski")}
    lines = list(csv.reader(io.StringIO(as_csv([findings(asked, counted(asked, cells), headline=1)]))))
    assert tuple(lines[0]) == HEAD
    assert len(lines) == 1 + 1 + 2 + 2
    for line in lines[1:]:
        made = dict(zip(HEAD, line, strict=True))
        assert made["text"] == "'=HYPERLINK(1)"
        assert made["group"] in ("", "'=cmd", "ski")
        assert float(made["estimate"]) < 0  # unbiased and unclipped; a number, so no apostrophe
    assert as_csv([findings(asked, counted(asked, {}))]).splitlines() == [",".join(HEAD)]


# ---- a release ------------------------------------------------------------------------------------------------------


def released(asked, cells, crowd=30, headline=None):
    facts = ReleaseFacts(2, datetime(2026, 5, 1, 12, 30, tzinfo=UTC), headline, {"q1": crowd})
    return released_results(counted(asked, cells), asked, facts).page()


def test_a_release_says_when_what_is_missing_and_what_the_crowd_adds():
    asked = survey(segments={"sport": ["run", "ski", "golf"]})
    cells = {("q1", 0, (("sport", group),)): (n, n // 3) for group, n in (("run", 300), ("ski", 90), ("", 60))}
    found = released(asked, cells, crowd=1000)
    (only,) = found["questions"]
    assert (found["view"], found["released"]) == ("released", {"number": 2, "at": "2026-05-01T12:30Z"})
    assert found["answers"] == only["n"] == 450
    assert [row["label"] for row in only["segments"][0]["rows"]] == ["run", "ski", NOT_TOLD]
    said = " ".join([*found["notes"], *only["notes"]])
    for wanted in (
        "Released on 2026-05-01 12:30 UTC (release 2)", "whole crowds of 30", "the last few are never published",
        f"By sport: A group is shown from 30 answers on; golf is not shown. “{NOT_TOLD}” are answers that are not told",
        "In addition to the local promise (ε = 1.099), which needs no trust", "δ = 1e-6 (n = 1,000)",
        "not against whoever sees reports arrive", "adds them up", "nothing links a report to a person",
        "one person can send many answers", "10 fakes by up to 4.44, 100 fakes by up to 44.44",
    ):  # fmt: skip
        assert wanted in said
    assert "Each look costs" not in said
    assert UNDECLARED not in said  # nobody left the group open, and that somebody did would not be known
    assert not any("golf" in note for note in only["beside"])  # it stands below its table
    assert only["segments"][0]["missing"] in said


def test_of_carried_answers_nothing_is_said_about_a_crowd():
    """Said of the same answers sent one by one: the test above."""
    found = released(survey(collector="carried"), {("q1", 0, ()): (450, 150)}, crowd=1000)
    said = " ".join([*found["notes"], *found["questions"][0]["notes"]])
    assert "In addition to the local promise" not in said
    assert "nothing links a report to a person" not in said
    assert JOINED in said


def test_before_the_first_release_nothing_is_told_but_that():
    asked = survey()
    found = released_results(Tallies({}), asked, None).page()
    assert (found["answers"], found["released"], found["questions"][0]["estimate"]) == (0, None, None)
    assert found["notes"] == [
        "Nothing was released yet. Answers are published in whole crowds of 30, when the owner releases them."
    ]


def test_a_live_view_says_that_each_look_costs_or_that_its_bars_allow_for_looking():
    asked = survey(invite_only=True)
    tallies = counted(asked, {("q1", 0, ()): (1000, 400)})
    found = findings(asked, tallies)
    assert "Each look costs" in found["notes"][0]
    assert found["questions"][0]["notes"] == []
    looking = survey_results(tallies, asked, method="anytime").page()
    assert "Its bars allow for looking" in looking["notes"][0]
    (only,) = looking["questions"]
    bar = estimate(Tally(asked.questions[0].design, 1000, 400)).interval(0.95, "anytime")
    shown = only["estimate"]
    assert (shown["low"], shown["high"], shown["level"], shown["method"]) == (bar.low, bar.high, 0.95, "anytime")


def test_bars_that_are_looked_at_are_from_the_first_look_those_of_all_rounds_and_groups():
    asked = survey(question(rounds=4, design=DESIGN), segments={"sport": ["run", "ski", "golf"]})
    cells = {("q1", 0, (("sport", s),)): (n, n // 3) for s, n in (("run", 300), ("ski", 90))}
    for more, rounds in (({}, 1), ({("q1", 2, ()): (200, 70)}, 2)):
        found = survey_results(counted(asked, cells | more), asked, method="anytime").page()
        (only,) = found["questions"]
        ends = estimate(Tally(DESIGN, 390, 130)).interval(1 - 0.05 / 4, "anytime")
        if rounds == 1:
            assert (only["estimate"]["low"], only["estimate"]["high"]) == pytest.approx(tuple(ends), abs=1e-12)
            assert only["estimate"]["level"] == 0.95
        else:
            assert only["trend"]["rounds"][0]["low"] == pytest.approx(ends.low, abs=1e-12)
    chosen = survey_results(counted(asked, cells), asked, method="anytime", headline=0).page()
    (sport,) = chosen["questions"][0]["segments"]
    row = estimate(Tally(DESIGN, 300, 100)).interval(1 - 0.05 / 5, "anytime")  # run, ski, golf, not declared, merged
    assert (sport["rows"][0]["low"], sport["rows"][0]["high"]) == pytest.approx(tuple(row), abs=1e-12)


@pytest.mark.parametrize(("method", "allowed"), [("anytime", True), ("exact", False)])
def test_a_headline_looked_at_after_every_answer_ever_misses_the_truth_with_its_stated_probability(method, allowed):
    """Exact sums over all ways in which 30 answers can come; the bar of one look is the planted bug (0.42, not 0.2)."""
    design, truth = Design("9/10", "9/10"), 0.3
    yes, paths, missed = float(design.says_yes("0.3")), {0: 1.0}, 0.0
    for n in range(1, 31):
        longer = dict.fromkeys(range(n + 1), 0.0)
        for ones, mass in paths.items():
            longer[ones] += mass * (1 - yes)
            longer[ones + 1] += mass * yes
        paths = {}
        for ones, mass in longer.items():
            low, high = (0.0, 1.0)
            if n > 1 and mass > 0:
                low, high = headline_of({0: estimate(Tally(design, n, ones))}, 0.8, method).bar
            if low <= truth <= high:
                paths[ones] = mass
            else:
                missed += mass
    assert (missed <= 0.2) is allowed


def test_a_crowd_adds_nothing_to_a_proof_nor_if_it_is_small():
    assert crowd_words(Design(1, "1/20"), 10**6) == 'The crowd adds nothing to the local promise: a "yes" is a proof.'
    assert crowd_words(DESIGN, 5) == "A crowd of 5 is too small to add to the local promise (ε = 1.099)."


# ---- the same for those who have tallies and no survey --------------------------------------------------------------


def mixed():
    """Two questions; the first in two rounds, one of them by two designs."""
    other = Design("2/3", "2/3")
    return Tallies({
        TallyKey("s", "q1", DESIGN, (("sport", "run"),), 0): Tally(DESIGN, 400, 180),
        TallyKey("s", "q1", DESIGN, (), 0): Tally(DESIGN, 60, 20),
        TallyKey("t", "q1", other, (("sport", "run"),), 0): Tally(other, 90, 40),
        TallyKey("s", "q1", DESIGN, (("sport", "ski"),), 1): Tally(DESIGN, 300, 100),
        TallyKey("s", "q2", DESIGN, (), 0): Tally(DESIGN, 1, 1),
    })  # fmt: skip


def test_without_a_survey_every_question_and_round_is_told():
    found = survey_results(mixed(), level="0.9", method="wilson")
    assert [(each.question, each.round, each.n) for each in found.rounds] == [
        ("q1", 0, 550), ("q1", 1, 300), ("q2", 0, 1),
    ]  # fmt: skip
    pooled, one, few = found.rounds
    assert (pooled.bar.method, one.bar.method) == ("likelihood", "wilson")  # several designs have no Wilson bar
    assert one.estimate.value == estimate(Tally(DESIGN, 300, 100)).value
    assert tuple(one.bar) == tuple(estimate(Tally(DESIGN, 300, 100)).interval("0.9", "wilson"))
    assert (few.estimate, few.bar, few.rows) == (None, None, ())
    told = few.as_dict()
    assert (told["question"], told["round"], told["rows"]) == ("q2", 0, [])
    assert told["notes"] == ["q2: too few answers for an estimate"]
    assert [(row.name, row.n) for row in found.rows] == [("q1, round 1", 550), ("q1, round 2", 300)]
    assert "q2: too few answers for an estimate" in str(found)
    whole = json.loads(found.to_json())
    assert [row["interval"]["method"] for row in whole["rows"]] == ["likelihood", "wilson"]
    assert [(one["question"], one["round"], one["n"]) for one in whole["rounds"]] == [
        ("q1", 0, 550), ("q1", 1, 300), ("q2", 0, 1),
    ]  # fmt: skip


def test_the_latest_round_the_trend_and_the_segments_are_those_asked_for():
    found = survey_results(mixed(), minimum=100)
    assert [each.round for each in found.enough("q1")] == [0, 1]
    assert found.trend("q1").scores == (0, 1)
    table = found.round("q1", 0).segments("sport", minimum=30)
    assert {row.name: row.n for row in table.group_rows} == {"run": 490, UNDECLARED: 60}
    assert [row.name for row in found.round("q1", 0).segments("sport").rows] == ["(merged)"]
    assert (found.enough("q2"), found.trend("q2")) == ([], None)
    for asked in (("q9", 0), ("q1", 7)):
        with pytest.raises(EmptySelection, match=f"question '{asked[0]}' in round {asked[1]}"):
            found.round(*asked)


def test_the_target_is_the_one_asked_for():
    one = survey_results(mixed(), target="sample").round("q1", 1)
    assert one.bar.target == "sample"
    assert one.segments("sport").rows[0].interval().target == "sample"


def test_a_survey_that_was_answered_by_another_design_is_refused():
    asked = survey(question(design=DESIGN))
    other = Design("2/3", "2/3")
    given = Tallies({TallyKey(asked.digest, "q1", d): Tally(d, 100, 40) for d in (DESIGN, other)})
    with pytest.raises(ParameterError, match="the published design of 'q1' alone"):
        findings(asked, given)


def test_misfit_and_a_cut_value_are_said_beside_it():
    key = TallyKey("s", "q", DESIGN)
    found = survey_results(Tallies({key: Tally(DESIGN, 1000, 100)}))
    assert re.match(r"q +0.0 +0.0 ", str(found).splitlines()[1])
    for words in (str(found), found.sentence(), " ".join(found.as_dict()["notes"])):
        assert "unclipped −30.0 %" in words
        assert "data do not fit the design" in words
