"""What is acknowledged is kept: kill -9, fsync before the reply, a full disk, a database that goes away.

RRCOLLECT_KILLS sets how many times each collector is killed (10 by default; the long suite runs 200).
"""

import http.client
import os
import random
import re
import resource
import secrets
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from rrcollect import HttpTransport, Pace
from rrcollect.errors import TransportFailed
from server_agg.collect.store import open_store
from tests.answer.support import client
from tests.collect.running import JSON, Process, body, publication
from tests.postgres_server import running_postgres

KILLS = int(os.environ.get("RRCOLLECT_KILLS", "10"))


class Load:
    """Threads that send reports on kept connections, and remember which were acknowledged."""

    def __init__(self, port, digest, threads=8):
        self.port, self.digest = port, digest
        self.acknowledged, self.sent = [], []
        self.statuses = set()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _send(self):
        connection = None
        while not self._stop.is_set():
            made = secrets.token_hex(16)
            self.sent.append(made)
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
        if connection is not None:
            connection.close()


def ids(where):
    store = open_store(where)
    found = [row.id for row in store.reports()]
    store.close()
    return found


def test_kill_9_loses_nothing_that_was_acknowledged(where):
    published = publication()
    acknowledged, sent = set(), set()
    for _ in range(KILLS):
        with Process(where) as running:
            running.publish(published)
            with Load(running.port, published.digest, threads=4) as load:
                time.sleep(random.uniform(0.03, 0.3))
                running.process.kill()
                running.process.wait(10)
            acknowledged |= set(load.acknowledged)
            sent |= set(load.sent)
    found = ids(where)
    assert len(acknowledged) > KILLS
    assert acknowledged <= set(found) <= sent
    assert len(found) == len(set(found))


# ---- fsync before the reply ------------------------------------------------------------------------------------------


def unsynced_replies(trace):
    """How many 201 replies left before the log that holds their report was flushed, and how many replies there were."""
    dirty, replies, early = False, 0, 0
    for line in trace.splitlines():
        if "-wal>" in line and re.search(r"\b(pwrite64|write|pwritev)\(", line):
            dirty = True
        elif ("-wal>" in line and re.search(r"\bf(data)?sync\(", line) and line.rstrip().endswith("= 0")) or (
            re.search(r"\bf(data)?sync resumed>", line) and line.rstrip().endswith("= 0")
        ):
            dirty = False
        elif "HTTP/1.1 201" in line:
            replies += 1
            early += dirty
    return early, replies


def test_the_log_is_flushed_before_the_reply(tmp_path):
    assert shutil.which("strace"), "strace is needed (Debian: apt-get install strace)"
    log = tmp_path / "trace"
    calls = "trace=pwrite64,pwritev,write,writev,sendto,sendmsg,fsync,fdatasync"
    prefix = ("strace", "-f", "-y", "-s", "40", "-e", calls, "-o", str(log))
    with Process(str(tmp_path / "a.sqlite3"), prefix=prefix) as running:
        digest = running.publish(publication())
        for _ in range(20):
            assert running.post(body(digest))[0] == 201
        (traced,) = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
        os.kill(int(traced), signal.SIGTERM)
        running.process.wait(20)
    trace = log.read_text(errors="replace")
    assert unsynced_replies(trace) == (0, 21)  # twenty reports and the survey
    without = "\n".join(line for line in trace.splitlines() if "sync" not in line)
    assert unsynced_replies(without)[0] > 0  # the check can fail


# ---- a full disk -----------------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_and_recovers(tmp_path):
    where = str(tmp_path / "a.sqlite3")
    with Process(where) as running:
        digest = running.publish(publication())
        acknowledged = []

        def send():
            made = secrets.token_hex(16)
            status, _, headers = running.request("POST", "/reports", body(digest, id=made), JSON)
            if status == 201:
                acknowledged.append(made)
            return status, headers.get("retry-after")

        assert send() == (201, None)
        size = max(path.stat().st_size for path in tmp_path.glob("a.sqlite3*"))
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
        refused = next(said for said in (send() for _ in range(500)) if said[0] != 201)
        assert refused == (507, "30")
        assert running.json("GET", "/healthz")[0] == 200  # reading still works
        assert send()[0] in (503, 507)
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert send() == (201, None)
        assert running.results()["surveys"][0]["answers"] == len(acknowledged)
    assert sorted(ids(where)) == sorted(acknowledged)


@pytest.mark.parametrize(("fault", "status"), [
    ("fdatasync:error=EIO:when=20..23", 503),
    ("pwrite64:error=ENOSPC:when=30..45", 507),
    ("pwrite64:error=EIO:when=30..45", 507),
])  # fmt: skip
def test_failures_of_the_disk_are_told_and_survived(tmp_path, fault, status):
    """The kernel's own errors, injected into the calls of a running collector."""
    where = str(tmp_path / "a.sqlite3")
    call = fault.partition(":")[0]
    prefix = ("strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={fault}")
    statuses, acknowledged, told = [], [], []
    with Process(where, prefix=prefix) as running:
        digest = running.publish(publication())
        for _ in range(40):
            made = secrets.token_hex(16)
            got, _, headers = running.request("POST", "/reports", body(digest, id=made), JSON)
            statuses.append(got)
            if got == 201:
                acknowledged.append(made)
            else:
                told.append(headers["retry-after"])
        (traced,) = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
        os.kill(int(traced), signal.SIGKILL)
        running.process.wait(20)
    assert status in statuses
    assert set(statuses) <= {201, 503, 507}
    assert statuses[-10:] == [201] * 10  # it recovered
    assert all(int(wait) >= 1 for wait in told)
    assert set(acknowledged) <= set(ids(where))


def test_a_database_that_vanishes_is_a_503_that_names_no_path(tmp_path):
    where = tmp_path / "folder" / "a.sqlite3"
    where.parent.mkdir()
    with Process(str(where)) as running:
        digest = running.publish(publication())
        moved = tmp_path / "elsewhere"
        where.parent.rename(moved)
        status, said = running.json("GET", "/healthz")
        assert status == 503
        assert str(tmp_path) not in said["reason"]
        assert running.post(body(digest))[0] == 503
        where.parent.mkdir()
        shutil.copy(moved / "a.sqlite3", where)  # a copy is not the file that is open
        assert running.post(body(digest))[0] == 503
        shutil.rmtree(where.parent)
        moved.rename(where.parent)
        assert running.json("GET", "/healthz")[0] == 200
        assert running.post(body(digest))[0] == 201


# ---- PostgreSQL goes away and comes back -----------------------------------------------------------------------------


@pytest.mark.timeout(120)
def test_postgresql_restarted_under_load_loses_nothing_and_the_outbox_redelivers(tmp_path):
    with running_postgres() as server:
        where = server.new_database()
        with Process(where) as running:
            digest = running.publish(publication())
            device = client(tmp_path)
            device.answer(device.accept(running.request("GET", f"/surveys/{digest}")[1]), "q1", True)
            transport = HttpTransport(f"{running.url}/reports")
            with Load(running.port, digest, threads=4) as load:
                time.sleep(0.5)
                for mode in ("immediate", "fast"):
                    server.stop(mode)
                    outcome = device.deliver(transport, Pace(attempts=1)) if mode == "immediate" else None
                    assert outcome is None or outcome.waiting == 1
                    time.sleep(0.3)
                    server.start()
                    before = len(load.acknowledged)
                    end = time.monotonic() + 20
                    while len(load.acknowledged) < before + 20 and time.monotonic() < end:
                        time.sleep(0.05)
                    assert len(load.acknowledged) >= before + 20, "the collector did not recover"
            assert 503 in load.statuses
            assert load.statuses <= {201, 503}
            assert device.deliver(transport).delivered == 1
        found = ids(where)
        assert set(load.acknowledged) <= set(found)
        assert len(found) == len(set(found))
        assert device.budget().reports[0].id in found


@pytest.mark.timeout(120)
def test_postgresql_crashing_loses_nothing_that_was_acknowledged():
    with running_postgres() as server:
        where = server.new_database()
        acknowledged = set()
        with Process(where) as running:
            digest = running.publish(publication())
            for _ in range(max(3, KILLS // 4)):
                with Load(running.port, digest, threads=4) as load:
                    time.sleep(random.uniform(0.1, 0.4))
                    server.stop("immediate")  # no checkpoint, no flush: recovery from its log alone
                acknowledged |= set(load.acknowledged)
                server.start()
        assert len(acknowledged) > 10
        assert acknowledged <= set(ids(where))


def test_an_unreachable_collector_is_a_failure_not_a_refusal():
    with pytest.raises(TransportFailed):
        HttpTransport("http://127.0.0.1:1/reports").send(b"{}")
