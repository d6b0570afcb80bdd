"""The modules that are mutated, in groups, and the tests asked about each.

Tests that start many processes, kill them, or loop for long are not asked (those marked no_cover, and `slow`, in the
language of pytest -k): they would only raise the share of the killed.  A module's own doctests are asked.  Left out of
the groups: pictures (design/figures.py), which are not arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GROUPS", "Target"]

FIRST = ("numpy", "hypothesis", "pydantic", "cryptography.hazmat.primitives.asymmetric.ed25519")
SCIENCE = (*FIRST, "scipy.stats", "scipy.optimize")
SERVER = (*FIRST, "starlette.applications", "uvicorn", "httpx", "asyncio", "sqlite3")

SLOW = "fork or processes or thousand or every_line or the_race"


@dataclass(frozen=True)
class Target:
    """A module, arguments of pytest, tests to leave out, mutants tried in a hundred, and what is imported first."""

    module: str
    tests: tuple[str, ...]
    slow: str = SLOW
    share: int = 100
    preload: tuple[str, ...] = FIRST
    postgres: bool = False


def device(name: str, *tests: str) -> Target:
    module = f"rrcollect/answer/{name}.py"
    return Target(module, (*(f"tests/{test}.py" for test in tests), module))


def exact(name: str, *tests: str, share: int = 25) -> Target:
    module = f"rrcollect/design/{name}.py"
    return Target(module, (*(f"tests/design/test_{test}.py" for test in tests), module), share=share)


def estimator(name: str, *tests: str, share: int = 30) -> Target:
    module = f"server_agg/{name}.py"
    chosen = (*(f"tests/server_agg/test_agg_{test}.py" for test in tests), module)
    return Target(module, chosen, share=share, preload=SCIENCE)


def intake(name: str, *tests: str) -> Target:
    module = f"server_agg/collect/{name}.py"
    slow = f"postgres or slow_senders or command or {SLOW}"
    chosen = (*(f"tests/collect/test_collect_{test}.py" for test in tests), module)
    return Target(module, chosen, slow, share=50, preload=SERVER)


GROUPS: dict[str, tuple[Target, ...]] = {
    "the ledger": (
        device("seal", "answer/test_ledger", "answer/test_client"),
        device("budget", "answer/test_client"),
        device("ledger", "answer/test_client", "answer/test_ledger"),
        device("ledger_file", "answer/test_ledger", "answer/test_client", "answer/test_seal_history"),
        device("client", "answer/test_client", "answer/test_report_fields", "answer/test_ledger"),
    ),
    "the exact arithmetic": (
        exact("optimal", "optimal", "disclosure"),
        exact("chosen", "disclosure", "optimal", "unknown_prevalence", "brute_force"),
        exact("full_support", "unknown_prevalence", "brute_force"),
        exact("unknown_prevalence", "unknown_prevalence", "disclosure"),
        exact("matrix", "matrix"),
        exact("parameters", "parameters", "matrix"),
        exact("exponential", "exponential", "parameters"),
    ),
    "the estimators": (
        estimator("tally", "tally", "numbers"),
        estimator("estimates", "numbers", "targets", "output", "unbiased", "tally"),
        estimator("intervals", "intervals", "numbers", "targets", "coverage", "output"),
        estimator("finite", "finite", "targets", "numbers"),
        estimator("likelihood", "likelihood", "numbers", "targets", "pooling"),
        estimator("score", "score", "groups", "numbers", "procedures"),
        estimator("bisection", "numbers", "targets", "planning"),
        estimator("pooling", "pool", "pooling", "numbers"),
    ),
    "the intake": (
        Target(
            "rrcollect/deliver/report.py",
            ("tests/deliver/test_reports.py", "tests/answer/test_client.py", "rrcollect/deliver/report.py"),
            share=50,
        ),
        intake("admission", "http", "rules"),
        intake("row", "http", "stores"),
        intake("bodies", "bodies", "http"),
        intake("intake", "intake", "http", "rules"),
        intake("store", "sqlite", "stores", "http", "rules"),
        intake("sqlite_store", "sqlite", "stores", "rules", "http"),
        intake("group_commit", "group_commit", "rules", "http"),
    ),
    "the mechanism": (
        device("draw", "answer/test_draw"),
        device("keystream", "answer/test_draw", "answer/test_bulk"),
        device("bulk", "answer/test_bulk"),
        device("packed", "answer/test_bulk"),
    ),
}
