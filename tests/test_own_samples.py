"""`analyse` of a complex sample, from a frame or a file, and by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rrcollect import ParameterError
from server_agg import analyse, sampling
from server_agg.errors import UnclearAnswer
from tests.sampling.data import survey
from tests.support.command_line import main

DATA = survey("A")
COLUMNS = {name: DATA[name] for name in ("w", "stratum", "cluster", "group")}
FRAME = pd.DataFrame({"answer": DATA["answer"], **COLUMNS})
ROLES = {"weights": "w", "strata": "stratum", "clusters": "cluster"}


def test_columns_by_name_are_the_same_survey(tmp_path: Path) -> None:
    sizes = {str(k): 20 for k in range(4)}
    direct = sampling.estimate(
        DATA["answer"],
        DATA.design,
        weights=DATA["w"],
        strata=DATA["stratum"],
        clusters=DATA["cluster"],
        population=dict.fromkeys(range(4), 20),
        by=DATA["group"],
    )
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    for source in (FRAME, tmp_path / "data.csv", {name: FRAME[name].tolist() for name in FRAME}):
        found = analyse(source, DATA.design, column="answer", population=sizes, by="group", **ROLES)
        for one, other in zip(found.rows, direct.rows, strict=True):
            assert one.value == pytest.approx(other.value)
            assert one.standard_error == pytest.approx(other.standard_error)
            assert tuple(one.interval()) == pytest.approx(tuple(other.interval()))


def test_missing_answers_are_dropped_and_other_gaps_refused() -> None:
    gaps = FRAME.assign(answer=FRAME["answer"].astype(object).where(FRAME.index != 3, None))
    found = analyse(gaps, DATA.design, column="answer", **ROLES)
    assert (found["all"].n, found.dropped) == (239, 1)
    assert "1 of 240 rows dropped: their 'answer' is missing" in str(found)
    with pytest.raises(UnclearAnswer):
        analyse(gaps, DATA.design, column="answer", missing="refuse", **ROLES)
    for column in ("w", "stratum", "cluster"):
        holes = FRAME.assign(**{column: FRAME[column].astype(object).where(FRAME.index != 3, None)})
        with pytest.raises(ParameterError, match=f"a value in column '{column}'"):
            analyse(holes, DATA.design, column="answer", **ROLES)
    with pytest.raises(ParameterError, match="numbers"):
        analyse(FRAME.assign(w="heavy"), DATA.design, column="answer", **ROLES)
    with pytest.raises(ParameterError, match="a column of its own"):
        analyse(FRAME, DATA.design, column="answer", weights="w", clusters="w")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data.csv"
    FRAME.to_csv(file, index=False)
    roles = ["--weights", "w", "--strata", "stratum", "--clusters", "cluster"]
    sizes = ["--population", "0=20,1=20,2=20,3=20"]
    command = ["estimate", str(file), "--column", "answer", "--p00", "0.8", "--p11", "0.7", *roles]
    assert main([*command, *sizes, "--by", "group", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    direct = analyse(
        FRAME, DATA.design, column="answer", population={str(k): 20 for k in range(4)}, by="group", **ROLES
    )
    assert told["rows"][0]["standard_error"] == pytest.approx(direct.rows[0].standard_error)
    assert main(command) == 0
    assert "24 clusters in 4 strata, 20 degrees of freedom" in capsys.readouterr().out
    for wrong in (["--population", "many"], ["--method", "magic"], ["--by", "group", "--minimum", "5"]):
        assert main([*command, *wrong]) != 0


def test_several_groups_the_stratum_itself_and_one_row_for_all() -> None:
    found = analyse(FRAME, DATA.design, column="answer", by=["stratum", "group"], **ROLES)
    pairs = sorted({f"{stratum} / {group}" for stratum, group in zip(DATA["stratum"], DATA["group"], strict=True)})
    assert [row.name for row in found.rows] == ["all", *pairs]
    alone = analyse(FRAME, DATA.design, column="answer", by="stratum", **ROLES)
    direct = sampling.estimate(
        DATA["answer"], DATA.design, weights=DATA["w"], strata=DATA["stratum"], clusters=DATA["cluster"],
        by=DATA["stratum"],
    )  # fmt: skip
    assert [row.value for row in alone.rows] == pytest.approx([row.value for row in direct.rows])
    assert [row.standard_error for row in alone.rows] == pytest.approx([row.standard_error for row in direct.rows])
    by_jackknife = analyse(FRAME, DATA.design, column="answer", replicates="jackknife", **ROLES)
    assert by_jackknife.whole.variance_by.startswith("JK")


def test_the_mean_of_a_number_plain_and_weighted() -> None:
    for roles in ({}, ROLES):
        share = analyse(FRAME, DATA.design, column="answer", **roles)
        mean = analyse(FRAME, DATA.design, column="answer", bounds=(10, 30), unit="hours", **roles)
        assert mean.value == pytest.approx(10 + 20 * share.value)
        assert "hours" in str(mean)
