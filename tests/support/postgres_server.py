"""A real PostgreSQL server for the tests: the machine's own binaries, run by an unprivileged user, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.support.ports import free_port

USER = "nobody"


def binary(name: str) -> str:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    assert found, f"{name} is needed: install PostgreSQL (Debian: apt-get install postgresql)"
    return found


class PostgresServer:
    """A cluster in a folder of its own; `start`, `stop` and `kill` as often as a test likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
            self._prefix = ["setpriv", f"--reuid={USER}", f"--regid={pwd.getpwnam(USER).pw_gid}", "--clear-groups"]
        else:
            self._prefix = []
        self._run(binary("initdb"), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "--no-sync")

    def _run(self, *command: str, check: bool = True) -> None:
        done = subprocess.run(
            [*self._prefix, *command],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 or not check, command

    def start(self, options: str = "") -> None:
        given = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} {options}"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self._run(binary("pg_ctl"), "-D", data, "-w", "-l", log, "-o", given, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run(binary("pg_ctl"), "-D", str(self.folder / "data"), "-w", "-m", mode, "stop", check=False)

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        import psycopg

        name = f"t{os.urandom(6).hex()}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory(prefix="rrpg", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder))
        server.start()
        try:
            with patch.dict(
                os.environ, RRCOLLECT_EPOCH_KEYS=f"{folder}/keys"
            ):  # collectors started meanwhile share them
                yield server
        finally:
            server.stop("immediate")
