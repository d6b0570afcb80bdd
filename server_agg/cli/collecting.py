"""`rrcollect serve`, `export` and `tally`: the owner's side between the devices and the estimate."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.terminal import emit

__all__ = ["add_export", "add_serve", "add_tally", "export", "serve", "tally"]


def add_serve(parser: ArgumentParser) -> None:
    """Options of `serve`."""
    parser.add_argument("--store", default="rrcollect.sqlite3", help="a file, or a postgresql:// address")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: 8000)")
    parser.add_argument("--token-file", help="a file of mode 600 with the owner's token (else RRCOLLECT_OWNER_TOKEN)")
    parser.add_argument("--origin", action="append", default=[], help="a web origin that may send reports; repeatable")
    parser.add_argument("--minimum", type=int, default=30, help="answers a cell needs to be shown (default: 30)")
    parser.add_argument("--public-results", action="store_true", help="show results without the token")


def serve(options: Namespace) -> int:
    """Run a collector until it is told to stop."""
    from rrcollect.errors import MissingExtra

    try:
        from server_agg.collect.owner import OwnerToken
        from server_agg.collect.serve import serve as run
        from server_agg.collect.settings import Settings
    except ImportError as error:
        raise MissingExtra(error.name or "starlette", "server") from None
    owner = OwnerToken.from_file(options.token_file) if options.token_file else OwnerToken.from_environment()
    settings = Settings(origins=tuple(options.origin), minimum=options.minimum, public_results=options.public_results)
    run(options.store, host=options.host, port=options.port, owner=owner, settings=settings)
    return 0


def add_export(parser: ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("file", type=Path, help="the file to write: .jsonl, .csv (each also .gz) or .parquet")
    parser.add_argument("--store", required=True, help="the collector's database: a file, or a postgresql:// address")
    parser.add_argument("--survey", help="only the reports of the survey with this digest")


def export(options: Namespace) -> int:
    """Write a collector's reports to a file."""
    from rrcollect.errors import ParameterError
    from server_agg.collect.export import export_reports
    from server_agg.collect.store import open_store

    if "://" not in options.store and not Path(options.store).exists():
        raise ParameterError("--store", options.store, "a database that exists")
    store = open_store(options.store)
    try:
        written = export_reports(store, options.file, options.survey)
    finally:
        store.close()
    emit(options, {"reports": written, "file": str(options.file)}, f"{options.file}: {written} reports")
    return 0


def add_tally(parser: ArgumentParser) -> None:
    """Options of `tally`."""
    parser.add_argument("source", nargs="+", help="files, folders, globs, or the address of a collector's database")
    parser.add_argument("--survey", type=Path, action="append", required=True, help="a signed survey; repeatable")
    parser.add_argument("--key", type=Path, action="append", required=True, help="a trusted public key; repeatable")
    parser.add_argument("--out", type=Path, help="a file for the tallies, as `rrcollect estimate` reads them")
    parser.add_argument("--refused-to", type=Path, help="a file for the refused rows, with their reasons")
    parser.add_argument("--lenient", action="store_true", help="count what cannot be read instead of stopping there")
    parser.add_argument("--memory", help="the engine's memory, e.g. 4GB; beyond it, it uses the disk")


def tally(options: Namespace) -> int:
    """Count reports, each once, and say what was refused."""
    from rrcollect import PublicKey
    from server_agg import estimate, pool, tally_reports

    result = tally_reports(
        options.source[0] if len(options.source) == 1 else options.source,
        [path.read_bytes() for path in options.survey],
        trusted=[PublicKey.from_pem(path.read_bytes()) for path in options.key],
        lenient=options.lenient,
        refused_to=options.refused_to,
        memory_limit=options.memory,
    )
    if options.out:
        options.out.write_text(result.tallies.to_json() + "\n", encoding="utf-8")
    words = [str(result.summary)]
    for (question, number), tallies in result.tallies.by("question", "round").items():
        if sum(each.n for each in tallies) >= 2:
            found = estimate(tallies[0]) if len(tallies) == 1 else pool(tallies)
            words.append(f"{question}{f', round {number}' if number else ''}: {found.sentence()}")
    data = {"summary": result.summary.as_dict(), "tallies": json.loads(result.tallies.to_json())}
    emit(options, data, "\n".join(words))
    return 0
