"""The report of the demo: one HTML file that loads nothing from anywhere, and one picture.

A reader meets the result first, then what a single answer gives away, then how it came about, then how to go on
(`report.html`).  Rows and words are those of the results page, with the truth beside each bar.  What only some readers
want is folded.  All text that is not this module's own is escaped.

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
from rrcollect.publish.question import Question
from server_agg.demo.run import BY_SPORT, DemoRun
from server_agg.results.drawing import share_limits

DOT = {True: "dot", False: "dot hollow"}  # filled, unless the estimate was cut to its scale
HOLD = "Every bar holds its truth."
WIDTH, LEFT, RIGHT, ROW = 480, 116, 380, 38  # of the picture


def page(shown: DemoRun, program: str) -> str:
    """The whole page; `program` is how its reader calls rrcollect from the demo's folder."""
    survey, questions = shown.publication.survey, shown.questions
    marks = _marks([row for question in questions if question["axis"]["share"] for row in question["drawn"]])
    most = max(float(question.design.worst_likelihood_ratio) for question in survey.questions)
    limit = f" No single answer changes the odds by a factor of more than {math.ceil(most - 1e-9)}."
    reveals = zip(survey.questions, questions, strict=True)
    written = (shown.folder / "survey.toml").read_text(encoding="utf-8").split("[[questions]]")[1].strip()
    key, tally = next((k, t) for k, t in shown.tallies.items() if k.question == survey.questions[0].id)
    counted = {"question": key.question, "round": key.round, "segments": dict(key.segments), **tally.as_dict()}
    words = {
        "title": survey.say(survey.title),
        "publisher": survey.publisher,
        "composition": shown.publication.composition.explain().splitlines()[-1],
        "asked": "\n".join(["[[questions]]", *(line.split("#")[0].rstrip() for line in written.splitlines())]),
        "digest": survey.digest[:16],
        "envelope": _json(json.loads(shown.publication.envelope)),
        "budget": shown.budget,
        "report": _json(json.loads(shown.report)),
        "counted": _json(counted),
        "estimate": questions[0]["estimate"]["about"],
        "place": "in memory, which syncs quickly," if shown.in_memory else "on this machine’s disk",
        "folder": shlex.quote(os.path.relpath(shown.folder)),
        "program": program,
        "version": __version__,
    }
    return _file("server_agg.demo", "report.html").format(
        **{name: escape(text) for name, text in words.items()},
        style=style("drawings.css", "page.css"),
        respondents=shown.full + shown.gateway,
        full=shown.full,
        gateway=shown.gateway,
        reports=shown.tallies.n,
        seconds=shown.seconds,
        full_seconds=shown.full_seconds,
        gateway_seconds=shown.gateway_seconds,
        rate=shown.full / max(shown.full_seconds, 1e-9),
        results="\n".join(_result(q, marks if q["axis"]["share"] else q["axis"]["marks"]) for q in questions),
        limit=limit if math.isfinite(most) else "",
        reveals="\n".join(_revealed(question, found) for question, found in reveals),
    )


def style(*names: str) -> str:
    """The colours of every page, and style sheets of the demo."""
    return _file("server_agg.results", "colours.css") + "".join(_file("server_agg.demo", name) for name in names)


def _file(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


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
        f"{among}.</span> {holds}</p><details><summary>Method</summary>{method}</details></div></section>"
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


def _revealed(question: Question, found: dict[str, Any]) -> str:
    """What every device says of its own question, before it is answered."""
    return (
        f'<section class="card"><h3>{escape(found["text"])}</h3>'
        f"<p>{escape(' '.join(question_headline(question, Words.of('en'))))}</p>"
        f'<p class="small">Promised: {found["promise"]["words"]}</p></section>'
    )


def _json(value: dict[str, Any]) -> str:
    """JSON with a line for every field, long texts cut."""
    cut = {name: f"{part[:47]}…" if isinstance(part, str) and len(part) > 64 else part for name, part in value.items()}
    lines = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in cut.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
