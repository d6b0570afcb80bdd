"""`rrcollect keygen`, `publish`, `verify` and `withdraw`.  For how a survey is written see `publish.survey_file`."""

from __future__ import annotations

import getpass
import math
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import CannotWrite, Incomplete, add_force, new_file, refuse_existing
from server_agg.cli.sources import read_keys, refuse_public_keys
from server_agg.cli.terminal import emit, plain

if TYPE_CHECKING:
    from rrcollect import Publication, Survey

PASSWORD = "RRCOLLECT_KEY_PASSWORD"  # noqa: S105  the name of an environment variable


def _password(wanted: bool) -> str | None:
    if not wanted:
        return None
    return os.environ.get(PASSWORD) or getpass.getpass("password of the key: ")


def add_keygen(parser: ArgumentParser) -> None:
    """Options of `keygen`."""
    parser.add_argument("key", type=Path, help="the file for the private key; its public half goes to KEY.pub")
    parser.add_argument("--password", action="store_true", help=f"encrypt it (asks, or takes {PASSWORD})")


def keygen(options: Namespace) -> int:
    """A new signing key, readable by its owner only."""
    from rrcollect import SigningKey

    public = Path(f"{options.key}.pub")
    for path in (options.key, public):
        refuse_existing(path, force=None)
    key = SigningKey.generate()
    key.save(options.key, _password(options.password))
    try:
        with new_file(public, force=None) as partial:
            partial.write_bytes(key.public.to_pem())
    except CannotWrite:
        options.key.unlink()  # made a moment ago, and of no use without its public half
        raise
    words = (
        f"private key: {options.key} (keep it)\npublic key:  {public} (hand it out)\nkey id:      {key.public.key_id}"
    )
    emit(options, {"private": str(options.key), "public": str(public), "key_id": key.public.key_id}, words)
    return 0


def add_publish(parser: ArgumentParser) -> None:
    """Options of `publish`."""
    parser.add_argument("survey", type=Path, nargs="?", help="the survey, as TOML or JSON; --template prints one")
    parser.add_argument("--key", type=Path, action="append", default=[], help="a private key; repeat for several")
    parser.add_argument("--out", type=Path, help="the file for the signed envelope")
    parser.add_argument("--password", action="store_true", help=f"the keys are encrypted (asks, or takes {PASSWORD})")
    parser.add_argument("--expect", type=int, metavar="N", help="how many answers are expected: warn of small groups")
    parser.add_argument("--template", action="store_true", help="print a survey to start from, and nothing else")
    parser.add_argument("--invited", action="store_true", help="with --template: a survey by invitation")
    add_force(parser)


def publish(options: Namespace) -> int:
    """Check, compose and sign a survey; warn of what devices would refuse."""
    from rrcollect import SigningKey, publish_survey
    from rrcollect.publish.question_file import at
    from rrcollect.publish.survey_file import read_survey, survey_from, template

    if options.template:
        text = template(invited=options.invited)
        emit(options, {"template": text}, text)
        return 0
    if options.survey is None or not options.key or options.out is None:
        raise Incomplete("give SURVEY, --key and --out; --template prints a survey to start from")
    refuse_existing(options.out, force=options.force)
    entries = read_survey(options.survey)
    with at(str(options.survey)):
        survey = survey_from(entries)
    refuse_public_keys(options.key)
    keys = [SigningKey.load(path, _password(options.password)) for path in options.key]
    with at(str(options.survey)):
        publication = publish_survey(survey, keys)
    with new_file(options.out, force=options.force) as partial:
        partial.write_bytes(publication.envelope)
    whole = publication.composition.whole
    file = str(options.out)
    warnings = [*refusals(publication), *small_groups(survey, options.expect)]
    data = {
        "digest": publication.digest,
        "epsilon": str(whole.epsilon),
        "delta": str(whole.delta),
        "file": file,
        "warnings": warnings,
    }
    for warning in warnings:
        sys.stderr.write(f"warning: {plain(warning)}\n")
    written = f"{file}: {len(publication.envelope)} bytes, digest {publication.digest}"
    emit(options, data, f"{publication.composition.explain()}\n{written}")
    return 0


def refusals(publication: Publication) -> list[str]:
    """Why devices with the default policy would not answer a survey, or some of it; empty if they would."""
    from rrcollect import Policy
    from rrcollect.errors import SurveyRefused

    policy = Policy()
    found = []
    for question in publication.survey.questions:
        try:
            policy.cost(question)
        except SurveyRefused as error:
            found.append(f"a device with the default policy refuses the whole survey: {error}")
    for name, rounds, cost, _ in publication.composition.questions:
        if rounds > 1 and (cost.epsilon > policy.attribute_epsilon or cost.delta > policy.attribute_delta):
            found.append(
                f"question {name!r}: all {rounds} rounds cost ε = {float(cost.epsilon):.4g}; a device with the default "
                f"policy stops at {float(policy.attribute_epsilon):.4g} for one attribute"
            )
    whole = publication.composition.whole
    if whole.epsilon > policy.lifetime_epsilon or whole.delta > policy.lifetime_delta:
        found.append(
            f"the whole survey costs ε = {float(whole.epsilon):.4g}, δ = {float(whole.delta):.4g}; a device with the "
            f"default policy stops at {float(policy.lifetime_epsilon):.4g} and {float(policy.lifetime_delta):.4g} "
            "for life"
        )
    return found


def small_groups(survey: Survey, expected: int | None) -> list[str]:
    """Why the groups that a survey declares would not be shown with so many answers; empty if they would."""
    from rrcollect.errors import ParameterError

    if expected is None or not survey.segments:
        return []
    if expected < 1:
        raise ParameterError("--expect", expected, "1 or more answers")
    cells = math.prod(len(segment.values) + 1 for segment in survey.segments.values())
    crowds = expected // survey.minimum
    if cells <= crowds:
        return []
    return [
        f"{expected} answers are at most {crowds} crowds of {survey.minimum}, and the declared segments make {cells} "
        "cells, those who declare nothing counted: most of them will not be shown. Declare fewer segments or values, "
        "or ask more people"
    ]


def add_verify(parser: ArgumentParser) -> None:
    """Options of `verify`."""
    parser.add_argument("envelope", type=Path, help="a signed survey")
    parser.add_argument(
        "--key", type=Path, action="append", required=True, help="a trusted public key; repeat for several"
    )
    parser.add_argument("--threshold", type=int, default=1, help="how many of them must have signed (default: 1)")
    parser.add_argument("--publisher", help="the publisher's name (default: the one the survey names)")


def verify(options: Namespace) -> int:
    """What a device with the default policy would say to an envelope."""
    from rrcollect import Policy, TrustedPublisher, accept_survey
    from rrcollect.errors import SurveyRefused
    from rrcollect.publish.composition import compose
    from rrcollect.publish.envelope import verify as open_envelope
    from rrcollect.publish.survey import Survey

    keys = read_keys(options.key)
    data = options.envelope.read_bytes()
    try:
        named = options.publisher or Survey.from_payload(open_envelope(data, keys).payload).publisher
        accepted = accept_survey(data, Policy([TrustedPublisher(named, keys, options.threshold)]))
    except SurveyRefused as error:
        emit(options, {"accepted": False, "error": type(error).__name__, "reason": str(error)}, "")
        if not options.json:
            sys.stderr.write(plain(f"not accepted: {type(error).__name__}: {error}") + "\n")
        return 1
    words = f"accepted: digest {accepted.digest}\n{accepted.explain()}\n{compose(accepted.survey).explain()}"
    emit(options, {"accepted": True, "digest": accepted.digest, "survey": accepted.survey.to_wire()}, words)
    return 0


def add_withdraw(parser: ArgumentParser) -> None:
    """Options of `withdraw`."""
    parser.add_argument("survey", type=Path, help="the signed survey that is to end")
    parser.add_argument("--key", type=Path, action="append", required=True, help="a private key; repeat for several")
    parser.add_argument("--to", type=Path, required=True, help="the file for the signed withdrawal")
    parser.add_argument("--password", action="store_true", help=f"the keys are encrypted (asks, or takes {PASSWORD})")
    add_force(parser)


def withdraw(options: Namespace) -> int:
    """Sign that a survey is over; with keys that signed it, or devices would not take it."""
    from rrcollect import SigningKey, withdraw_survey
    from server_agg.cli.sources import read_envelope

    refuse_existing(options.to, force=options.force)
    refuse_public_keys(options.key)
    keys = [SigningKey.load(path, _password(options.password)) for path in options.key]
    survey, _ = read_envelope(options.survey, [key.public for key in keys])
    envelope = withdraw_survey(survey, keys)
    with new_file(options.to, force=options.force) as partial:
        partial.write_bytes(envelope)
    data = {"survey": survey.digest, "name": survey.name, "version": survey.version, "file": str(options.to)}
    words = f"withdrawn: {survey.name}, version {survey.version}, digest {survey.digest}\n{options.to}: hand it out"
    emit(options, data, words)
    return 0
