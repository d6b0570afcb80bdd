"""The report of the demo: one HTML file that loads nothing from anywhere.

A reader meets the result first, then what a single answer gives away, then how it came about, then how to go on.  All
shares stand on one axis.  What only some readers want is folded.  All text that is not this module's own is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from rrcollect import __version__
from rrcollect.design.sets import SetDesign
from rrcollect.design.yes_no import checked_yes_no
from rrcollect.publish.kinds import Number
from rrcollect.publish.question import Question
from server_agg.demo.drawings import Mark, axis_end, forest, mechanism, picture, style
from server_agg.demo.page_text import flow, folded, how_it_was_done, how_to_go_on, what_it_does_not_say
from server_agg.demo.population import true_value
from server_agg.demo.run import DemoRun
from server_agg.estimates.choice import ChoiceEstimate
from server_agg.estimates.mean import MeanEstimate
from server_agg.results.words import percent, privacy_words
from server_agg.survey_page.words import about

LEGEND = (
    '<div class="legend"><span class="l-dot">estimate</span><span class="l-bar">95 % bar</span>'
    '<span class="l-truth">the truth, which only the simulation knows</span></div>'
)
PARTS = {
    "crowd": "What the crowd said",
    "single": "What a single answer gives away",
    "flow": "The flow, with the data of this run",
    "real": "What was real here",
    "limits": "What the bars do not cover",
    "on": "How to go on",
}
BY_SPORT = "doped"  # the question that is shown by sport
BELIEF = 0.2  # of somebody before an answer is seen


def page(shown: DemoRun, program: str) -> str:
    """The whole page; `program` is how its reader calls rrcollect from the demo's folder."""
    survey = shown.publication.survey
    contents = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in PARTS.items())
    inside = {
        "crowd": _crowd(shown),
        "single": _single(shown),
        "flow": flow(shown),
        "real": how_it_was_done(shown),
        "limits": what_it_does_not_say(),
        "on": how_to_go_on(shown, program),
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


def summary_picture(shown: DemoRun) -> str:
    """One question in one picture: everybody, and by sport."""
    everybody = replace(shown.mark("doped", 0), label="everybody")
    foot = [
        f"{everybody.n:,} simulated people; nobody’s own answer is known.",
        "95 % bars: the first by itself, those by sport all at once.",
    ]
    text = shown.words("doped")
    return picture([everybody, *_sport_marks(shown)], [text], foot)


def _opening(shown: DemoRun) -> str:
    survey = shown.publication.survey
    everybody = shown.full + shown.gateway
    facts = [
        ("simulated respondents", f"{everybody:,}"),
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


def _crowd(shown: DemoRun) -> str:
    """Every question with its rows: everybody, the rounds, the sports or the options."""
    rows = {question.id: _rows(shown, question) for question in shown.publication.survey.questions}
    end = axis_end([mark for marks in rows.values() for mark in marks if mark.scale.is_share])
    return (
        "<p>Nobody’s own answer is known to the collector, nor to this page. The share of “yes” in the crowd is, the "
        "shares of options, and the mean of a number, as closely as these bars say.</p>"
        + LEGEND
        + "".join(_result(shown, q, rows[q.id], end) for q in shown.publication.survey.questions)
    )


def _rows(shown: DemoRun, question: Question) -> list[Mark]:
    marks = shown.marks(question.id, question.rounds - 1)
    if question.rounds > 1:
        found = shown.trend(question.id)
        return [
            Mark(f"Round {number + 1}", row.n, row.estimate.value, *row.interval, true_value(question.id, number))
            for number, row in zip(found.rounds, found.table.rows, strict=True)
        ]
    if len(marks) > 1:
        return sorted(marks, key=lambda mark: -mark.value)
    everybody = replace(marks[0], label="everybody")
    return [everybody, *(_sport_marks(shown) if question.id == BY_SPORT else [])]


def _result(shown: DemoRun, question: Question, rows: Sequence[Mark], end: float) -> str:
    """One question: the result in words, its rows on the page's axis, and folded how it was made."""
    text = shown.words(question.id)
    drawn = forest(rows, text, end if rows[0].scale.is_share else None)
    outside = [mark.label for mark in rows if not mark.holds]
    holds = "Every bar holds its truth." if not outside else (
        f"{escape(', '.join(outside))}: the truth lies outside. About one bar in twenty misses, and this is one."
    )  # fmt: skip
    chief = rows[-1] if question.rounds > 1 else rows[0]
    first = {True: "", False: f"{escape(chief.label)}: "}[chief.label in ("everybody", question.id)]
    truth = f"In truth {escape(chief.words(chief.truth))} of the whole population."
    if not chief.scale.is_share:
        truth = f"In truth {escape(chief.words(chief.truth))} in the whole population."
    return (
        f'<section class="card"><h3>{escape(text)}</h3><p class="headline">{first}{_about(chief)}</p>{drawn}'
        f'<div class="truths"><p class="small"><span class="truth-word">{truth}</span> {holds}</p>'
        f"{folded('Method', _method(shown, question))}</div></section>"
    )


def _about(mark: Mark) -> str:
    """A value as the results page says it."""
    value, _, ends = about(mark.value, mark.low, mark.high, mark.scale).partition(" (")
    return f"<strong>{escape(value)}</strong> ({ends}"


def _method(shown: DemoRun, question: Question) -> str:
    found, number = shown.estimate(question.id, question.rounds - 1), question.rounds - 1
    said = [escape(found.sentence())]
    if isinstance(found, ChoiceEstimate):
        said.append("The shares are unbiased and add up to 100 %; a share below 0 is drawn at 0")
    else:
        mark, asked = shown.mark(question.id, number), shown.population.share(question.id, number)
        said.append(f"Of those who were asked, in truth {escape(mark.words(asked))}")
        if not isinstance(found, MeanEstimate):
            said.append(
                f"Asked directly, {found.effective_sample_size:,.0f} honest answers would have told as much: that is "
                "the price of privacy"
            )
    if question.id == BY_SPORT:
        said.append(f"By sport: {_sentence(shown.segments(question.id).describe())}")
        said.append("The sport is declared by the respondent and sent as it is; only the answer is randomised")
    if question.rounds > 1:
        trend = shown.trend(question.id)
        said.append("Two rounds, answered by different people")
        said += [_sentence(trend.table.describe()), _sentence(trend.describe())]
    return f"<p>{'. '.join(said)}.</p>"


def _sentence(words: str) -> str:
    """Words of a result as a sentence of the page."""
    return escape(words[0].upper() + words[1:].replace(">=", "≥").replace(" -", " −"))


def _sport_marks(shown: DemoRun) -> list[Mark]:
    rows = shown.segments(BY_SPORT).rows
    return [Mark(r.label, r.n, r.estimate.value, *r.interval, true_value(BY_SPORT, 0, r.label)) for r in rows]


def _losses(question: Question) -> str:
    """The loss as it was promised, which the collector's pages show, and the tight one where that says more."""
    promise, tight = question.promise, privacy_words(question.design)
    promised = f"ε = {float(promise.epsilon):.4g}"
    if not promise.delta and promised == tight:
        return tight
    return f"Promised {promised}, δ = {float(promise.delta):.3g}; tight without a δ {tight}"


def _single(shown: DemoRun) -> str:
    questions = shown.publication.survey.questions
    cells = "".join(_reveals(shown, question) for question in questions)
    most = max(float(question.design.worst_likelihood_ratio) for question in questions)
    limit = f" No single answer changes the odds by a factor of more than {math.ceil(most - 1e-9)}." * math.isfinite(
        most
    )
    return (
        "<p>Before an answer leaves the device, chance may change it. How often is published, signed, and applied "
        "exactly: these are the numbers the device ran, the report carries and the estimate uses."
        f'{limit}</p><div class="reveals">{cells}</div>'
        f"<p>{escape(shown.publication.composition.explain().splitlines()[-1])}</p>"
    )


def _reveals(shown: DemoRun, question: Question) -> str:
    """What the device does with one answer, and what somebody believes who saw it."""
    design = question.design
    if isinstance(design, SetDesign):
        column, sets = design.column, f"{design.size} of the {design.options} options"
        drawn = mechanism(column, ("the true one", "another one"), ("sent", "not sent"), verb="is ")
        words, after = ("an option", "an option"), ("after it was sent", "after it was not")
        loss = (
            f"the device sends {'one option' if design.size == 1 else sets}, drawn by chance. Between any two options "
            f"an answer changes the odds by a factor of at most {float(design.worst_likelihood_ratio):.3g}"
        )
    else:
        design = column = checked_yes_no(design)
        drawn, words = mechanism(design), ("a “yes”", "a “no”")
        if isinstance(question.kind, Number):
            ends = (f"at {question.kind.high}", f"at {question.kind.low}")
            drawn, words = mechanism(design, ends, ("high", "low")), ("“high”", "“low”")
        after = (f"after {words[0]}", f"after {words[1]}")
        yes, no = (float(design.likelihood_ratio(answer)) for answer in (1, 0))
        loss = (
            f"{words[0]} multiplies the odds of the truth by at most {yes:.3g}, {words[1]} divides them by at most "
            f"{no:.3g}"
        )
    believed = [
        percent(BELIEF * true / (BELIEF * true + (1 - BELIEF) * false), 0)
        for true, false in ((column.p11, 1 - column.p00), (1 - column.p11, column.p00))
    ]
    return (
        f'<section class="card"><h3>{escape(shown.words(question.id))}</h3>{drawn}'
        f'<p class="small">{escape(_losses(question))}: {loss}. Who believed it with {100 * BELIEF:.0f} % believes it '
        f"with {believed[0]} % {after[0]} and with {believed[1]} % {after[1]}.</p></section>"
    )
