"""One table of text, in four dialects: aligned text, HTML, Markdown and LaTeX.

A table is its head (or None) and its lines, all of text.  Every cell is escaped: what came from outside (the name of a
segment) cannot become markup.  `numeric` are the columns aligned to the right.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence

Table = tuple[list[str] | None, list[list[str]]]

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "−": "$-$", "–": "--", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "²": "$^2$", "√": r"$\surd$",
    "∞": r"$\infty$", "≥": r"$\geq$", "≤": r"$\leq$", "∓": r"$\mp$", "<": "$<$", ">": "$>$", "|": "$|$",
    "π": r"$\pi$", "ε": r"$\varepsilon$", "δ": r"$\delta$", "σ": r"$\sigma$", "γ": r"$\gamma$", "χ": r"$\chi$",
    "β": r"$\beta$", "λ": r"$\lambda$", "θ": r"$\theta$", "α": r"$\alpha$", "μ": r"$\mu$", "ω": r"$\omega$",
    "Σ": r"$\Sigma$", "≈": r"$\approx$", "→": r"$\to$", "\u0302": r"\^{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}  # fmt: skip


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


def html_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: Collection[int] = ()) -> str:
    """A plain table; every cell is escaped.

    >>> html_table(["<b>"], [["1"]])
    '<table><tr><th>&lt;b&gt;</th></tr><tr><td>1</td></tr></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        right = ' style="text-align:right"'
        return "".join(f"<{tag}{right * (i in numeric)}>{html.escape(cell)}</{tag}>" for i, cell in enumerate(cells))

    lines = ([line(head, "th")] if head else []) + [line(row, "td") for row in rows]
    return "<table>" + "".join(f"<tr>{each}</tr>" for each in lines) + "</table>"


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is.

    >>> markdown_text("a|b *c* <d>")
    'a\\|b \\*c\\* \\<d>'
    """
    return "".join(f"\\{sign}" if sign in "\\`*_[]<|#$~" else sign for sign in text.replace("\n", " "))


def markdown_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: Collection[int] = ()) -> str:
    """A table of GitHub's Markdown; without a head it gets an empty one, which Markdown asks for.

    >>> print(markdown_table(["", "n"], [["north", "100"]], {1}))
    |       |   n |
    |:------|----:|
    | north | 100 |
    """
    lines = [[""] * len(rows[0]) if head is None else list(head), *map(list, rows)]
    lines = [[markdown_text(cell) for cell in line] for line in lines]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]

    def line(cells: Sequence[str]) -> str:
        padded = (f"{cell:{'>' if i in numeric else '<'}{widths[i]}}" for i, cell in enumerate(cells))
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (w + 1) + ":" if i in numeric else ":" + "-" * (w + 1) for i, w in enumerate(widths))
    return "\n".join([line(lines[0]), f"|{rule}|", *(line(each) for each in lines[1:])])


def latex_text(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> latex_text("95 % of A_1 & −3")
    '95 \\% of A\\_1 \\& $-$3'
    """
    joined = text.replace("\n", " ").replace(">=", "≥").replace("<=", "≤")
    return "".join(LATEX.get(sign, sign) for sign in joined)


def latex_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: Collection[int] = ()) -> str:
    r"""A `tabular` in the style of the package booktabs.

    >>> print(latex_table(["", "n"], [["north", "100"]], {1}))
    \begin{tabular}{lr}
    \toprule
     & n \\
    \midrule
    north & 100 \\
    \bottomrule
    \end{tabular}
    """
    columns = "".join("r" if i in numeric else "l" for i in range(len(rows[0] if head is None else head)))
    lines = [" & ".join(latex_text(cell) for cell in row) + r" \\" for row in ([head] if head else []) + list(rows)]
    if head:
        lines.insert(1, r"\midrule")
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"])
