"""What comes into a store as lines, and what leaves it as a file: lines of reports, counts or rows, and copies.

Rules
1. Every line is judged by the rules of the endpoint (`admission`), and gets its own verdict; the verdicts are counted.
   A withdrawal that a collector on the database was told counts from the next group on, and so does a survey that
   was published after a line asked for it.
2. A group of lines, good or bad, is durable when the next one is read: a sender that is cut off sends its lines again,
   and each counts once.  No line keeps the others from being taken.
3. A line is never longer than a report; the rest of a longer one is passed over, and it is malformed.
4. What is ripe is folded after each group, unless another process folds or copies, and at the end in any case: no more
   than a group waits besides what is not ripe.
5. What is exported was folded: in the order of the cells or of the random ids, never of arrival.  The ending says what:
   `.json` the counts, as `rrcollect estimate` reads them; `.parquet` the rows, for the batch path; `.jsonl` the owner's
   log.  Rows leave with the
   crowd of their segments (`fold`); what is gathered is in the counts alone.  A row of a survey by invitation has no
   ticket and is marked as admitted (`reports`).  Rows go from the database into the file some thousands at a time, as
   text that Arrow reads: no object per value.
6. A copy is one committed state.  SQLite writes it from new pages (no free pages are copied); for PostgreSQL pg_dump
   makes it.  By default nothing that is sealed is in it: neither reports that wait to be folded, which with their key
   could be read in the order of their arrival for as long as a backup exists, nor what is gathered and has no crowd of
   its segments yet, which two copies would tell apart person by person, nor the answers of crowds that are sealed
   (`crowds`).  A restored copy has counts, ids, spent tickets, invites and surveys, and works at once under a key of
   its own; of a choice with more than eight answers it has the sums, or, where sums are answers, what was released.
7. `with_key` takes all of it along, sealed, with the one key that opens it, in a folder beside the file: nothing is
   lost, and anyone with both reads what waited, in order.  No fold happens meanwhile; reports are taken as ever.
8. A copy is not the database it was made of: it takes a name of its own in the folder of keys, here or when it is first
   opened (`epochs`), and never touches the other's key.
9. A file appears when it is whole, and only its owner may read a copy from its first byte; of one that failed nothing
   is left.  A password is never on a command line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from rrcollect.publish.report import LARGEST_REPORT
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue, CatalogueEntry
from server_agg.collect.issuing import Issuing
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.database import BETWEEN, COLUMNS, PAGE_COLUMNS
from server_agg.collect.store.epochs import Epochs
from server_agg.collect.store.fold import Folds
from server_agg.collect.store.log import read_log
from server_agg.collect.store.reports import IncomingReport
from server_agg.collect.store.taking import ReportOutcome
from server_agg.errors import Refusal
from server_agg.files import new_file

LINES_PER_COMMIT = 1_000
ENDINGS = (".json", ".parquet", ".jsonl")


def ingest(
    lines: IO[bytes],
    catalogue: Catalogue,
    take: Callable[[Sequence[IncomingReport]], list[ReportOutcome]],
    folds: Folds,
    settings: CollectorSettings,
) -> Counter[str]:
    """Take reports from a stream of lines; how many had which outcome or reason."""
    unknown: set[str] = set()  # the database is asked once in a group of lines for a survey that it does not have

    def find(digest: str) -> CatalogueEntry | None:
        found = None if digest in unknown else catalogue.find(digest, limited=False)
        if found is None:
            unknown.add(digest)
        return found

    tokens = Issuing(folds.epochs, find).check
    admission = Admission(find, grace=settings.grace, list_limit=1, withdrawn=catalogue.withdrawn, tokens=tokens)
    verdicts: Counter[str] = Counter()
    group: list[IncomingReport] = []
    for number, line in enumerate(_lines(lines), 1):
        try:
            group += admission.admit(line)
        except Refusal as refusal:
            verdicts[refusal.code] += 1
        if number % LINES_PER_COMMIT == 0:
            verdicts.update(outcome.value for outcome in take(group))
            group = []
            folds.fold_unless_busy()
            unknown.clear()
            catalogue.look_for_withdrawals()
    verdicts.update(outcome.value for outcome in take(group))
    folds.fold()
    return verdicts


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines that are not empty; one that is too long is cut after the byte that makes it so."""
    while line := stream.readline(LARGEST_REPORT + 2):
        rest = line
        while len(rest) == LARGEST_REPORT + 2 and not rest.endswith(b"\n"):
            rest = stream.readline(LARGEST_REPORT + 2)
        if line := line.rstrip(b"\r\n"):
            yield line


def export(path: str | os.PathLike[str], pages: Iterable[str], folds: Folds, survey: str | None) -> int:
    """Write the counts (.json) or rows (.parquet) of all surveys or of one, or the owner's log (.jsonl); returns how
    many reports, or entries, that was."""
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise ParameterError(
            "path", os.fspath(path), "a name ending in .json (counts) or .parquet (rows), or .jsonl (the log)"
        )
    if ending == ".parquet" and not folds.keeps_rows():
        raise ParameterError("path", os.fspath(path), "a name ending in .json: rows are kept only if asked for")
    with new_file(path) as partial:
        if ending == ".parquet":
            return _rows(pages, partial)
        if ending == ".jsonl":
            entries = read_log(folds.database).deeds
            partial.write_text("".join(f"{one.line}\n" for one in entries), encoding="utf-8")
            return len(entries)
        tallies = folds.tallies(survey)
        partial.write_text(tallies.to_json() + "\n", encoding="utf-8")
        return tallies.n


def _rows(pages: Iterable[str], path: Path) -> int:
    pa, pq, csv = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch"), extra("pyarrow.csv", "batch")
    names = COLUMNS.split(", ")
    schema = pa.schema([(name, pa.int64() if name == "round" else pa.string()) for name in names])
    how = (
        csv.ReadOptions(column_names=PAGE_COLUMNS, use_threads=False),
        csv.ParseOptions(delimiter=BETWEEN, quote_char=False, newlines_in_values=False),
        csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, include_columns=names, check_utf8=False
        ),
    )
    repeating = [name for name in names if name not in ("id", "ticket")]
    written = 0
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeating) as writer:
        for page in pages:
            some = csv.read_csv(pa.py_buffer(page.encode()), *how)
            writer.write_table(some)
            written += some.num_rows
    return written


@dataclass(frozen=True)
class Backup:
    """What was written: the file, and how many reports were sealed that are in it (`with_key`) or are left out."""

    file: Path
    waiting: int
    keys: Path | None


def back_up(epochs: Epochs, file: str | os.PathLike[str], *, with_key: bool = False) -> Backup:
    """Copy a database to a file."""
    wanted, database = Path(file), epochs.database
    keys = Path(f"{wanted}.keys") if with_key else None
    with epochs.keys.lock(), new_file(wanted) as partial:  # no fold meanwhile: the key is that of the copy
        with database.reading() as cursor:
            waiting = len(epochs.waiting()) + epochs.gathered(cursor).n
            name, key = database.run(cursor, "SELECT database, key FROM epoch").fetchone()
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        named = database.copy(partial, name, sealed=with_key)
        if keys is not None:
            keys.mkdir(mode=0o700, exist_ok=True)
            with new_file(keys / f"{named}.{key}.key") as beside:  # the key that the copy names, as the store wants it
                os.close(os.open(beside, os.O_CREAT | os.O_WRONLY, 0o600))
                beside.write_bytes((epochs.keys.folder / f"{name}.{key}.key").read_bytes())
    return Backup(wanted, waiting, keys)
