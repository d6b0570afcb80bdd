"""A shell for the blocks of one page.

Rules
1. `rrcollect` and `python` are this checkout's, whatever else is installed.  Of the caller's environment only PATH is
   seen.
2. Exported variables live on from block to block.
3. Port 8000 of the page is a free port here, in what is run and back again in what was printed.
4. What a block left running is ended by `close`: asked first, then told.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.documents.blocks import PageError
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0  # seconds for one block


class Shell:
    """Runs scripts in a folder; keeps its own tools and state in another."""

    def __init__(self, folder: Path, own: Path) -> None:
        self._folder, self._own = folder, own
        self._port = free_port()
        self._groups: list[int] = []
        serve = f'case "$*" in *--port*) ;; serve*) set -- "$@" --port {self._port} ;; esac\n'
        self._tool("python", f'exec "{sys.executable}" "$@"')
        self._tool("rrcollect", f'{serve}exec "{sys.executable}" -m server_agg.cli.main "$@"')

    def _tool(self, name: str, script: str) -> None:
        path = self._own / name
        path.write_text(f"#!/usr/bin/env bash\n{script}\n")
        path.chmod(0o755)

    def moved(self, text: str) -> str:
        """Text of the page with the port that is used here."""
        return re.sub(r"(127\.0\.0\.1|localhost):8000", rf"\1:{self._port}", text)

    def run(self, script: str) -> str:
        """What a script printed, on both streams; `PageError` if it failed."""
        state, output = self._own / "environment", self._own / "output"
        prologue = f'set -euo pipefail\n[ ! -f "{state}" ] || . "{state}"\ntrap \'export -p > "{state}"\' EXIT\n'
        environment = {
            "PATH": f"{self._own}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self._folder),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
        }
        with output.open("wb") as file:  # a file: a server in the background would keep a pipe open
            started = subprocess.Popen(
                ["bash", "-c", prologue + self.moved(script)],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._groups.append(started.pid)
            status = started.wait(PATIENCE)
        said = output.read_text(errors="replace").replace(f"127.0.0.1:{self._port}", "127.0.0.1:8000")
        if status != 0:
            raise PageError(f"exit code {status}:\n{script}\n{said[-3000:]}")
        return said

    def close(self) -> None:
        """End everything that was started here."""
        for group in self._groups:
            if _signalled(group, signal.SIGTERM):
                end = time.monotonic() + 10
                while _signalled(group, 0) and time.monotonic() < end:
                    time.sleep(0.05)
                _signalled(group, signal.SIGKILL)


def _signalled(group: int, number: int) -> bool:
    """Send a signal to a group of processes; False if it has ended."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True
