"""server_agg: from counted answers to a proportion that can be published, with honest error bars.

The flow, and where each step lives:

    tally      tally, tallies, builders                 exact counts by question × design × segment
    batch      batch                                    the same from files, frames and databases of any size
    estimate   estimates, intervals, pooling            the unbiased value and what its bar covers
    compare    segments, trends                         groups and rounds side by side
    weigh      weights, strata, records                 respondents who stand for more than themselves
    plan       planning, power                          what n, what margin, what ε
    explain    science                                  regression, association, cheating, power by simulation
    publish    reporting, figures                       sentences, tables, JSON, plots
    collect    collect                                  the service that takes reports in (extra `server`)

Names are loaded when first used; SciPy (extra `estimate`) when the first bar is asked for.

>>> from rrcollect import optimal_design
>>> import server_agg
>>> result = server_agg.estimate(server_agg.Tally(optimal_design(1), n=1000, ones=400))
>>> print(result.sentence())
28.4 % (95 % exact interval 21.8–35.1 %), n = 1000, ε = 1; target: the population
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from server_agg.batch.errors import (
        BadColumn,
        PackedFileError,
        RefusedNotWritten,
        SourceUnavailable,
        UnreadableRow,
    )
    from server_agg.batch.packed_file import PackedAnswers, read_packed, write_packed
    from server_agg.batch.summary import REASONS, BatchResult, Summary
    from server_agg.batch.tallying import tally_reports
    from server_agg.batch.writing import write_reports
    from server_agg.collect.app import create_app
    from server_agg.collect.export import export_reports
    from server_agg.collect.owner import OwnerToken
    from server_agg.collect.serve import serve
    from server_agg.collect.settings import CollectorSettings
    from server_agg.collect.store import Store, open_store
    from server_agg.compare.groups import Comparison, compare_groups
    from server_agg.compare.segments import SegmentTable, segment_table
    from server_agg.compare.trends import Trend, trend
    from server_agg.count.from_answers import (
        tallies_from_reports,
        tally_from_answers,
        tally_from_column,
        tally_from_counts,
        tally_from_packed,
    )
    from server_agg.count.tallies import Tallies, TallyKey
    from server_agg.count.tally import Tally
    from server_agg.errors import EmptySelection, MixedDesigns, MixedQuestions, TooFewAnswers
    from server_agg.estimates.interval import Interval
    from server_agg.estimates.kuk import estimate_repeated
    from server_agg.estimates.moors import estimate_moors
    from server_agg.estimates.one import Estimate, estimate
    from server_agg.estimates.pooled import PooledEstimate, pool
    from server_agg.models.association import correlate_answers, correlate_with
    from server_agg.models.cheating import detect_cheating
    from server_agg.models.formulas import fit_logistic_formula
    from server_agg.models.group_tests import compare_many, trend_across
    from server_agg.models.power_simulation import power_of_coefficient, simulated_power
    from server_agg.models.predictor import fit_with_randomised_predictor
    from server_agg.models.regression import LogisticFit, fit_logistic
    from server_agg.models.sensitivity import cheating_sensitivity
    from server_agg.plan.power import power_against, power_between, sample_size_between, sample_size_for_power
    from server_agg.plan.sample_size import epsilon_for, margin_of_error, price_table, privacy_price, sample_size
    from server_agg.report.figures import plot_power, plot_privacy_price, plot_segments, plot_trend
    from server_agg.weigh.strata import poststratified_estimate, stratified_estimate
    from server_agg.weigh.unbiased_values import noise_variances, unbiased_values
    from server_agg.weigh.weights import weighted_estimate

_MODULES = {
    "estimates.interval": ("Interval",),
    "batch.errors": ("BadColumn", "PackedFileError", "RefusedNotWritten", "SourceUnavailable", "UnreadableRow"),
    "batch.packed_file": ("PackedAnswers", "read_packed", "write_packed"),
    "batch.summary": ("REASONS", "BatchResult", "Summary"),
    "batch.tallying": ("tally_reports",),
    "batch.writing": ("write_reports",),
    "count.from_answers": (
        "tallies_from_reports",
        "tally_from_answers",
        "tally_from_column",
        "tally_from_counts",
        "tally_from_packed",
    ),
    "collect.app": ("create_app",),
    "collect.export": ("export_reports",),
    "collect.owner": ("OwnerToken",),
    "collect.serve": ("serve",),
    "collect.settings": ("CollectorSettings",),
    "collect.store": ("Store", "open_store"),
    "compare.groups": ("Comparison", "compare_groups"),
    "errors": ("EmptySelection", "MixedDesigns", "MixedQuestions", "TooFewAnswers"),
    "estimates.one": ("Estimate", "estimate"),
    "report.figures": ("plot_power", "plot_privacy_price", "plot_segments", "plot_trend"),
    "plan.sample_size": ("epsilon_for", "margin_of_error", "price_table", "privacy_price", "sample_size"),
    "estimates.pooled": ("PooledEstimate", "pool"),
    "plan.power": ("power_against", "power_between", "sample_size_between", "sample_size_for_power"),
    "weigh.unbiased_values": ("noise_variances", "unbiased_values"),
    "estimates.kuk": ("estimate_repeated",),
    "models.association": ("correlate_answers", "correlate_with"),
    "models.cheating": ("detect_cheating",),
    "models.formulas": ("fit_logistic_formula",),
    "models.group_tests": ("compare_many", "trend_across"),
    "models.power_simulation": ("power_of_coefficient", "simulated_power"),
    "models.predictor": ("fit_with_randomised_predictor",),
    "models.regression": ("LogisticFit", "fit_logistic"),
    "models.sensitivity": ("cheating_sensitivity",),
    "compare.segments": ("SegmentTable", "segment_table"),
    "weigh.strata": ("poststratified_estimate", "stratified_estimate"),
    "count.tallies": ("Tallies", "TallyKey"),
    "count.tally": ("Tally",),
    "compare.trends": ("Trend", "trend"),
    "estimates.moors": ("estimate_moors",),
    "weigh.weights": ("weighted_estimate",),
}
_HOME = {name: f"server_agg.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "REASONS",
    "BadColumn",
    "BatchResult",
    "CollectorSettings",
    "Comparison",
    "EmptySelection",
    "Estimate",
    "Interval",
    "LogisticFit",
    "MixedDesigns",
    "MixedQuestions",
    "OwnerToken",
    "PackedAnswers",
    "PackedFileError",
    "PooledEstimate",
    "RefusedNotWritten",
    "SegmentTable",
    "SourceUnavailable",
    "Store",
    "Summary",
    "Tallies",
    "Tally",
    "TallyKey",
    "TooFewAnswers",
    "Trend",
    "UnreadableRow",
    "cheating_sensitivity",
    "compare_groups",
    "compare_many",
    "correlate_answers",
    "correlate_with",
    "create_app",
    "detect_cheating",
    "epsilon_for",
    "estimate",
    "estimate_moors",
    "estimate_repeated",
    "export_reports",
    "fit_logistic",
    "fit_logistic_formula",
    "fit_with_randomised_predictor",
    "margin_of_error",
    "noise_variances",
    "open_store",
    "plot_power",
    "plot_privacy_price",
    "plot_segments",
    "plot_trend",
    "pool",
    "poststratified_estimate",
    "power_against",
    "power_between",
    "power_of_coefficient",
    "price_table",
    "privacy_price",
    "read_packed",
    "sample_size",
    "sample_size_between",
    "sample_size_for_power",
    "segment_table",
    "serve",
    "simulated_power",
    "stratified_estimate",
    "tallies_from_reports",
    "tally_from_answers",
    "tally_from_column",
    "tally_from_counts",
    "tally_from_packed",
    "tally_reports",
    "trend",
    "trend_across",
    "unbiased_values",
    "weighted_estimate",
    "write_packed",
    "write_reports",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'server_agg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
