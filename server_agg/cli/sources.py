"""What the commands read: keys, signed surveys, and tallies from wherever the reports are stored.

Rules
1. A source is a file of tallies (.json), files of reports, folders and globs of these, or the address of a collector's
   database (a plain .sqlite3 file will do).  A signed survey among them is recognised by what it is; reports need
   theirs, and the keys they are verified with.
2. A file that is missing, cut off or not what its name says is one line that names it.
"""

from __future__ import annotations

import getpass
import os
import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rrcollect.errors import ParameterError
from server_agg.cli.options import PASSWORD
from server_agg.cli.terminal import Incomplete

if TYPE_CHECKING:
    from rrcollect import PublicKey, SigningKey, Survey
    from rrcollect.answer.acceptance import AcceptedSurvey
    from server_agg import BatchResult, Tallies
    from server_agg.survey_page.rounds import QuestionScale

UNVERIFIED = "give SURVEY and --trust: the signed survey that the reports answer, and the public key to verify it with"
DATABASE_FILES = (".sqlite3", ".sqlite", ".db")
ENVELOPE = re.compile(rb'\s*\{\s*"(payload|payloadType|signatures)"')


# ---- keys and surveys ---------------------------------------------------------------------------------------------


def password(wanted: bool) -> str | None:
    """The password of a key, from the environment or asked for."""
    return (os.environ.get(PASSWORD) or getpass.getpass("password of the key: ")) if wanted else None


def signing_keys(options: Namespace) -> list[SigningKey]:
    """The private keys; a public one is refused before its file's mode is judged."""
    from rrcollect import SigningKey
    from rrcollect.errors import KeyFileError

    for path in options.key:
        if path.is_file() and b"BEGIN PUBLIC KEY" in path.read_bytes():
            raise KeyFileError(f"{path} is the public key; sign with the private one")
    return [SigningKey.load(path, password(options.password)) for path in options.key]


def read_keys(paths: Sequence[Path]) -> list[PublicKey]:
    """The public keys in PEM files; a private key among them is named as one."""
    from rrcollect import PublicKey
    from rrcollect.errors import KeyFileError

    found = []
    for path in paths:
        pem = path.read_bytes()
        if b"PRIVATE KEY-----" in pem:
            raise KeyFileError(f"{path}: this is the PRIVATE key: do not hand it out; give the public one, KEY.pub")
        try:
            found.append(PublicKey.from_pem(pem))
        except KeyFileError as error:
            raise KeyFileError(f"{path}: {str(error).removesuffix(' (bytes)')}") from None
    return found


def trusted(options: Namespace) -> list[PublicKey]:
    """The keys of `--trust`; there must be one."""
    if not options.trust:
        raise Incomplete("give --trust: the public key to verify the survey with")
    return read_keys(options.trust)


def read_envelope(path: Path, keys: Sequence[PublicKey]) -> tuple[Survey, bytes]:
    """The survey of a signed envelope, verified under the keys, and its bytes; a refusal names the file."""
    from rrcollect.errors import SurveyRefused
    from rrcollect.publish.envelope import verify
    from rrcollect.publish.survey import Survey

    envelope = path.read_bytes()
    try:
        return Survey.from_payload(verify(envelope, keys).payload), envelope
    except SurveyRefused as error:
        raise type(error)(f"{path}: {error}") from None


def accepted_survey(survey: Path, keys: Sequence[PublicKey]) -> tuple[AcceptedSurvey, bytes]:
    """A signed survey as a device with the default policy accepts it, and its envelope; refused otherwise."""
    from rrcollect import Policy, TrustedPublisher

    read, envelope = read_envelope(survey, keys)
    return Policy([TrustedPublisher(read.publisher, keys)]).accept(envelope), envelope


# ---- sources ------------------------------------------------------------------------------------------------------


def split_sources(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """(the signed surveys among them, everything else)."""
    surveys = [Path(word) for word in words if _is_survey(word)]
    return surveys, [word for word in words if Path(word) not in surveys]


def _is_survey(word: str) -> bool:
    try:
        if not Path(word).is_file():  # a pipe is read once
            return False
        with Path(word).open("rb") as file:
            return ENVELOPE.match(file.read(64)) is not None
    except (OSError, ValueError):
        return False


def _surveys(options: Namespace) -> list[Survey]:
    paths, _ = split_sources(options.source)
    if not paths:
        return []
    keys = trusted(options)
    return [read_envelope(path, keys)[0] for path in paths]


def asked_in(options: Namespace) -> dict[str, QuestionScale]:
    """By question, what the signed surveys say of its options or its range; nothing without surveys."""
    from server_agg.survey_page.rounds import QuestionScale

    surveys = _surveys(options)
    return {question.id: QuestionScale.of(question, survey) for survey in surveys for question in survey.questions}


def batch_of(options: Namespace, given: Sequence[str] | None = None, **how: Any) -> BatchResult:
    """The reports of the sources (of those `given`), counted; with `--column` those that stand in a column of another
    tool's table."""
    from server_agg import tally_reports

    surveys, others = split_sources(options.source)
    words = others if given is None else given
    sources = [f"sqlite:///{quote(s)}" if s.endswith(DATABASE_FILES) and "://" not in s else s for s in words]
    packed = all(s.endswith(".rrbits") for s in sources)
    if not options.trust or (not surveys and not packed):
        raise Incomplete(UNVERIFIED)
    if not sources:
        raise Incomplete("give SOURCE beside SURVEY: files of reports, folders or a database")
    if not options.column:
        one = sources[0] if len(sources) == 1 else sources
        return tally_reports(one, _surveys(options), trusted=trusted(options), **how)
    if how.pop("memory_limit", None) is not None or len(sources) != 1:
        raise Incomplete("--column reads one table, in memory: give one file, and no --memory")
    return tally_reports(words[0], _surveys(options), column=options.column, encoding=options.encoding, **how)


def tallies_of(options: Namespace) -> Tallies:
    """The tallies of the sources, added up."""
    from server_agg import Tallies

    _, words = split_sources(options.source)
    found = Tallies()
    for path in [Path(word) for word in words if word.endswith(".json")]:
        try:
            found += Tallies.from_json(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            allowed = "a file of tallies, as `rrcollect tally --out` writes it"
            raise ParameterError(str(path), "not text", allowed) from None
        except ParameterError as error:
            allowed = f"what `rrcollect tally` writes ({error})"
            raise ParameterError(str(path), "not a file of tallies", allowed) from None
    rest = [word for word in words if not word.endswith(".json")]
    return found + batch_of(options, rest).tallies if rest else found
