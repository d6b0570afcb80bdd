"""The longer passages of the demo's page: the flow with its data, what was real, what is not covered, how to go on."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from html import escape

from server_agg.demo.run import DemoRun

COMMANDS = (
    ("Look at the survey as a device does", "verify survey.signed.json --key publisher.pem.pub"),
    (
        "Answer it yourself; what you type is not shown",
        "answer survey.signed.json --key publisher.pem.pub --ledger mine.sqlite3",
    ),
    (
        "Count the reports again, and estimate by sport",
        "estimate reports.sqlite3 --survey survey.signed.json --key publisher.pem.pub --by sport",
    ),
    (
        "The same from the tallies, as a picture",
        "plot segments tallies.json --question doped --by sport --out by-sport.svg",
    ),
    (
        "How often do such bars hold? A thousand surveys",
        "simulate --epsilon 'ln 3' --prevalence 0.17 --surveys 1000",
    ),
    ("A collector with its pages, and people who trickle in", "demo --web"),
    (
        "Your own survey: edit the file, then sign it",
        "publish survey.toml --key publisher.pem --out mine.signed.json",
    ),
)


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def folded(name: str, inside: str, words: str = "") -> str:
    """What opens when a reader asks for it; `words` stand beside its name."""
    beside = f" <span>{escape(words)}</span>" if words else ""
    return f"<details><summary>{escape(name)}{beside}</summary>{inside}</details>"


def _json(value: object) -> str:
    """JSON with a line for every field, small objects on one."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    lines = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def flow(shown: DemoRun) -> str:
    """A sample of the data at every arrow."""
    survey, question = shown.publication.survey, shown.publication.survey.questions[0]
    written = (shown.folder / "survey.toml").read_text(encoding="utf-8")
    asked = "\n".join(line.split("#")[0].rstrip() for line in written.split("[[questions]]")[1].strip().splitlines())
    envelope = json.loads(shown.publication.envelope)
    envelope = {**envelope, "payload": _cut(envelope["payload"], 48)}
    envelope["signatures"] = [
        {**s, "sig": _cut(s["sig"], 24), "keyid": _cut(s["keyid"], 16)} for s in envelope["signatures"]
    ]
    report = json.loads(shown.report)
    key, tally = next((k, t) for k, t in shown.tallies.items() if k.question == question.id)
    counted = {"question": key.question, "round": key.round, "segments": dict(key.segments), **tally.as_dict()}
    steps = [
        (
            "Design",
            "The publisher writes what is asked and promised; the optimal matrix follows from it.",
            f"[[questions]]\n{asked}",
        ),
        (
            "Publish",
            f"Checked, signed, and known from here on by its digest {survey.digest[:16]}….",
            _json(envelope),
        ),
        (
            "Answer",
            "A device verifies the signature, checks its own policy, draws once, and writes that down before anything "
            "leaves. One device’s account.",
            shown.budget,
        ),
        ("Deliver", "All that ever leaves a device, one request each (one such report).", _json(report)),
        ("Tally", "The collector judges and stores each report once; this is counted.", _json(counted)),
        ("Estimate", "Unbiased, with a bar whose coverage is computed.", shown.estimate(question.id, 0).sentence()),
    ]
    items = "".join(f"<li>{folded(f'{name}.', _code(data), words)}</li>" for name, words, data in steps)
    return f'<p>A sample of the data at every step: open one to see it.</p><ol class="flow">{items}</ol>'


def how_it_was_done(shown: DemoRun) -> str:
    """Which respondents were which, and what was simulated."""
    place = "in memory, which syncs quickly," if shown.in_memory else "on this machine’s disk"
    rate = shown.full / max(shown.full_seconds, 1e-9)
    said = [
        f"<strong>{shown.full:,} respondents by full clients</strong> ({shown.full_seconds:.1f} s, {rate:.0f} per "
        "second): a ledger each, the signature verified, the default policy, every draw committed before it left.",
        f"<strong>{shown.gateway:,} through a gateway in bulk</strong> ({shown.gateway_seconds:.1f} s): the same law "
        "and secure generator for many truths at once. A gateway sees the truths; it keeps no ledger and no budget.",
        "Both ways end at the collector’s own judge and durable store; only its web server is left out. The store "
        "holds exactly one answer for every person and question, which the demo checks.",
        f"Simulated are the people and what is true of them. Ledgers and database lay {place} while the demo ran.",
    ]
    return _list(said if shown.gateway else [said[0], *said[2:]])


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def what_it_does_not_say() -> str:
    """The limits, in short."""
    return _list(
        [
            "Bars hold for independent respondents drawn at random who follow the protocol. Who chooses not to answer, "
            "who lies on purpose, and who answers twice on two devices is not in them.",
            "Segments are sent as they are. Fine segments identify people.",
            "Losses add up over questions: devices keep a budget for life.",
            "A network address can tell who sent a report. Reports carry none; send them through a relay if that "
            "matters.",
        ]
    )


def how_to_go_on(shown: DemoRun, program: str) -> str:
    """Commands that work in the demo's folder as they are printed."""
    items = "".join(
        f"<div><dt>{escape(words)}</dt><dd>{_code(f'{program} {command}')}</dd></div>" for words, command in COMMANDS
    )
    enter = f"cd {shlex.quote(os.path.relpath(shown.folder))}"
    return (
        "<p>This folder holds the survey as written and as signed, the key (of no worth: it is a demo’s), the "
        "collector’s database and the tallies. Go into it from where the demo was started, then:</p>"
        f'{_code(enter)}<dl class="commands">{items}</dl>'
    )
