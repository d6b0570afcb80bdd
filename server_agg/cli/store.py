"""`rrcollect store`: into a collector's database, out of it, and the end of a survey.

Rules
1. The store and its folder of epoch keys are those of the options, or else those of the collector's settings in the
   environment and in files it names (`environment`): a password never needs to be on a command line.
2. A store is named: no action works on a default one, and none creates a new file.
3. An address from the environment is not shown.
4. A survey is named by its signed file or by its digest.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from argparse import ArgumentParser, Namespace
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rrcollect.errors import ParameterError
from server_agg.cli.options import FORCE, JSON, Row, add, add_command, out
from server_agg.cli.sources import split_sources
from server_agg.cli.terminal import Incomplete, Output, writing

if TYPE_CHECKING:
    from server_agg import CollectorSettings
    from server_agg.collect import Store

SURVEY = ("survey", str, "the signed survey, or its digest", {"metavar": "SURVEY"})
FILE = (out("the file to write", required=True), FORCE)
WITH_KEY = "include waiting reports, and their key in FILE.keys: anyone with both reads them in their order"
ACTIONS: dict[str, tuple[str, str, tuple[Row, ...]]] = {
    "ingest": (
        "take reports from standard input, one per line",
        "The collector's rules judge every line, and each report counts once however often it comes.  A line that is\n"
        "refused is counted by its reason, and the others are accepted.",
        (),
    ),
    "export": (
        "write counts (.json), the rows it kept (.parquet), or the owner's log (.jsonl) to a file",
        "Reports that wait for their batch are not in it: counting starts at the survey's minimum.",
        ((*SURVEY[:3], {**SURVEY[3], "nargs": "?"}), *FILE),
    ),
    "backup": ("copy the database while the collector works", "", (*FILE, ("--with-key", bool, WITH_KEY))),
    "release": (
        "publish complete batches of answers; strangers see nothing else",
        "Answers are published in random batches of the survey's minimum.  A leftover batch waits, and the last one\n"
        "is never published.  What was published stays.",
        (SURVEY, ("--headline", str, "the round that the headline shows, 1 or more, or `whole`")),
    ),
    "check": (
        "show whether the database answers and the owner's log is whole, and what is in it",
        "A changed entry of the log is noticed.  That its end was cut is noticed against a checkpoint that was\n"
        "printed earlier and kept elsewhere.",
        (("--checkpoint", str, "a state that the owner's log must go on from, SIZE:ROOT as this command prints it"),),
    ),
    "close": (
        "end a survey that is over: exact counts stay, ids, rows and tickets are overwritten",
        "A survey is over when it has expired and its days of grace have passed.",
        (SURVEY, ("--grace", float, "days after its expiry (default: that of the settings, 7)")),
    ),
}


def add_store(parser: ArgumentParser) -> None:
    """The actions of `store`, each with its options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (about, more, rows) in ACTIONS.items():
        add(
            add_command(actions, name, about, more),
            (*JSON, {"default": argparse.SUPPRESS}),
            ("--store", str, "the collector's database: a file, or a postgresql:// address (or RRCOLLECT_STORE)"),
            ("--epoch-keys", str, "its folder of epoch keys (or RRCOLLECT_EPOCH_KEYS; default: beside the database "
             "file)"),
            *rows,
        )  # fmt: skip


def store(options: Namespace) -> Output:
    """Run one action."""
    run = {"ingest": _ingest, "export": _export, "backup": _backup, "release": _release, "close": _close}
    return {**run, "check": _check}[options.action](options)


def _digest(word: str) -> str:
    """The digest of a signed survey, or the digest itself; the store says whether it knows it."""
    if not split_sources([word])[0]:
        return word
    from rrcollect.publish.canonical import read
    from rrcollect.publish.envelope import LARGEST_ENVELOPE

    try:
        envelope = read(Path(word).read_bytes(), LARGEST_ENVELOPE)
        return hashlib.sha256(b64decode(envelope["payload"])).hexdigest()
    except (KeyError, TypeError, ValueError):
        raise ParameterError("SURVEY", word, "a signed survey, or a digest") from None


def _settings(options: Namespace) -> CollectorSettings:
    """The collector's settings: what is given, and the environment for the rest."""
    from server_agg.collect.settings import settings_from_environment

    given = {"store": options.store, "epoch_keys": options.epoch_keys, "workers": 1}  # however many a collector has
    found = settings_from_environment(**{name: value for name, value in given.items() if value is not None})
    if "store" not in found.model_fields_set or not found.store.get_secret_value():
        raise Incomplete("give --store FILE or a postgresql:// address, or set RRCOLLECT_STORE or RRCOLLECT_STORE_FILE")
    return found


@contextmanager
def _opened(options: Namespace, settings: CollectorSettings | None = None) -> Iterator[Store]:
    from server_agg.collect.store.store import open_store
    from server_agg.errors import DataUnavailable

    settings = settings or _settings(options)
    where = settings.store.get_secret_value()
    if "://" not in where and not Path(where).exists():
        named = "where RRCOLLECT_STORE or its file says" if options.store is None else options.store
        raise DataUnavailable(f"there is no database {named}; check the name and its folder")
    with open_store(where, keys=settings.epoch_keys) as store:
        yield store


def _ingest(options: Namespace) -> Output:
    """Take reports from standard input; if one was refused, the exit code says so."""
    rules = _settings(options)
    with _opened(options, rules) as store:
        verdicts = store.ingest(sys.stdin.buffer, rules)
    good = {"new": verdicts.pop("new", 0), "known": verdicts.pop("same", 0)}
    refused = dict(sorted(verdicts.items()))
    lines = [f"{good['new']} new, {good['known']} known, {sum(refused.values())} refused"]
    lines += [f"  {n} {why}" for why, n in refused.items()]
    return Output({**good, "refused": refused}, "\n".join(lines), code=3 if refused else 0)


def _export(options: Namespace) -> Output:
    """Write a collector's counts, or the rows it kept, to a file."""
    survey = None if options.survey is None else _digest(options.survey)
    with _opened(options) as store:
        published = [one.digest for one in store.shelf.surveys()]
        if survey is not None and survey not in published:
            known = ", ".join(published) or "none"
            raise ParameterError("SURVEY", survey, f"the digest of a survey in the store: {known}")
        with writing(options.out):
            written = store.export(options.out, survey)
    return Output({"reports": written, "file": str(options.out)}, f"{options.out}: {written} reports")


def _backup(options: Namespace) -> Output:
    """Copy a collector's database while it works."""
    with _opened(options) as store, writing(options.out):
        made = store.backup(options.out, with_key=options.with_key)
    there = "in it, under the key in " + str(made.keys) if made.keys else "not in it"
    data = {"file": str(made.file), "waiting": made.waiting, "keys": None if made.keys is None else str(made.keys)}
    return Output(data, f"{made.file}: all that was folded; {made.waiting} waiting reports are {there}")


def _release(options: Namespace) -> Output:
    """Make public what makes up whole crowds, and print what strangers see from now on."""
    from server_agg.collect.store.release import SAME
    from server_agg.survey_page.results import released_results

    rounds = {None: SAME, "whole": None}
    given = options.headline
    if given not in rounds and re.fullmatch("0*[1-9][0-9]{0,8}", given) is None:
        raise ParameterError("--headline", given, "the number of a round, from 1 on, or whole")
    with _opened(options) as store:
        survey = store.survey(_digest(options.survey))
        made = store.release(survey, headline=rounds[given] if given in rounds else int(given) - 1)
        last = store.last_release(survey)
    said = [f"{made.added} answers were added", *made.reasons]
    if last is None:
        return Output(made.as_dict(), "\n".join([*said, "nothing is released yet"]))
    found = released_results(last.tallies, survey, last.facts)
    shown = found.page()
    notes = [f"{one['id']}: {note}" for one in shown["questions"] for note in one["notes"]]
    words = "\n".join([*said, *shown["notes"], *notes])
    return Output({**made.as_dict(), "results": shown}, str(found), words)


def _check(options: Namespace) -> Output:
    """What is in the store, if the database answers and its key can be read."""
    with _opened(options) as store:
        found, log = asdict(store.check()), store.log(options.checkpoint)
    said = "{surveys} surveys, {counted} reports counted, {waiting} waiting".format(**found)
    said += "; rows are kept" if found["keeps_rows"] else ""
    said += "".join(f"\nunfinished: {each}" for each in found["unfinished"])
    said += f"\nthe owner's log is whole: {log.size} entries; keep this elsewhere: {log.checkpoint}"
    unfinished = [str(each) for each in found["unfinished"]]
    return Output({**found, "unfinished": unfinished, "log": log.size, "checkpoint": log.checkpoint}, said)


def _close(options: Namespace) -> Output:
    """End a survey that is over: exact counts stay, ids, rows and tickets are overwritten."""
    from server_agg.collect.settings import LONGEST_DAYS

    settings = _settings(options)
    if options.grace is not None and not 0 <= options.grace <= LONGEST_DAYS:  # nor is it what is not a number
        raise ParameterError("--grace", options.grace, f"a number of days from 0 to {LONGEST_DAYS}")
    grace = settings.grace if options.grace is None else timedelta(days=options.grace)
    with _opened(options, settings) as store:
        kept = store.close(_digest(options.survey), grace=grace)
    said = f"closed: the counts of {kept.n} reports stay; ids, rows and tickets are gone"
    return Output({"reports": kept.n, "digest": _digest(options.survey)}, said)
