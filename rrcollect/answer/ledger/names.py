"""Under which names and words a ledger knows an attribute: the rules of every ledger, of one person or of many.

Rules
1. An attribute is its name and its aliases: earlier names in this ledger.  Names that were used as one are one for
   good: the ledger remembers it, whatever a later release of the app declares.
2. What a person read identifies a draw too.  Words that were answered under another attribute are refused, in whatever
   survey, language, case or punctuation they come; the app declares an alias if both are one attribute.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from rrcollect.answer.ledger.content import Change
from rrcollect.errors import AlreadyAnswered, shown


def all_names(connection: sqlite3.Connection, names: Sequence[str]) -> tuple[str, ...]:
    """These names of an attribute, its own first, and all that were ever used as one with them."""
    used = connection.execute("SELECT name, other FROM same ORDER BY name, other").fetchall()
    found = list(dict.fromkeys(names))
    for name in found:  # which grows
        for pair in used:
            if name in pair:
                found += [other for other in pair if other not in found]
    return tuple(found)


def check_words(connection: sqlite3.Connection, fingerprints: Collection[str], names: Sequence[str]) -> None:
    """Nobody has answered these words under a name that is not one of these, the attribute's own first."""
    said = sorted(fingerprints)
    for (attribute,) in connection.execute(
        f"SELECT attribute FROM words WHERE fingerprint IN ({places(said)}) ORDER BY fingerprint",  # noqa: S608
        said,
    ):
        if attribute not in names:
            raise known_as("these words were answered", attribute, names[0])


def remember_names(change: Change, names: Sequence[str], fingerprints: Collection[str] = ()) -> None:
    """Keep for good that these names are one attribute, and that these words were answered about it."""
    for alias in names[1:]:
        change.insert("same", {"name": names[0], "other": alias}, unless_there=True)
    for fingerprint in sorted(fingerprints):
        change.insert("words", {"fingerprint": fingerprint, "attribute": names[0]}, unless_there=True)


def known_as(what: str, earlier: str, attribute: str) -> AlreadyAnswered:
    """The refusal of what was answered under another name."""
    return AlreadyAnswered(
        f"{what} before, for the attribute {shown(earlier)}; no second answer is drawn for {shown(attribute)}. "
        f"If both are one attribute, the app says so: Attribute(…, aliases=({shown(earlier)},))"
    )


def places(values: Sequence[str]) -> str:
    """One place of an SQL statement for each value."""
    return ", ".join("?" * len(values))
