"""`rrcollect demo`: see `server_agg.demo`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.terminal import emit, progress, write_text

FOLDER = "rrcollect-demo"
LEAST = 200  # people, so that every sport has answers to estimate from


def add_demo(parser: ArgumentParser) -> None:
    """Options of `demo`."""
    parser.add_argument("--respondents", type=int, default=10_000, help="simulated people (default: 10000)")
    parser.add_argument(
        "--seconds", type=float, default=22.0, help="time for full clients; a gateway serves the rest (default: 22)"
    )
    parser.add_argument("--out", type=Path, default=Path(FOLDER), help=f"the folder to make (default: ./{FOLDER})")
    parser.add_argument(
        "--web", action="store_true", help="instead: a collector with its pages, and a trickle of people"
    )
    parser.add_argument("--port", type=int, default=0, help="with --web: the port (default: a free one)")
    parser.add_argument(
        "--pause", type=float, default=0.3, help="with --web: seconds between two people (default: 0.3)"
    )


def demo(options: Namespace) -> int:
    """The whole flow, or the collector with a trickle of respondents."""
    from rrcollect.errors import ParameterError

    if options.web:
        from server_agg.demo.web import run_web

        return run_web(options.port, options.pause, lambda data, words: emit(options, data, words))
    if not LEAST <= options.respondents <= 1_000_000:
        raise ParameterError("--respondents", options.respondents, f"{LEAST} to 1000000")
    if not 0 <= options.seconds <= 3600:
        raise ParameterError("--seconds", options.seconds, "0 to 3600")
    from server_agg.demo.page import page, picture
    from server_agg.demo.run import fresh_folder, run_demo

    fresh_folder(options.out)
    with progress(f"{options.respondents:,} respondents answer", quiet=options.json) as tell:
        shown = run_demo(options.out, options.respondents, options.seconds, tell)
    report = options.out / "report.html"
    program = program_name(options.out)
    write_text(report, page(shown, program), force=True)
    write_text(options.out / "picture.svg", picture(shown), force=True)
    go_on = f"cd {shlex.quote(str(options.out))}\n  {program} verify survey.signed.json --trust publisher.pem.pub"
    said = f"Report: {report.resolve().as_uri()}\nTo go on (the report has more):\n  {go_on}"
    emit(options, {"report": str(report), **shown.as_dict()}, str(shown), said)
    return 0


def program_name(folder: Path) -> str:
    """How a shell in `folder` calls this very program: by its name if the PATH finds it, else by its path."""
    started, beside = Path(sys.argv[0]), Path(sys.executable).with_name("rrcollect")
    program = started if started.name == "rrcollect" else beside
    if not program.exists():
        return f"{shlex.quote(sys.executable)} -m server_agg.cli.main"
    found = shutil.which("rrcollect")
    if found and os.path.samefile(found, program):
        return "rrcollect"
    whole = os.path.abspath(program)
    return shlex.quote(min(whole, os.path.relpath(whole, folder.resolve()), key=len))
