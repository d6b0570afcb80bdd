"""Files: nothing is overwritten unasked, nothing is left half-written, not even on a full disk."""

import io
import json
import os
import resource
import subprocess
import sys

import pytest

from rrcollect import Design
from server_agg import Tallies, Tally, TallyKey
from server_agg.cli.terminal import CannotWrite, new_file, progress
from tests.support.command_line import PROGRAM, SIGNED, json_of, main, refused, run, signed_survey, template_text


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    signed_survey(folder)
    design = Design("3/4", "3/4")
    keys = [
        TallyKey("0" * 64, "q1", design, (("sport", sport),), number) for sport in ("run", "ski") for number in (0, 1)
    ]
    (folder / "tallies.json").write_text(Tallies({key: Tally(design, 500, 200) for key in keys}).to_json())
    return folder


@pytest.fixture(autouse=True)
def here(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)


WRITERS = {
    "survey.out.json": ["publish", "survey.toml", "--key", "publisher.pem", "--out"],
    "t.out.json": ["tally", "gateway.csv", *SIGNED, "--out"],
    "region.svg": ["design", "--epsilon", "1", "--plot"],
}


@pytest.mark.process
@pytest.mark.parametrize("name", WRITERS)
def test_an_existing_file_is_kept_unless_forced_and_a_full_disk_leaves_nothing(desk, capsys, name):
    if not (desk / "gateway.csv").exists():
        main(["randomise", "--sample", "truths.csv"])
        main(["randomise", "truths.csv", "--id", "person", "--column", "doped", "--question", "doped", *SIGNED,
              "--out", "gateway.csv"])  # fmt: skip
    capsys.readouterr()
    (desk / name).write_text("precious")
    refused(capsys, 4, "--force", *WRITERS[name], name)
    assert (desk / name).read_text() == "precious"
    before = sorted(path.name for path in desk.iterdir())

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    words = [*PROGRAM, *WRITERS[name], name, "--force"]
    done = subprocess.run(words, preexec_fn=small_disk, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert (desk / name).read_text() == "precious"
    assert sorted(path.name for path in desk.iterdir()) == before
    assert run(capsys, *WRITERS[name], name, "--force")[0] == 0
    assert (desk / name).read_bytes() != b"precious"
    (desk / name).unlink()


def test_a_block_that_fails_leaves_nothing(tmp_path):
    def fails():
        with new_file(tmp_path / "o.txt", force=False) as partial:
            partial.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(CannotWrite, match="no space left on device; free some space"):
        fails()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_standard_output_that_is_full():
    line = f"{sys.executable} -m server_agg.cli.main design --classic --epsilon 1 > /dev/full"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert "no space left" in done.stderr


@pytest.mark.process
def test_a_terminal_without_greek_letters():
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for more in ([], ["--json"]):
        done = subprocess.run(
            [*PROGRAM, "design", "--epsilon", "1", *more], env=ascii_only, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii()
    assert json.loads(done.stdout)["candidates"][0]["name"] == "symmetric"


def test_estimates_by_question_round_and_segment(capsys):
    found = json_of(capsys, "estimate", "tallies.json")
    assert [(one["question"], one["round"], one["n"]) for one in found["rows"]] == [
        ("q1", 0, 1000),
        ("q1", 1, 1000),
    ]
    one = json_of(capsys, "estimate", "tallies.json", "--round", "1", "--target", "sample", "--level", "0.9")
    assert (one["target"], one["rows"][0]["interval"]["level"]) == ("sample", 0.9)
    (table,) = json_of(capsys, "estimate", "tallies.json", "--round", "0", "--by", "sport")
    assert [row["name"] for row in table["rows"]][:2] == ["run", "ski"]
    _, out, _ = run(capsys, "estimate", "tallies.json", "--by", "sport", "--minimum", "600")
    assert "95 % exact interval for the population" in out
    assert "merged for having fewer than 600 answers" in out
    refused(capsys, 2, "q1", "estimate", "tallies.json", "--question", "q7")
    refused(capsys, 2, "sport", "estimate", "tallies.json", "--by", "country")
    refused(capsys, 4, "there is no file", "estimate", "absent.parquet", *SIGNED)
    refused(capsys, 4, "check the name", "estimate", "tallies.json", "absent.json")


FIGURES = {
    "switch": ["design"],
    "region": ["design", "--epsilon", "1"],
    "others": ["design", "--epsilon", "1", "--options", "5"],
    "price": ["plan", "--margin", "0.05"],
    "power": ["plan", "--epsilon", "1", "--difference", "0.1", "--power", "0.8"],
    "rehearsed": ["plan", "--rehearse", "--epsilon", "1", "--prevalence", "0.1", "--surveys", "100"],
    "estimates": ["estimate", "tallies.json"],
    "segments": ["estimate", "tallies.json", "--by", "sport", "--round", "0"],
    "trend": ["estimate", "tallies.json", "--by", "round"],
    "typed": ["estimate", "--counts", "400", "--n", "1000", "--epsilon", "1"],
}


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize("figure", FIGURES)
def test_every_result_can_be_drawn(desk, capsys, figure):
    code, out, err = run(capsys, *FIGURES[figure], "--plot", f"{figure}.svg")
    assert code == 0, err
    assert f"picture: {figure}.svg" in out
    drawn = (desk / f"{figure}.svg").read_text()
    assert drawn.startswith("<?xml")
    assert "</svg>" in drawn
    refused(capsys, 4, "--force", *FIGURES[figure], "--plot", f"{figure}.svg")
    assert json_of(capsys, *FIGURES[figure], "--plot", f"{figure}.svg", "--force")


def test_what_a_figure_needs(capsys):
    refused(capsys, 2, "--epsilon", "design")
    refused(capsys, 2, "--round", "estimate", "tallies.json", "--by", "sport", "--plot", "x.svg")
    refused(capsys, 2, "one segment", "estimate", "tallies.json", "--by", "sport", "--by", "round")


def test_publishing_warns_of_what_devices_refuse(desk, capsys):
    text = template_text()
    (desk / "bold.toml").write_text(text.replace('epsilon = "ln 3"', 'epsilon = "ln 10"'))
    words = ["publish", "bold.toml", "--key", "publisher.pem", "--out", "bold.json"]
    code, out, err = run(capsys, *words)
    assert code == 0
    assert "warning: a device with the default policy refuses the whole survey: question 'doped' costs" in err
    assert "bold.json" in out
    assert run(capsys, "verify", "bold.json", "--trust", "publisher.pem.pub")[0] == 1  # and so it is
    (desk / "long.toml").write_text(text.replace("rounds = 2", "rounds = 30"))
    said = json_of(capsys, "publish", "long.toml", "--key", "publisher.pem", "--out", "long.json")
    assert [("rounds cost" in each, "for life" in each) for each in said["warnings"]] == [(True, False), (False, True)]
    quiet = json_of(capsys, "publish", "survey.toml", "--key", "publisher.pem", "--out", "quiet.json")
    assert quiet["warnings"] == []


def test_publishing_compares_with_the_version_before(desk, capsys):
    """`--before`: options in another order, or other possible answers, are refused by devices that answered."""

    def publish(version, before, *changes):
        text = template_text().replace("version = 1", f"version = {version}", 1)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (desk / "next.toml").write_text(text)
        words = ["next.toml", "--key", "publisher.pem", "--out", f"{version}.signed.json", "--force"]
        return ["publish", *words, *(["--before", f"{before}.signed.json"] if before else [])]

    assert main(publish(1, None)) == 0
    capsys.readouterr()
    turned = ('"A contract", "A medal"', '"A medal", "A contract"')
    assert json_of(capsys, *publish(2, None, turned))["warnings"] == []
    (order,) = json_of(capsys, *publish(2, 1, turned))["warnings"]
    assert "question 'tempted': its options, or their order, are not those of the version before" in order
    (bounds,) = json_of(capsys, *publish(2, 1, ("high = 40", "high = 50")))["warnings"]
    assert "question 'hours': its possible answers are not those of the version before" in bounds
    assert json_of(capsys, *publish(2, 1))["warnings"] == []
    refused(capsys, 2, "use an earlier version of 'clean-sport'", *publish(1, 2))
    other = ('name = "clean-sport"', 'name = "other"')
    refused(capsys, 2, "use an earlier version of 'other'", *publish(3, 2, other))
    assert main(["keygen", "--out", "stranger.pem"]) == 0
    capsys.readouterr()
    words = publish(3, 2)
    words[words.index("publisher.pem")] = "stranger.pem"
    refused(capsys, 3, "key", *words)


def test_design_shows_the_candidates_with_reasons_and_warnings(capsys):
    said = json_of(capsys, "design", "--epsilon", "1", "--delta", "0.05", "--prevalence", "0.02")
    assert [(one["name"], one["chosen"]) for one in said["candidates"]] == [
        ("symmetric", False),
        ("(1, δ)", True),
        ("(δ, 1)", False),
    ]
    assert said["candidates"][0]["times_the_least"] == pytest.approx(2.0397, abs=1e-3)
    assert len(said["warnings"]) == 2
    assert "is a proof" in said["warnings"][0]
    said = json_of(capsys, "design", "--epsilon", "3")
    assert [one["name"] for one in said["candidates"]] == ["symmetric", "ratio at most 9"]
    assert "20.09" in said["warnings"][0]
    said = json_of(capsys, "design", "--epsilon", "1", "--delta", "0.1", "--prior", "0.05:3", "0.2:1")
    assert "prior's mean" in said["chosen"][0]["rule"]
    assert json_of(capsys, "design", "--epsilon", "1")["warnings"] == []


def test_the_template_is_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = json_of(capsys, "publish", "--template")["template"]
    assert text == template_text()
    assert json.dumps(text).count("epsilon") == 5


class Terminal(io.StringIO):
    """Standard error as a terminal has it."""

    def isatty(self):
        return True


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_progress_bar_on_a_terminal_with_and_without_rich(monkeypatch, with_rich):
    if not with_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress("counting") as tell:
        tell(0.5)
        tell(1.0)
    assert "counting" in shown.getvalue()
    assert ("[####" in shown.getvalue()) != with_rich


def test_no_bar_in_a_pipe(monkeypatch):
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    with progress("counting") as tell:
        tell(0.5)
    assert quiet.getvalue() == ""
