"""A tool of thirty lines, with and without telemetry: `python -m tests.support.telemetry_tool HOW FOLDER SURVEY KEY`.

HOW is words joined by commas: "without" leaves telemetry out; "process" sends from a process; "yes", "no", "unasked",
"broken" are what the consent function does; "raising" and "killed" how the tool ends; "slow" waits for a line of input.
"""

import os
import signal
import sys

if __name__ == "__main__":
    how = set(sys.argv[1].split(","))
    if "without" not in how:
        from rrcollect.telemetry import Telemetry

        def consent(explanation: str) -> bool | None:
            if "broken" in how:
                raise RuntimeError("nobody knows")
            return True if "yes" in how else False if "no" in how else None

        telemetry = Telemetry(
            sys.argv[2],
            sys.argv[3],
            sys.argv[4],
            consent=consent,
            segments={"version": "9.9"},
            send="process" if "process" in how else "thread",
            spread=0,
        )
        telemetry.answer("crashed", lambda: os.environ.get("CRASHED") == "1")
    print("the tool's work")
    if "slow" in how:
        sys.stdin.readline()
    if "killed" in how:
        os.kill(os.getpid(), signal.SIGKILL)
    if "raising" in how:
        raise RuntimeError("a defect")
    loaded = {"pydantic", "cryptography", "logging", "numpy"} & set(sys.modules)
    print(f"loaded: {sorted(loaded)}", file=sys.stderr) if "loads" in how else None
    sys.exit(3)
