"""`rrcollect tally`: from reports to counts."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.options import COLUMN, FORCE, add, out, sources
from server_agg.cli.sources import asked_in, batch_of
from server_agg.cli.terminal import Output, shown, write_file


def add_tally(parser: ArgumentParser) -> None:
    """Options of `tally`."""
    words = "signed surveys, and the reports that answer them (.jsonl, .csv, .parquet, .rrbits), folders, a database"
    add(
        parser,
        *sources(words, count="+"),
        COLUMN,
        out("a file for the tallies, as `rrcollect estimate` reads them"),
        ("--refused-to", Path, "a file for the refused rows, with their reasons"),
        ("--lenient", bool, "count what cannot be read instead of stopping there"),
        ("--memory", str, "the engine's memory, e.g. 4GB; beyond it, it uses the disk"),
        FORCE,
    )


def tally(options: Namespace) -> Output:
    """Count reports, each once, and say what was refused; if that was all of them, the exit code says so too."""
    from rrcollect.errors import ParameterError
    from server_agg.survey_page.results import survey_results

    how = {"lenient": options.lenient, "refused_to": options.refused_to, "memory_limit": options.memory}
    try:
        result = batch_of(options, **how)
    except ParameterError as error:
        if error.name != "memory_limit":
            raise
        raise ParameterError("--memory", options.memory, error.allowed) from None
    if options.out:
        write_file(options.out, result.tallies.to_json() + "\n", force=options.force)
    data = {"summary": result.summary.as_dict(), "tallies": json.loads(result.tallies.to_json())}
    parts = shown(survey_results(result.tallies, asked=asked_in(options)))
    refused_all = result.summary.rows and not result.summary.accepted
    return Output(data, str(result.summary), *parts, code=3 if refused_all else 0)
