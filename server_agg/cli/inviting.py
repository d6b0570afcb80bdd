"""`rrcollect invites`: the owner's list, and what a collector may know of it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import add_force, new_file, refuse_existing, write_text
from server_agg.cli.sources import read_envelope, read_keys
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from rrcollect import Survey

MOST_INVITES = 1_000_000


def add_invites(parser: ArgumentParser) -> None:
    """Options of `invites`."""
    parser.add_argument("survey", type=Path, help="the signed survey, which must be by invitation (invite_only)")
    parser.add_argument("--key", type=Path, action="append", required=True, help="the public key it is verified with")
    parser.add_argument("--count", type=int, required=True, help="how many")
    parser.add_argument("--to", type=Path, required=True, help="the owner's list, as CSV: invite, link")
    parser.add_argument("--hashes", type=Path, required=True, help="the hashes of all tickets, for the collector")
    add_force(parser)


def invites(options: Namespace) -> int:
    """Make invites; nobody but the owner's list ever has them."""
    from rrcollect.errors import ParameterError
    from rrcollect.publish.tickets import check_number, new_invite, ticket_hashes
    from server_agg.files import write_csv

    for path in (options.to, options.hashes):
        refuse_existing(path, force=options.force)
    survey, _ = read_envelope(options.survey, read_keys(options.key))
    if not survey.invite_only:
        raise ParameterError(str(options.survey), "open to everybody", "a survey with invite_only = true")
    if not 1 <= options.count <= MOST_INVITES:
        raise ParameterError("--count", options.count, f"1 to {MOST_INVITES}")
    check_number(options.count, survey)
    made = [new_invite() for _ in range(options.count)]
    hashes = ticket_hashes(made, survey)
    page = f"{_base(survey)}/s/{survey.digest}#invite=" if survey.origins else None
    with new_file(options.to, force=options.force) as partial:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(handle, 0o600)  # whoever reads it can answer in these people's place
        with open(handle, "w", encoding="utf-8", newline="") as file:
            write_csv(file, ("invite", "link"), ((one, f"{page}{one}" if page else "") for one in made))
    write_text(options.hashes, "\n".join(hashes) + "\n", force=options.force)
    words = (
        f"{options.to}: {options.count} invites; keep it: whoever has it can answer, and can tell which answers came "
        f"from one invite\n{options.hashes}: {len(hashes)} hashes of tickets, sorted"
    )
    data = {"invites": options.count, "hashes": len(hashes), "to": str(options.to), "hashes_to": str(options.hashes)}
    emit(options, data, words)
    return 0


def _base(survey: Survey) -> str:
    """Where the survey's page is: beside its collector, if that is at its first origin, below a path or not."""
    origin, collector = survey.origins[0], survey.collector
    beside = collector.startswith(f"{origin}/") and collector.endswith("/reports")
    return collector.removesuffix("/reports") if beside else origin
