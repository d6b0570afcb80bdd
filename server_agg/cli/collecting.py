"""`rrcollect tally`: from reports to counts."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.output import add_force, refuse_existing, write_text
from server_agg.cli.sources import add_source, asked_in, batch_of, carried_of
from server_agg.cli.terminal import emit


def add_tally(parser: ArgumentParser) -> None:
    """Options of `tally`."""
    add_source(parser, count="+", tallies=False)
    parser.add_argument(
        "--column",
        action="append",
        help="a column of another tool's table that carries reports; repeatable",
    )
    parser.add_argument("--out", type=Path, help="a file for the tallies, as `rrcollect estimate` reads them")
    parser.add_argument("--refused-to", type=Path, help="a file for the refused rows, with their reasons")
    parser.add_argument("--lenient", action="store_true", help="count what cannot be read instead of stopping there")
    parser.add_argument("--memory", help="the engine's memory, e.g. 4GB; beyond it, it uses the disk")
    add_force(parser)


def tally(options: Namespace) -> int:
    """Count reports, each once, and say what was refused; if that was all of them, the exit code says so too."""
    from rrcollect.errors import ParameterError
    from server_agg.cli.estimating import question_table
    from server_agg.survey_page.results import survey_results

    for path in (options.out, options.refused_to):
        refuse_existing(path, force=options.force)
    how = {"lenient": options.lenient, "refused_to": options.refused_to, "memory_limit": options.memory}
    try:
        result = carried_of(options, **how) if options.column else batch_of(options, **how)
    except ParameterError as error:
        if error.name != "memory_limit":
            raise
        raise ParameterError("--memory", options.memory, error.allowed) from None
    if options.out:
        write_text(options.out, result.tallies.to_json() + "\n", force=options.force)
    data = {"summary": result.summary.as_dict(), "tallies": json.loads(result.tallies.to_json())}
    emit(options, data, str(result.summary), *question_table(survey_results(result.tallies, asked=asked_in(options))))
    return 3 if result.summary.rows and not result.summary.accepted else 0
