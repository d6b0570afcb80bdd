"""Schema numbers with a way forward, for every database this project keeps: ledgers and the collector's stores.

Rules
1. A database's number says how many steps made it.  Step 1 makes the tables in an empty database (number 0); step n
   turns what step n − 1 left into what this program reads.  A released step is never changed: a new form is a new step.
2. The caller keeps number and steps in one exclusive transaction: after a crash the database is as it was before.
3. A number above the known steps was written by a newer program.  It is refused by name and nothing is changed.

>>> done = []
>>> upgrade(done.append, 1, [["CREATE TABLE notes (text TEXT)"], ["ALTER TABLE notes ADD COLUMN day TEXT"]], "notes.db")
2
>>> done
['ALTER TABLE notes ADD COLUMN day TEXT']
>>> upgrade(done.append, 3, [["CREATE TABLE notes (text TEXT)"]], "notes.db")
Traceback (most recent call last):
...
rrcollect.errors.NewerSchema: notes.db has schema 3; this program knows schemas up to 1: a newer version wrote it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rrcollect.errors import NewerSchema


def upgrade(execute: Callable[[str], object], current: int, steps: Sequence[Sequence[str]], what: str) -> int:
    """Run the steps that a database of number `current` lacks; the number it has then, for the caller to store.

    `execute` runs one SQL statement inside the caller's transaction; `what` names the database in an error."""
    if current > len(steps):
        raise NewerSchema(
            f"{what} has schema {current}; this program knows schemas up to {len(steps)}: a newer version wrote it"
        )
    for step in steps[current:]:
        for statement in step:
            execute(statement)
    return len(steps)
