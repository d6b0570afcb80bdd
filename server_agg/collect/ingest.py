"""Reports from anywhere into a store: one canonical report per line.

Rules
1. Every line is judged by the rules of the endpoint (`admission`), and gets its own verdict; the verdicts are counted.
   A withdrawal that a collector on the database was told counts from the next group on, and so does a survey that
   was published after a line asked for it.
2. A group of lines, good or bad, is durable when the next one is read: a sender that is cut off sends its lines again,
   and each counts once.  No line keeps the others from being taken.
3. A line is never longer than a report; the rest of a longer one is passed over, and it is malformed.
4. What is ripe is folded after each group, unless another process folds or copies, and at the end in any case: no more
   than a group waits besides what is not ripe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import IO

from rrcollect.publish.report import LARGEST_REPORT
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue, CatalogueEntry
from server_agg.collect.errors import Refusal
from server_agg.collect.settings import Settings
from server_agg.collect.store import Store
from server_agg.collect.stored_report import IncomingReport

LINES_PER_COMMIT = 1_000


def ingest(store: Store, lines: IO[bytes], settings: Settings | None = None) -> Counter[str]:
    """Take reports from a stream of lines; how many had which outcome or reason.

    >>> import io, pathlib, tempfile
    >>> from server_agg.collect.stores import open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> ingest(store, io.BytesIO(b"no report\\n\\n")), store.close()
    (Counter({'malformed': 1}), None)
    """
    rules, catalogue = settings or Settings(), Catalogue(store)
    surveys = _Surveys(catalogue)
    admission = Admission(surveys.find, grace=rules.grace, list_limit=1, withdrawn=catalogue.withdrawn)
    verdicts: Counter[str] = Counter()
    group: list[IncomingReport] = []
    for number, line in enumerate(_lines(lines), 1):
        try:
            group += admission.admit(line)
        except Refusal as refusal:
            verdicts[refusal.code] += 1
        if number % LINES_PER_COMMIT == 0:
            verdicts.update(outcome.value for outcome in store.take(group))
            group = []
            store.fold_unless_busy()
            surveys.unknown.clear()
            catalogue.look_for_withdrawals()
    verdicts.update(outcome.value for outcome in store.take(group))
    store.fold()
    return verdicts


class _Surveys:
    """Surveys by their digests; the database is asked once in a group of lines for one that it does not have."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.unknown: set[str] = set()  # no more than the lines of a group

    def find(self, digest: str) -> CatalogueEntry | None:
        """The survey, if there is one."""
        if digest in self.unknown:
            return None
        found = self._catalogue.find_without_limit(digest)
        if found is None:
            self.unknown.add(digest)
        return found


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines that are not empty; one that is too long is cut after the byte that makes it so."""
    while line := stream.readline(LARGEST_REPORT + 2):
        rest = line
        while len(rest) == LARGEST_REPORT + 2 and not rest.endswith(b"\n"):
            rest = stream.readline(LARGEST_REPORT + 2)
        if line := line.rstrip(b"\r\n"):
            yield line
