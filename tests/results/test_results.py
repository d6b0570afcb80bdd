"""Every result is a tidy frame, a table in four dialects and a picture; one list, one contract."""

import html
import unicodedata
from xml.etree import ElementTree

import pytest

from rrcollect import Design, ParameterError, SetDesign, optimal_design
from server_agg import (
    Tallies,
    Tally,
    TallyKey,
    compare,
    estimate,
    plan,
    survey_results,
    trend,
)
from server_agg.results.drawing import MARKS, draw_points, share_limits
from server_agg.results.result import Result
from server_agg.results.tables import latex_text, markdown_text
from tests.inside.results import COLOURS, Point
from tests.support import devices
from tests.support.comparing import both

D, E2 = Design("3/4", "3/4"), optimal_design(2)
HOSTILE = "<script>&|_%\\*"
TALLIES = {"north": Tally(D, 400, 180), HOSTILE: Tally(D, 300, 120)}
CHOICE = Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140])
RESULTS = {
    "estimate": (estimate(TALLIES["north"]), 1, 8),
    "pool": (estimate([TALLIES["north"], Tally(E2, 200, 70)]), 1, 4),
    "compare": (both(*TALLIES.values()), 4, 2),
    "segments": (compare({**TALLIES, "south": Tally(D, 90, 40)}), 3, 3),
    "trend": (trend({1: TALLIES["north"], 3: TALLIES[HOSTILE]}), 2, 2),
    "choice": (estimate(CHOICE), 4, 4),
    "mean": (estimate(TALLIES["north"], bounds=(0, 40), unit="hours"), 1, 8),
    "trend across": (trend(TALLIES), 2, 2),
    "survey": (survey_results(Tallies({TallyKey("s", q, D): t for q, t in TALLIES.items()})), 2, 2),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_tidy_frame(name):
    result, rows, _ = RESULTS[name]
    frame, again = result.to_frame(), result.to_frame("polars")
    assert list(frame.columns) == again.columns
    assert len(frame) == again.height == (rows or len(frame)) > 0
    if "low" in frame and "value" in frame:
        values, low, high = (frame[x].astype(float).dropna() for x in ("value", "low", "high"))
        shown = values.clip(0, 1) if getattr(result, "in_percent", name != "mean") else values
        assert ((low <= shown + 1e-9) & (shown <= high + 1e-9)).all()
        assert frame["level"].between(0.9, 1).all()
    with pytest.raises(ParameterError, match="pandas, polars"):
        result.to_frame("excel")


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table_in_every_dialect(name):
    result, _, _ = RESULTS[name]
    page = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")  # noqa: S314 - ours, and well formed: escaped
    assert {each.tag for each in page.iter()} <= {"div", "table", "tr", "th", "td", "p"}
    for drawn in page.findall("table"):
        assert len({len(row) for row in drawn.findall("tr")}) == 1
    tables = [each for each in result.to_markdown().split("\n\n") if each.startswith("|")]
    assert len(tables) == len(page.findall("table"))
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1
    latex = result.to_latex()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == len(tables)
    for line in latex.splitlines():
        assert "%" not in line.replace(r"\%", "")
        assert "_" not in line.replace(r"\_", "")
    beyond = {sign for sign in latex if not sign.isascii() and "LATIN" not in unicodedata.name(sign)}
    assert not beyond - set("“”„–—…°§")  # what inputenc and T1 know beside letters
    said = str(result)
    assert all(note in said for note in (result.notes if isinstance(result, Result) else result.notes()))


UNFIT = Tally(D, 100, 5)
WARNED = {
    "yes/no": estimate(UNFIT),
    "mean": estimate(UNFIT, bounds=(0, 40), unit="hours"),
    "choice": estimate(CHOICE, labels=["a", "b", "c", "d"]),
    "pooled": estimate([UNFIT, Tally(E2, 300, 10)]),
    "pooled choice": estimate([CHOICE, Tally(SetDesign(4, 1, "2/3"), 400, [220, 100, 60, 20])]),
    "of a sum": estimate(CHOICE).compare(0, 1),
    "of a share": estimate(CHOICE).among(0, [0, 1]),
    "total": estimate(UNFIT).total(5000),
    "nothing but noughts": estimate(Tally(Design(1, "1/2"), 50, 0)),
}


@pytest.mark.parametrize("name", WARNED)
@pytest.mark.parametrize("how", [(None, None), ("0.9", "hoeffding"), (0.5, "wald")], ids=str)
def test_every_output_holds_every_note(name, how):
    """A warning that one output has and another lacks cannot be."""
    result = WARNED[name]
    given = result.as_dict(*how)
    assert all(note in result.to_text(*how) for note in given["notes"])
    assert all(note in result.sentence(*how) for note in given["notes"][1:])
    if how == (None, None):
        assert tuple(given["notes"]) == result.notes
        assert all(latex_text(note) in result.to_latex() for note in result.notes)
        assert all(markdown_text(note) in result.to_markdown() for note in result.notes)
        assert all(html.escape(note) in result._repr_html_() for note in result.notes)
    bars = [row.interval(*(ask for ask in how if ask)) for row in result.rows]
    rough = any(not bar.guaranteed for bar in bars)
    assert ("coverage approximate" in result.sentence(*how)) == ("approximate" in given["notes"][0]) == rough
    for row, bar in zip(result.rows, bars, strict=True):
        low, high = row.scale.ends
        if row.value is not None and not low - 1e-3 <= row.value / row.scale.span <= high + 1e-3:
            assert any("unclipped" in note for note in given["notes"])
        if row.misfit is not None and row.misfit:
            assert any("data do not fit" in note for note in given["notes"])
        assert not bar.warning or any(bar.warning in note for note in given["notes"])


def test_rows_have_names_and_a_single_one_stands_for_the_result():
    choice, one = WARNED["choice"], WARNED["yes/no"]
    assert [row.name for row in choice.rows] == ["a", "b", "c", "d"]
    assert choice["b"] is choice.rows[1] is choice[1]
    for wrong in ("e", 4, -1, True):
        with pytest.raises(ParameterError, match="row"):
            choice[wrong]
    for name in ("value", "standard_error", "misfit", "scale", "n"):
        assert getattr(one, name) == getattr(one.rows[0], name)
    assert (one.p_value, one.interval(), choice.n) == (None, one.rows[0].interval(), 1000)
    with pytest.raises(ParameterError, match="option"):
        _ = choice.value
    with pytest.raises(ParameterError, match="asked of one row"):
        _ = choice.p_value
    with pytest.raises(AttributeError, match="nothing"):
        _ = one.nothing
    with pytest.raises(TypeError, match="rows"):  # what a result owes cannot be left out
        Result()


def test_a_name_from_outside_cannot_become_markup():
    table = RESULTS["segments"][0]
    assert "<script>" not in table._repr_html_()
    assert r"\<script>&\|\_%\\\*" in table.to_markdown()
    assert r"$<$script$>$\&$|$\_\%\textbackslash{}*" in table.to_latex()


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_picture(name):
    result, _, points = RESULTS[name]
    if points == 0:
        with pytest.raises(ParameterError, match="error bars"):
            result.plot()
        return
    picture = result.plot()
    assert len(result.points()) == (points or len(result.points()))
    assert "%" in picture.axes.get_title()
    assert len(picture.axes.containers) == len(result.points())  # a bar with its point for each


def test_a_picture_is_saved_in_every_format(tmp_path):
    picture = RESULTS["trend"][0].plot()
    assert picture._repr_png_().startswith(b"\x89PNG")
    for ending, begins in ((".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG")):
        assert picture.save(tmp_path / f"figure{ending}").read_bytes().startswith(begins)
    with pytest.raises(ParameterError, match=r"\.png, \.svg, \.pdf"):
        picture.save(tmp_path / "figure.bmp")


def test_text_of_an_svg_stays_text(tmp_path):
    assert "north (n = 400)" in RESULTS["segments"][0].plot().save(tmp_path / "a.svg").read_text()


def test_axes_fit_the_data_and_can_be_compared():
    one = compare({"a": Tally(D, 4000, 1100), "b": Tally(D, 4000, 1150)}).plot().axes
    other = compare({"a": Tally(D, 3000, 820), "b": Tally(D, 3000, 900)}).plot().axes
    assert one.get_xlim() == other.get_xlim() == pytest.approx((-0.004, 0.204))
    assert [label.get_text() for label in one.get_xticklabels()][1] == "0"
    wide = compare({"a": Tally(D, 4000, 1100)}, minimum=30).plot(limits=(0, 1)).axes
    assert wide.get_xlim() == pytest.approx((-0.02, 1.02))
    for end in (*MARKS, 0.001, 0.33, 0.99):  # every bar lies within its axis
        for low in (0.0, end / 2, max(0.0, end - 0.001)):
            bottom, top = share_limits([low, end])
            assert bottom <= low <= end <= top + 1e-9


def test_the_questions_texts_are_the_labels():
    survey = devices.survey()
    asked = survey.questions[0]
    key = TallyKey(survey.digest, asked.id, asked.design)
    found = survey_results(Tallies({key: Tally(asked.design, 500, 200)}), survey)
    (label,) = [each.get_text() for each in found.plot().axes.get_yticklabels()]
    assert label.startswith(survey.say(asked.text))
    assert "n = 500" in label


def test_colours_are_seen_apart_in_grey_too_and_lines_have_markers():
    assert len(set(COLOURS)) == len(COLOURS)
    for axes in (
        plan.price([1, 2]).plot(methods=["exact", "hoeffding"]).axes,
        plan.power_curve({"a": D, "b": E2}, [100, 200], difference="0.1", prevalence="0.2").plot().axes,
    ):
        markers = [line.get_marker() for line in axes.lines if line.get_marker() != "None"]
        assert len(set(markers)) == len(markers) > 1


def test_a_value_beyond_its_bar_is_drawn_hollow_at_its_end():
    axes = draw_points([Point("a", -0.2, 0.0, 0.3), Point("b", 0.1, 0.0, 0.3), Point("c", 0.1, None, 0.3)])
    drawn = [line for line in axes.lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in drawn] == [0.0, 0.1, 0.1]
    assert [line.get_markerfacecolor() for line in drawn] == ["white", COLOURS[0], COLOURS[0]]
