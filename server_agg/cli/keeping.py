"""`rrcollect ingest`, `export`, `release`, `backup` and `close`: into a collector's store, out of it, and its end.

Rules
1. The store and its folder of keys are those of the options, or else those of the collector's settings in the
   environment and in files it names (`environment`): a password never needs to stand on a command line.
2. A store is named: no command works on a default one, and none makes a new file.
3. An address from the environment is not shown.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.output import CannotWrite, Incomplete, add_force, os_error_hint, refuse_existing
from server_agg.cli.terminal import emit

if TYPE_CHECKING:
    from server_agg import CollectorSettings
    from server_agg.collect import Store


def _add_store(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--store", help="the collector's database: a file, or a postgresql:// address (or RRCOLLECT_STORE)"
    )
    parser.add_argument(
        "--keys", help="its folder of epoch keys (or RRCOLLECT_KEYS; default: beside the database file)"
    )


def _settings(options: Namespace) -> CollectorSettings:
    """The collector's settings: what is given, and the environment for the rest, if there is anything in it."""
    from server_agg.collect.settings import PREFIX, Settings, settings_from_environment

    given = {"store": options.store, "keys": options.keys, "workers": 1}  # however many a collector has
    given = {name: value for name, value in given.items() if value is not None}
    if any(name.startswith(PREFIX) for name in os.environ):
        found: CollectorSettings = settings_from_environment(**given)
    else:
        found = Settings(**given)
    if "store" not in found.model_fields_set or not found.store.get_secret_value():
        raise Incomplete("give --store FILE or a postgresql:// address, or set RRCOLLECT_STORE or RRCOLLECT_STORE_FILE")
    return found


@contextmanager
def _opened(options: Namespace, settings: CollectorSettings | None = None) -> Iterator[Store]:
    from server_agg.collect.store.store import open_store
    from server_agg.errors import SourceUnavailable

    settings = settings or _settings(options)
    where = settings.store.get_secret_value()
    if "://" not in where and not Path(where).exists():
        named = "where RRCOLLECT_STORE or its file says" if options.store is None else options.store
        raise SourceUnavailable(f"there is no database {named}; check the name and its folder")
    with open_store(where, keys=settings.keys) as store:
        yield store


def add_ingest(parser: ArgumentParser) -> None:
    """Options of `ingest`."""
    _add_store(parser)


def ingest(options: Namespace) -> int:
    """Take reports from standard input; if one was refused, the exit code says so."""
    rules = _settings(options)
    with _opened(options, rules) as store:
        verdicts = store.ingest(sys.stdin.buffer, rules)
    good = {"new": verdicts.pop("new", 0), "known": verdicts.pop("same", 0)}
    refused = dict(sorted(verdicts.items()))
    lines = [f"{good['new']} new, {good['known']} known, {sum(refused.values())} refused"]
    emit(options, {**good, "refused": refused}, "\n".join([*lines, *(f"  {n} {why}" for why, n in refused.items())]))
    return 3 if refused else 0


def add_export(parser: ArgumentParser) -> None:
    """Options of `export`."""
    parser.add_argument("file", type=Path, help="the file to write: .json for counts, .parquet for rows")
    _add_store(parser)
    parser.add_argument("--survey", help="only the survey with this digest")
    add_force(parser)


def export(options: Namespace) -> int:
    """Write a collector's counts, or the rows it kept, to a file."""
    refuse_existing(options.file, force=options.force)
    with _opened(options) as store:
        _check_known(store, options.survey)
        try:
            written = store.export(options.file, options.survey)
        except OSError as error:
            raise CannotWrite(
                f"{options.file} cannot be written: {os_error_hint(error)} (nothing was left of it)"
            ) from None
    emit(options, {"reports": written, "file": str(options.file)}, f"{options.file}: {written} reports")
    return 0


def _check_known(store: Store, survey: str | None) -> None:
    """Refuse a digest under which the collector has no survey."""
    from rrcollect.errors import ParameterError

    published = [one.digest for one in store.shelf.surveys()]
    if survey is not None and survey not in published:
        known = ", ".join(published) or "none"
        raise ParameterError("--survey", survey, f"the digest of a survey in the store: {known}")


def add_backup(parser: ArgumentParser) -> None:
    """Options of `backup`."""
    parser.add_argument("file", type=Path, help="the file to write: a SQLite database, or what pg_restore reads")
    _add_store(parser)
    parser.add_argument(
        "--with-key",
        action="store_true",
        help="take waiting reports along, and their key in FILE.keys: whoever has both reads them in their order",
    )
    add_force(parser)


def backup(options: Namespace) -> int:
    """Copy a collector's database while it works."""
    refuse_existing(options.file, force=options.force)
    with _opened(options) as store:
        try:
            made = store.backup(options.file, with_key=options.with_key)
        except OSError as error:
            raise CannotWrite(
                f"{options.file} cannot be written: {os_error_hint(error)} (nothing was left of it)"
            ) from None
    there = "in it, under the key in " + str(made.keys) if made.keys else "not in it"
    data = {"file": str(made.file), "waiting": made.waiting, "keys": None if made.keys is None else str(made.keys)}
    emit(options, data, f"{made.file}: all that was folded; {made.waiting} waiting reports are {there}")
    return 0


def add_release(parser: ArgumentParser) -> None:
    """Options of `release`."""
    parser.add_argument("digest", help="the digest of the survey")
    _add_store(parser)
    parser.add_argument("--headline", help="the round that the headline shows, 1 or more, or `whole`")


def release(options: Namespace) -> int:
    """Make public what makes up whole crowds, and print what strangers see from now on."""
    from rrcollect.errors import ParameterError
    from server_agg.cli.estimating import question_table
    from server_agg.collect.store.release import SAME
    from server_agg.survey_page.results import released_results

    rounds = {None: SAME, "whole": None}
    given = options.headline
    if given not in rounds and re.fullmatch("0*[1-9][0-9]{0,8}", given) is None:
        raise ParameterError("--headline", given, "the number of a round, from 1 on, or whole")
    with _opened(options) as store:
        survey = store.survey(options.digest)
        made = store.release(survey, headline=rounds[given] if given in rounds else int(given) - 1)
        last = store.last_release(survey)
    said = [f"{made.added} answers were added", *made.reasons]
    if last is None:
        emit(options, made.as_dict(), "\n".join([*said, "nothing is released yet"]))
        return 0
    found = released_results(last.tallies, survey, last.facts)
    shown = found.as_dict()
    notes = [f"{one['id']}: {note}" for one in shown["questions"] for note in one["notes"]]
    words = "\n".join([*said, *shown["notes"], *notes])
    emit(options, {**made.as_dict(), "results": shown}, *question_table(found), words)
    return 0


def add_close(parser: ArgumentParser) -> None:
    """Options of `close`."""
    parser.add_argument("digest", help="the digest of the survey")
    _add_store(parser)
    parser.add_argument("--grace", type=float, help="days after its expiry (default: that of the settings, 7)")


def close(options: Namespace) -> int:
    """End a survey that is over: exact counts stay, ids, rows and tickets are overwritten."""
    settings = _settings(options)
    grace = settings.grace if options.grace is None else _days("--grace", options.grace)
    with _opened(options, settings) as store:
        kept = store.close(options.digest, grace=grace)
    said = f"closed: the counts of {kept.n} reports stay; ids, rows and tickets are gone"
    emit(options, {"reports": kept.n, "digest": options.digest}, said)
    return 0


def _days(name: str, given: float) -> timedelta:
    """A time that was given in days; not a negative one, none without end and none that is not a number."""
    from rrcollect.errors import ParameterError
    from server_agg.collect.settings import LONGEST_DAYS

    if not 0 <= given <= LONGEST_DAYS:
        raise ParameterError(name, given, f"a number of days from 0 to {LONGEST_DAYS}")
    return timedelta(days=given)
