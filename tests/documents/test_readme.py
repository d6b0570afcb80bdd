"""The README: short, its session runs (`test_blocks`), and its figure shows the data as they are at every arrow."""

import csv
import json
import re
import tomllib
from xml.etree import ElementTree

import pytest

from rrcollect import Client, Policy, SigningKey, Survey, TrustedPublisher
from server_agg import (
    Tallies,
    Tally,
    estimate,
    write_reports,
)
from tests.documents.blocks import blocks_of
from tests.documents.workspace import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
(FIGURE,) = [block.text for block in blocks_of(README) if block.language == "text"]
FILE = """name = "clean-sport"
version = 1
title = "Clean sport"
publisher = "Example Institute"
collector = "https://collect.example.org/reports"
expires = "2100-01-01T00:00:00Z"
[[questions]]
id = "q1"
attribute = "doped"
text = "Have you ever doped?"
epsilon = "ln 3"
"""


def test_it_is_short():
    assert len(README.splitlines()) < 120


def test_it_shows_one_picture_that_a_phone_can_show():
    (name,) = re.findall(r"^!\[[^]]+\]\(([^)]+)\)$", README, flags=re.MULTILINE)
    drawn = ElementTree.parse(ROOT / name).getroot()  # noqa: S314
    assert 0 < float(drawn.attrib["viewBox"].split()[2]) <= 520  # 14 units are 10 pixels of a phone's 360


def samples():
    """What the figure shows under each name; a row has its head above it."""
    found = dict(re.findall(r"^(?:\w+)? +(survey\.\S+|ledger|report|row|tally|result) +(\S.*)$", FIGURE, re.MULTILINE))
    head, values = re.search(r"row +(survey .*)\n +(.*)", FIGURE).groups()
    return found | {"row": (head, values)}


def fits(sample, data):
    """Whether data begin and end as the sample does, with anything for every `…`."""
    return re.fullmatch(".*".join(map(re.escape, sample.split("…"))), data) is not None


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    """The data of one answer, from file to sentence."""
    folder, key = tmp_path_factory.mktemp("flow"), SigningKey.generate()
    survey = Survey.from_entries(tomllib.loads(FILE))
    envelope = survey.publish([key]).envelope
    policy = Policy([TrustedPublisher(survey.publisher, [key.public])])
    client = Client(folder / "ledger.sqlite3", attributes=["doped"], policy=policy, source=bytes)
    report = client.answer(client.accept(envelope), "q1", truth=lambda: True)
    (tally_key,) = Tallies.of([report])
    tally = Tally(tally_key.design, n=1000, counts=400)
    write_reports(folder / "rows.csv", [report])
    with (folder / "rows.csv").open(newline="") as rows:
        head, values = csv.reader(rows)
    return {
        "survey.toml": " ".join(re.findall(r'^(?:text|epsilon) = ".*"$', FILE, re.MULTILINE)),
        "survey.signed.json": envelope.decode(),
        "ledger": json.dumps(client.budget().export()["answers"][0]),
        "report": report.to_bytes().decode(),
        "row": (head, values),
        "tally": Tallies({tally_key: tally}).to_json(),
        "result": estimate(tally).sentence(),
    }


@pytest.mark.parametrize("name", ["survey.toml", "survey.signed.json", "ledger", "report", "tally", "result"])
def test_the_figure_shows_the_data(flow, name):
    shown = samples()[name]
    data = flow[name].removeprefix("[").removesuffix("]")
    shown = re.sub(r" {2,}", " ", shown)
    assert fits(shown, data), f"{shown}\n{data}"
    assert not fits(shown, data[:-1] + "?")


def test_the_figure_shows_a_row(flow):
    head, values = samples()["row"]
    names, cells = flow["row"]
    assert head.split() == names
    row = dict(zip(names, cells, strict=True))
    assert values.split() == ["…", *(row[name] for name in ("question", "round", "design", "answer")), "…", "{}"]
    assert (row["ticket"], row["segments"]) == ("", "{}")
