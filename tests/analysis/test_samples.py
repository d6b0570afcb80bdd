"""A complex sample from a frame or a file, and by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rrcollect.errors import ParameterError
from server_agg import analyse_survey, sampling
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
        found = analyse_survey(source, design=DATA.design, population=sizes, by="group", **ROLES)
        for one, other in zip(found.figures, direct.figures, strict=True):
            assert one.value == pytest.approx(other.value)
            assert one.standard_error == pytest.approx(other.standard_error)
            assert tuple(one.interval()) == pytest.approx(tuple(other.interval()))


def test_missing_answers_are_dropped_and_other_gaps_refused() -> None:
    gaps = FRAME.assign(answer=FRAME["answer"].astype(object).where(FRAME.index != 3, None))
    found = analyse_survey(gaps, design=DATA.design, **ROLES)
    assert (found.sample.n, found.dropped) == (239, 1)
    assert "1 rows dropped" in str(found)
    with pytest.raises(UnclearAnswer):
        analyse_survey(gaps, design=DATA.design, missing="refuse", **ROLES)
    for column in ("w", "stratum", "cluster"):
        holes = FRAME.assign(**{column: FRAME[column].astype(object).where(FRAME.index != 3, None)})
        with pytest.raises(ParameterError, match=f"a value in column '{column}'"):
            analyse_survey(holes, design=DATA.design, **ROLES)
    with pytest.raises(ParameterError, match="numbers"):
        analyse_survey(FRAME.assign(w="heavy"), design=DATA.design, **ROLES)
    with pytest.raises(ParameterError, match="a column of its own"):
        analyse_survey(FRAME, design=DATA.design, weights="w", clusters="w")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data.csv"
    FRAME.to_csv(file, index=False)
    roles = ["--weights", "w", "--strata", "stratum", "--clusters", "cluster"]
    sizes = ["--population", "0=20,1=20,2=20,3=20"]
    command = ["estimate", str(file), "--column", "answer", "--p00", "0.8", "--p11", "0.7", *roles]
    assert main([*command, *sizes, "--by", "group", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    direct = analyse_survey(FRAME, design=DATA.design, population={str(k): 20 for k in range(4)}, by="group", **ROLES)
    assert told["figures"][0]["standard_error"] == pytest.approx(direct.figures[0].standard_error)
    assert main(command) == 0
    assert "24 clusters in 4 strata, 20 degrees of freedom" in capsys.readouterr().out
    for wrong in (["--population", "many"], ["--method", "wald"], ["--by", "group", "--by", "w"]):
        assert main([*command, *wrong]) != 0
