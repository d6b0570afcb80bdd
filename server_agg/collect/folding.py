"""Folds in a store: what waits becomes counts, and the end of a survey.

Rules
1. `fold` is one transaction: counts, ids, rows and spent tickets that are ripe (`fold`) are written, the intake is
   emptied, what is not ripe is sealed again, and the next epoch key is named.  Then every other key of the database is
   destroyed, also one that an earlier fold could not destroy.
2. Folds, ends of surveys and copies of a database (`backup`) come one after the other, by the lock of the folder of
   keys.  Whoever has other work does not wait for it: without `wait` a folder that is busy is `KeysBusy`.
3. `finish` ends a survey that is over: it is folded to its last report, counts stay, ids, rows, invites and spent
   tickets are deleted, and nothing is taken for it any more (`closed` is 1).  Then the tables are written anew, so that
   nothing deleted is in their files, and the survey is done (2).  A `finish` that was interrupted is done again.
4. Whether rows are kept is a choice of the database, not of a process that happens to fold.
"""

from __future__ import annotations

from abc import ABC
from contextlib import suppress
from typing import Any

from server_agg.collect.counts import tallies_of
from server_agg.collect.epochs import NOTHING_SEEN, EpochDatabase
from server_agg.collect.errors import KeysBusy
from server_agg.collect.fold import FoldResult, GatheredReports, folded_from, ripe_groups
from server_agg.collect.stored_report import Spending
from server_agg.collect.tables import ADD_COUNT, COLUMNS, READ_COUNTS
from server_agg.count.tallies import Tallies

SPENT = ", ".join(Spending._fields)


class FoldingDatabase(EpochDatabase, ABC):
    """A database whose waiting reports can be folded."""

    unfolded = 0  # reports that waited on after the last look of this process

    def fold(self, *, wait: bool = True) -> int:
        """Fold what is ripe; returns how many reports were folded."""
        with self.keys.lock(wait=wait):
            return self._fold(None)

    def fold_unless_busy(self) -> None:
        """Fold what is ripe, for somebody who looks; while another folds or copies, what was folded will do."""
        with suppress(KeysBusy):
            self.fold(wait=False)

    def _fold(self, finish: str | None) -> int:
        """The same, and all of a survey that is to `finish`; under the lock of the folder."""
        folded: FoldResult | None = None
        with self.writing(alone=True) as cursor:
            epoch = self.current(cursor)
            name, first = epoch.name, epoch.seen == NOTHING_SEEN
            arrived = self.arrived(cursor, epoch)
            self.unfolded = epoch.waiting.total()
            known = self.run(cursor, "SELECT digest, minimum, number FROM surveys").fetchall()
            minimum = {digest: 0 if digest == finish else least for digest, least, _ in known}
            ripe = ripe_groups(epoch.waiting, minimum)
            if ripe or finish is not None:
                crowds = arrived if first else self.sealed_reports(cursor, epoch.key)
                (keep,) = self.run(cursor, "SELECT keep_rows FROM epoch").fetchone()
                folded = folded_from(crowds, ripe, minimum, self.gathered(cursor), keep_rows=bool(keep))
                name = self.keys.make(self._name)
                self._write(cursor, folded, {digest: number for digest, _, number in known}, name)
                if finish is not None:
                    self._forget(cursor, finish)
        self.keys.keep_only(self._name, name)
        if folded is None:
            return 0
        self.unfolded = len(folded.left)
        return folded.folded

    def _write(self, cursor: Any, folded: FoldResult, numbers: dict[str, int], name: str) -> None:
        """Everything a fold changes, in one transaction."""
        self.run_many(cursor, ADD_COUNT, [(*cell, *n) for cell, n in folded.counts.items()])
        for survey, ids in folded.ids.items():
            self.append_ids(cursor, numbers[survey], ids)
        self.append(cursor, "reports", COLUMNS, folded.rows)
        self.append(cursor, "spent", SPENT, folded.spent)
        self.seal_again(cursor, folded.left, folded.gathered, name)

    def _forget(self, cursor: Any, survey: str) -> None:
        """What `finish` deletes."""
        self.run(cursor, "UPDATE surveys SET closed = 1 WHERE digest = ?", (survey,))
        self.run(cursor, "DELETE FROM ids WHERE survey = (SELECT number FROM surveys WHERE digest = ?)", (survey,))
        for table in ("reports", "invites", "spent"):
            self.run(cursor, f"DELETE FROM {table} WHERE survey = ?", (survey,))  # noqa: S608

    def finish(self, survey: str, *, wait: bool = True) -> None:
        """End a survey that is over, as the caller knows: counts stay, ids, rows and tickets are overwritten."""
        with self.keys.lock(wait=wait):
            self._fold(survey)
            self.overwrite()
            with self.writing() as cursor:
                self.run(cursor, "UPDATE surveys SET closed = 2 WHERE digest = ?", (survey,))

    def unfinished(self) -> list[str]:
        """Surveys whose closing was interrupted."""
        with self.reading() as cursor:
            found = self.run(cursor, "SELECT digest FROM surveys WHERE closed = 1 ORDER BY digest").fetchall()
        return [digest for (digest,) in found]

    # ---- what was folded --------------------------------------------------------------------------------------

    def tallies(self, survey: str | None = None) -> Tallies:
        """Exact counts of what was folded, by survey × question × design × segments × round; as costly as cells."""
        where, values = (" WHERE survey = ?", (survey,)) if survey is not None else ("", ())

        def read(cursor: Any) -> tuple[list[Any], list[Any], GatheredReports]:
            pilots = self.run(cursor, "SELECT digest FROM surveys WHERE pilot = 1").fetchall()
            return self.run(cursor, READ_COUNTS + where, values).fetchall(), pilots, self.gathered(cursor)

        cells, pilots, gathered = self.consistently(read)
        cells += [(*cell, n.n) for cell, n in gathered.counts.items() if survey in (None, cell.survey)]
        return tallies_of(cells, {digest for (digest,) in pilots})

    def keeps_rows(self) -> bool:
        """Whether folded reports are kept as rows."""
        with self.reading() as cursor:
            return bool(self.run(cursor, "SELECT keep_rows FROM epoch").fetchone()[0])
