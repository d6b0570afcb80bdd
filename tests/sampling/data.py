"""The data of the judges, made again: by formula, or from the counts that stand beside the reference figures.

The figures were made by `reference/judges.R`, whose first lines say from what.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rrcollect import Design

FIGURES = Path(__file__).parent / "reference" / "figures.json"


@cache
def figures() -> dict[str, Any]:
    """All reference figures."""
    found: dict[str, Any] = json.loads(FIGURES.read_text())
    return found


@dataclass(frozen=True, eq=False)
class Survey:
    """Columns by name, and the design of the answers."""

    columns: dict[str, np.ndarray]
    design: Design
    people: int  # of a stratum
    units: int  # clusters of a stratum

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    @property
    def covariates(self) -> np.ndarray:
        return np.column_stack([self["x"], self["z"]])

    def drawn(self, *, weights: bool, strata: bool, clusters: bool, fpc: bool) -> dict[str, Any]:
        """What `sampling.estimate` is told for these switches of the script."""
        size = self.units if clusters else self.people
        names = np.unique(self["stratum"])
        sizes = {int(name): size for name in names} if strata else size * len(names)
        return {
            "weights": self["w"] if weights else None,
            "strata": self["stratum"] if strata else None,
            "clusters": self["cluster"] if clusters else None,
            "population": sizes if fpc else None,
        }


@cache
def survey(name: str) -> Survey:
    """A, B or N (Nigeria)."""
    return {"A": _first, "B": _second, "N": _nigeria}[name]()


def _first() -> Survey:
    i = np.arange(240)
    stratum, cluster = i // 60, i // 10
    columns = {
        "i": i, "stratum": stratum, "cluster": cluster, "w": 1 + (7 * i % 11) / 4, "group": i // 3 % 2,
        "answer": ((i * i * 31 + 17 * i) % 101 < 35 + 8 * stratum + 10 * (cluster % 3 == 0)).astype(int),
        "x": (13 * i % 29) / 10 - 1.4, "z": (i * 5 + cluster) % 2, "sex": i % 2, "age": i * i % 5,
        "choice": (i * 7 + cluster) % 4,
    }  # fmt: skip
    return Survey(columns, Design("0.8", "0.7"), 600, 20)


def _second() -> Survey:
    cluster = np.repeat(np.arange(36), 4 + 5 * np.arange(36) % 9)
    i = np.arange(cluster.size)
    stratum = cluster // 12
    columns = {
        "i": i, "stratum": stratum, "cluster": cluster, "w": 0.5 + (3 * i % 7) * (1 + stratum), "group": i // 2 % 2,
        "answer": ((i * 37 + cluster * cluster % 13 * 5) % 100 < 40 + 25 * (cluster % 4 == 0)).astype(int),
        "x": (11 * i % 23) / 10 - 1.1, "z": (i * 3 + cluster) % 2, "sex": i % 2, "age": i * i % 3,
        "choice": (i * 5 + cluster) % 4,
    }  # fmt: skip
    return Survey(columns, Design("0.9", "0.6"), 1000, 30)


def _nigeria() -> Survey:
    rows = figures()["nigeria"]
    counts = [row["people"] for row in rows]
    told = {name: np.repeat([row[name] for row in rows], counts) for name in rows[0] if name != "people"}
    i = np.arange(sum(counts))
    columns = {
        **told, "i": i, "stratum": told["female"], "cluster": told["education"] * 2 + told["married"],
        "group": told["civic"], "w": 1 + (i % 7) / 3, "x": told["education"].astype(float), "z": told["married"],
    }  # fmt: skip
    return Survey(columns, Design("5/6", "5/6"), 5000, 40)
