"""Collectors under load that are killed, starved of disk or restarted: what the tests and the long suite share."""

from __future__ import annotations

import http.client
import linecache
import os
import random
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FrameType

import pyarrow.parquet

from server_agg import open_store
from server_agg.collect import Store
from server_agg.errors import StoreError
from tests.inside.collect import Catalogue, IncomingReport, PublishedSurvey, ReportOutcome, Spending, incoming
from tests.inside.publish import known_as
from tests.support.collector_running import JSON, Process, body, publication, report
from tests.support.devices import KEY
from tests.support.forensics import Traffic, found_in, most_by_chance, postgres_evidence, sqlite_evidence
from tests.support.postgres_server import PostgresServer
from tests.support.stopping import Round, at_line, everywhere, in_child, kill, struck, traced
from tests.support.waiting import until

MOST_UNDER_FAULT = 200  # reports


class Load:
    """Threads that send reports on kept connections, and remember which were acknowledged.

    A report that was not acknowledged is sent again, as a device does it; one in ten that were, too, as if the reply
    had been lost on its way; and `again` are reports that an earlier load is still in doubt about."""

    def __init__(self, port: int, digest: str, threads: int = 8, again: Iterable[str] = ()) -> None:
        self.port, self.digest = port, digest
        self.acknowledged: list[str] = []
        self.sent: list[str] = []
        self.repeated = 0
        self._again = list(again)
        self.statuses: set[int] = set()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(threads)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _next(self) -> str:
        try:
            return self._again.pop()
        except IndexError:
            return secrets.token_hex(16)

    def _send(self) -> None:
        connection, last, made = None, "", ""
        while not self._stop.is_set():
            made = made or self._next()
            self.repeated += made == last
            if made != last:
                self.sent.append(made)
            last = made
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("POST", "/reports", body(self.digest, id=made), JSON)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
                self._stop.wait(0.02)
                continue
            self.statuses.add(response.status)
            if response.status in (200, 201):
                self.acknowledged.append(made)
                made = made if random.random() < 0.1 else ""
        if connection is not None:
            connection.close()


def ids(where: str) -> list[str]:
    return counted(where)[0]


def counted(where: str) -> tuple[list[str], int]:
    """The ids of a store, waiting or folded, and how many reports are counted or wait beyond one for each id.

    Counts are what an estimate is made of.  A report that was folded twice, or is folded and waits, is there twice."""
    store = open_store(where)
    found, n = ids_of(store)
    store.disconnect()
    return found, n - len(set(found))


def ids_of(store: Store) -> tuple[list[str], int]:
    """The ids that wait or were folded, and how many reports are counted or wait."""
    waiting = [report.id for report in store.epochs.waiting()]
    with store.database.reading() as cursor:
        folded = cursor.execute("SELECT id FROM ids").fetchall()
        waiting_rows = [row.id or "" for row in store.epochs.gathered(cursor).rows]
    return [*waiting, *waiting_rows, *(bytes(id_).hex() for (id_,) in folded)], len(waiting) + store.tallies().n


class Account:
    """What was sent and acknowledged, against what a store has in the end."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.sent: list[str] = []
        self.rounds = 0
        self.repeated = 0

    def in_doubt(self) -> set[str]:
        """What was sent and never acknowledged: it may be in the store or not."""
        return set(self.sent) - set(self.acknowledged)

    def add(self, load: Load) -> None:
        self.acknowledged += load.acknowledged
        self.sent += load.sent
        self.rounds += 1
        self.repeated += load.repeated

    def settle(self, where: str) -> dict[str, int]:
        """Counts; "lost", "counted twice" and "never sent" must be 0."""
        found, twice = counted(where)
        return {
            "rounds": self.rounds,
            "acknowledged": len(set(self.acknowledged)),
            "sent again": self.repeated,
            "acknowledged and lost": len(set(self.acknowledged) - set(found)),
            "counted twice": twice,
            "counted and never sent": len(set(found) - set(self.sent)),
        }


def killed(where: str, kills: int, start: type[Process] = Process) -> dict[str, int]:
    """Kill (SIGKILL) a collector under load that many times, starting it again on the same database."""
    published, account = publication(), Account()
    for _ in range(kills):
        with start(where) as running:
            running.publish(published)
            with Load(running.port, published.digest, threads=4, again=account.in_doubt()) as load:
                time.sleep(random.uniform(0.03, 0.3))
                running.process.kill()
                running.process.wait(10)
            account.add(load)
    return account.settle(where)


def under_fault(folder: Path, fault: str, start: type[Process] = Process) -> tuple[dict[str, int], str]:
    """A collector whose system calls fail for a time, as strace's `inject` says; (counts, what was wrong).

    Reports are sent, refused ones again, until ten in a row are taken after a failure; a fault that never came, or
    never went, is wrong.  A refused report may be on disk all the same, if its flush failed: then it is known."""
    where, (call, _, how) = str(folder / "a.sqlite3"), fault.partition(":")
    statuses: list[int] = []
    acknowledged: list[str] = []
    told: list[int] = []
    with start(where, prefix=struck(call, how)) as running:
        digest = running.publish(publication())
        made = ""
        while len(statuses) < MOST_UNDER_FAULT and (not told or not _recovered(statuses)):
            made = made or secrets.token_hex(16)
            got, _, headers = running.request("POST", "/reports", body(digest, id=made), JSON)
            statuses.append(got)
            if got in (200, 201):
                acknowledged.append(made)
                made = ""
            else:
                told.append(int(headers.get("retry-after", 0)))
        (traced,) = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
        os.kill(int(traced), signal.SIGKILL)
        running.process.wait(20)
    found, twice = counted(where)
    wrong = []
    if not set(statuses) <= {200, 201, 503, 507} or (503 if call == "fdatasync" else 507) not in statuses:
        wrong.append(f"statuses {sorted(set(statuses))}")
    if not _recovered(statuses):
        wrong.append("it did not recover")
    if any(wait < 1 for wait in told):
        wrong.append("no Retry-After")
    counts = {
        "reports": len(statuses),
        "told to come back": len(told),
        "acknowledged and lost": len(set(acknowledged) - set(found)),
        "counted twice": twice,
    }
    return counts, ", ".join(wrong)


def _recovered(statuses: list[int]) -> bool:
    return len(statuses) >= 10 and set(statuses[-10:]) <= {200, 201}


def postgres_stopped(server: PostgresServer, times: int, start: type[Process] = Process) -> dict[str, int]:
    """Stop PostgreSQL without a checkpoint under a collector's load, and start it again, that many times."""
    where, account = server.new_database(), Account()
    with start(where) as running:
        digest = running.publish(publication())
        for _ in range(times):
            with Load(running.port, digest, threads=4, again=account.in_doubt()) as load:
                time.sleep(random.uniform(0.1, 0.4))
                server.stop("immediate")  # no checkpoint, no flush: recovery from its log alone
            account.add(load)
            server.start()
    return account.settle(where)


def storm(where: str, reports: int, times: int, start: type[Process] = Process) -> dict[str, int]:
    """Send the same reports many times over, concurrently, alone and in lists, to two collectors of one database."""
    published = publication()
    made = [body(published.digest) for _ in range(reports)]
    replies: list[tuple[int, int]] = []  # status, how many reports were called new
    with start(where) as one, start(where) as other:
        one.publish(published)
        other.publish(published)

        def send(number: int) -> None:
            order = [report for _ in range(times // 8) for report in random.sample(made, reports)]
            links = [http.client.HTTPConnection("127.0.0.1", running.port, timeout=60) for running in (one, other)]
            while order:
                several = order[: random.choice([1, 1, 20])]
                del order[: len(several)]
                data = several[0] if len(several) == 1 else b"[" + b",".join(several) + b"]"
                link = random.choice(links)
                while True:
                    link.request("POST", "/reports", data, JSON)
                    response = link.getresponse()
                    said = response.read()
                    new = int(said.partition(b'"new":')[2].partition(b",")[0] or 0)
                    replies.append((response.status, new))
                    if response.status not in (503, 507):
                        break
                    time.sleep(0.05)
            for link in links:
                link.close()

        threads = [threading.Thread(target=send, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = ids(where)
    return {
        "reports": reports,
        "deliveries": reports * (times // 8) * 8,
        "requests": len(replies),
        "counted": len(found),
        "called new": sum(new for _, new in replies),
        "replies other than 200, 201, 503": sum(status not in (200, 201, 503) for status, _ in replies),
    }


def read_by_strangers(
    where: str, reports: int, start: type[Process], server: PostgresServer | None = None
) -> dict[str, int]:
    """Send invited reports one after the other, kill the collector, and read everything that is left (`forensics`):
    raw files, logs, a dump and an export, of a store that keeps rows.

    The counts are of what was folded; "beyond chance" must be 0."""
    least = max(2, reports // 4)
    published = publication(invite_only=True, minimum=least)
    tickets = [secrets.token_hex(16) for _ in range(reports)]
    acknowledged: Traffic = []
    store = open_store(where)
    Catalogue(store.shelf).publish(published.envelope, [KEY.public.raw.hex()])
    store.shelf.add_invites(published.digest, [known_as(ticket, "q1", 0) for ticket in tickets])
    store.disconnect()
    with start(where, "--keep-rows") as running:
        link = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
        for number, ticket in enumerate(tickets):
            made = secrets.token_hex(16)
            link.request("POST", "/reports", body(published.digest, id=made, ticket=ticket), JSON)
            response = link.getresponse()
            response.read()
            if response.status == 201:
                acknowledged.append((made, Spending(published.digest, known_as(ticket, "q1", 0)), ticket))
            if number in (reports // 2, reports - 1):
                # a look folds what is ripe, unless housekeeping is about it: then a later look finds it folded
                until(lambda: running.results()["surveys"][0]["answers"] > len(acknowledged) - least)
                link.close()  # idle for too long on a busy machine, it would be hung up on; the next request opens it
        link.close()
        running.process.kill()
        running.process.wait(10)
    if server is None:
        evidence = sqlite_evidence(Path(where))
    else:
        evidence = postgres_evidence(server, where, Path(os.environ["RRCOLLECT_EPOCH_KEYS"]))
    store = open_store(where, keep_rows=True)
    waiting = {report.id for report in store.epochs.waiting()}
    found, n = ids_of(store)
    evidence["export"] = exported(store)
    store.disconnect()
    folded = [one for one in acknowledged if one[0] not in waiting]
    seen = found_in(evidence, folded)
    most = most_by_chance(4)
    return {
        "acknowledged": len(acknowledged),
        "folded": len(folded),
        **seen,
        "beyond chance": sum(number > most for number in seen.values()),
        "acknowledged and lost": len({one[0] for one in acknowledged} - set(found)),
        "counted twice": n - len(set(found)),
    }


def exported(store: Store) -> bytes:
    """The rows that leave a store, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        store.export(path)
        return pyarrow.parquet.read_table(path).to_pandas().to_csv().encode()


FOLDING = ("store.py", "taking.py", "fold.py", "epochs.py", "database.py", "keys.py", "sqlite.py", "postgres.py")


class Interrupted(Exception):
    """A fold that was interrupted by a fault."""


def fault() -> None:
    """Fail where no line of ours does."""
    raise Interrupted


def can_fail() -> Callable[[FrameType], bool]:
    """Not a `try:`, `os.close` or a `with` that is being left: only a tracer can make these fail before they did their
    work, and a lock would then never be given back."""
    entered = set[tuple[FrameType, int]]()

    def may(frame: FrameType) -> bool:
        line, place = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip(), (frame, frame.f_lineno)
        left = place in entered
        if line.startswith("with "):
            entered.add(place)
        return not (left or line == "try:" or line.startswith("os.close("))

    return may


def folding(code: CodeType) -> bool:
    """Code of the store that folds."""
    return "/server_agg/collect/" in code.co_filename and code.co_filename.endswith(FOLDING)


def folds_interrupted(
    where: str, kind: str, every: int = 1, opened: Callable[[str], Store] = open_store
) -> dict[str, int]:
    """Interrupt a fold before every n-th of its lines, by SIGKILL or by a fault; each time everything is counted once.

    Before each fold a crowd arrives, with tickets, and one report is there that is not ripe; after it the crowd comes
    again."""
    digest, sent, wrong = "ab" * 32, list[IncomingReport](), dict.fromkeys(("lost", "twice", "keys"), 0)
    store = opened(where)
    store.shelf.publish(PublishedSurvey(digest, b"envelope", ("aa" * 32,), "P", "n", 1, 3))
    store.disconnect()

    def play(moment: int) -> Round:
        tickets = [f"{moment:016x}{number:016x}" for number in range(3)]
        new = [incoming(report(digest, ticket=ticket).row) for ticket in tickets]
        if not sent:
            new.append(incoming(report(digest, question="q2").row))
        store = opened(where)
        store.shelf.add_invites(digest, [known_as(ticket, "q1", 0) for ticket in tickets])
        store.take(new)
        sent.extend(new)

        def fold(made: Store) -> bytes:
            tracer = at_line(moment, kill, folding) if kind == "kill" else at_line(moment, fault, folding, can_fail())
            try:
                traced(tracer, made.fold)
            except (Interrupted, StoreError):
                return b"stopped"
            return b"whole"

        if kind == "kill":
            store.disconnect()  # a child has its own connection
            whole = in_child(lambda: fold(opened(where))) == (0, b"whole")
        else:
            whole = fold(store) == b"whole"
        store.disconnect()
        store = opened(where)
        store.fold()
        found, n = ids_of(store)
        wrong["lost"] += len({one.id for one in sent} - set(found))
        wrong["twice"] += n - len(set(found)) + len(found) - len(set(found))
        wrong["twice"] += sum(outcome is not ReportOutcome.SAME for outcome in store.take(new))
        wrong["keys"] += len(list(store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key"))) - 1
        store.disconnect()
        return Round(not whole, "folds interrupted")

    counts, _ = everywhere(play, stride=every)
    return {
        "folds interrupted": counts.total(),
        "acknowledged": len(sent),
        "acknowledged and lost": wrong["lost"],
        "counted twice": wrong["twice"],
        "keys left over": wrong["keys"],
    }
