"""`rrcollect serve`: its options are the settings of a collector (`server_agg.collect.settings`)."""

from __future__ import annotations

import json
import os
import secrets
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError
from server_agg.cli.options import SURVEY, TRUST, add
from server_agg.cli.sources import read_envelope, read_keys
from server_agg.cli.terminal import CannotWrite, Incomplete, Output, os_error_hint

if TYPE_CHECKING:
    from server_agg import CollectorSettings
    from server_agg.collect.catalogue import CatalogueEntry

HIDDEN = {"owner_token"}  # a command line is read by everybody on the machine


def add_serve(parser: ArgumentParser) -> None:
    """Options of `serve`: those of a start, and every setting."""
    from server_agg.collect.settings import CollectorSettings, defaults, variable

    lost = "start although the epoch key is lost; WARNING: acknowledged reports that wait under it are lost for good"
    add(
        parser,
        ("--token-file", str, f"a file of mode 600 with the owner's token (or {variable('owner_token')})"),
        ("--make-token", bool, "write a new token to --token-file if it is not there"),
        (*SURVEY[:3], {**SURVEY[3], "nargs": "*"}),
        TRUST,
        ("--discard-unreadable", bool, lost),
    )
    usual = defaults()
    for name, field in CollectorSettings.model_fields.items():
        if name in HIDDEN:
            continue
        words = f"{field.description} (or {variable(name)}{f'; default: {usual[name]}' if usual[name] else ''})"
        how: dict[str, Any] = {"dest": name, "default": None, "help": words}
        if field.annotation in (bool, bool | None):
            how["action"] = BooleanOptionalAction
        parser.add_argument(_flag(name), **how)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def serve(options: Namespace) -> None:
    """Run a collector until it is told to stop."""
    from rrcollect.errors import ParameterError
    from rrcollect.lazy import extra

    run = extra("server_agg.collect.serve", "server").serve
    from server_agg.collect.settings import CollectorSettings, OwnerToken, settings_from_environment

    if options.make_token:
        if not options.token_file:
            raise ParameterError("--make-token", True, "together with --token-file FILE")
        _make_token(Path(options.token_file))
    if bool(options.survey) != bool(options.trust):
        raise Incomplete("give both SURVEY and --trust: a signed survey to publish first, and its public key")
    given = {name: getattr(options, name) for name in CollectorSettings.model_fields if name not in HIDDEN}
    given = {name: value for name, value in given.items() if value is not None}
    if options.token_file:
        given["owner_token"] = OwnerToken.read(options.token_file)
    try:
        settings = settings_from_environment(**given)
    except ParameterError as error:
        raise ParameterError(
            _flag(error.name) if error.name in given else error.name, error.value, error.allowed
        ) from None
    if settings.owner_token is None:
        raise Incomplete("give --token-file FILE (--make-token makes one), or set RRCOLLECT_OWNER_TOKEN")
    OwnerToken.from_settings(settings)
    _check_port(settings.host, settings.port)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    here = f"http://{host}:{settings.port}{settings.prefix}"
    published = _published(options, settings)
    places = {"results": f"{here}/", "owner": f"{here}/owner", "reports": f"{here}/reports"}
    said, pages = [f"{name + ':':8s} {places[name]}" for name in ("results", "reports")], []
    for listed in published:
        found = listed.survey.pages(settings.prefix)
        pages += found
        said += [f"survey:  {page}" for page in found] or [f"survey:  {listed.published.digest} (lists no page)"]
    said += [f"owner:   {places['owner']} (it asks for the owner's token)", "stop with Ctrl-C"]
    Output({**places, "surveys": pages}, "\n".join(said)).print(options)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        run(settings)


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


def _published(options: Namespace, settings: CollectorSettings) -> list[CatalogueEntry]:
    """Open the store, so that one that cannot be used is told first, and publish the surveys given."""
    from server_agg.collect.catalogue import Catalogue
    from server_agg.collect.store.store import open_store

    where, discard = settings.store.get_secret_value(), options.discard_unreadable
    with open_store(where, keys=settings.epoch_keys, discard_unreadable=discard) as store:
        keys = read_keys(options.trust)
        named = [key.raw.hex() for key in keys]
        envelopes = [read_envelope(path, keys)[1] for path in options.survey]
        return [Catalogue(store.shelf).publish(envelope, named, floor=settings.minimum)[0] for envelope in envelopes]


def gateway_keys(options: Namespace) -> Output:
    """New keys of a gateway, and what the survey says of them."""
    from server_agg.collect.http.gateway import GatewayKeys

    try:
        until = datetime.strptime(options.gateway, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ParameterError("--gateway", options.gateway, "a day such as 2027-01-31") from None
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    keys = [key.to_wire() for key in GatewayKeys.make(options.out, today, until).public()]
    listed = json.dumps(keys).replace('": ', '" = ')  # TOML takes quoted names
    words = f"private keys: {options.out} (for the collector alone)\nin the survey:\n[relay]\nkeys = {listed}"
    return Output({"private": str(options.out), "keys": keys}, words)
