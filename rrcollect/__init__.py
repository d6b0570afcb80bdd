"""rrcollect: ask sensitive yes/no questions with the optimal, exact, locally private mechanism.

The flow, and where each step lives:

    design    rrcollect.design, rrcollect.classic    which randomisation is optimal for a promise (ε, δ)
    publish   rrcollect.publish                      the survey document, checked and signed
    answer    rrcollect.answer                       on the device: verify, draw once, remember
    deliver   rrcollect.deliver                      the report, the outbox, the way out

Names are loaded when first used, so that importing rrcollect costs next to nothing and never imports NumPy.

>>> import rrcollect
>>> design = rrcollect.optimal_design(epsilon="ln 3")
>>> design.p00, design.p11
(Fraction(3, 4), Fraction(3, 4))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rrcollect import classic
    from rrcollect.answer.acceptance import AcceptedSurvey, accept_survey
    from rrcollect.answer.async_client import AsyncClient
    from rrcollect.answer.attributes import Attribute, EveryAttributeOf
    from rrcollect.answer.budget import Budget
    from rrcollect.answer.bulk import randomise_many
    from rrcollect.answer.client import Client
    from rrcollect.answer.draw import randomise
    from rrcollect.answer.packed import randomise_packed
    from rrcollect.answer.policy import Policy, TrustedPublisher
    from rrcollect.deliver.outbox import Deliveries, Pace
    from rrcollect.deliver.simulated import SimulatedCollector
    from rrcollect.deliver.transport import HttpTransport, Transport
    from rrcollect.design.chosen import ChosenDesign
    from rrcollect.design.figures import plot_feasible_region, plot_switch_point
    from rrcollect.design.full_support import full_support_design
    from rrcollect.design.optimal import optimal_design, optimal_designs, optimal_warner_design, switch_point
    from rrcollect.design.parameters import Epsilon
    from rrcollect.design.promise import Promise
    from rrcollect.design.unknown_prevalence import minimax_design, minimax_regret_design, prior_design
    from rrcollect.design.yes_no import Design
    from rrcollect.errors import AnswerRefused, LedgerError, ParameterError, RRCollectError, SurveyRefused
    from rrcollect.publish.envelope import add_signature
    from rrcollect.publish.keys import PublicKey, SigningKey
    from rrcollect.publish.publication import Publication, publish_survey
    from rrcollect.publish.report import Report
    from rrcollect.publish.survey import Disclosure, Question, Survey

__version__ = "0.1.0"

_HOME = {
    "AcceptedSurvey": "rrcollect.answer.acceptance",
    "AnswerRefused": "rrcollect.errors",
    "AsyncClient": "rrcollect.answer.async_client",
    "Attribute": "rrcollect.answer.attributes",
    "Budget": "rrcollect.answer.budget",
    "ChosenDesign": "rrcollect.design.chosen",
    "Client": "rrcollect.answer.client",
    "Deliveries": "rrcollect.deliver.outbox",
    "Design": "rrcollect.design.yes_no",
    "Disclosure": "rrcollect.publish.survey",
    "Epsilon": "rrcollect.design.parameters",
    "EveryAttributeOf": "rrcollect.answer.attributes",
    "HttpTransport": "rrcollect.deliver.transport",
    "LedgerError": "rrcollect.errors",
    "Pace": "rrcollect.deliver.outbox",
    "ParameterError": "rrcollect.errors",
    "Policy": "rrcollect.answer.policy",
    "Promise": "rrcollect.design.promise",
    "PublicKey": "rrcollect.publish.keys",
    "Publication": "rrcollect.publish.publication",
    "Question": "rrcollect.publish.survey",
    "RRCollectError": "rrcollect.errors",
    "Report": "rrcollect.publish.report",
    "SigningKey": "rrcollect.publish.keys",
    "SimulatedCollector": "rrcollect.deliver.simulated",
    "Survey": "rrcollect.publish.survey",
    "SurveyRefused": "rrcollect.errors",
    "Transport": "rrcollect.deliver.transport",
    "TrustedPublisher": "rrcollect.answer.policy",
    "accept_survey": "rrcollect.answer.acceptance",
    "add_signature": "rrcollect.publish.envelope",
    "full_support_design": "rrcollect.design.full_support",
    "minimax_design": "rrcollect.design.unknown_prevalence",
    "minimax_regret_design": "rrcollect.design.unknown_prevalence",
    "optimal_design": "rrcollect.design.optimal",
    "optimal_designs": "rrcollect.design.optimal",
    "optimal_warner_design": "rrcollect.design.optimal",
    "plot_feasible_region": "rrcollect.design.figures",
    "plot_switch_point": "rrcollect.design.figures",
    "prior_design": "rrcollect.design.unknown_prevalence",
    "publish_survey": "rrcollect.publish.publication",
    "randomise": "rrcollect.answer.draw",
    "randomise_many": "rrcollect.answer.bulk",
    "randomise_packed": "rrcollect.answer.packed",
    "switch_point": "rrcollect.design.optimal",
}

__all__ = [
    "AcceptedSurvey",
    "AnswerRefused",
    "AsyncClient",
    "Attribute",
    "Budget",
    "ChosenDesign",
    "Client",
    "Deliveries",
    "Design",
    "Disclosure",
    "Epsilon",
    "EveryAttributeOf",
    "HttpTransport",
    "LedgerError",
    "Pace",
    "ParameterError",
    "Policy",
    "Promise",
    "PublicKey",
    "Publication",
    "Question",
    "RRCollectError",
    "Report",
    "SigningKey",
    "SimulatedCollector",
    "Survey",
    "SurveyRefused",
    "Transport",
    "TrustedPublisher",
    "accept_survey",
    "add_signature",
    "classic",
    "full_support_design",
    "minimax_design",
    "minimax_regret_design",
    "optimal_design",
    "optimal_designs",
    "optimal_warner_design",
    "plot_feasible_region",
    "plot_switch_point",
    "prior_design",
    "publish_survey",
    "randomise",
    "randomise_many",
    "randomise_packed",
    "switch_point",
]


def __getattr__(name: str) -> Any:
    if name == "classic":
        return importlib.import_module("rrcollect.classic")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rrcollect' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
