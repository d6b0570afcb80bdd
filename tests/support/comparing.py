"""Two groups compared, as most tests of comparisons want them."""

from typing import Any

from server_agg import Comparison, Tally, compare


def both(a: Tally, b: Tally, **how: Any) -> Comparison:
    """Group a against group b."""
    return compare({"a": a, "b": b}, **how)
