"""`rrcollect keygen`, `publish` and `verify`.

A survey is written as TOML (or JSON with the same names); a question names its ε and δ, or its matrix:

    name = "clean-sport"
    version = 1
    title = "Clean sport"
    publisher = "Example Institute"
    expires = "2030-01-31T00:00:00Z"
    [[questions]]
    id = "q1"
    attribute = "doped"
    text = "Have you ever doped?"
    epsilon = "ln 3"
"""

from __future__ import annotations

import getpass
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from server_agg.cli.terminal import emit

__all__ = ["add_keygen", "add_publish", "add_verify", "keygen", "publish", "verify"]

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
    from rrcollect.errors import KeyFileError

    public = Path(f"{options.key}.pub")
    if public.exists():
        raise KeyFileError(f"{public} exists already; a key is never overwritten")
    key = SigningKey.generate()
    key.save(options.key, _password(options.password))
    public.write_bytes(key.public.to_pem())
    words = (
        f"private key: {options.key} (keep it)\npublic key:  {public} (hand it out)\nkey id:      {key.public.key_id}"
    )
    emit(options, {"private": str(options.key), "public": str(public), "key_id": key.public.key_id}, words)
    return 0


def add_publish(parser: ArgumentParser) -> None:
    """Options of `publish`."""
    parser.add_argument("survey", type=Path, help="the survey, as TOML or JSON (see `pydoc server_agg.cli.publishing`)")
    parser.add_argument("--key", type=Path, action="append", required=True, help="a private key; repeat for several")
    parser.add_argument("--out", type=Path, required=True, help="the file for the signed envelope")
    parser.add_argument("--password", action="store_true", help=f"the keys are encrypted (asks, or takes {PASSWORD})")


def publish(options: Namespace) -> int:
    """Check, compose and sign a survey."""
    from rrcollect import SigningKey, publish_survey

    survey = survey_from(read_survey(options.survey))
    keys = [SigningKey.load(path, _password(options.password)) for path in options.key]
    publication = publish_survey(survey, keys)
    options.out.write_bytes(publication.envelope)
    whole = publication.composition.whole
    file = str(options.out)
    data = {"digest": publication.digest, "epsilon": str(whole.epsilon), "delta": str(whole.delta), "file": file}
    written = f"{file}: {len(publication.envelope)} bytes, digest {publication.digest}"
    emit(options, data, f"{publication.composition.explain()}\n{written}")
    return 0


def read_survey(path: Path) -> dict[str, Any]:
    """The survey as written, from TOML or JSON."""
    from rrcollect.errors import MalformedDocument

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            value = json.loads(text)
        else:
            import tomllib

            value = tomllib.loads(text)
    except OSError as error:
        raise MalformedDocument(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise MalformedDocument(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise MalformedDocument(f"{path}: a survey is a table of names and values")
    return value


def survey_from(written: dict[str, Any]) -> Any:
    """The survey, its questions' designs chosen from their ε and δ."""
    from rrcollect import Survey

    asked = written.get("questions")
    questions = [_question(q) for q in asked] if isinstance(asked, list) else asked
    return Survey(**{**written, "questions": questions})


def _question(written: Any) -> Any:
    from rrcollect import Design, Disclosure, Question, optimal_design
    from rrcollect.errors import MalformedDocument

    if not isinstance(written, dict):
        raise MalformedDocument("a question is a table of names and values")
    fields = dict(written)
    promise = {name: fields.pop(name) for name in ("epsilon", "delta", "prevalence") if name in fields}
    matrix = {name: fields.pop(name) for name in ("p00", "p11") if name in fields}
    if "epsilon" in promise and not matrix:
        chosen = optimal_design(promise["epsilon"], promise.get("delta", 0), prevalence=promise.get("prevalence"))
        fields["design"] = chosen
    elif len(matrix) == 2 and not promise:
        fields["design"] = Design(matrix["p00"], matrix["p11"]).to_grid()
    else:
        raise MalformedDocument(f"question {fields.get('id')!r}: give epsilon (and delta), or p00 and p11")
    if isinstance(fields.get("disclosure"), dict):
        fields["disclosure"] = Disclosure(**fields["disclosure"])
    return Question(**fields)


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
    from rrcollect import Policy, PublicKey, TrustedPublisher, accept_survey
    from rrcollect.errors import SurveyRefused
    from rrcollect.publish.composition import compose
    from rrcollect.publish.envelope import verify as open_envelope
    from rrcollect.publish.survey import Survey

    keys = [PublicKey.from_pem(path.read_bytes()) for path in options.key]
    data = options.envelope.read_bytes()
    try:
        named = options.publisher or Survey.from_payload(open_envelope(data, keys).payload).publisher
        accepted = accept_survey(data, Policy([TrustedPublisher(named, keys, options.threshold)]))
    except SurveyRefused as error:
        emit(options, {"accepted": False, "error": type(error).__name__, "reason": str(error)}, "")
        if not options.json:
            sys.stderr.write(f"not accepted: {type(error).__name__}: {error}\n")
        return 1
    words = f"accepted: digest {accepted.digest}\n{accepted.explain()}\n{compose(accepted.survey).explain()}"
    emit(options, {"accepted": True, "digest": accepted.digest, "survey": accepted.survey.model_dump()}, words)
    return 0
