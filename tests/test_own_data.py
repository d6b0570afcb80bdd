"""`analyse` reads one and the same table from every frame and file, a complex sample too, and names what it does not
understand."""

import json
from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pyreadstat
import pytest

from rrcollect import Design, ParameterError, classic
from server_agg import Tally, analyse, compare, estimate
from server_agg.errors import BadColumn, DataUnavailable, TooFewAnswers, UnclearAnswer, UnreadableReports

DIE = classic.forced_response(yes="1/6", no="1/6")
COUNTS = {("north", 1): 48, ("north", 0): 72, ("south", 1): 41, ("south", 0): 99, ("north", None): 2, (None, 1): 33}
ROWS = [row for row, n in COUNTS.items() for _ in range(n)]
REGIONS, ANSWERS = [r for r, _ in ROWS], [a for _, a in ROWS]
FRAME = pandas.DataFrame({"region": REGIONS, "told": ANSWERS, "age": range(len(ROWS))})
WORDS = [{1: "Yes", 0: "no ", None: None}[a] for a in ANSWERS]


def csv_text(answers, between=","):
    lines = [between.join(["id", "region", "told"])]
    lines += [between.join([str(i), r or "", a]) for i, (r, a) in enumerate(zip(REGIONS, answers, strict=True))]
    return "\ufeff" + "\n".join(lines) + "\n\n"


def written(folder, ending):
    path = folder / f"raw{ending}"
    texts = [{1: "1.0", 0: "0.0", None: ""}[a] for a in ANSWERS]
    if ending == ".csv":
        path.write_text(csv_text(texts), encoding="utf-8")
    elif ending == ".tsv":
        path.write_text(csv_text(["NA" if w is None else w for w in WORDS], "\t"), encoding="utf-8")
    elif ending == ".jsonl":
        lines = [json.dumps({"region": r} | ({} if a is None else {"told": bool(a)})) for r, a in ROWS]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif ending == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"region": REGIONS, "told": ANSWERS}), path)
    else:
        text = FRAME.assign(region=FRAME["region"].fillna(""))
        labels = {"variable_value_labels": {"told": {1: "Yes", 0: "No"}}}
        {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".zsav": pyreadstat.write_sav}[ending](
            text, str(path), **labels
        )
    return path


def lazy_duckdb():
    import duckdb

    return duckdb.connect().from_arrow(pyarrow.table({"region": REGIONS, "told": ANSWERS}))


def lazy_dask():
    import dask.dataframe

    return dask.dataframe.from_pandas(FRAME, npartitions=3)


FRAMES = {
    "pandas, 0.0 and 1.0": lambda: FRAME,
    "pandas, words": lambda: FRAME.assign(told=WORDS),
    "pandas, nullable": lambda: FRAME.assign(told=FRAME["told"].astype("Int64")),
    "pandas, boolean": lambda: FRAME.assign(told=FRAME["told"].astype("boolean")),
    "pandas, categories": lambda: FRAME.assign(told=pandas.Categorical(WORDS), region=pandas.Categorical(REGIONS)),
    "polars": lambda: polars.DataFrame({"region": REGIONS, "told": ANSWERS}),
    "polars, NaN": lambda: polars.DataFrame(
        {"region": REGIONS, "told": [float("nan") if a is None else float(a) for a in ANSWERS]}
    ),
    "polars, lazy": lambda: polars.LazyFrame({"region": REGIONS, "told": WORDS}),
    "pyarrow": lambda: pyarrow.table({"region": REGIONS, "told": [None if a is None else bool(a) for a in ANSWERS]}),
    "duckdb": lazy_duckdb,
    "dask": lazy_dask,
    "columns": lambda: {"region": REGIONS, "told": np.array([np.nan if a is None else a for a in ANSWERS])},
}


def right(found):
    whole = estimate(Tally(DIE, 293, 122))
    table = compare({"(missing)": Tally(DIE, 33, 33), "north": Tally(DIE, 120, 48), "south": Tally(DIE, 140, 41)})
    assert found.dropped == 2
    first, *groups = found.rows
    assert (first.n, first.value, first.standard_error) == (whole.n, whole.value, whole.standard_error)
    assert tuple(first.interval()) == tuple(whole.interval())
    assert [row.name for row in groups] == [row.name for row in table.group_rows]
    assert [tuple(row.interval()) for row in groups] == [tuple(row.interval()) for row in table.group_rows]
    return True


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_numbers(kind):
    assert right(analyse(FRAMES[kind](), DIE, column="told", by="region"))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".dta", ".sav", ".zsav"])
def test_every_file_gives_the_same_numbers(tmp_path, ending):
    path = written(tmp_path, ending)
    assert right(analyse(path, DIE, column="told", by=["region"]))
    assert right(analyse(str(path), DIE, column="told", by=["region"]))


def test_semicolons_and_other_words(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text(csv_text([{1: "B", 0: "A", None: "."}[a] for a in ANSWERS], ";"), encoding="utf-8")
    for words in ({"yes": "B"}, {"yes": "b", "no": "A"}):
        assert right(analyse(path, DIE, column="told", by="region", **words))
    codes = FRAME.assign(told=FRAME["told"].map({1: 1, 0: 2}))
    assert right(analyse(codes, DIE, column="told", by="region", yes=1, no=2))
    flipped = analyse(codes, DIE, column="told", yes=2)
    assert flipped.whole.tally.ones == 293 - 122
    said = analyse({"answer": ["none", "some", "", "none"]}, DIE, column="answer", yes="some", no="none")
    assert (said.n, said.whole.tally.ones, said.dropped) == (3, 1, 1)


@pytest.mark.parametrize(
    ("value", "where"), [(2, "row 3"), ("maybe", "row 3"), (0.5, "row 3"), ("yes, I think", "row 3"), ([1], "row 3")]
)
def test_anything_else_is_named_with_its_row(tmp_path, value, where):
    column = [1, 0, None, value]
    for data in ({"answer": column}, polars.DataFrame({"answer": [None if c is None else str(c) for c in column]})):
        with pytest.raises(UnclearAnswer, match=where) as caught:
            analyse(data, DIE, column="answer")
        assert str(value) in str(caught.value)
    path = tmp_path / "raw.csv"
    path.write_text('note,answer\n"a\nb",1\nx,0\ny,2\n')
    with pytest.raises(UnclearAnswer, match=r"raw\.csv, line 5: the answer is '2': use 1 or 0, yes or no"):
        analyse(path, DIE, column="answer")
    with pytest.raises(UnclearAnswer, match="row 2.*'c'.*'b' for yes, one other value for no"):
        analyse({"answer": ["a", "b", "c"]}, DIE, column="answer", yes="b")


def test_missing_answers_are_told_or_refused():
    found = analyse(FRAME, DIE, column="told")
    assert "2 of 295 rows dropped: their 'told' is missing" in str(found)
    assert "2 of 295 rows dropped" in found.to_markdown() + found._repr_html_() + found.to_latex()
    with pytest.raises(UnclearAnswer, match=r"row 260 .*missing='drop'"):
        analyse(FRAME, DIE, column="told", missing="refuse")
    whole = analyse(FRAME.dropna(), DIE, column="told", missing="refuse")
    assert "no row dropped of 260" in str(whole)


def test_groups_of_several_columns_small_ones_and_names_like_ours():
    found = analyse(FRAME.assign(year=2020.0), DIE, column="told", by=["region", "year"], minimum=40)
    assert [row.name for row in found.rows[1:]] == ["south / 2020", "(merged)"]
    assert "(missing) / 2020 (n = 33)" in str(found)
    names = ["all", "(merged)", "NA", " "] * 30
    labels = analyse({"answer": [0, 1] * 60, "g": names}, DIE, column="answer", by="g").to_frame()["name"].tolist()
    assert labels == ["all", "(merged) ", "(missing)", "NA", "all "]


def test_the_frame_the_picture_and_the_misfit():
    found = analyse(FRAME, DIE, column="told", by="region")
    frame = found.to_frame()
    assert frame["name"].tolist() == ["all", "(missing)", "north", "south"]
    assert frame["n"].tolist() == [293, 33, 120, 140]
    assert frame["misfit_flag"].tolist() == [False, True, False, False]  # 33 of 33 said yes, by a die
    assert "do not fit" in str(found)
    assert len(found.plot().axes.get_yticks()) == 4
    assert json.loads(found.to_json())["dropped"] == 2


def test_a_planted_design_is_found_out():
    wrong = analyse(FRAME, Design(Fraction(1, 3), "0.9"), column="told")
    assert wrong.misfit.told
    assert "fit" in str(wrong)


def test_what_cannot_be_analysed_is_refused(tmp_path):
    def bad(error, match, data=FRAME, **how):
        with pytest.raises(error, match=match):
            analyse(data, **{"column": "told", "design": DIE, **how})

    bad(BadColumn, "'tol' is missing: use one of 'region', 'told', 'age'", column="tol")
    bad(BadColumn, "'land' is missing", by="land")
    bad(ParameterError, "drop, refuse", missing="ignore")
    bad(ParameterError, "each once", by=["region", "region"])
    bad(ParameterError, "a Design", design=classic.moors("0.7"))
    bad(ParameterError, "a Design", design=1.0)
    bad(ParameterError, "a frame, a mapping", data=[1, 0])
    bad(ParameterError, "one length", data={"told": [1, 0], "g": [1]}, by="g")
    bad(ParameterError, "one row or more", data={"told": []})
    bad(TooFewAnswers, "1 answer:", data={"told": [1, None]})
    bad(UnclearAnswer, "two different", yes="x", no="X")
    bad(ParameterError, "'population' or 'sample'", by="region", population=5000)
    bad(ParameterError, "never merged", by="region", strata="age", minimum=5)
    bad(BadColumn, "named twice", data=pandas.DataFrame([[1, 0], [0, 1]], columns=["told", "told"]))
    bad(ParameterError, "as text", data=pandas.DataFrame({0: [1, 0]}), column=0)
    bad(TooFewAnswers, r"'told' \(9 rows without an answer\) holds 0", data={"told": [None] * 9})
    bad(UnclearAnswer, "no row says oui: if that is so, give no=", data={"told": ["ja"] * 9}, yes="oui")
    bad(ParameterError, "that Python knows", data=tmp_path / "none.csv", encoding="klingon")
    bad(DataUnavailable, "is not there", data=tmp_path / "none.csv")
    bad(ParameterError, r"ends in \.csv", data="raw.xlsx")
    for name, content, why in (
        ("a.csv", b"told,told\n1,0\n", "named twice"),
        ("b.csv", b"id,told\n1,0\n2\n", "line 3: 1 cells under a head of 2"),
        ("c.csv", "id,told\nä,0\n".encode("latin-1"), "encoding='cp1252', or save it as UTF-8"),
        ("d.jsonl", b'{"told": 1}\n{"told"', "line 2: not JSON"),
        ("e.jsonl", b"[1]\n", "not a JSON object"),
        ("f.jsonl", b'{"x": 1}\n', "missing"),
        ("g.parquet", b"told", r"not a \.parquet file"),
        ("h.sav", b"told", r"not a \.sav file"),
        ("i.dta", b"", r"not a \.dta file"),
        ("j.csv", b"", "it is empty"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        bad((UnreadableReports, BadColumn, DataUnavailable), why, data=path)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_a_text_file_may_be_in_another_encoding(tmp_path, encoding):
    path = tmp_path / "raw.csv"
    path.write_bytes(("told,stadt\n" + "ja,Zürich\nnein,Köln\n" * 40).encode(encoding))
    found = analyse(path, DIE, column="told", by="stadt", yes="Ja", encoding=encoding)
    assert [row.name for row in found.rows[1:]] == ["Köln", "Zürich"]
    assert found["all"].n == 80


def test_other_columns_of_a_frame_may_share_a_name():
    frame = pandas.DataFrame([[1, 0, 0], [0, 1, 1]] * 20, columns=["told", "x", "x"])
    assert analyse(frame, DIE, column="told").value == 0.5


def test_groups_of_a_number_are_means():
    how = {"column": "told", "by": "region"}
    shares, means = (analyse(FRAME, DIE, **how, **more) for more in ({}, {"bounds": (10, 30), "unit": "hours"}))
    assert [row.name for row in means.rows] == [row.name for row in shares.rows]
    assert [row.value for row in means.rows] == pytest.approx([10 + 20 * row.value for row in shares.rows])
    assert {row.scale.unit for row in means.rows} == {"hours"}
