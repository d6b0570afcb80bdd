"""Estimates for people: one sentence, a text table, HTML; and for machines: plain values ready for JSON.

Rules
1. A number never stands without its bar, and a bar never without method, level and target.  ε is that of the published
   mechanism, never of one column of it.
2. Percentages have one decimal, or as many as the bar needs to show two digits.
3. An estimate outside [0, 1] is shown clipped, with the unclipped value beside it.
4. Text from outside (a segment's name) is escaped in HTML.
"""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.design.yes_no import Design
from server_agg.estimates.interval import target_words
from server_agg.estimates.methods import methods_for

if TYPE_CHECKING:
    from rrcollect.design.mechanism import Mechanism
    from server_agg.estimates.interval import Interval
    from server_agg.estimates.one import Estimate

__all__ = ["estimate_dict", "estimate_html", "estimate_table", "html_table", "percent", "sentence", "text_table"]


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage without its sign; the minus sign is a real one.

    >>> percent(0.2836), percent(-0.1492)
    ('28.4', '−14.9')
    """
    text = f"{100 * share:.{digits}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text.replace("-", "−")


def digits_for(width: float) -> int:
    """Decimals of a percentage so that a bar of this width shows two digits; at least 1, at most 8."""
    return min(8, max(1, 1 - math.floor(math.log10(100 * width)))) if width > 0 else 1


def bar_words(bar: Interval, name: str = "interval") -> str:
    """E.g. "95 % exact interval 21.8–35.1 %"."""
    digits = digits_for(bar.width)
    return (
        f"{float(100 * bar.level):.10g} % {bar.method} {name} {percent(bar.low, digits)}–{percent(bar.high, digits)} %"
    )


def privacy_words(mechanism: Mechanism) -> str:
    """ε of the published mechanism, or what proves the truth if there is none."""
    loss = mechanism.loss
    if not loss.delta:
        return f"ε = {float(loss.epsilon):.4g}"
    if not isinstance(mechanism, Design):
        return "ε = ∞ (an answer can be a proof)"
    proofs = " and a ".join(f'"{word}"' for word in mechanism.proofs)
    return f"ε = ∞ (a {proofs} is a proof)"


def sentence(estimate: Estimate, level: NumberLike, method: str) -> str:
    """The estimate in one sentence."""
    bar = estimate.interval(level, method)
    digits = digits_for(bar.width)
    value = f"{percent(estimate.clipped, digits)} %"
    if estimate.clipped != estimate.value:
        value += f" [unclipped {percent(estimate.value, digits)} %]"
    words = f"{value} ({bar_words(bar)}), n = {estimate.tally.n}, {privacy_words(estimate.tally.mechanism)}"
    return f"{words}; target: the {bar.target}" + ("; " + estimate.misfit.describe() if estimate.misfit else "")


def estimate_dict(estimate: Estimate, level: NumberLike, method: str) -> dict[str, object]:
    """Inputs and results as plain values."""
    misfit = estimate.misfit
    return {
        "tally": estimate.tally.as_dict(),
        "target": estimate.target,
        "value": estimate.value,
        "clipped": estimate.clipped,
        "standard_error": estimate.standard_error,
        "interval": estimate.interval(level, method).as_dict(),
        "misfit": {"flag": bool(misfit), "tail_probability": misfit.tail_probability, "side": misfit.side},
        "effective_sample_size": estimate.effective_sample_size,
        "manipulation_per_percent": estimate.manipulation("0.01"),
    }


def _rows(estimate: Estimate, level: NumberLike) -> list[list[str]]:
    """One row for each method."""
    rows = []
    for method in methods_for("one design", estimate.target):
        bar = estimate.interval(level, method)
        digits = digits_for(bar.width)
        note = "guaranteed" if bar.guaranteed else "approximate"
        rows.append([method, percent(bar.low, digits), percent(bar.high, digits), bar.warning or note])
    return rows


def _summary(estimate: Estimate, level: NumberLike) -> list[list[str]]:
    direct, target = estimate.direct(level), target_words(estimate.target)
    normal, chebyshev = estimate.margins()
    return [
        ["estimate", f"{percent(estimate.value, 2)} % (unbiased), {percent(estimate.clipped, 2)} % (clipped)"],
        ["standard error", f"{percent(estimate.standard_error, 2)} points, target: the {target}"],
        ["answers", f"n = {estimate.tally.n}, ones = {estimate.tally.ones}"],
        ["design", f"{estimate.tally.design}, {privacy_words(estimate.tally.mechanism)}"],
        ["margins", f"±{percent(normal.half_width, 2)} (1.96σ), ±{percent(chebyshev.half_width, 2)} (4.5σ) points"],
        ["fit", estimate.misfit.describe()],
        ["privacy cost", f"{_worth(estimate)}all n asked directly: ±{percent(direct.half_width, 2)} points"],
        ["liars", f"each 1 % of dishonest reporters moves it up to {percent(estimate.manipulation('0.01'), 2)} points"],
    ]  # fmt: skip


def _worth(estimate: Estimate) -> str:
    """How many direct answers tell as much; nothing where that is none, at an edge of what can be estimated."""
    worth = estimate.effective_sample_size
    return f"as many as {worth:.4g} direct answers; " if worth >= 0.5 else ""


def estimate_table(estimate: Estimate, level: NumberLike) -> str:
    """Everything about an estimate as text."""
    share = f"{float(100 * fraction('level', level)):.10g}"
    head = ["method", f"low {share} %", "high", ""]
    return text_table(None, _summary(estimate, level)) + "\n\n" + text_table(head, _rows(estimate, level), {1, 2})


def estimate_html(estimate: Estimate) -> str:
    """The same for a notebook, at 95 %."""
    head = ["method", "low (95 %)", "high", ""]
    return html_table(None, _summary(estimate, 0.95)) + html_table(head, _rows(estimate, 0.95))


def text_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: Collection[int] = ()) -> str:
    """Columns aligned by spaces; the columns named in `numeric` to the right.

    >>> print(text_table(["", "n"], [["north", "100"], ["south", "20"]], {1}))
             n
    north  100
    south   20
    """
    lines = [list(head)] if head is not None else []
    lines += [list(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    aligned = [[f"{line[i]:{'>' if i in numeric else '<'}{width}}" for i, width in enumerate(widths)] for line in lines]
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def html_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> str:
    """A plain table; every cell is escaped.

    >>> html_table(["<b>"], [["1"]])
    '<table><tr><th>&lt;b&gt;</th></tr><tr><td>1</td></tr></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + (line(head, "th") if head else "") + "".join(line(row, "td") for row in rows) + "</table>"
