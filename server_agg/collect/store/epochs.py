"""The epoch that a database is in: its key, and what is sealed under it.

Rules
1. Whoever opens a database finds the key that it names in the folder of keys, or makes the first one; a key that a
   crash left over is destroyed then.  Without the key nothing is taken: what is sealed under it cannot be read, and if
   nothing is, another process may work with it.  A new key in its place is the owner's word (`discard`); only a copy,
   whose key was left behind, makes itself one if nothing in it is sealed.
2. A folder may hold the keys of several databases, so a database destroys keys of its own name alone, and no two have
   the same name: the name is bound to the database's `identity`.  A copy (a restored dump, a file put elsewhere) finds
   itself under another's name, takes a new one and seals what it brought under a key of its own; the keys of the name
   it had may be another's, and are left alone.
3. What changes the epoch is one transaction: the intake is emptied, what goes on waiting is sealed under the next key,
   and that key is named.
4. What is gathered lies by question and round, each under a key of its own; these keys, and those of the surveys'
   sealed answers (`crowds`), are the *ring*, which the key of the epoch opens.  A fold writes the ring, and what is
   gathered of the questions and rounds that are folded, each under a new key: of the others nothing is written, and
   of what was gathered before nothing can be read.  That a question and round was folded is no secret; within it
   everything is written again, so that nobody sees which segments came.
5. What is gathered is read together with the key that its own state of the database names.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from rrcollect.publish.report import ReportRow
from server_agg.collect.store.crowds import SurveyKeys, erase
from server_agg.collect.store.database import Database, Marked
from server_agg.collect.store.keys import STEP, EpochKey, KeyFolder
from server_agg.collect.store.reports import Cell, CellCount, Crowd, IncomingReport, packed, unpacked
from server_agg.errors import EpochKeyMissing, StoreUnavailable

NOTHING_SEEN = -(2**62)
GATHERED = NOTHING_SEEN - 1  # the place of marks whose report is gathered, not in the intake
LEFT_PER_PLACE = 200  # reports that wait on together after a fold: a repeat of one opens them all
GATHERED_STEP = 4096  # bytes: sealed sums are padded to a multiple of it
MOST_LOOKS = 20
READ_RING = "SELECT key, (SELECT content FROM gathered WHERE name = '') FROM epoch"
Found = TypeVar("Found")
Group = tuple[str, str, int]  # a survey, and a question and round of it


class GatheredReports(NamedTuple):
    """Reports that were folded and are no crowd yet: their sums, and their rows if those are kept."""

    counts: dict[Cell, CellCount]
    rows: list[ReportRow]

    @property
    def n(self) -> int:
        """How many reports."""
        return sum(found.n for found in self.counts.values())


NOTHING_GATHERED = GatheredReports({}, [])


class GatheredKey(NamedTuple):
    """Where the gathered reports of a question and round lie, their key, and how many rows are among them."""

    name: str
    secret: str
    rows: int


@dataclass
class KeyRing:
    """The keys of what outlives an epoch."""

    surveys: SurveyKeys = field(default_factory=dict)
    groups: dict[Group, GatheredKey] = field(default_factory=dict)


class Regathered(NamedTuple):
    """What changes of what is gathered: contents that go, and those that come."""

    gone: list[tuple[str]]
    lines: list[tuple[str, bytes]]


@dataclass
class Epoch:
    """What this process knows of the epoch it last saw."""

    name: str
    key: EpochKey
    closed: frozenset[str] | None = None  # surveys that take no more reports; None: not looked up yet
    seen: int = NOTHING_SEEN  # the last place in the intake that was counted into `waiting`
    waiting: Counter[Group] = field(default_factory=Counter)


def waiting_in(crowds: Sequence[Crowd]) -> Counter[Group]:
    """How many reports wait, by group."""
    found: Counter[Group] = Counter()
    for crowd in crowds:
        survey, question, round_, *_ = crowd.cell
        found[survey, question, round_] += len(crowd.ids)
    return found


def marked_reports(key: EpochKey, reports: Sequence[IncomingReport]) -> list[Marked]:
    """Reports with their marks under a key."""
    spendings = [report.spending for report in reports]
    tickets = [None if spending is None else key.ticket_mark(spending.plain()) for spending in spendings]
    return list(zip(key.id_marks([row[5] or "" for row, _ in reports]), tickets, reports, strict=True))


def by_group(gathered: GatheredReports) -> dict[Group, GatheredReports]:
    """What is gathered, by question and round."""
    found: dict[Group, GatheredReports] = {}
    for cell, n in gathered.counts.items():
        found.setdefault(cell[:3], GatheredReports({}, [])).counts[cell] = n
    for row in gathered.rows:
        found[row.survey or "", row.question or "", row.round or 0].rows.append(row)
    return found


def _packed(of: GatheredReports) -> bytes:
    plain = [[*cell[3:], *n] for cell, n in of.counts.items()], of.rows
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


class Epochs:
    """The epochs of a database, with the folder of their keys."""

    def __init__(self, database: Database, keys: KeyFolder, *, keep_rows: bool | None, discard: bool) -> None:
        """Make the first key, or check that this database has exactly one key, which is in the folder."""
        self.database = database
        self.keys = keys
        self.name = ""  # of the database, in the folder of keys
        self._epoch: Epoch | None = None
        self._longest: dict[str, int] = {}  # by digest, for good: the bytes of a report
        with keys.lock():
            with database.writing(alone=True) as cursor:
                key = self._found(cursor, discard=discard)
                if keep_rows is not None:
                    database.run(cursor, "UPDATE epoch SET keep_rows = ?", (int(keep_rows),))
            keys.keep_only(self.name, key)

    def _found(self, cursor: Any, *, discard: bool) -> str:
        here = self.database.identity(cursor)
        found = self.database.run(cursor, "SELECT database, identity, key FROM epoch").fetchone()
        if found is None:
            self.name = secrets.token_hex(16)
            name = self.keys.make(self.name)
            self.database.append(cursor, "epoch", "database, identity, key, keep_rows", [(self.name, here, name, 0)])
            return name
        self.name, bound, name = found
        left, ring, lost = list[IncomingReport](), KeyRing(), False
        try:
            key = self.keys.read(self.name, name)
        except EpochKeyMissing:
            lost = True
            if not discard:
                self._refuse_to_lose(cursor, copied=bound != here)
        else:
            if bound in (None, here):
                self.database.run(cursor, "UPDATE epoch SET identity = ? WHERE identity IS NULL", (here,))
                return str(name)
            left = [report for crowd in self.sealed_reports(cursor, key) for report in crowd.reports()]
            ring = self._opened_ring(self.database.run(cursor, READ_RING).fetchone()[1], key)
        if lost:
            self.database.run(cursor, "DELETE FROM gathered")
            erase(self.database, cursor, None)
        if not lost or bound not in (None, here):
            self.name = secrets.token_hex(16)
        self.database.run(cursor, "UPDATE epoch SET database = ?, identity = ?", (self.name, here))
        made = self.keys.make(self.name)
        self.seal_again(cursor, left, ring, made)
        return made

    def _refuse_to_lose(self, cursor: Any, *, copied: bool) -> None:
        """Return if this is a copy and nothing in it is sealed."""
        (waiting,) = self.database.run(cursor, "SELECT COUNT(*) FROM marks").fetchone()
        (sums,) = self.database.run(cursor, "SELECT COUNT(*) FROM gathered").fetchone()
        folder = repr(str(self.keys.folder))
        if waiting or sums:
            also = " and sealed answers" if sums else ""
            raise EpochKeyMissing(
                f"{waiting} reports{also} wait under a key that is not in {folder}: give the folder of keys that this "
                "database is used with, or, if it is lost (a restored backup has none), give them up (serve "
                "--discard-unreadable)"
            )
        if not copied:
            raise EpochKeyMissing(
                f"the key of this database is not in {folder}: give the folder of keys that it is used with, or, if "
                "that is lost, stop every collector of the database and let a new key be made (serve "
                "--discard-unreadable): nothing waits under the old one"
            )

    def current(self, cursor: Any) -> Epoch:
        """The epoch of this transaction."""
        (name,) = self.database.run(cursor, "SELECT key FROM epoch").fetchone()
        if self._epoch is None or self._epoch.name != name:
            try:
                key = self.keys.read(self.name, name)
            except EpochKeyMissing:  # what is said to a sender names no folder
                raise StoreUnavailable("the key of the waiting reports is missing") from None
            self._epoch = Epoch(name, key)
        return self._epoch

    def closed(self, cursor: Any, epoch: Epoch) -> frozenset[str]:
        """The surveys that take no more reports in this epoch; a survey is closed by the fold that ends an epoch."""
        if epoch.closed is None:
            found = self.database.run(cursor, "SELECT digest FROM surveys WHERE closed > 0").fetchall()
            epoch.closed = frozenset(digest for (digest,) in found)
        return epoch.closed

    def alive(self) -> None:
        """Return if the database answers and its key can be read; a `StoreError` if not."""
        self.consistently(
            lambda cursor: self.keys.read(self.name, self.database.run(cursor, "SELECT key FROM epoch").fetchone()[0])
        )

    # ---- what is sealed ---------------------------------------------------------------------------------------

    def arrived(self, cursor: Any, epoch: Epoch) -> list[Crowd]:
        """What came into the intake since this was last asked, counted into the epoch."""
        rows = self.database.run(cursor, "SELECT place, content FROM intake WHERE place > ?", (epoch.seen,)).fetchall()
        arrived = [crowd for _, content in rows for crowd in unpacked(epoch.key.opened(bytes(content)))]
        epoch.waiting += waiting_in(arrived)
        epoch.seen = max((place for place, _ in rows), default=epoch.seen)
        return arrived

    def sealed_reports(self, cursor: Any, key: EpochKey) -> list[Crowd]:
        """Everything in the intake."""
        contents = self.database.run(cursor, "SELECT content FROM intake ORDER BY place").fetchall()
        return [crowd for (content,) in contents for crowd in unpacked(key.opened(bytes(content)))]

    def size(self, cursor: Any, reports: Sequence[IncomingReport]) -> int:
        """How many bytes these reports have at most, whatever they say: as long as their surveys allow, each."""
        many = Counter(report.row.survey or "" for report in reports)
        if not many.keys() <= self._longest.keys():
            found = self.database.run(cursor, "SELECT digest, longest FROM surveys").fetchall()
            self._longest = dict(found)
        return sum(n * self._longest.get(survey, STEP) for survey, n in many.items())

    def waiting(self) -> list[IncomingReport]:
        """The reports that are not folded yet, as whoever has the database and the key can read them."""
        with self.database.writing() as cursor:
            crowds = self.sealed_reports(cursor, self.current(cursor).key)
        return [report for crowd in crowds for report in crowd.reports()]

    def ring(self, cursor: Any) -> KeyRing:
        """The keys of what outlives the epoch; `EpochKeyMissing` if a fold came between."""
        name, sealed = self.database.run(cursor, READ_RING).fetchone()
        epoch = self._epoch
        known = epoch is not None and epoch.name == name
        return self._opened_ring(sealed, epoch.key if epoch and known else self.keys.read(self.name, name))

    @staticmethod
    def _opened_ring(sealed: bytes | None, key: EpochKey) -> KeyRing:
        if sealed is None:
            return KeyRing()
        surveys, groups = json.loads(key.opened(bytes(sealed)))
        return KeyRing(surveys, {tuple(group): GatheredKey(*one) for group, *one in groups})

    def gathered(
        self, cursor: Any, ring: KeyRing | None = None, groups: Collection[Group] | None = None
    ) -> GatheredReports:
        """What was folded and has no crowd of its segments yet, in all questions and rounds or in these."""
        keys = (self.ring(cursor) if ring is None else ring).groups
        wanted = {one.name: group for group, one in keys.items() if groups is None or group in groups}
        counts: dict[Cell, CellCount] = {}
        rows: list[ReportRow] = []
        for name, content in self.database.select_in(cursor, "name, content", "gathered", "name", sorted(wanted)):
            key = EpochKey(bytes.fromhex(keys[wanted[name]].secret))
            sums, kept = json.loads(key.opened(bytes(content)))
            for design, segments, answer, *n in sums:
                counts[Cell(*wanted[name], design, segments, answer)] = CellCount(*n)
            rows += [ReportRow(*row) for row in kept]
        return GatheredReports(counts, rows)

    def consistently(self, read: Callable[[Any], Found]) -> Found:
        """What is read from one committed state, with its own key; from the next one if a fold destroyed that."""
        for _ in range(MOST_LOOKS):
            with self.database.reading(snapshot=True) as cursor, suppress(EpochKeyMissing):
                return read(cursor)
        raise StoreUnavailable("the key of the waiting reports is missing")

    @staticmethod
    def sealed_groups(ring: KeyRing, gathered: GatheredReports, groups: Iterable[Group]) -> Regathered:
        """What is gathered in these questions and rounds, each under a new key, which the ring gets."""
        gone, lines, found = [], [], by_group(gathered)
        for group in groups:
            if group in ring.groups:
                gone.append((ring.groups.pop(group).name,))
            if (own := found.get(group)) is not None:
                new = GatheredKey(secrets.token_hex(16), secrets.token_hex(32), len(own.rows))
                ring.groups[group] = new
                lines.append((new.name, EpochKey(bytes.fromhex(new.secret)).sealed(_packed(own), GATHERED_STEP)))
        return Regathered(gone, sorted(lines))

    def write_gathered(self, cursor: Any, made: Regathered) -> None:
        """In the place of what was gathered there."""
        self.database.run_many(cursor, "DELETE FROM gathered WHERE name = ?", made.gone)
        self.database.append(cursor, "gathered", "name, content", made.lines)

    def write_ring(self, cursor: Any, key: EpochKey, ring: KeyRing) -> None:
        """In the place of the ring that there is."""
        self.database.run(cursor, "DELETE FROM gathered WHERE name = ''")
        if ring.surveys or ring.groups:
            plain = ring.surveys, [(group, *one) for group, one in sorted(ring.groups.items())]
            content = key.sealed(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(), GATHERED_STEP)
            self.database.append(cursor, "gathered", "name, content", [("", content)])

    def seal_again(self, cursor: Any, left: Sequence[IncomingReport], ring: KeyRing, name: str) -> None:
        """Begin the epoch of the key of this name: what waits on, and the ring, sealed under it."""
        key = self.keys.read(self.name, name)
        self.database.empty_intake(cursor)
        for start in range(0, len(left), LEFT_PER_PLACE):
            some, place = left[start : start + LEFT_PER_PLACE], -1 - start  # before all that come later
            marks = [(mark, ticket, place) for mark, ticket, _ in marked_reports(key, some)]
            self.database.append(cursor, "marks", "mark, ticket, place", marks)
            self.database.append(
                cursor, "intake", "place, content", [(place, key.sealed(packed(some), self.size(cursor, some)))]
            )
        self.write_ring(cursor, key, ring)
        with_rows = {group for group, one in ring.groups.items() if one.rows}
        rows = self.gathered(cursor, ring, with_rows).rows
        marks = [(mark, None, GATHERED) for mark in key.id_marks(row.id or "" for row in rows)]
        self.database.append(cursor, "marks", "mark, ticket, place", sorted(marks))
        self.database.run(cursor, "UPDATE epoch SET key = ?", (name,))
        self._epoch = None
