"""`rrcollect keygen`, `publish`, `verify`, `withdraw` and `invite`; for how a survey is written see `survey_file`."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from rrcollect.errors import Blame, RRCollectError
from server_agg.cli.options import FORCE, KEY, PASSWORD, SURVEY, TRUST, add, out, refuse
from server_agg.cli.sources import password, read_envelope, signing_keys, split_sources, trusted
from server_agg.cli.terminal import CannotWrite, Incomplete, Output, new_file, plain, refuse_existing, write_file

if TYPE_CHECKING:
    from rrcollect import PublicKey, Survey, TokenSecret
    from rrcollect.answer.acceptance import AcceptedSurvey

MOST_INVITES = 1_000_000
HERE = ("127.0.0.1", "::1", "localhost")


class CannotUpload(RRCollectError):
    """A collector was not reached, or refused a survey."""

    blame = Blame.DEVICE


def add_keygen(parser: ArgumentParser) -> None:
    """Options of `keygen`."""
    words = "the file for the private key; its public half goes to FILE.pub"
    add(
        parser,
        out(words, required=True),
        ("--password", bool, f"encrypt it (asks, or takes {PASSWORD})"),
        ("--gateway", str, "keys for a gateway of oblivious HTTP instead, one for every 30 days until this day",
         {"metavar": "YYYY-MM-DD"}),
    )  # fmt: skip


def keygen(options: Namespace) -> Output:
    """A new signing key, readable by its owner only."""
    from rrcollect import SigningKey

    if options.gateway is not None:
        from server_agg.cli.serve import gateway_keys

        return gateway_keys(options)

    public = Path(f"{options.out}.pub")
    refuse_existing(public, force=None)
    key = SigningKey.generate()
    key.save(options.out, password(options.password))
    try:
        write_file(public, key.public.to_pem(), force=None)
    except CannotWrite:
        options.out.unlink()  # made a moment ago, and of no use without its public half
        raise
    words = f"private key: {options.out} (keep it)\npublic key:  {public} (hand it out)\nkey id:      "
    found = {"private": str(options.out), "public": str(public), "key_id": key.public.key_id}
    return Output(found, f"{words}{key.public.key_id}")


def add_publish(parser: ArgumentParser) -> None:
    """Options of `publish`."""
    words = "the survey as TOML or JSON, or signed; --template prints one"
    add(
        parser,
        ("survey", Path, words, {"nargs": "?", "metavar": "FILE"}),
        *KEY,
        out("the file for the signed survey"),
        ("--expect", int, "how many answers are expected: warn of small groups", {"metavar": "N"}),
        ("--before", Path, "the signed version before this one: warn of what devices refuse", {"metavar": "SIGNED"}),
        ("--template", bool, "print a survey to start from, and nothing else"),
        ("--invited", bool, "with --template: a survey by invitation"),
        ("--to", str, "upload it to the collector at this address, https://…", {"metavar": "URL"}),
        ("--token-file", str, "with --to: a file of mode 600 with the owner's token"),
        ("--issuer", str, "answers carry tokens that are issued at this address, https://…/tokens", {"metavar": "URL"}),
        ("--window", int, "with --issuer: answers leave at random moments of so many hours (default: 24)"),
        ("--secret", Path, "the file for the issuer's secret; of a signed survey, the secret to upload"),
        *(TRUST, FORCE),
    )


def publish(options: Namespace) -> Output:
    """Check, compose and sign a survey, warn of what devices would refuse, and upload it if asked to."""
    if options.template:
        from rrcollect.publish.survey_file import template

        text = template(invited=options.invited)
        return Output({"template": text}, text)
    if (options.to is None) != (options.token_file is None):
        raise Incomplete("give both --to URL and --token-file FILE to upload")
    if options.survey is not None and split_sources([str(options.survey)])[0]:
        return _publish_signed(options)
    if options.survey is None or not options.key or options.out is None:
        raise Incomplete("give FILE, --key and --out; --template prints a survey to start from")
    from rrcollect import Survey
    from rrcollect.publish.question import at

    refuse((options.expect is not None and options.expect < 1, "--expect", options.expect, "1 or more answers"))
    survey, keys = Survey.read(options.survey), signing_keys(options)
    survey, secret = _issued(options, survey, keys[0].public)
    before = None
    if options.before is not None:
        before, _ = read_envelope(options.before, [key.public for key in keys])
        same = (before.publisher, before.name) == (survey.publisher, survey.name) and before.version < survey.version
        refuse((not same, "--before", str(options.before), f"an earlier version of {survey.name!r}"))
    with at(str(options.survey)):
        publication = survey.publish(keys, expected=options.expect, before=before)
    if secret is not None:
        secret.save(options.secret)
    write_file(options.out, publication.envelope, force=options.force)
    for warning in publication.warnings:
        sys.stderr.write(f"warning: {plain(warning)}\n")
    composed = publication.composition
    data: dict[str, Any] = {
        "digest": publication.digest,
        "epsilon": str(composed.whole.epsilon),
        "delta": str(composed.whole.delta),
    }
    data |= {"file": str(options.out), "warnings": list(publication.warnings)}
    said = [composed.explain(), f"{options.out}: {len(publication.envelope)} bytes, digest {publication.digest}"]
    if options.to is not None:
        data["pages"] = pages = _upload(options, publication.envelope, [key.public for key in keys])
        _upload_secret(options, publication.digest)
        said += [f"uploaded to {options.to}", *(f"survey:  {page}" for page in pages)]
    return Output(data, "\n".join(said))


def _publish_signed(options: Namespace) -> Output:
    """Upload what is signed already."""
    if options.to is None or options.key or options.out is not None:
        raise Incomplete(f"{options.survey} is signed already: give --to URL, --token-file and --trust to upload it")
    keys = trusted(options)
    survey, envelope = read_envelope(options.survey, keys)
    pages = _upload(options, envelope, keys)
    _upload_secret(options, survey.digest)
    said = [f"uploaded to {options.to}: digest {survey.digest}", *(f"survey:  {page}" for page in pages)]
    return Output({"digest": survey.digest, "to": options.to, "pages": pages}, "\n".join(said))


def _issued(options: Namespace, survey: Survey, key: PublicKey) -> tuple[Survey, TokenSecret | None]:
    """The survey with its issuer, if one is asked for, and the secret of its tokens."""
    if (options.issuer is None) != (options.secret is None):
        raise Incomplete("give both --issuer URL and --secret FILE: answers then carry tokens")
    if options.issuer is None:
        return survey, None
    from rrcollect import TokenSecret

    secret, hours = TokenSecret.new(key), options.window or 24
    return survey.with_issuer(secret, options.issuer, window=3600 * hours), secret


def _upload_secret(options: Namespace, digest: str) -> None:
    """The secret of the survey's tokens, which the collector keeps until the survey is closed."""
    if options.secret is not None:
        from rrcollect import TokenSecret

        secret = TokenSecret.load(options.secret)
        _post(options, f"/surveys/{digest}/secret", json.dumps({"secret": secret.text()}).encode())


def _upload(options: Namespace, envelope: bytes, keys: Sequence[PublicKey]) -> list[str]:
    """The pages of the survey at the collector."""
    named = urlencode([("key", key.raw.hex()) for key in keys])
    return [str(page) for page in _post(options, f"/surveys?{named}", envelope).get("pages", [])]


def _post(options: Namespace, path: str, sent: bytes) -> dict[str, Any]:
    """What the collector replies; the token goes to this address alone, over TLS or this machine."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    from server_agg.collect.settings import OwnerToken

    address = urlsplit(options.to)
    safe = address.scheme == "https" or (address.scheme == "http" and address.hostname in HERE)
    refuse((not safe, "--to", options.to, "https://… (http:// only to this machine: the token is in the request)"))
    token = OwnerToken.read(options.token_file)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=60)
    try:
        connection.request("POST", f"{address.path.rstrip('/')}{path}", sent,
                           {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})  # fmt: skip
        reply = connection.getresponse()
        body, status = reply.read(65536), reply.status
    except (OSError, HTTPException) as error:
        why = (
            f"could not be reached ({type(error).__name__}); the survey was not uploaded: check the address, try again"
        )
        raise CannotUpload(f"{options.to} {why}") from None
    finally:
        connection.close()
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if status not in (200, 201) or not isinstance(said, dict):
        told = (
            said.get("message", said.get("error"))
            if isinstance(said, dict)
            else "no collector answers there; check the address"
        )
        raise CannotUpload(f"{options.to} refused the survey: HTTP {status}, {told}")
    return said


def add_verify(parser: ArgumentParser) -> None:
    """Options of `verify`."""
    add(
        parser,
        *(SURVEY, TRUST),
        ("--threshold", int, "how many keys must have signed (default: 1)", {"default": 1}),
        ("--publisher", str, "the publisher's name (default: the one the survey names)"),
        ("--log", str, "the key of the log that must have it, NAME+ID+KEY", {"metavar": "KEY"}),
        ("--log-at", str, "the log's address, such as https://…/log: count the surveys under this name",
         {"metavar": "URL"}),
        ("--witness", str, "a witness that must have signed the same log (repeatable)",
         {"action": "append", "default": [], "metavar": "KEY"}),
    )  # fmt: skip


def verify(options: Namespace) -> Output:
    """What a device with the default policy would say to an envelope."""
    from rrcollect import Policy, TrustedPublisher
    from rrcollect.errors import SurveyRefused

    keys = trusted(options)
    try:
        survey, envelope = read_envelope(options.survey, keys)
        trust = TrustedPublisher(options.publisher or survey.publisher, keys, options.threshold)
        accepted = Policy([trust], log=options.log, witnesses=options.witness).accept(envelope)
        counted = _counted(options, accepted, keys)
    except SurveyRefused as error:
        name = type(error).__name__
        sys.stderr.write("" if options.json else plain(f"not accepted: {name}: {error}") + "\n")
        return Output({"accepted": False, "error": name, "reason": str(error)}, code=1)
    words = f"accepted: digest {accepted.digest}\n{accepted.explain()}\n{accepted.survey.composition.explain()}"
    data = {"accepted": True, "digest": accepted.digest, "survey": accepted.survey.to_wire(), "logged": counted}
    if counted is not None and accepted.state is not None:
        words += f"\nthe log {accepted.state.origin} has {counted} surveys that this publisher named {survey.name!r}"
    return Output(data, words)


def _counted(options: Namespace, accepted: AcceptedSurvey, keys: Sequence[PublicKey]) -> int | None:
    """How many surveys of this name the log has by the publisher, in the state that it shows now, which must go on from
    the one in the envelope; None if no address was given."""
    if (options.log is None) and (options.log_at or options.witness):
        raise Incomplete("give --log KEY, the key of the log, with --log-at and --witness")
    if options.log_at is None or accepted.state is None:
        return None
    from rrcollect.deliver.transport import HttpLog
    from rrcollect.publish.log import LogKey, LogReader, read_checkpoint

    fetch = HttpLog(options.log_at)
    state, _ = read_checkpoint(fetch("checkpoint").decode("utf-8", "replace"), LogKey.read(options.log))
    LogReader(fetch).check(accepted.state, state)
    return sum(LogReader(fetch).leaves(state, key, accepted.survey.name) for key in keys)


def add_withdraw(parser: ArgumentParser) -> None:
    """Options of `withdraw`."""
    ends = ("survey", Path, "the signed survey that is to end", {"metavar": "SURVEY"})
    add(parser, ends, *KEY, out("the file for the signed withdrawal", required=True), FORCE)


def withdraw(options: Namespace) -> Output:
    """Sign that a survey is over; with keys that signed it, or devices would not take it."""
    if not options.key:
        raise Incomplete("give --key: a private key that signed the survey")
    keys = signing_keys(options)
    survey, _ = read_envelope(options.survey, [key.public for key in keys])
    write_file(options.out, survey.withdraw(keys), force=options.force)
    data = {"survey": survey.digest, "name": survey.name, "version": survey.version, "file": str(options.out)}
    words = f"withdrawn: {survey.name}, version {survey.version}"
    words += f", digest {survey.digest}\n{options.out}: publish it wherever the survey was"
    return Output(data, words)


def add_invite(parser: ArgumentParser) -> None:
    """Options of `invite`."""
    add(
        parser,
        *(SURVEY, TRUST),
        ("--count", int, "how many", {"required": True}),
        out("the owner's list, as CSV: invite, link", required=True),
        ("--hashes", Path, "the hashes of all tickets, for the collector", {"required": True}),
        FORCE,
    )


def invite(options: Namespace) -> Output:
    """Make invites; nobody but the owner's list ever has them."""
    from rrcollect.publish.tickets import check_number, new_invite, ticket_hashes
    from server_agg.files import write_csv

    survey, _ = read_envelope(options.survey, trusted(options))
    refuse(
        (not survey.invite_only, str(options.survey), "open to everybody", "a survey with invite_only = true"),
        (not 1 <= options.count <= MOST_INVITES, "--count", options.count, f"1 to {MOST_INVITES}"),
    )
    check_number(options.count, survey)
    made = [new_invite() for _ in range(options.count)]
    hashes = ticket_hashes(made, survey)
    page = f"{survey.pages()[0]}#invite=" if survey.origins else None
    with new_file(options.out, force=options.force) as partial:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(handle, 0o600)  # anyone who reads it can answer in these people's place
        with open(handle, "w", encoding="utf-8", newline="") as file:
            write_csv(file, ("invite", "link"), ((one, f"{page}{one}" if page else "") for one in made))
    write_file(options.hashes, "\n".join(hashes) + "\n", force=options.force)
    words = (
        f"{options.out}: {options.count} invites; keep it safe: anyone with it can answer, and can tell which answers "
        f"came from one invite\n{options.hashes}: {len(hashes)} hashes of tickets, sorted"
    )
    files = {"file": str(options.out), "hashes_file": str(options.hashes)}
    return Output({"invites": options.count, "hashes": len(hashes), **files}, words)
