"""What commands print, line by line, in `lines.txt`.  After a change that is meant: python -m tests.cli.lines

All commands run in this process, in one folder, and use nothing random; what differs from run to run (keys, digests,
dates, folders) is masked.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from unittest import mock

from rrcollect import Report
from tests.support.command_line import SIGNED, main, read_envelope, read_keys, signed_survey

KEPT = Path(__file__).with_name("lines.txt")
SURVEY = shlex.join(SIGNED)
SESSION = (
    "design --epsilon 1 --delta 0.05 --prevalence 0.02",
    "design --epsilon 1 --delta 0.1 --between 0.01 0.2",
    "design --epsilon 1 --options 10",
    "design --epsilon 5 --options 4",
    "design --epsilon-yes 'ln 2' --epsilon-no 'ln 6'",
    "design --epsilon 1 --classic",
    "design --epsilon 1 --delta 0.4 --prevalence 0.1",
    "plan --epsilon 1 --margin 0.03",
    "plan --epsilon 1 --n 1000",
    "plan --epsilon 1 --options 5 --margin 0.05",
    "plan --epsilon 1 --options 5 --n 900",
    "plan --epsilon 1 --difference 0.1 --power 0.8",
    "plan --epsilon 1 --difference 0.1 --n 500",
    "plan --margin 0.03 --n 20000",
    f"verify {SURVEY}",
    "withdraw survey.signed.json --key publisher.pem --out withdrawal.json",
    "randomise --sample truths.csv",
    f"tally {SURVEY} reports.jsonl --out tallies.json",
    f"estimate {SURVEY} reports.jsonl",
    "estimate tallies.json",
    "estimate --counts 400 --n 1000 --epsilon 1",
    "estimate --sample raw.csv",
    "estimate raw.csv --column answer --forced-yes 1/6 --forced-no 1/6 --by region",
    "estimate raw.csv --column answer --classic unrelated_question p=2/3 prevalence=1/2",
    "estimate nowhere.json",
    "plan --margin 0.03",
    "design --epsilon -1",
    "store check --store nowhere.sqlite3",
    "store ingest --store reports.sqlite3",
)
"""Every command that answers a question, and some mistakes.  (Help is laid out by argparse, each Python in its way.)"""
MASKS = (
    (re.compile(r"[0-9a-f]{16,}"), "HEX"),
    (re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?"), "DATE"),
    (re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}"), "DATE"),
    (re.compile(r"/\S*/"), "FOLDER/"),
)


def reports(folder: Path) -> None:
    """Answers, a third of them yes, in a file as a gateway writes it."""
    survey, _ = read_envelope(folder / "survey.signed.json", read_keys([folder / "publisher.pem.pub"]))
    asked = survey.questions[0]
    rows = (
        Report(
            survey=survey.digest,
            question=asked.id,
            design=asked.design,
            answer=str(int(number % 3 == 0)),
            id=f"{number:032x}",
        )
        for number in range(200)
    )
    (folder / "reports.jsonl").write_bytes(b"\n".join(row.to_bytes() for row in rows) + b"\n")


def said() -> str:
    """What the session prints."""
    lines = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            signed_survey(Path(place))
        reports(Path(place))
        os.chdir(place)
        try:
            for words in SESSION:
                out, err = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b""))):  # fmt: skip
                    try:
                        code = main(shlex.split(words))
                    except SystemExit as ended:
                        code = ended.code
                text = out.getvalue() + err.getvalue()
                for mask, word in MASKS:
                    text = mask.sub(word, text)
                lines += [f"$ rrcollect {words}", *(line.rstrip() for line in text.splitlines()), f"[{code}]", ""]
        finally:
            os.chdir(here)
    return "\n".join(lines)


if __name__ == "__main__":
    KEPT.write_text(said(), encoding="utf-8")
