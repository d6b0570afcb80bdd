"""What the commands read: surveys with their keys, and tallies from wherever the reports are stored.

Rules
1. A source is a file of tallies (.json), files of reports, folders and globs of these, or the address of a collector's
   database (a plain .sqlite3 file will do); reports need the signed surveys and the keys they are verified with.
2. A file that is missing, cut off or not what its name says is one line that names it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rrcollect.errors import ParameterError
from server_agg.cli.output import Incomplete

if TYPE_CHECKING:
    from rrcollect import AcceptedSurvey, PublicKey, Survey
    from server_agg import BatchResult, Tallies
    from server_agg.survey_page.rounds import QuestionScale

UNVERIFIED = "give --survey and --key: the signed survey the reports answer, and the public key it is verified with"
DATABASE_FILES = (".sqlite3", ".sqlite", ".db")


def add_source(parser: ArgumentParser, *, count: str, tallies: bool) -> None:
    """The source and what verifies it."""
    kinds = "tallies (.json), reports" if tallies else "reports"
    parser.add_argument("source", nargs=count, help=f"{kinds} (.jsonl, .csv, .parquet, .rrbits), folders, a database")
    parser.add_argument("--survey", type=Path, action="append", default=[], help="a signed survey; repeatable")
    parser.add_argument("--key", type=Path, action="append", default=[], help="a trusted public key; repeatable")


def read_keys(paths: Sequence[Path]) -> list[PublicKey]:
    """The public keys in PEM files; a private key among them is said to be one."""
    from rrcollect import PublicKey
    from rrcollect.errors import KeyFileError

    found = []
    for path in paths:
        pem = path.read_bytes()
        if _is_private(pem):
            raise KeyFileError(f"{path}: this is the PRIVATE key: do not hand it out; give the public one, KEY.pub")
        try:
            found.append(PublicKey.from_pem(pem))
        except KeyFileError as error:
            raise KeyFileError(f"{path}: {str(error).removesuffix(' (bytes)')}") from None
    return found


def _is_private(pem: bytes) -> bool:
    """Whether PEM text says it is a private key, of whatever kind."""
    return b"PRIVATE KEY-----" in pem


def refuse_public_keys(paths: Sequence[Path]) -> None:
    """Refuse a public key where a private one is needed, before its file's mode is judged."""
    from rrcollect.errors import KeyFileError

    for path in paths:
        try:
            pem = path.read_bytes()
        except OSError:
            continue  # told by whoever loads it
        if b"BEGIN PUBLIC KEY" in pem:
            raise KeyFileError(f"{path} is the public key; sign with the private one")


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


def accepted_survey(survey: Path, keys: Sequence[Path]) -> tuple[AcceptedSurvey, bytes]:
    """A signed survey as a device with the default policy accepts it, and its envelope; refused otherwise."""
    from rrcollect import Policy, TrustedPublisher, accept_survey

    trusted = read_keys(keys)
    read, envelope = read_envelope(survey, trusted)
    return accept_survey(envelope, Policy([TrustedPublisher(read.publisher, trusted)])), envelope


def asked_in(options: Namespace) -> dict[str, QuestionScale]:
    """By question, what the signed surveys say of its options or its range; nothing without surveys."""
    from server_agg.survey_page.rounds import QuestionScale

    if not options.survey:
        return {}
    if not options.key:
        raise Incomplete("give --key with --survey: the public key that the survey is verified with")
    keys = read_keys(options.key)
    surveys = [read_envelope(path, keys)[0] for path in options.survey]
    return {question.id: QuestionScale.of(question, survey) for survey in surveys for question in survey.questions}


def batch_of(options: Namespace, **how: Any) -> BatchResult:
    """The reports of `options.source`, counted."""
    from server_agg import tally_reports

    sources = [f"sqlite:///{quote(s)}" if s.endswith(DATABASE_FILES) and "://" not in s else s for s in options.source]
    packed = all(s.endswith(".rrbits") for s in sources)
    if not options.key or (not options.survey and not packed):
        raise Incomplete(UNVERIFIED)
    keys = read_keys(options.key)
    return tally_reports(
        sources[0] if len(sources) == 1 else sources,
        [read_envelope(path, keys)[0] for path in options.survey],
        trusted=keys,
        **how,
    )


def carried_of(options: Namespace, *, memory_limit: str | None, **how: Any) -> BatchResult:
    """The reports in the columns `options.column` of another tool's table, counted."""
    from server_agg import reports_from_column

    if memory_limit is not None or len(options.source) != 1:
        raise Incomplete("--column reads one table, in memory: give one file, and no --memory")
    if not options.key or not options.survey:
        raise Incomplete(UNVERIFIED)
    keys = read_keys(options.key)
    surveys = [read_envelope(path, keys)[0] for path in options.survey]
    return reports_from_column(options.source[0], options.column, surveys, **how)


def tallies_of(options: Namespace) -> Tallies:
    """The tallies of `options.source`, added up."""
    from server_agg import Tallies

    written = [Path(s) for s in options.source if s.endswith(".json")]
    found = Tallies()
    for path in written:
        try:
            found += Tallies.from_json(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ParameterError(
                str(path), "not text", "a file of tallies, as `rrcollect tally --out` writes it"
            ) from None
        except ParameterError as error:
            raise ParameterError(
                str(path), "not a file of tallies", f"what `rrcollect tally` writes ({error})"
            ) from None
    rest = [s for s in options.source if not s.endswith(".json")]
    if rest:
        found += batch_of(Namespace(source=rest, survey=options.survey, key=options.key)).tallies
    return found
