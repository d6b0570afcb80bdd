"""`rrcollect analyse`: the numbers are those of `analyse`, and every mistake is one line."""

import pytest

from rrcollect import Design, classic, optimal_design
from server_agg import Tally, analyse, estimate
from server_agg.cli.estimate import SAMPLE
from tests.support.command_line import json_of, refused, run

YES, N = sum(yes for yes, _ in SAMPLE.values()), sum(map(sum, SAMPLE.values()))
OWN = ["--column", "answer"]
DIE = ["--forced-yes", "1/6", "--forced-no", "1/6"]


@pytest.fixture
def raw(tmp_path, capsys):
    path = tmp_path / "raw.csv"
    assert run(capsys, "estimate", "--sample", path)[0] == 0
    return path


@pytest.mark.parametrize(
    ("words", "design"),
    [
        (DIE, classic.forced_response(yes="1/6", no="1/6")),
        (["--epsilon", "1"], optimal_design(1)),
        (["--p00", "0.9", "--p11", "3/4"], Design("0.9", "3/4")),
        (["--classic", "warner", "0.7"], classic.warner("0.7")),
        (["--classic", "crosswise", "prevalence=1/4"], classic.crosswise("1/4")),
        (["--classic", "triangular", "1/4"], classic.triangular("1/4")),
        (["--classic", "mangat", "p=0.9"], classic.mangat("0.9")),
        (["--classic", "mangat_singh", "t=1/2", "p=0.6"], classic.mangat_singh("1/2", "0.6")),
        (["--classic", "kuk", "0.8", "theta2=0.2", "draws=1"], classic.kuk("0.8", "0.2")),
        (["--classic", "unrelated_question", "2/3", "1/2"], classic.unrelated_question("2/3", "1/2")),
        (["--classic", "forced_response", "yes=1/6", "no=1/6"], classic.forced_response("1/6", "1/6")),
    ],
)
def test_every_design_by_its_name(raw, capsys, words, design):
    found = json_of(capsys, "estimate", raw, *OWN, *words)
    assert found["rows"][0]["value"] == estimate(Tally(design, N, YES)).value
    assert found["dropped"] == 1


@pytest.mark.needs("matplotlib")
def test_groups_words_and_a_picture(raw, capsys, tmp_path):
    code, out, err = run(capsys, "estimate", raw, *OWN, *DIE, "--by", "region", "--plot", tmp_path / "raw.svg")
    assert (code, err) == (0, "")
    found = analyse(raw, classic.forced_response("1/6", "1/6"), column="answer", by="region")
    assert all(note in out for note in found.notes)
    assert [line.split()[0] for line in out.splitlines()[1:5]] == ["all", *sorted(SAMPLE)]
    assert "north (n = 120)" in (tmp_path / "raw.svg").read_text()
    swapped = json_of(capsys, "estimate", raw, *OWN, *DIE, "--yes", "no", "--no", "yes")
    assert swapped["rows"][0]["value"] == pytest.approx(1 - found["all"].value)
    assert "nominal" in run(capsys, "estimate", raw, *OWN, "--classic", "crosswise", "1/4")[1]
    assert "nominal" not in out


def test_mistakes_are_one_line(raw, capsys, tmp_path):
    refused(capsys, 2, "give the design once", "estimate", raw, *OWN)
    refused(capsys, 2, "give the design once", "estimate", raw, *OWN, *DIE, "--epsilon", "1")
    refused(capsys, 2, "give tallies, reports or a database", "estimate", *DIE)
    refused(
        capsys,
        2,
        "one of crosswise, forced_response",
        "estimate",
        raw,
        *OWN,
        "--classic",
        "coin",
        "1/2",
    )
    refused(capsys, 2, "models.moors", "estimate", raw, *OWN, "--classic", "moors", "0.7")
    refused(capsys, 2, "use p=…", "estimate", raw, *OWN, "--classic", "warner", "q=1/2")
    refused(capsys, 2, "one draw", "estimate", raw, *OWN, "--classic", "kuk", "0.8", "0.2", "draws=3")
    refused(capsys, 2, "line 2: the answer is 'north'", "estimate", raw, "--column", "region", *DIE)
    refused(
        capsys,
        2,
        "'told' is missing: use one of 'person', 'region', 'answer'",
        "estimate",
        raw,
        *OWN,
        *DIE,
        "--by",
        "told",
    )
    refused(capsys, 2, "--missing 'drop'", "estimate", raw, *OWN, *DIE, "--missing", "refuse")
    refused(capsys, 4, "is not there", "estimate", tmp_path / "none.csv", *OWN, *DIE)
    refused(capsys, 4, "exists already", "estimate", "--sample", raw)
    refused(capsys, 2, ".png, .svg, .pdf", "estimate", raw, *OWN, *DIE, "--plot", tmp_path / "raw.bmp")
