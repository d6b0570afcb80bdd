"""What is acknowledged is kept: fsync before the reply, a full disk, a database that goes away.

Kill -9, faults of the disk, PostgreSQL crashing and storms of duplicates: tests/assurance/collector/check.py.
"""

import os
import re
import resource
import secrets
import shutil
import signal
from pathlib import Path

import pytest

from rrcollect import HttpTransport
from rrcollect.errors import TransportFailed
from tests.support.collector_crashing import Load, folds_interrupted, ids
from tests.support.collector_running import JSON, Process, body, publication
from tests.support.devices import client
from tests.support.postgres_server import running_postgres
from tests.support.waiting import PATIENCE, until

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
        running.process.wait(PATIENCE)
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
        assert running.json("GET", "/readyz")[0] == 200  # reading still works
        # The reader, closing, may have emptied the log: what fits is taken, and then it is refused again.
        assert next(said for said in (send() for _ in range(500)) if said[0] != 201) == (507, "30")
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert send() == (201, None)
        assert running.results()["surveys"][0]["answers"] == len(acknowledged)
    assert sorted(ids(where)) == sorted(acknowledged)


def test_a_database_that_vanishes_is_a_503_that_names_no_path(tmp_path):
    where = tmp_path / "folder" / "a.sqlite3"
    where.parent.mkdir()
    with Process(str(where)) as running:
        digest = running.publish(publication())
        moved = tmp_path / "elsewhere"
        where.parent.rename(moved)
        status, said = running.json("GET", "/readyz")
        assert status == 503
        assert str(tmp_path) not in said["reason"]
        assert running.post(body(digest))[0] == 503
        shutil.copytree(moved, where.parent)  # a copy, however complete, is not the file that was open
        assert running.post(body(digest))[0] == 503
        shutil.rmtree(where.parent)
        moved.rename(where.parent)
        assert running.json("GET", "/readyz")[0] == 200
        assert running.post(body(digest))[0] == 201


# ---- a fold that is interrupted --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["kill", "fault"])
def test_a_fold_interrupted_at_any_moment_counts_everything_once(where, kind):
    """Every seventh line here, every line in `make assure`."""
    found = folds_interrupted(where, kind, every=7)
    assert found["folds interrupted"] >= 10
    assert [found[name] for name in ("acknowledged and lost", "counted twice", "keys left over")] == [0, 0, 0]


# ---- PostgreSQL goes away and comes back -----------------------------------------------------------------------------


def test_postgresql_restarted_under_load_loses_nothing_and_the_outbox_redelivers(tmp_path):
    with running_postgres() as server:
        where = server.new_database()
        with Process(where) as running:
            digest = running.publish(publication(collector=f"{running.url}/reports"))
            device = client(tmp_path)
            device.answer(device.accept(running.request("GET", f"/surveys/{digest}")[1]), "q1", True)
            with Load(running.port, digest, threads=4) as load:
                until(lambda: len(load.acknowledged) >= 20)
                for mode in ("immediate", "fast"):
                    server.stop(mode)
                    outcome = device.deliver() if mode == "immediate" else None
                    assert outcome is None or outcome.waiting == 1
                    until(lambda: 503 in load.statuses)
                    server.start()
                    before = len(load.acknowledged)
                    until(lambda before=before: len(load.acknowledged) >= before + 20)  # the collector recovers
            assert load.statuses <= {200, 201, 503}  # 200: sent again, and here already
            assert device.deliver(within=PATIENCE).delivered == 1
        found = ids(where)
        assert set(load.acknowledged) <= set(found)
        assert len(found) == len(set(found))
        assert device.budget().reports[0].id in found


def test_an_unreachable_collector_is_a_failure_not_a_refusal():
    with pytest.raises(TransportFailed):
        HttpTransport().send("http://127.0.0.1:1/reports", b"{}")
