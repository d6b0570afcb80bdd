"""`rrcollect analyse`: the numbers are those of `analyse`, and every mistake is one line."""

import pytest

from rrcollect import Design, classic, optimal_design
from server_agg import Tally, analyse, estimate
from server_agg.cli.analysing import SAMPLE
from tests.support.command_line import json_of, refused, run

YES, N = sum(yes for yes, _ in SAMPLE.values()), sum(map(sum, SAMPLE.values()))
DIE = ["--forced-yes", "1/6", "--forced-no", "1/6"]


@pytest.fixture
def raw(tmp_path, capsys):
    path = tmp_path / "raw.csv"
    assert run(capsys, "analyse", "--sample", path)[0] == 0
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
    found = json_of(capsys, "analyse", raw, *words)
    assert found["rows"][0]["value"] == estimate(Tally(design, N, YES)).value
    assert found["dropped"] == 1


@pytest.mark.needs("matplotlib")
def test_groups_words_and_a_picture(raw, capsys, tmp_path):
    code, out, err = run(capsys, "analyse", raw, *DIE, "--by", "region", "--plot", tmp_path / "raw.svg")
    assert (code, err) == (0, "")
    found = analyse(raw, design=classic.forced_response("1/6", "1/6"), by="region")
    assert all(note in out for note in found.notes())
    assert [line.split()[0] for line in out.splitlines()[1:5]] == ["all", *sorted(SAMPLE)]
    assert "north (n = 120)" in (tmp_path / "raw.svg").read_text()
    swapped = json_of(capsys, "analyse", raw, *DIE, "--yes", "no", "--no", "yes")
    assert swapped["rows"][0]["value"] == pytest.approx(1 - found.estimate.value)
    assert "nominal" in run(capsys, "analyse", raw, "--classic", "crosswise", "1/4")[1]
    assert "nominal" not in out


def test_mistakes_are_one_line(raw, capsys, tmp_path):
    refused(capsys, 2, "say once by what design", "analyse", raw)
    refused(capsys, 2, "say once by what design", "analyse", raw, *DIE, "--epsilon", "1")
    refused(capsys, 2, "give the file", "analyse", *DIE)
    refused(capsys, 2, "one of crosswise, forced_response", "analyse", raw, "--classic", "coin", "1/2")
    refused(capsys, 2, "estimate_moors", "analyse", raw, "--classic", "moors", "0.7")
    refused(capsys, 2, "expected p=…", "analyse", raw, "--classic", "warner", "q=1/2")
    refused(capsys, 2, "one draw", "analyse", raw, "--classic", "kuk", "0.8", "0.2", "draws=3")
    refused(capsys, 2, "line 2: the answer is 'north'", "analyse", raw, *DIE, "--answer", "region")
    refused(
        capsys,
        2,
        "'told' is missing; expected one of 'person', 'region', 'answer'",
        "analyse",
        raw,
        *DIE,
        "--by",
        "told",
    )
    refused(capsys, 2, "missing='drop'", "analyse", raw, *DIE, "--missing", "refuse")
    refused(capsys, 4, "is not there", "analyse", tmp_path / "none.csv", *DIE)
    refused(capsys, 4, "exists already", "analyse", "--sample", raw)
    refused(capsys, 2, ".png, .svg, .pdf", "analyse", raw, *DIE, "--plot", tmp_path / "raw.bmp")
