"""Releases of a collector in a process of their own, where there is much to do.

Rules
1. Drawing the answers of very many crowds keeps a processor busy for seconds, and Python's threads share one.  So a
   release of a survey with more than `FEW` lines is made by another process, which gives way to others (`os.nice`).  It
   opens the same database and the same folder of keys, whose lock it takes as everybody does.
2. What it needs it reads from its standard input, also the address of the database: a command line is for all to see.
3. It answers with one line: the outcome, or the error of the store.  If it ends otherwise, nothing was released, or all
   of it (`release`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg import errors
from server_agg.collect.store.release import SAME, checked_headline
from server_agg.collect.store.store import Store, open_store
from server_agg.errors import StoreError, StoreUnavailable

FEW = 2_000
GIVES_WAY = 10  # to other processes, by the system's scale from 0 to 19


def release(store: Store, survey: Survey, *, headline: int | None = SAME, now: float | None = None) -> dict[str, Any]:
    """The outcome of a release, as plain values."""
    checked_headline(survey, headline)
    database = store.database
    with database.reading() as cursor:
        found = database.run(cursor, "SELECT COUNT(*) FROM counts WHERE survey = ?", (survey.digest,)).fetchone()
    if found[0] <= FEW:
        return store.release(survey, headline=headline, now=now).as_dict()
    given = [database.address, os.fspath(store.epochs.keys.folder), survey.digest, headline, now]
    command = [sys.executable, "-m", "server_agg.collect.apart"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603  this Python, and a module of ours
        command, input=json.dumps(given), stdout=subprocess.PIPE, env=paths, text=True, check=False
    )
    if done.returncode != 0:
        raise StoreUnavailable(f"the process that makes a release ended with {done.returncode}: try again")
    made = json.loads(done.stdout)
    if "error" in made:
        raise getattr(errors, made["error"])(made["words"])
    return dict(made)


def main() -> None:
    """Make a release in this process, as the standard input says."""
    os.nice(GIVES_WAY)
    where, keys, digest, headline, now = json.load(sys.stdin)
    try:
        with open_store(where, keys=keys) as store:
            made = store.release(digest, headline=headline, now=now).as_dict()
    except StoreError as error:
        made = {"error": type(error).__name__, "words": str(error)}
    sys.stdout.write(json.dumps(made))


if __name__ == "__main__":
    main()
