"""Whatever a page names exists: tests, functions, files, commands, extras, errors."""

import json
import re

import pytest

import rrcollect.errors
from rrcollect import AnswerRefused, SurveyRefused
from tests.documents.blocks import blocks_of, prose_of
from tests.documents.names import command_fault, named, resolves, written_tests
from tests.documents.workspace import ROOT
from tests.support.devices import cases

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ENTRIES = json.loads((ROOT / "rrcollect/web/package.json").read_text(encoding="utf-8"))["exports"]
"""What a page imports from the npm package: "./entries" is `rrcollect/entries`."""
OWN = re.compile(r"(?:rrcollect|server_agg)(?:\.\w+)+(?:\(.*\))?")


def faults(page: str) -> list[str]:
    """Everything a page names that does not exist."""
    wrong = []
    for span in named(page):
        if re.fullmatch(r"test_\w+", span) and span not in written_tests():
            wrong.append(f"no test {span}")
        elif re.fullmatch(r"(?:tests|docs|benchmarks|examples|assurance|rrcollect|server_agg)/[\w./-]*", span):
            wrong += (
                [] if (ROOT / span).exists() or span.replace("rrcollect", ".", 1) in ENTRIES else [f"no file {span}"]
            )
        elif OWN.fullmatch(span):
            wrong += [] if resolves(span.partition("(")[0]) else [f"no name {span}"]
        elif fault := command_fault(span):
            wrong.append(f"{span}: {fault}")
    blocks = list(blocks_of(page))
    made = {block.name for block in blocks} - {None}  # files that the page itself writes
    for block in blocks:
        if block.language in ("bash", "console"):
            lines = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
            for line in lines if block.language == "console" else block.text.splitlines():
                if not made & set(line.split()) and (fault := command_fault(line.split("|")[0])):
                    wrong.append(f"{line}: {fault}")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_a_page_names_exists(page):
    assert faults(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "`test_that_nobody_wrote`",
        "`tests/design/test_nothing.py`",
        "`rrcollect.optimal_dessin`",
        "`server_agg.Estimate.interval_of(x)`",
        "`make coffee`",
        "`python -m tests.benchmarks.nothing`",
        "`pytest tests/nothing`",
        "`RRCOLLECT_KILLS=3 pytest tests/nothing`",
        "`rrcollect dessin --epsilon 1`",
        "`rrcollect design --epsilom 1`",
        "`pip install 'rrcollect[sever]'`",
        "```bash\nmake coffee\n```",
        "```console\n$ rrcollect dessin\n```",
    ],
)
def test_what_does_not_exist_is_noticed(wrong):
    assert len(faults(f"Text.\n\n{wrong}\n")) == 1


# ---- the two maps: every entry has what it needs --------------------------------------------------------------------


def entries(page: str, start: str) -> list[str]:
    """The list items of a page that begin with `start`, each with the lines it goes on in."""
    return [item for item in re.split(r"\n(?=\S|\n)", page) if item.startswith(start)]


def test_every_result_of_the_paper_has_functions_and_tests():
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    where, shown = entries(page, "* Function"), entries(page, "* Tests")
    assert len(where) == len(shown) >= 14
    for item in where:
        names = named(item)
        assert names, item
        assert all(resolves(name) for name in names), item
    for item in shown:
        assert set(named(item)) & set(written_tests()), item
    errata = re.findall(r"^\d\. .*(?:\n {3}.*)*", page.partition("## Errata")[2], flags=re.MULTILINE)
    assert len(errata) == 8
    assert all(set(named(erratum)) & set(written_tests()) for erratum in errata)


def test_every_attack_has_a_test():
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    attacks = entries(page.partition("## Out of scope")[0], "* **")
    assert len(attacks) >= 25
    bare = [attack for attack in attacks if not set(named(attack)) & set(written_tests())]
    assert bare == []


def test_publishers_are_told_every_refusal():
    page = (ROOT / "docs" / "publishers.md").read_text(encoding="utf-8")
    told = set(named(page.partition("## What devices will refuse")[2]))
    refusals = {
        name
        for name, value in vars(rrcollect.errors).items()
        if isinstance(value, type) and issubclass(value, SurveyRefused | AnswerRefused)
    } - {"SurveyRefused", "AnswerRefused"}
    assert refusals <= told, refusals - told


def test_counts_in_the_pages_are_the_counts():
    bad = len(cases("surveys", "bad_"))
    said = [int(n) for page in PAGES for n in re.findall(r"(\d+) (?:named )?bad documents", page.read_text())]
    assert said
    assert all(n <= bad < n + 200 for n in said)  # "more than"


# ---- numbers --------------------------------------------------------------------------------------------------------

SPEED = re.compile(
    r"\d[\d,.]*\s(?:times\s(?:as\sfast|faster|the\sbare)|million|GB/s|GB\b|requests\s(?:a|per)\ssecond|seconds\b)"
)
COMMAND = re.compile(r"`(?:python -m tests\.(?:benchmarks\.\w+|assurance)|make (?:bench|assure))")


def unsupported_speeds(page: str) -> list[str]:
    """The sections that print a measured figure and name no command that measures it."""
    prose = "\n".join(line for _, line in prose_of(page))
    sections = re.split(r"^#+ ", prose, flags=re.MULTILINE)
    return [section.partition("\n")[0] for section in sections if SPEED.search(section) and not COMMAND.search(section)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_measured_figure_has_its_command_beside_it(page):
    limits = {"Limits"}  # what the collector allows, checked by the session beside it
    assert [heading for heading in unsupported_speeds(page.read_text(encoding="utf-8")) if heading not in limits] == []


def test_a_figure_without_a_command_is_noticed():
    assert unsupported_speeds("# A\n9 times as fast: `python -m tests.benchmarks.bulk`\n# B\n9 times faster\n") == ["B"]


def test_the_floors_in_the_pages_are_those_of_the_benchmark():
    from tests.benchmarks.bulk import FLOORS

    page = (ROOT / "docs" / "guarantees.md").read_text()
    (speed,) = re.findall(r"^## Speed$.*?benchmarks\.bulk", page, flags=re.DOTALL | re.MULTILINE)
    said = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+)\stimes", speed)]
    assert len(said) == 4
    assert set(said) <= set(FLOORS.values())
