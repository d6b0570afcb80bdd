"""A PostgreSQL server of our own for tests: a temporary folder, a free port on this machine, gone at the end.

`postgres_server()` is a context manager that gives a URL; `available()` says whether the programs are installed.  The
server refuses to run as root, so as root it runs as the user `nobody`.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIMIT = 60  # seconds for each program


def program(name: str) -> str | None:
    """The program on the path, or in Debian's folder for the newest version."""
    found = shutil.which(name)
    beside = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda p: float(p.split("/")[4]))
    return found or (beside[-1] if beside else None)


def available() -> bool:
    return all(program(name) for name in ("initdb", "pg_ctl"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def postgres_server() -> Iterator[str]:
    """A running server; its URL names a superuser of the database `postgres`."""
    with tempfile.TemporaryDirectory(prefix="rrcollect-pg-") as folder:
        unprivileged = os.geteuid() == 0
        user = "nobody" if unprivileged else None
        if unprivileged:
            os.chmod(folder, 0o755)
            shutil.chown(folder, "nobody")
        data, port = Path(folder, "data"), _free_port()

        def run(name: str, *arguments: str) -> None:
            command = [program(name) or name, *arguments]
            with Path(folder, "log").open("ab") as log:
                done = subprocess.run(
                    command, user=user, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=LIMIT,
                    check=False,
                )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"{name} failed:\n{Path(folder, 'log').read_text()}")

        run("initdb", "-D", str(data), "-U", "collector", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        run("pg_ctl", "-D", str(data), "-w", "-t", "30", "-l", str(Path(folder, "server.log")), "-o", settings, "start")
        try:
            yield f"postgresql://collector@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
