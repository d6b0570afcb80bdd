"""How the people of a fit were drawn, as it was given: weights, strata, clusters, population, replicates, a part of
them.

Rules
1. A part of the people (`among`) is a domain: the others stay in the sample with a weight of 0, and so with scores of
   0.  Cutting the data first would make up the part's size, and lose clusters that have nobody of it.
2. Weights, a population and a part make records stand for other numbers of people: what is maximised is then not a
   likelihood.
3. Replicates estimate the same variance as the survey's sums do, by fitting again with the weights of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.sampling.replication import Replicates, replicates_of
from server_agg.sampling.sample import Sample, vector

if TYPE_CHECKING:
    from server_agg.models.columns import Floats


@dataclass(frozen=True, eq=False)
class Sampled:
    """What was given; `how` has the arguments of `Sample.of`."""

    how: Mapping[str, Any]
    replicated: Replicates | str | None = None
    among: Any = None

    @property
    def kind(self) -> str:
        """The covariance that follows; "" if nothing was given."""
        given = [name for name, value in self.how.items() if value is not None]
        if self.replicated is not None:
            return "replicates"
        if self.among is not None or set(given) - {"weights"} or hasattr(self.how.get("weights"), "again"):
            return "survey"
        return "sandwich" if given else ""

    @property
    def weighted(self) -> bool:
        """Whether records stand for people who were not asked (rule 2)."""
        return any(given is not None for given in (self.how.get("weights"), self.how.get("population"), self.among))

    def sample(self, n: int) -> Sample | None:
        """The sample of n records; None if nothing was given."""
        if not self.kind:
            return None
        found = Sample.of(n, **self.how)
        if self.among is None:
            return found
        there = vector("among", self.among, n)
        if not np.isin(there, (False, True)).all() or np.count_nonzero(there) < 2:
            raise ParameterError("among", self.among, "True or False for every record, True for two or more")
        return replace(found, weights=found.weights * there.astype(np.float64))

    def replicates(self, sample: Sample | None) -> Replicates | None:
        """The replicates, checked."""
        if sample is None or self.replicated is None:
            return None
        return replicates_of(self.replicated, sample, self.how.get("weights"))


def replicate_weights(replicates: Replicates, sample: Sample, r: int) -> Floats:
    """Every record's weight in replicate r; 0 outside the part that is looked at."""
    return np.asarray(replicates.weights(sample, r) * (sample.weights > 0), np.float64)


def replicated_df(replicates: Replicates, sample: Sample, many: int) -> float:
    """What replicates leave to so many coefficients, as `Sample.df_of_coefficients`."""
    left, _ = sample.df_of_coefficients(many)
    return float(left if replicates.df is None else max(1, replicates.df - many + 1))
