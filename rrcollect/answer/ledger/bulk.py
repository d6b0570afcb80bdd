"""The bulk ledger: who was drawn before, where somebody who holds many truths randomises them at once.

Rules
1. A draw is a person, an attribute and a round.  `reserve` says which people may be drawn now, and has reserved them
   when it returns, exclusively and durably (one SQLite transaction, synchronous=FULL): before the first random byte.
   Two programs at once wait for each other, and the second finds the first one's people drawn.  An attribute is known
   by its names and its words, by the same rules as on a device (`names`).
2. Reserved is drawn: whatever happens afterwards, those people are not drawn again for that attribute and round, by
   whatever design.  The way on from a run that was cut off is the opt-in `again`: a reason, kept with its time.
3. Every reservation is debited for life, exactly.  Whoever would come above the policy's caps for the attribute or for
   the lifetime is left out, opt-in or not.
4. A person is 16 bytes of HMAC-SHA-256 of an id, under a key that was made and is stored with the ledger.  Whoever has
   the ledger can test whether an id they know was drawn, for which attribute, in which round, together with how many
   others; and can do no more: nothing in it depends on a truth or an answer.  Not even a digest of a file does: whoever
   has the key and knows all truths of the file but one could test that one.
5. A table without ids is known by its marks (any texts: its place, its shape) under the same key.  It is drawn once,
   whatever the question and the round; one mark in common is enough to refuse.  Nothing is debited: nobody is named.
6. Ids are texts or whole numbers; 7, "7" and " 7 " are the same person.  One that is empty or stands twice is refused.
7. What cannot be trusted (damaged, restored from an old copy, locked, full) raises a `LedgerError`, and nobody is
   reserved.  The file is opened, waited for, verified and guarded as every ledger's file (`LedgerFile`).
"""

from __future__ import annotations

import hmac
import itertools
import os
import secrets
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rrcollect.answer.ledger.content import META, NAMES, Change
from rrcollect.answer.ledger.file import LedgerFile
from rrcollect.answer.ledger.names import all_names, check_words, remember_names
from rrcollect.answer.ledger.rules import passes
from rrcollect.answer.policy import Policy
from rrcollect.design.promise import Promise, total
from rrcollect.errors import AnswerRefused, LedgerCorrupt, ParameterError
from rrcollect.publish.question import MOST_ROUNDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    People = NDArray[np.bytes_]

HASH = np.dtype("S16")  # compared byte by byte: the width is the same for all
AT_ONCE = 65_536
MOST_AT_ONCE = 50_000_000  # people per reservation: SQLite's limit for one value, with room


class BulkLedgerFile(LedgerFile):
    """The file of a bulk ledger.  A run is one reservation; without ids it has no `attribute`."""

    what: ClassVar = "bulk ledger"
    application: ClassVar = 0x72726C62  # "rrlb"
    steps: ClassVar = [
        [
            META,
            *NAMES,
            "CREATE TABLE secret (key BLOB NOT NULL)",
            "CREATE TABLE runs (seq INTEGER PRIMARY KEY, attribute TEXT, round INTEGER, epsilon TEXT, delta TEXT, "
            "people BLOB NOT NULL, marks BLOB NOT NULL, because TEXT, at TEXT)",
        ],
    ]

    def _begin(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
        super()._begin(connection)


class Reservation(NamedTuple):
    """Whom to draw, in the order of the ids given, and how many of them were left out or are drawn again."""

    new: NDArray[np.bool_]
    drawn_before: int = 0
    over_budget: int = 0
    drawn_again: int = 0


class BulkRun(NamedTuple):
    """A reservation as the ledger tells of it; `because` and `at` are those of an opt-in to draw again."""

    attribute: str | None
    round: int | None
    people: int
    because: str | None
    at: str | None


class BulkLedger:
    """The bulk ledger at `path`; made if it is not there.

    >>> import tempfile
    >>> from rrcollect import Policy, optimal_design, randomise_many
    >>> design, policy = optimal_design("ln 3"), Policy()
    >>> ledger = BulkLedger(Path(tempfile.mkdtemp(), "bulk-ledger.sqlite3"))
    >>> truths = np.array([True, False, False])
    >>> reserved = ledger.reserve("Example/doped", 0, ["ann", "ben", "cem"], design.loss, policy)
    >>> answers = randomise_many(truths[reserved.new], design)
    >>> ledger.reserve("Example/doped", 0, ["cem", "dan"], design.loss, policy)    # cem was drawn
    Reservation(new=array([False,  True]), drawn_before=1, over_budget=0, drawn_again=0)
    >>> ledger.reserve("Example/doped", 0, ["ann"], design.loss, policy, again="the disk with the answers broke")
    Reservation(new=array([ True]), drawn_before=0, over_budget=0, drawn_again=1)
    >>> [(run.people, run.because) for run in ledger.runs()]
    [(3, None), (1, None), (1, 'the disk with the answers broke')]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self._file = BulkLedgerFile(self.path)
        with self._file.reading() as connection:
            self._key = _key_of(connection)

    def keyed(self, ids: Iterable[str | int], first: int = 1) -> People:
        """The people behind some ids, 16 bytes each: for `reserve`, where all ids at once would be too many.

        `first` is the row of the first one, by which an error names them."""
        rows, pieces = itertools.count(first), []
        given = iter(ids)
        while piece := b"".join(self._hash("id", _text(i, next(rows))) for i in itertools.islice(given, AT_ONCE)):
            pieces.append(piece)
        return np.frombuffer(b"".join(pieces), HASH)

    def reserve(
        self,
        attribute: str,
        round: int,
        ids: Iterable[str | int] | People,
        cost: Promise,
        policy: Policy,
        *,
        fingerprints: Collection[str] = (),
        aliases: Sequence[str] = (),
        again: str | None = None,
        table: Mapping[str, str] | None = None,
    ) -> Reservation:
        """Reserve everybody who was not drawn for this attribute and round, and whose budget allows this cost.

        `ids` may be what `keyed` made of them.  `fingerprints` are those of the words in which it is asked
        (`Question.fingerprints`): refused, if they were answered under another name.  `aliases` are earlier names of
        the attribute in this ledger: what was drawn under them counts, from now on for good.  `again` is the reason for
        drawing people a second time.  `table` marks the table they stand in: if it was drawn without ids, it is
        refused."""
        if not isinstance(attribute, str) or not attribute:
            raise ParameterError("attribute", attribute, 'its name, such as "publisher/attribute"')
        if type(round) is not int or not 0 <= round < MOST_ROUNDS:
            raise ParameterError("round", round, f"a whole number from 0 to {MOST_ROUNDS - 1}")
        _check_reason(again)
        people = ids if isinstance(ids, np.ndarray) and ids.dtype == HASH else self.keyed(ids)
        if people.size > MOST_AT_ONCE:
            raise ParameterError("ids", f"{people.size} of them", f"at most {MOST_AT_ONCE} at once")
        order = np.argsort(people, kind="stable")
        ranked = people[order]
        _refuse_repeated(ranked, order)
        with self._file.transaction() as change:
            marks = self._refuse_drawn_table(change.connection, table or {}, again, "attribute IS NULL")
            names = all_names(change.connection, (attribute, *aliases))
            check_words(change.connection, fingerprints, names)
            before, spent, number = _history(change.connection, ranked, names, round)
            above = [passes(own, cost, policy.attribute) or passes(life, cost, policy.life) for own, life in spent]
            over = np.array(above, np.bool_)[number]
            drawn = ~over if again else ~over & ~before
            if drawn.any():
                row = {"attribute": attribute, "round": round, "epsilon": str(cost.epsilon), "delta": str(cost.delta)}
                _append(change, {**row, "people": ranked[drawn].tobytes(), "marks": marks}, again)
                remember_names(change, names, fingerprints)
        new = np.empty(drawn.size, np.bool_)
        new[order] = drawn
        left = ~drawn & ~over
        return Reservation(new, int(left.sum()), int(over.sum()), int((drawn & before).sum()))

    def reserve_table(self, table: Mapping[str, str], *, again: str | None = None) -> None:
        """Reserve a table without ids, known by these marks; refused if one of them was drawn from before."""
        _check_reason(again)
        if not table:
            raise ParameterError("table", "without marks", "at least one text by which it is found again")
        with self._file.transaction() as change:
            marks = self._refuse_drawn_table(change.connection, table, again, "TRUE")
            _append(change, {"people": b"", "marks": marks}, again)

    def runs(self) -> list[BulkRun]:
        """Every reservation, in order."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT attribute, round, length(people) / 16, because, at FROM runs ORDER BY seq"
            )
            return [BulkRun(*row) for row in rows]

    # ---- its parts --------------------------------------------------------------------------------------------

    def _hash(self, kind: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{kind}\0{text}".encode(), "sha256")[: HASH.itemsize]

    def _refuse_drawn_table(
        self, connection: sqlite3.Connection, table: Mapping[str, str], again: str | None, which: str
    ) -> bytes:
        """The marks of a table, hashed; an error if the runs `which` know one of them, or this is another ledger."""
        if _key_of(connection) != self._key:
            raise LedgerCorrupt(f"{self._file.name} was replaced by another one while in use")
        hashed = {self._hash(f"mark {kind}", text): kind for kind, text in table.items()}
        known = set()
        for (marks,) in connection.execute(f"SELECT marks FROM runs WHERE {which}"):  # noqa: S608  from this module
            known |= {marks[i : i + HASH.itemsize] for i in range(0, len(marks), HASH.itemsize)}
        if again is None and not known.isdisjoint(hashed):
            seen = ", ".join(kind for mark, kind in hashed.items() if mark in known)
            raise AnswerRefused(f"this column was drawn from before (recognised by: {seen})")
        return b"".join(hashed)


def _key_of(connection: sqlite3.Connection) -> bytes:
    """The key that was made with the ledger."""
    return bytes(connection.execute("SELECT key FROM secret").fetchone()[0])


def _append(change: Change, run: dict[str, Any], again: str | None) -> None:
    """Write a reservation, with the reason of an opt-in and its time."""
    at = None if again is None else datetime.now(UTC).isoformat(timespec="seconds")
    change.insert("runs", {**run, "because": again, "at": at})


def _check_reason(again: str | None) -> None:
    if again is not None and (not isinstance(again, str) or not again.strip()):
        raise ParameterError("again", again, "the reason for a second draw, in words")


def _text(given: object, row: int) -> str:
    """An id in its one spelling; errors name its row, never the id."""
    if isinstance(given, bool) or not isinstance(given, str | int | np.integer):
        raise ParameterError(f"the id in row {row}", "of another kind, not shown", "a text or a whole number")
    text = unicodedata.normalize("NFC", str(given)).strip()
    if not text:
        raise ParameterError(f"the id in row {row}", "empty", "what names one person")
    return text


def _refuse_repeated(ranked: People, order: NDArray[np.intp]) -> None:
    twice = np.flatnonzero(ranked[1:] == ranked[:-1])
    if twice.size:
        place = twice[np.argmin(order[twice + 1])]
        raise ParameterError(
            f"the id in row {order[place + 1] + 1}", f"that of row {order[place] + 1} again", "each person once"
        )


def _history(
    connection: sqlite3.Connection, ranked: People, names: Sequence[str], round_: int
) -> tuple[NDArray[np.bool_], list[tuple[Promise, Promise]], NDArray[np.int64]]:
    """Who was drawn for the attribute of these names in this round; and what people have spent, exactly, in all runs.

    The second is a list of (spent on this attribute, spent for life), the third everybody's place in it: there are few
    different pairs among millions of people."""
    nothing = total(())
    sums = {(nothing, nothing): 0}
    number = np.zeros(ranked.size, np.int64)
    before = np.zeros(ranked.size, np.bool_)
    runs = connection.execute("SELECT attribute, round, epsilon, delta, people FROM runs ORDER BY seq")
    for name, when, epsilon, delta, blob in runs:
        there = _found(ranked, np.frombuffer(blob, HASH))
        if not there.any():
            continue
        if name in names and when == round_:
            before |= there
        debit = Promise.of(epsilon, delta)
        listed, moved = list(sums), np.arange(len(sums))
        for old in np.unique(number[there]):
            own, life = listed[old]
            after = (total((own, debit)) if name in names else own, total((life, debit)))
            moved[old] = sums.setdefault(after, len(sums))
        number[there] = moved[number[there]]
    return before, list(sums), number


def _found(ranked: People, people: People) -> NDArray[np.bool_]:
    """Which of `ranked` are among `people`; both are sorted."""
    if not people.size:
        return np.zeros(ranked.size, np.bool_)
    place = np.minimum(np.searchsorted(people, ranked), people.size - 1)
    return np.asarray(people[place] == ranked, np.bool_)
