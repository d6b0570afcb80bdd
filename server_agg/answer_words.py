"""The words that mean yes, no and nothing: one list for every command and every function.

Rules
1. Without other words from the caller, yes is 1, true, yes, y and no is 0, false, no, n: as a boolean, as a number
   (pandas writes 1.0 for 1 where a value was missing) or as text, in any case and with spaces around it.
2. With `yes` (and perhaps `no`) given, these and no others count.  With `yes` alone, everything else must be one and
   the same value, and some row must say yes: else a misspelt yes would make everything a no.
3. Unless the caller names it yes or no, missing is None, NaN, NaT, pandas' NA, an empty cell, and the text NA, N/A,
   NaN, null, None and "." (Stata's).
4. Everything else is refused with its place.  Randomised answers may be named in the refusal: that gives nothing away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NamedTuple

from server_agg.errors import UnclearAnswer

Value = int | float | str
YES: frozenset[Value] = frozenset({1, "yes", "y", "true"})
NO: frozenset[Value] = frozenset({0, "no", "n", "false"})
MISSING = frozenset({"", ".", "na", "n/a", "nan", "null", "none", "<na>"})


def is_null(value: Any) -> bool:
    """Whether a value is a library's way to say that there is none."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and math.isnan(value)


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "NA", 0, False, "no")]
    [True, True, True, True, False, False, False]
    """
    if isinstance(value, str):
        return value.strip().casefold() in MISSING
    return is_null(value)


def plain_value(value: Any) -> Value:
    """One spelling of equal values: whole numbers as int, text in lower case without spaces around it.

    >>> [plain_value(value) for value in (True, 1.0, "1.0", " Yes ", 2.5)]
    [1, 1, 1, 'yes', 2.5]
    """
    if isinstance(value, str):
        text = value.strip().casefold()
        try:
            value = float(text)
        except ValueError:
            return text
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return int(number) if number.is_integer() else number


def plain_text(cell: Any) -> str:
    """A cell as it is shown and compared: whole numbers without a fraction."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def own_order(name: str) -> tuple[bool, float, list[str | int]]:
    """What names of groups are sorted by: numbers as numbers, within a name too.

    >>> sorted(["b10", "10", "b9", "-1", "9.5", "a"], key=own_order)
    ['-1', '9.5', '10', 'a', 'b9', 'b10']
    """
    parts: list[str | int] = [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name)]
    try:
        number = float(name)
    except ValueError:
        return True, 0.0, parts
    return (False, number, parts) if math.isfinite(number) else (True, 0.0, parts)


def yes_or_no(value: Any) -> bool | None:
    """What a cell says by rule 1; None if it says neither.

    >>> [yes_or_no(value) for value in ("Y", 1.0, "0.0", False, "maybe", None)]
    [True, True, False, False, None, None]
    """
    said = plain_value(value)
    return True if said in YES else False if said in NO else None


class Coding(NamedTuple):
    """Which values mean yes and which no; `no` is None where it is everything but yes."""

    yes: frozenset[Value]
    no: frozenset[Value] | None

    @classmethod
    def of(cls, yes: Any = None, no: Any = None) -> Coding:
        """The caller's words, or rule 1."""
        if yes is None and no is None:
            return cls(YES, NO)
        one = YES if yes is None else frozenset({plain_value(yes)})
        other = None if no is None else frozenset({plain_value(no)})
        if other is not None and one & other:
            raise UnclearAnswer("yes and no", yes, "two different values")
        return cls(one, other)

    def describe(self) -> str:
        """What is allowed."""
        if (self.yes, self.no) == (YES, NO):
            return "1 or 0, yes or no, y or n, true or false; name other words by yes=…, no=…"
        yes, no = ("/".join(map(repr, sorted(map(str, each)))) for each in (self.yes, self.no or ()))
        return f"{yes} for yes, {no or 'one other value'} for no"

    def bits(self, values: Iterable[Any], where: Callable[[Any], str]) -> dict[Any, int | None]:
        """Each value's meaning: 1, 0, or None if it is missing; a refusal says `where` the value is."""
        found: dict[Any, int | None] = {}
        other = self.no
        for value in values:
            plain = "" if value is None else plain_value(value)
            if plain in self.yes or (other is not None and plain in other):
                found[value] = int(plain in self.yes)
            elif is_missing(value):
                found[value] = None
            elif other is None:
                found[value], other = 0, frozenset({plain})  # rule 2: the one other value
            else:
                raise UnclearAnswer(where(value), value, self.describe())
        if self.no is None and 0 in found.values() and 1 not in found.values():
            value = next(value for value, bit in found.items() if bit == 0)
            allowed = f"{self.describe()}; no row says {'/'.join(sorted(map(str, self.yes)))}: if that is so, give no=…"
            raise UnclearAnswer(where(value), value, allowed)
        return found
