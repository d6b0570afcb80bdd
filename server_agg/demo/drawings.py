"""The demo's drawings, light and dark (`drawings.css`).

Rules
1. On the page a drawing is made of boxes whose places are shares of its width: its words keep their size on a phone.
   The picture that is a file of its own is SVG.
2. An estimate is drawn and written as on the results page: a dot between the two ends of its bar, hollow where it was
   cut to its scale; shares of 100.  All shares of one page are on one axis.  A number has the axis of its own range.
3. Every drawing has words for those who do not see it; every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from rrcollect.design.yes_no import Design
from server_agg.estimates.scale import SHARES, Scale
from server_agg.survey_page.words import value_text

WIDTH, LEFT, RIGHT = 480, 116, 100
ROW, TOP, FOOT = 38, 8, 34
LONGEST = 15  # characters of a label


def style(*names: str) -> str:
    """The colours of every page, and style sheets of the demo."""
    places = [("server_agg.results", "colours.css"), *(("server_agg.demo", name) for name in names)]
    return "".join(resources.files(package).joinpath(name).read_text(encoding="utf-8") for package, name in places)


@dataclass(frozen=True)
class Mark:
    """One line of a forest plot: an estimate with its bar, and the truth the simulation knows."""

    label: str
    n: int
    value: float
    low: float
    high: float
    truth: float
    scale: Scale = SHARES

    @property
    def shown(self) -> float:
        """The estimate, cut to its scale."""
        return self.scale.clipped(self.value)

    def words(self, value: float) -> str:
        """A value as it is written beside this bar."""
        return f"{value_text(value, self.low, self.high, self.scale).partition(' (')[0]} {self.unit}".rstrip()

    @property
    def unit(self) -> str:
        """What values are told in."""
        return "of 100" if self.scale.is_share else self.scale.unit

    @property
    def bar_words(self) -> str:
        """The bar as it is written."""
        return f"{self.number.partition(' (')[2].removesuffix(')')} {self.unit}".rstrip()

    @property
    def number(self) -> str:
        """The estimate with its bar, as it is written beside its drawing."""
        return value_text(self.value, self.low, self.high, self.scale)

    @property
    def dot(self) -> str:
        """How its dot is drawn."""
        return "dot" if self.value == self.shown else "dot hollow"

    @property
    def holds(self) -> bool:
        """Whether the truth lies within the bar."""
        return self.low <= self.truth <= self.high


def axis_end(marks: Sequence[Mark]) -> float:
    """Where the axis of these ends: a round share above everything drawn, or the end of a number's range."""
    if not marks[0].scale.is_share:
        return marks[0].scale.ends[1]
    most = max(max(mark.high, mark.truth) for mark in marks)
    step = 0.05 if most < 0.3 else 0.1
    return min(1.0, math.ceil(most / step + 0.2) * step)


def _ticks(end: float) -> list[tuple[float, str]]:
    """Marks of the axis and their words."""
    step = next(s * 10**power for power in range(12) for s in (0.02, 0.05, 0.1) if end / (s * 10**power) <= 7)
    return [(i * step, f"{100 * i * step:.0f}") for i in range(round(end / step) + 1) if i * step <= end + 1e-9]


def _number_ticks(end: float) -> list[tuple[float, str]]:
    return [(tick, f"{tick:g}") for tick, _ in _ticks(end)]


def _at(value: float, end: float) -> str:
    """A place on the axis, as a share of its width."""
    return f"{100 * min(max(value, 0.0), end) / end:.2f}%"


def forest(marks: Sequence[Mark], title: str, end: float | None = None) -> str:
    """Estimates one below the other on an axis up to `end`: a dot with its bar, and a diamond for the truth."""
    end = end or axis_end(marks)
    ticks = _ticks(end) if marks[0].scale.is_share else _number_ticks(end)
    grid = "".join(f'<i class="grid" style="left:{_at(tick, end)}"></i>' for tick, _ in ticks)
    rows = "".join(
        f'<div class="line"><span class="name">{escape(mark.label)} <small>n = {mark.n:,}</small></span>'
        f'<span class="plot">{grid}<i class="bar" style="left:{_at(mark.low, end)};'
        f'width:calc({_at(mark.high, end)} - {_at(mark.low, end)})"></i>'
        f'<i class="{mark.dot}" style="left:{_at(mark.shown, end)}"></i>'
        f'<i class="truth" style="left:{_at(mark.truth, end)}"></i></span>'
        f'<span class="number">{escape(mark.number)}</span></div>'
        for mark in marks
    )
    unit = marks[0].unit
    axis = "".join(f'<b style="left:{_at(tick, end)}">{words}</b>' for tick, words in ticks)
    told = "; ".join(
        f"{mark.label} {mark.number} {unit}, truth {mark.words(mark.truth)}".replace("  ", " ") for mark in marks
    )
    return (
        f'<div class="forest" role="img" aria-label="{escape(f"{title} {told}.")}">{rows}'
        f'<div class="line axis"><span class="plot">{axis}</span><span class="unit">{escape(unit)}</span></div></div>'
    )


def _forest(marks: Sequence[Mark], top: float) -> list[str]:
    end = axis_end(marks)
    lines = [_line(mark, top + ROW * place + ROW / 2, end) for place, mark in enumerate(marks)]
    return [_axis(end, top, top + ROW * len(marks), LEFT, WIDTH - RIGHT), *lines]


def picture(marks: Sequence[Mark], head: Sequence[str], foot: Sequence[str]) -> str:
    """A forest plot as a file of its own: the lines of `head` above it, those of `foot` and a legend below."""
    top = 24 * len(head) + 12
    under = top + ROW * len(marks) + FOOT
    key = under + 22 * len(foot) + 22
    body = [
        f"<style>{style('drawings.css')}</style>",
        f'<rect class="card" x="-15" y="-15" width="{WIDTH + 30}" height="{key + 36}" rx="12"/>',
        *(f'<text class="head" x="0" y="{18 + 24 * i}">{escape(line)}</text>' for i, line in enumerate(head)),
        *_forest(marks, top),
        *(f'<text x="0" y="{under + 14 + 22 * i}">{escape(line)}</text>' for i, line in enumerate(foot)),
        f'<circle class="dot" cx="6" cy="{key - 5}" r="6"/><text x="18" y="{key}">estimate</text>',
        f'<path class="bar" d="M100 {key - 11}v12M126 {key - 11}v12M100 {key - 5}h26"/>',
        f'<text x="132" y="{key}">its bar</text><path class="truth" d="M214 {key - 13}l6 8l-6 8l-6 -8z"/>',
        f'<text x="226" y="{key}">the truth (simulated)</text>',
    ]
    return _svg(WIDTH, key + 6, " ".join(head), body, margin=16) + "\n"


def _x(share: float, end: float, left: float, right: float) -> float:
    return round(left + (right - left) * min(share, end) / end, 1)


def _axis(end: float, top: float, bottom: float, left: float, right: float) -> str:
    parts = []
    for tick, words in _ticks(end):
        x = _x(tick, end, left, right)
        parts.append(f'<line class="grid" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>')
        parts.append(f'<text class="quiet" x="{x}" y="{bottom + 18}" text-anchor="middle">{words}</text>')
    parts.append(f'<text class="quiet" x="{WIDTH}" y="{bottom + 18}" text-anchor="end">of 100</text>')
    return "".join(parts)


def _line(mark: Mark, y: float, end: float) -> str:
    right = WIDTH - RIGHT
    low, high, dot, truth = (_x(v, end, LEFT, right) for v in (mark.low, mark.high, mark.shown, mark.truth))
    label = mark.label if len(mark.label) <= LONGEST else mark.label[: LONGEST - 1] + "…"
    return (
        f'<text x="0" y="{y - 2}">{escape(label)}</text>'
        f'<text class="quiet small" x="0" y="{y + 13}">n = {mark.n:,}</text>'
        f'<path class="bar" d="M{low} {y - 7}v14M{high} {y - 7}v14M{low} {y}H{high}"/>'
        f'<circle class="{mark.dot}" cx="{dot}" cy="{y}" r="6"/>'
        f'<path class="truth" d="M{truth} {y - 17}l5 6l-5 6l-5 -6z"/>'
        f'<text class="number" x="{WIDTH}" y="{y + 5}" text-anchor="end">{escape(mark.number)}</text>'
    )


def mechanism(
    design: Design,
    truths: tuple[str, str] = ("in truth yes", "in truth no"),
    said: tuple[str, str] = ("yes", "no"),
    verb: str = "says ",
) -> str:
    """What is said for each truth: two bars, cut where chance decides."""
    rows = ((truths[0], float(design.p11)), (truths[1], float(1 - design.p00)))
    body = ""
    for label, yes in rows:
        cells = "".join(
            f'<i class="{kind}" style="flex-basis:{100 * share:.2f}%">{_told(verb, word, share)}</i>'
            for share, word, kind in ((yes, said[0], "says-yes"), (1 - yes, said[1], "says-no"))
        )
        body += f'<span>{escape(label)}</span><span class="cut">{cells}</span>'
    words = (
        f"{truths[0].capitalize()}: {verb}{said[0]} with probability {float(design.p11):.3g}. "
        f"{truths[1].capitalize()}: {verb}{said[1]} with probability {float(design.p00):.3g}."
    )
    return f'<div class="mechanism" role="img" aria-label="{escape(words)}">{body}</div>'


def _told(verb: str, word: str, share: float) -> str:
    """What fits into this share of the bar."""
    if share < 0.14:
        return ""
    return f"{verb if share >= 0.55 else ''}{word if share >= 0.3 else ''} {100 * share:.0f} %".lstrip()


def _svg(width: int, height: float, title: str, body: Sequence[str], *, margin: int = 0) -> str:
    """A drawing for the page; with a margin, one that is a file of its own."""
    alone = 'xmlns="http://www.w3.org/2000/svg" ' if margin else ""
    box = f"{-margin} {-margin} {width + 2 * margin} {height + 2 * margin:g}"
    return (
        f'<svg {alone}viewBox="{box}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )
