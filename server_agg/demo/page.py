"""The report of the demo: one HTML file that loads nothing from anywhere, and one picture.

A reader meets the result first, then what a single answer gives away, then how it came about, then how to go on.  Rows
and words are those of the results page, with the truth beside each bar.  What only some readers want is folded.  All
text that is not this module's own is escaped.

A row is drawn of boxes whose places are shares of its width: its words keep their size on a phone.  The picture that is
a file of its own is SVG.  All shares of the page are on one axis; a number has the axis of its own range.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from rrcollect import __version__
from rrcollect.answer.explain.headline import question_headline
from rrcollect.answer.explain.words import Words
from server_agg.demo.run import BY_SPORT, DemoRun
from server_agg.results.drawing import share_limits

LEGEND = (
    '<div class="legend"><span class="l-dot">estimate</span><span class="l-bar">95 % bar</span>'
    '<span class="l-truth">the truth, which only the simulation knows</span></div>'
)
DOT = {True: "dot", False: "dot hollow"}  # filled, unless the estimate was cut to its scale
HOLD = "Every bar holds its truth."
PARTS = {
    "crowd": "What the crowd said",
    "single": "What a single answer gives away",
    "flow": "The flow, with the data of this run",
    "real": "What was real here",
    "limits": "What the bars do not cover",
    "on": "How to go on",
}
COMMANDS = {
    "Look at the survey as a device does": "verify survey.signed.json --trust publisher.pem.pub",
    "Answer it yourself; what you type is not shown": "answer survey.signed.json --trust publisher.pem.pub --ledger "
    "mine.sqlite3",
    "Count the reports again, and estimate by sport": "estimate survey.signed.json reports.sqlite3 --trust "
    "publisher.pem.pub --by sport",
    "The same from the tallies, as a picture": "estimate tallies.json --question doped --by sport --plot by-sport.svg",
    "How often do such bars hold? A thousand surveys": "plan --rehearse --epsilon 'ln 3' --prevalence 0.17 --surveys "
    "1000",
    "A collector with its pages, and people who trickle in": "demo --web",
    "Your own survey: edit the file, then sign it": "publish survey.toml --key publisher.pem --out mine.signed.json",
}
LIMITS = (
    "Bars hold for independent respondents drawn at random who follow the protocol. They do not cover people who do "
    "not answer, lie on purpose, or answer twice on two devices.",
    "Segments are sent as they are. Fine segments identify people.",
    "Losses add up over questions: devices keep a budget for life.",
    "A network address can tell who sent a report. Reports carry none; send them through a relay if that matters.",
)
WIDTH, LEFT, RIGHT, ROW = 480, 116, 380, 38  # of the picture


def page(shown: DemoRun, program: str) -> str:
    """The whole page; `program` is how its reader calls rrcollect from the demo's folder."""
    survey = shown.publication.survey
    contents = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in PARTS.items())
    inside = {
        "crowd": _crowd(shown),
        "single": _single(shown),
        "flow": _flow(shown),
        "real": _list(_how_it_was_done(shown)),
        "limits": _list(LIMITS),
        "on": _how_to_go_on(shown, program),
    }
    parts = [f'<h2 id="{name}">{words}</h2>\n{inside[name]}' for name, words in PARTS.items()]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(survey.say(survey.title))}: a demo of rrcollect</title>\n"
        f"<style>{style('drawings.css', 'page.css')}</style>\n</head>\n<body>\n<main>\n"
        f'{_opening(shown)}\n<nav aria-label="Contents"><ol>{contents}</ol></nav>\n'
        + "\n".join(parts)
        + f"\n<footer>Made by <code>rrcollect demo</code>, rrcollect {__version__}. All people on this page are made "
        "up.</footer>\n</main>\n</body>\n</html>\n"
    )


def style(*names: str) -> str:
    """The colours of every page, and style sheets of the demo."""
    places = [("server_agg.results", "colours.css"), *(("server_agg.demo", name) for name in names)]
    return "".join(resources.files(package).joinpath(name).read_text(encoding="utf-8") for package, name in places)


def _opening(shown: DemoRun) -> str:
    survey = shown.publication.survey
    facts = [
        ("simulated respondents", f"{shown.full + shown.gateway:,}"),
        ("with a real client of their own", f"{shown.full:,}"),
        ("served by a gateway in bulk", f"{shown.gateway:,}"),
        ("reports judged and stored, each once", f"{shown.tallies.n:,}"),
        ("from signing to estimates", f"{shown.seconds:.0f} s"),
    ]
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return (
        f'<p class="kicker">{escape(survey.say(survey.title))} · {escape(survey.publisher)} · a rehearsal</p>'
        "<h1>Sensitive questions, asked without learning anyone’s answer</h1>"
        '<p class="lead">A signed survey, randomised answers, and estimates with error bars, set beside the truth that '
        f'a real survey never sees.</p><dl class="facts">{cells}</dl>'
    )


# ---- what was found -------------------------------------------------------------------------------------------------


def _crowd(shown: DemoRun) -> str:
    """Every question with its rows: everybody, the rounds, the sports or the options."""
    shares = [row for question in shown.questions if question["axis"]["share"] for row in question["drawn"]]
    marks = _marks(shares)
    return (
        "<p>Nobody’s own answer is known to the collector, nor to this page. The share of “yes” in the crowd is, the "
        "shares of options, and the mean of a number, as closely as these bars say.</p>"
        + LEGEND
        + "".join(_result(q, marks if q["axis"]["share"] else q["axis"]["marks"]) for q in shown.questions)
    )


def _marks(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """The axis of shares that holds all of these with their truths: its marks and their texts."""
    low, end = share_limits([0.0, *(max(row["high"], row["truth"]) for row in rows)])
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if end / step <= 7)
    return [[low + i * step, f"{100 * i * step:.0f}"] for i in range(round(end / step) + 1)]


def _result(question: dict[str, Any], marks: Sequence[Sequence[Any]]) -> str:
    """One question: the result in words, its rows, and folded how it was made."""
    rows = question["drawn"]
    chief = rows[-1] if question["trend"] else rows[0]
    first = "" if chief["label"] == "everybody" else f"{escape(chief['label'])}: "
    value, _, ends = chief["about"].partition(" (")
    outside = ", ".join(row["label"] for row in rows if not row["holds"])
    holds = f"{escape(outside)}: the truth lies outside, as in at most one of twenty runs." if outside else HOLD
    among = "of the whole population" if question["axis"]["share"] else "in the whole population"
    method = "".join(f"<p>{escape(said)}</p>" for said in _method(question))
    return (
        f'<section class="card"><h3>{escape(question["text"])}</h3>'
        f'<p class="headline">{first}<strong>{escape(value)}</strong> ({escape(ends)}</p>'
        f"{forest(rows, question['text'], marks, question['axis']['unit'])}"
        f'<div class="truths"><p class="small"><span class="truth-word">In truth {escape(chief["truth_words"])} '
        f"{among}.</span> {holds}</p>{_folded('Method', method)}</div></section>"
    )


def _method(question: dict[str, Any]) -> list[str]:
    """What the results page says of how it was found, in the same words."""
    whole, by_sport = question["estimate"], question["segments"][:1] if question["id"] == BY_SPORT else []
    said = [f"{whole['bar']}; n = {whole['n']:,}; target: {whole['target']}.", *question["notes"]]
    if whole["direct_answers"]:
        said.append(
            f"Asked directly, {whole['direct_answers']:,.0f} honest answers would have told as much: that is the price "
            "of privacy."
        )
    if "options" in whole:
        said.append("The shares are unbiased and add up to 100 %; a share below 0 is drawn at 0.")
    said += [f"{name}: {part['note']}." for name, part in (("Rounds", question["trend"]),) if part]
    for table in by_sport:
        said.append(f"By {table['label']}: {table['note']}. Each respondent declares the {table['label']}, and it is "
                    "sent as it is; only the answer is randomised.")  # fmt: skip
    return said


def forest(rows: Sequence[dict[str, Any]], title: str, marks: Sequence[Sequence[Any]], unit: str) -> str:
    """Rows one below the other on the axis of `marks`: a dot with its bar, and a diamond for the truth."""
    (low, *_), (high, *_) = marks[0], marks[-1]

    def at(value: float) -> str:
        return f"{100 * (min(max(value, low), high) - low) / (high - low):.2f}%"

    grid = "".join(f'<i class="grid" style="left:{at(mark)}"></i>' for mark, _ in marks)
    lines = "".join(
        f'<div class="line"><span class="name">{escape(row["label"])} <small>n = {row["n"]:,}</small></span>'
        f'<span class="plot">{grid}<i class="bar" style="left:{at(row["low"])};'
        f'width:calc({at(row["high"])} - {at(row["low"])})"></i>'
        f'<i class="{DOT[row["unclipped"] is None]}" style="left:{at(row["shown"])}"></i>'
        f'<i class="truth" style="left:{at(row["truth"])}"></i></span>'
        f'<span class="number">{escape(row["text"])}</span></div>'
        for row in rows
    )
    axis = "".join(f'<b style="left:{at(mark)}">{words}</b>' for mark, words in marks)
    told = "; ".join(f"{row['label']} {row['text']} {unit}, truth {row['truth_words']}" for row in rows)
    return (
        f'<div class="forest" role="img" aria-label="{escape(f"{title} {told}.")}">{lines}'
        f'<div class="line axis"><span class="plot">{axis}</span><span class="unit">{escape(unit)}</span></div></div>'
    )


def picture(shown: DemoRun) -> str:
    """One question as a file of its own: everybody, and by sport."""
    (question,) = (each for each in shown.questions if each["id"] == BY_SPORT)
    rows, marks, top = question["drawn"], _marks(question["drawn"]), 36
    bottom, end = top + ROW * len(rows), marks[-1][0]

    def x(share: float) -> str:
        return f"{LEFT + (RIGHT - LEFT) * min(share, end) / end:.1f}"

    def text(words: str, at: float | str, y: float, how: str = "") -> str:
        return f'<text x="{at}" y="{y}"{how}>{escape(words)}</text>'

    body = f'<rect class="card" x="-15" y="-15" width="{WIDTH + 30}" height="{bottom + 126}" rx="12"/>'
    body += text(question["text"], 0, 18, ' class="head"')
    for share, words in marks:
        body += f'<line class="grid" x1="{x(share)}" y1="{top}" x2="{x(share)}" y2="{bottom}"/>'
        body += text(words, x(share), bottom + 18, ' class="quiet" text-anchor="middle"')
    body += text(question["axis"]["unit"], WIDTH, bottom + 18, ' class="quiet" text-anchor="end"')
    for place, row in enumerate(rows):
        y, (low, high, dot, truth) = top + ROW * (place + 0.5), (x(row[k]) for k in ("low", "high", "shown", "truth"))
        body += text(row["label"], 0, y - 2) + text(f"n = {row['n']:,}", 0, y + 13, ' class="quiet"')
        body += f'<path class="bar" d="M{low} {y - 7}v14M{high} {y - 7}v14M{low} {y}H{high}"/>'
        body += f'<circle class="{DOT[row["unclipped"] is None]}" cx="{dot}" cy="{y}" r="6"/>'
        body += f'<path class="truth" d="M{truth} {y - 17}l5 6l-5 6l-5 -6z"/>'
        body += text(row["text"], WIDTH, y + 5, ' class="number" text-anchor="end"')
    body += text(f"{rows[0]['n']:,} simulated people; nobody’s own answer is known.", 0, bottom + 46)
    body += text("95 % bars: the first by itself, those by sport all at once.", 0, bottom + 68)
    body += f'<path class="truth" d="M6 {bottom + 79}l6 8l-6 8l-6 -8z"/>'
    body += text("the truth, which only the simulation knows", 18, bottom + 92)
    name, box = escape(question["text"]), f"-16 -16 {WIDTH + 32} {bottom + 128}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img" aria-label="{name}"><title>{name}</title>'
        f"<style>{style('drawings.css')}</style>{body}</svg>\n"
    )


# ---- how it came about ----------------------------------------------------------------------------------------------


def _single(shown: DemoRun) -> str:
    """What every device says of its own question, before it is answered."""
    survey, words, cards = shown.publication.survey, Words.of("en"), ""
    for question, found in zip(survey.questions, shown.questions, strict=True):
        cards += (
            f'<section class="card"><h3>{escape(found["text"])}</h3>'
            f"<p>{escape(' '.join(question_headline(question, words)))}</p>"
            f'<p class="small">Promised: {found["promise"]["words"]}</p></section>'
        )
    most = max(float(question.design.worst_likelihood_ratio) for question in survey.questions)
    limit = f" No single answer changes the odds by a factor of more than {math.ceil(most - 1e-9)}."
    return (
        "<p>Before an answer leaves the device, chance may change it. How often is published, signed, and applied "
        "exactly: these are the numbers the device ran, the report carries and the estimate uses."
        f'{limit if math.isfinite(most) else ""}</p><div class="reveals">{cards}</div>'
        f"<p>{escape(shown.publication.composition.explain().splitlines()[-1])}</p>"
    )


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _folded(name: str, inside: str, words: str = "") -> str:
    """What opens when a reader asks for it; `words` stand beside its name."""
    beside = f" <span>{escape(words)}</span>" if words else ""
    return f"<details><summary>{escape(name)}{beside}</summary>{inside}</details>"


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _json(value: dict[str, Any]) -> str:
    """JSON with a line for every field, long texts cut."""
    cut = {name: f"{part[:47]}…" if isinstance(part, str) and len(part) > 64 else part for name, part in value.items()}
    lines = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in cut.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _flow(shown: DemoRun) -> str:
    """A sample of the data at every arrow."""
    survey = shown.publication.survey
    written = (shown.folder / "survey.toml").read_text(encoding="utf-8")
    asked = "\n".join(line.split("#")[0].rstrip() for line in written.split("[[questions]]")[1].strip().splitlines())
    key, tally = next((k, t) for k, t in shown.tallies.items() if k.question == survey.questions[0].id)
    counted = {"question": key.question, "round": key.round, "segments": dict(key.segments), **tally.as_dict()}
    steps = [
        ("Design", "The publisher writes what is asked and promised; the optimal matrix follows from it.",
         f"[[questions]]\n{asked}"),
        ("Publish", f"Checked, signed, and known from here on by its digest {survey.digest[:16]}….",
         _json(json.loads(shown.publication.envelope))),
        ("Answer", "A device verifies the signature, checks its own policy, draws once, and writes that down before "
         "anything leaves. One device’s account.", shown.budget),
        ("Deliver", "All that ever leaves a device, one request each (one such report).",
         _json(json.loads(shown.report))),
        ("Tally", "The collector judges and stores each report once; this is counted.", _json(counted)),
        ("Estimate", "Unbiased, with a bar whose coverage is computed.", shown.questions[0]["estimate"]["about"]),
    ]  # fmt: skip
    items = "".join(f"<li>{_folded(f'{name}.', _code(data), words)}</li>" for name, words, data in steps)
    return f'<p>A sample of the data at every step: open one to see it.</p><ol class="flow">{items}</ol>'


def _how_it_was_done(shown: DemoRun) -> list[str]:
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
    return said if shown.gateway else [said[0], *said[2:]]


def _how_to_go_on(shown: DemoRun, program: str) -> str:
    """Commands that work in the demo's folder as they are printed."""
    items = "".join(
        f"<div><dt>{escape(words)}</dt><dd>{_code(f'{program} {command}')}</dd></div>"
        for words, command in COMMANDS.items()
    )
    return (
        "<p>This folder holds the survey as written and as signed, the key (of no worth: it is a demo’s), the "
        "collector’s database and the tallies. Go into it from where the demo was started, then:</p>"
        f'{_code(f"cd {shlex.quote(os.path.relpath(shown.folder))}")}<dl class="commands">{items}</dl>'
    )
