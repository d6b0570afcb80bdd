"""`rrcollect tally`: from reports to counts."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.options import add_column, add_force, add_out, add_sources
from server_agg.cli.sources import asked_in, batch_of
from server_agg.cli.terminal import emit, refuse_existing, shown, write_text


def add_tally(parser: ArgumentParser) -> None:
    """Options of `tally`."""
    words = "signed surveys, and the reports that answer them (.jsonl, .csv, .parquet, .rrbits), folders, a database"
    add_sources(parser, words, count="+")
    add_column(parser)
    add_out(parser, "a file for the tallies, as `rrcollect estimate` reads them")
    parser.add_argument("--refused-to", type=Path, help="a file for the refused rows, with their reasons")
    parser.add_argument("--lenient", action="store_true", help="count what cannot be read instead of stopping there")
    parser.add_argument("--memory", help="the engine's memory, e.g. 4GB; beyond it, it uses the disk")
    add_force(parser)


def tally(options: Namespace) -> int:
    """Count reports, each once, and say what was refused; if that was all of them, the exit code says so too."""
    from rrcollect.errors import ParameterError
    from server_agg.survey_page.results import survey_results

    for path in (options.out, options.refused_to):
        refuse_existing(path, force=options.force)
    how = {"lenient": options.lenient, "refused_to": options.refused_to, "memory_limit": options.memory}
    try:
        result = batch_of(options, **how)
    except ParameterError as error:
        if error.name != "memory_limit":
            raise
        raise ParameterError("--memory", options.memory, error.allowed) from None
    if options.out:
        write_text(options.out, result.tallies.to_json() + "\n", force=options.force)
    data = {"summary": result.summary.as_dict(), "tallies": json.loads(result.tallies.to_json())}
    emit(options, data, str(result.summary), *shown(survey_results(result.tallies, asked=asked_in(options))))
    return 3 if result.summary.rows and not result.summary.accepted else 0
