"""The browser client: one ES module without dependencies, the Python client's equal; see docs/browser.md.

It lies here so that the wheel carries it and a collector can serve it.  `for_pages` is how a page loads it.
"""

from __future__ import annotations

import re

__all__ = ["for_pages"]

HEAD = "// Without comments and what is for Node; the source is in the Python packages rrcollect and server_agg.\n"
NODE = re.compile(r"^// ---- in Node alone.*?(?=^// ----)", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/ ?|^[ ]*// .*?$|^[ ]*//$|[ ]// .*?$", re.DOTALL | re.MULTILINE)
BLANK = re.compile(r"\n\s*")
TEXT = re.compile(r'("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)')
AROUND = re.compile(r" ?(=>|===|!==|&&|\|\||\?\?|[=,;{}()\[\]?:<>]) ?")


def for_pages(module: str) -> str:
    """A module of ours without comments, blanks and what is for Node: a third less to load.  Names stay.

    It knows our way of writing and not JavaScript: a comment is `/* … */`, or what stands behind `// ` at the beginning
    of a line or after a blank; no text and no pattern of ours has these signs, and none goes over several lines.
    Blanks around signs go, but for lines with a pattern, or with a text inside a text.

    >>> print(for_pages('/** Doubles. */\\nfunction twice(n) {\\n  return 2 * n; // "https://"\\n}\\n'), end="")
    // Without comments and what is for Node; the source is in the Python packages rrcollect and server_agg.
    function twice(n){
    return 2 * n;
    }
    """
    lines = BLANK.sub("\n", COMMENT.sub("", NODE.sub("", module))).lstrip().split("\n")
    return HEAD + "\n".join(map(_closed_up, lines))


def _closed_up(line: str) -> str:
    """A line of a module without the blanks around signs.  A text inside a text is seen by a brace that does not close.

    >>> _closed_up('const a = b ? "c, d" : e;'), _closed_up("const f = /g, h/;")
    ('const a=b?"c, d":e;', 'const f = /g, h/;')
    >>> _closed_up("say(`a, ${b ? `c, d` : e}`, f);")
    'say(`a, ${b ? `c, d` : e}`, f);'
    """
    parts = TEXT.split(line)
    pattern = any("/" in code.replace(" / ", "") for code in parts[::2])
    if pattern or any(text[0] == "`" and text.count("{") != text.count("}") for text in parts[1::2]):
        return line
    return "".join(part if i % 2 else AROUND.sub(r"\1", part) for i, part in enumerate(parts))
