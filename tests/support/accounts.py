"""Accounts of the system, as the tests need them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from rrcollect import BulkLedger

LEDGER = Path(".local", "share", "rrcollect", "bulk-ledger.sqlite3")


def living_in(patch: pytest.MonkeyPatch, home: Path) -> None:
    """From now on the account that runs this process has this home folder."""
    patch.setattr("pwd.getpwuid", lambda number: SimpleNamespace(pw_dir=str(home)))


def reserved(home: Path) -> list[int]:
    """How many were reserved in the ledger there, run by run; one that was never made has none."""
    return [run.people for run in BulkLedger(home / LEDGER).runs()] if (home / LEDGER).exists() else []
