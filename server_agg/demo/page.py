"""The report of the demo: one HTML file that loads nothing from anywhere.

A reader meets the result first, then what a single answer gives away, then how it came about, then how to go on.  All
text that is not this module's own is escaped.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape

from rrcollect import __version__
from rrcollect.design.choice import SetDesign
from rrcollect.publish.kinds import Number
from rrcollect.publish.question import Question
from server_agg.demo.drawings import Mark, forest, mechanism, picture, scale, style
from server_agg.demo.page_text import flow, how_it_was_done, how_to_go_on, what_it_does_not_say
from server_agg.demo.population import true_value
from server_agg.demo.run import DemoRun
from server_agg.estimates.choice import ChoiceEstimate
from server_agg.estimates.mean import MeanEstimate
from server_agg.report.words import percent, privacy_words

__all__ = ["page", "summary_picture"]

LEGEND = (
    '<div class="legend"><span class="l-dot">estimate</span><span class="l-band">95 % bar</span>'
    '<span class="l-truth">the truth, which only the simulation knows</span></div>'
)


def page(shown: DemoRun, program: str) -> str:
    """The whole page; `program` is how its reader calls rrcollect from the demo's folder."""
    survey = shown.publication.survey
    dress = style("drawings.css", "page.css")
    parts = [
        _opening(shown),
        "<h2>What the crowd said</h2>",
        "<p>Nobody’s own answer is known to the collector, nor to this page. The share of “yes” in the crowd is, the "
        "shares of options, and the mean of a number, as closely as these bars say.</p>",
        LEGEND,
        *[_result(shown, question) for question in survey.questions],
        _by_sport(shown),
        _by_round(shown),
        "<h2>What a single answer gives away</h2>",
        "<p>Before an answer leaves the device, chance may change it. How often is published, signed, and applied "
        "exactly: these are the numbers the device ran, the report carries and the estimate uses.</p>",
        *[_reveals(shown, question) for question in survey.questions],
        f"<p>{escape(shown.publication.composition.explain().splitlines()[-1])}</p>",
        "<h2>The flow, with the data of this run</h2>",
        flow(shown),
        "<h2>What was real here</h2>",
        how_it_was_done(shown),
        "<h2>What the bars do not cover</h2>",
        what_it_does_not_say(),
        "<h2>How to go on</h2>",
        how_to_go_on(shown, program),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(survey.say(survey.title))}: a demo of rrcollect</title>\n<style>{dress}</style>\n</head>\n"
        "<body>\n<main>\n"
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
    cells = "".join(f"<div><dd>{value}</dd><dt>{name}</dt></div>" for name, value in facts)
    return (
        f'<p class="kicker">{escape(survey.say(survey.title))} · {escape(survey.publisher)} · a rehearsal</p>'
        "<h1>Sensitive questions, asked without learning anyone’s answer</h1>"
        '<p class="lead">A signed survey, randomised answers, and estimates with error bars, set beside the truth that '
        f'a real survey never sees.</p><dl class="facts">{cells}</dl>'
    )


def _result(shown: DemoRun, question: Question) -> str:
    """The latest round of one question, large."""
    number = question.rounds - 1
    found = shown.estimate(question.id, number)
    if isinstance(found, ChoiceEstimate):
        return _options(shown, question, found)
    mark, asked = shown.mark(question.id, number), shown.population.share(question.id, number)
    holds = "The truth lies inside the bar." if mark.holds else (
        "The truth lies outside this bar: about one bar in twenty misses, and this is one."
    )  # fmt: skip
    value, unit = f"{percent(mark.shown)} %", ""
    if not mark.scale.is_share:
        value, unit = mark.scale.text(mark.shown, mark.high - mark.low), f"{mark.scale.unit}, "
    said = f"{shown.words(question.id)} Estimate {mark.words(mark.shown)}, truth {mark.words(mark.truth)}."
    price = "" if isinstance(found, MeanEstimate) else (
        f" Asked directly, {found.effective_sample_size:,.0f} honest answers would have told as much: that is the "
        "price of privacy."
    )  # fmt: skip
    which = f" · round {number + 1} of {question.rounds}" if question.rounds > 1 else ""
    return (
        f'<section class="card result"><h3>{escape(shown.words(question.id))}</h3>'
        f'<div class="value">{value}<small>{escape(unit)}estimated{which}</small></div>'
        f"<div>{scale(mark, said)}</div>"
        f'<p class="words">{escape(found.sentence())}.<br>'
        f'<span class="truth-word">In truth {escape(mark.words(mark.truth))}</span> '
        f"in the population the people were drawn from ({escape(mark.words(asked))} of those who were asked). {holds}"
        f"{price}</p></section>"
    )


def _options(shown: DemoRun, question: Question, found: ChoiceEstimate) -> str:
    """The options of a choice, their bars holding at once, beside their truths."""
    marks = shown.marks(question.id, question.rounds - 1)
    outside = [mark.label for mark in marks if not mark.holds]
    holds = f"All {len(marks)} truths lie inside their bars." if not outside else (
        f"{escape(', '.join(outside))}: the truth lies outside. In about one survey of twenty some option does, and "
        "this is one."
    )  # fmt: skip
    order = sorted(marks, key=lambda mark: -mark.value)
    drawn = forest(order, f"{shown.words(question.id)} Shares of the options, bars for all at once.")
    return (
        f'<section class="card"><h3>{escape(shown.words(question.id))}</h3>{drawn}'
        f'<p class="words">{escape(found.sentence())}.<br>The shares are unbiased and add up to 100 %; a share below 0 '
        f"is drawn at 0. {holds}</p></section>"
    )


def _sentence(words: str) -> str:
    """Words of a result as a sentence of the page."""
    return escape(words[0].upper() + words[1:].replace(">=", "≥").replace(" -", " −"))


def _sport_marks(shown: DemoRun) -> list[Mark]:
    rows = shown.segments("doped").rows
    return [Mark(r.label, r.n, r.estimate.value, *r.interval, true_value("doped", 0, r.label)) for r in rows]


def _by_sport(shown: DemoRun) -> str:
    table = shown.segments("doped")
    drawn = forest(_sport_marks(shown), "Estimates by sport with simultaneous bars.")
    text = shown.words("doped")
    return (
        f'<section class="card"><h3>By sport: {escape(text)}</h3>'
        f'<p class="quiet small">{_sentence(table.describe())}. The sport is declared by the respondent and sent as it '
        f"is; only the answer is randomised.</p>{drawn}</section>"
    )


def _by_round(shown: DemoRun) -> str:
    found = shown.trend("pressed")
    marks = [
        Mark(f"round {number + 1}", row.n, row.estimate.value, *row.interval, true_value("pressed", number))
        for number, row in zip(found.rounds, found.table.rows, strict=True)
    ]
    text = shown.words("pressed")
    return (
        f'<section class="card"><h3>From round to round: {escape(text)}</h3><p class="quiet small">Two rounds, '
        f"answered by different people. {_sentence(found.table.describe())}. {_sentence(found.describe())}.</p>"
        f"{forest(marks, 'Estimates by round with simultaneous bars.')}</section>"
    )


def _losses(question: Question) -> str:
    """The loss as it was promised, which the collector's pages show, and the tight one where that says more."""
    promise, tight = question.promise, privacy_words(question.design)
    promised = f"ε = {float(promise.epsilon):.4g}"
    if not promise.delta and promised == tight:
        return tight
    return f"Promised {promised}, δ = {float(promise.delta):.3g}; tight without a δ {tight}"


def _reveals(shown: DemoRun, question: Question) -> str:
    design = question.design
    if isinstance(design, SetDesign):
        return _reveals_of_a_set(shown, question, design)
    drawn, words, believed = mechanism(design), ("a “yes”", "a “no”"), "who believed before"
    if isinstance(question.kind, Number):
        top = (f"at {question.kind.high}", f"at {question.kind.low}")
        drawn, words = mechanism(design, top, ("high", "low")), ("“high”", "“low”")
        believed = f"who believed in {question.kind.high} rather than {question.kind.low}"
    yes, no = (float(design.likelihood_ratio(answer)) for answer in (1, 0))

    def after(before: float, ratio: float) -> str:
        odds = before / (1 - before) * ratio
        return percent(odds / (1 + odds), 0)

    rows = "".join(
        f"<tr><td>{100 * before:.0f} %</td><td>{after(before, yes)} %</td><td>{after(before, 1 / no)} %</td></tr>"
        for before in (0.05, 0.2, 0.5)
    )
    return (
        f'<section class="card reveal"><h3>{escape(shown.words(question.id))}</h3><div>{drawn}'
        f'<p class="small">{escape(_losses(question))}: {words[0]} multiplies the odds of the truth by at most '
        f"{yes:.3g}, {words[1]} divides them by at most {no:.3g}. Neither proves anything.</p></div>"
        f"<table><thead><tr><th>{believed}</th><th>believes after {words[0]}</th><th>after {words[1]}</th>"
        f"</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _reveals_of_a_set(shown: DemoRun, question: Question, design: SetDesign) -> str:
    column = design.column
    drawn = mechanism(column, ("the true one", "another one"), ("sent", "not sent"), verb="is ")
    rows = ""
    for before in (0.05, 0.2, 0.5):
        sent, unsent = (
            before * one / (before * one + (1 - before) * other)
            for one, other in (
                (float(design.p), float(design.q)),
                (float(1 - design.p), float(1 - design.q)),
            )
        )
        rows += f"<tr><td>{100 * before:.0f} %</td><td>{percent(sent, 0)} %</td><td>{percent(unsent, 0)} %</td></tr>"
    sets = "one option" if design.size == 1 else f"{design.size} of the {design.options} options"
    return (
        f'<section class="card reveal"><h3>{escape(shown.words(question.id))}</h3><div>{drawn}'
        f'<p class="small">{escape(_losses(question))}: the device sends {sets}, drawn by chance. Between any two '
        f"options one answer changes the odds by a factor of at most {float(design.worst_likelihood_ratio):.3g}. It "
        "proves nothing.</p></div>"
        "<table><thead><tr><th>who believed in an option before</th><th>believes after it was sent</th>"
        f"<th>after it was not</th></tr></thead><tbody>{rows}</tbody></table></section>"
    )
