"""The data of reference/judges.R, made again by formula, and its figures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rrcollect import Design, SetDesign
from tests.sampling.data import survey

FIGURES = Path(__file__).parent / "reference" / "figures.json"
KEPT, TOLD, TOLD2 = SetDesign(4, 1, "7/10"), Design("0.8", "0.8"), Design("0.9", "0.9")
DIRECT, DIRECT4 = Design(1, 1), SetDesign(4, 1, 1)
ADDED = ("rank", "later", "said", "told", "second", "told2")


@cache
def figures() -> dict[str, Any]:
    """All reference figures."""
    found: dict[str, Any] = json.loads(FIGURES.read_text())
    return found


@cache
def people(name: str) -> dict[str, np.ndarray]:
    """A or B with the columns that the script adds."""
    d = dict(survey(name).columns)
    i, answer = d["i"], d["answer"]
    level = (i * i * 7 + 3 * i) % 97 / 24 + 0.5 * d["x"] + 0.4 * d["z"] + 0.3 * (d["cluster"] % 3 == 1)
    rank = np.clip(np.floor(level), 0, 3).astype(int)
    second = (i * 53 + 40 * answer) % 100 < 45
    d |= {
        "rank": rank,
        "later": np.where(i * 11 % 5 < 2, (rank + 1 + i % 3) % 4, rank),
        "said": (rank + (i * 29 % 10 >= 7) * (1 + i * 17 % 3)) % 4,
        "told": (answer != (i * 43 % 10 >= 8)).astype(int),
        "second": second.astype(int),
        "told2": (second != (i * 71 % 10 >= 9)).astype(int),
    }
    assert {column: int(d[column].sum()) for column in ADDED} == figures()["sums"][name]
    return d


def covariates(data: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([data["x"], data["z"]])


def sets(options: np.ndarray) -> np.ndarray:
    """Answers of one option each, as rows of bits."""
    return np.eye(4, dtype=np.uint8)[options]


def drawn(data: dict[str, np.ndarray]) -> dict[str, Any]:
    """How the people of the script's complex samples were drawn."""
    return {"weights": data["w"], "strata": data["stratum"], "clusters": data["cluster"]}
