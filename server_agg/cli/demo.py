"""`rrcollect demo`: see `server_agg.demo`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.options import add, refuse
from server_agg.cli.terminal import Output, progress, write_file

FOLDER = "rrcollect-demo"
LEAST = 200  # people, so that every sport has answers to estimate from


def add_demo(parser: ArgumentParser) -> None:
    """Options of `demo`."""
    folder = {"dest": "folder", "default": Path(FOLDER), "metavar": "OUT"}
    add(
        parser,
        ("--respondents", int, "simulated people (default: 10000)", {"default": 10_000}),
        ("--seconds", float, "time for full clients; a gateway serves the rest (default: 22)", {"default": 22.0}),
        ("--out", Path, f"the folder to make (default: ./{FOLDER})", folder),
        ("--web", bool, "instead: a collector with its pages, and a trickle of people"),
        ("--port", int, "with --web: the port (default: a free one)", {"default": 0}),
        ("--pause", float, "with --web: seconds between two people (default: 0.3)", {"default": 0.3}),
    )


def demo(options: Namespace) -> Output:
    """The whole flow, or the collector with a trickle of respondents."""
    if options.web:
        from server_agg.demo.web import run_web

        return Output(*run_web(options.port, options.pause, lambda data, words: Output(data, words).print(options)))
    many, seconds = options.respondents, options.seconds
    refuse(
        (not LEAST <= many <= 1_000_000, "--respondents", many, f"{LEAST} to 1000000"),
        (not 0 <= seconds <= 3600, "--seconds", seconds, "0 to 3600"),
    )
    from server_agg.demo.page import page, picture
    from server_agg.demo.run import fresh_folder, run_demo

    fresh_folder(options.folder)
    with progress(f"{options.respondents:,} respondents answer", quiet=options.json) as tell:
        shown = run_demo(options.folder, options.respondents, options.seconds, tell)
    report = options.folder / "report.html"
    program = program_name(options.folder)
    write_file(report, page(shown, program), force=True)
    write_file(options.folder / "picture.svg", picture(shown), force=True)
    go_on = f"cd {shlex.quote(str(options.folder))}\n  {program} verify survey.signed.json --trust publisher.pem.pub"
    said = f"Report: {report.resolve().as_uri()}\nTo go on (the report has more):\n  {go_on}"
    return Output({"report": str(report), **shown.as_dict()}, str(shown), said)


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
