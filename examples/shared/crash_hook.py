"""A file that is there while a program runs, and stays if an exception, a signal or a pulled plug ends it.

Run as a program it ends as it is told: python crash_hook.py FILE well|raising|killed
"""

import atexit
import os
import signal
import sys
from pathlib import Path
from types import TracebackType


def watch(running: Path) -> None:
    """Leave the file `running` behind unless this program ends well."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        atexit.unregister(running.unlink)  # which Python would call after an exception, too
        sys.__excepthook__(kind, error, trace)

    running.touch()
    atexit.register(running.unlink)
    sys.excepthook = hook


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    if sys.argv[2] == "raising":
        raise RuntimeError("a defect")
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
