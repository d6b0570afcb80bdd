"""`rrcollect serve`, `export` and `tally`: the owner's side between the devices and the estimate."""

from __future__ import annotations

import json
import os
import secrets
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import CannotWrite, Incomplete, add_force, os_error_hint, refuse_existing, write_text
from server_agg.cli.sources import add_source, batch_of, read_envelope, read_keys
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from server_agg import Store

__all__ = ["add_export", "add_serve", "add_tally", "export", "serve", "tally"]


def add_serve(parser: ArgumentParser) -> None:
    """Options of `serve`."""
    parser.add_argument("--store", default="rrcollect.sqlite3", help="a file, or a postgresql:// address")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="the port (default: 8000)")
    parser.add_argument("--token-file", help="a file of mode 600 with the owner's token (else RRCOLLECT_OWNER_TOKEN)")
    parser.add_argument(
        "--make-token", action="store_true", help="write a new token to --token-file if it is not there"
    )
    parser.add_argument("--survey", type=Path, action="append", default=[], help="publish this signed survey first")
    parser.add_argument("--key", type=Path, action="append", default=[], help="the public key it is verified with")
    parser.add_argument("--origin", action="append", default=[], help="a web origin that may send reports; repeatable")
    parser.add_argument("--minimum", type=int, default=30, help="answers a cell needs to be shown (default: 30)")
    parser.add_argument("--public-results", action="store_true", help="show results without the token")


def serve(options: Namespace) -> int:
    """Run a collector until it is told to stop."""
    from rrcollect.errors import ParameterError
    from rrcollect.extras import extra

    run = extra("server_agg.collect.serve", "server").serve
    from server_agg.collect.owner import OwnerToken
    from server_agg.collect.settings import Settings

    if options.make_token:
        if not options.token_file:
            raise ParameterError("--make-token", True, "together with --token-file FILE")
        _make_token(Path(options.token_file))
    if bool(options.survey) != bool(options.key):
        raise ParameterError("--survey and --key", "one of them", "both: the signed survey and its public key")
    if not options.token_file and not os.environ.get("RRCOLLECT_OWNER_TOKEN"):
        raise Incomplete("give --token-file FILE (--make-token makes one), or set RRCOLLECT_OWNER_TOKEN")
    owner = OwnerToken.from_file(options.token_file) if options.token_file else OwnerToken.from_environment()
    settings = Settings(origins=tuple(options.origin), minimum=options.minimum, public_results=options.public_results)
    _check_port(options.host, options.port)
    here = f"http://{f'[{options.host}]' if ':' in options.host else options.host}:{options.port}"
    pages = [f"{here}/s/{digest}" for digest in _published(options)]
    said = [
        f"results: {here}/",
        f"reports: {here}/reports",
        *(f"survey:  {page}" for page in pages),
        "stop with Ctrl-C",
    ]
    emit(options, {"results": f"{here}/", "reports": f"{here}/reports", "surveys": pages}, "\n".join(said))
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        run(options.store, host=options.host, port=options.port, owner=owner, settings=settings)
    return 0


def _check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on, before a server is started that would not say so in one line."""
    import socket

    from rrcollect.errors import ParameterError

    if not 1 <= port <= 65535:
        raise ParameterError("--port", port, "1 to 65535")
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        raise ParameterError(
            "--host and --port", f"{host} {port}", f"a free one of this machine ({error.strerror})"
        ) from None


def _make_token(path: Path) -> None:
    """A new token in a file of mode 600; a token that is there is kept."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {os_error_hint(error)}") from None
    with open(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(24) + "\n")


def _published(options: Namespace) -> list[str]:
    """Open the store, so that one that cannot be used is told first, and publish the surveys given; their digests."""
    from server_agg.collect.catalogue import Catalogue
    from server_agg.collect.stores import open_store

    store: Store = open_store(options.store)
    try:
        keys = read_keys(options.key)
        named = [key.raw.hex() for key in keys]
        envelopes = [read_envelope(path, keys)[1] for path in options.survey]
        return [Catalogue(store).publish(envelope, named)[0].published.digest for envelope in envelopes]
    finally:
        store.close()


def add_export(parser: ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("file", type=Path, help="the file to write: .jsonl, .csv (each also .gz) or .parquet")
    parser.add_argument("--store", required=True, help="the collector's database: a file, or a postgresql:// address")
    parser.add_argument("--survey", help="only the reports of the survey with this digest")
    add_force(parser)


def export(options: Namespace) -> int:
    """Write a collector's reports to a file."""
    from server_agg.batch.errors import SourceUnavailable
    from server_agg.collect.export import export_reports
    from server_agg.collect.stores import open_store

    refuse_existing(options.file, force=options.force)
    if "://" not in options.store and not Path(options.store).exists():
        raise SourceUnavailable(f"there is no database {options.store}; check the name and its folder")
    store = open_store(options.store)
    try:
        _check_known(store, options.survey)
        written = export_reports(store, options.file, options.survey)
    except OSError as error:
        raise CannotWrite(
            f"{options.file} cannot be written: {os_error_hint(error)} (nothing was left of it)"
        ) from None
    finally:
        store.close()
    emit(options, {"reports": written, "file": str(options.file)}, f"{options.file}: {written} reports")
    return 0


def _check_known(store: Store, survey: str | None) -> None:
    """Refuse a digest under which the collector has neither a survey nor a report."""
    from rrcollect.errors import ParameterError

    published = [one.digest for one in store.surveys()]
    if survey is None or survey in published or next(store.reports(survey), None) is not None:
        return
    raise ParameterError("--survey", survey, f"the digest of a survey in the store: {', '.join(published) or 'none'}")


def add_tally(parser: ArgumentParser) -> None:
    """Options of `tally`."""
    add_source(parser, count="+", tallies=False)
    parser.add_argument("--out", type=Path, help="a file for the tallies, as `rrcollect estimate` reads them")
    parser.add_argument("--refused-to", type=Path, help="a file for the refused rows, with their reasons")
    parser.add_argument("--lenient", action="store_true", help="count what cannot be read instead of stopping there")
    parser.add_argument("--memory", help="the engine's memory, e.g. 4GB; beyond it, it uses the disk")
    add_force(parser)


def tally(options: Namespace) -> int:
    """Count reports, each once, and say what was refused; if that was all of them, the exit code says so too."""
    from rrcollect.errors import ParameterError
    from server_agg.cli.estimating import question_table
    from server_agg.report.survey_results import survey_results

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
    emit(options, data, str(result.summary), *question_table(survey_results(result.tallies)))
    return 3 if result.summary.rows and not result.summary.accepted else 0
