"""Targets of estimates as tests run through them: "population", "sample", or the size of a population."""

from __future__ import annotations

from typing import Any


def aimed(target: Any) -> dict[str, Any]:
    """The target as keywords of `estimate`."""
    return {"target": target} if isinstance(target, str) else {"population": target}
