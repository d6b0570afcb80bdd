"""How often each answer of a crowd was given, and how often it was released: in memory, and as the text that is sealed.

>>> unpacked_answers(packed_answers({"10": CellCount(3, 1), "01": CellCount(1, 0)}))
{'01': CellCount(n=1, published=0), '10': CellCount(n=3, published=1)}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from server_agg.collect.store.reports import CellCount

Answers = dict[str, CellCount]


def packed_answers(answers: Answers) -> bytes:
    """Those that are not public, then those that are, each sorted."""
    fresh = "".join(answer * (n - public) for answer, (n, public) in sorted(answers.items()))
    public = "".join(answer * public for answer, (_, public) in sorted(answers.items()))
    width = len(next(iter(answers), ""))
    return f"{width} {len(fresh)}\n{fresh}{public}".encode()


def unpacked_answers(content: bytes) -> Answers:
    """The answers again."""
    head, _, text = content.decode().partition("\n")
    width, end = map(int, head.split())
    found = Counter(text[at : at + width] for at in range(0, len(text), width or 1))
    public = Counter(text[at : at + width] for at in range(end, len(text), width or 1))
    return {answer: CellCount(n, public[answer]) for answer, n in sorted(found.items())}


def together(pieces: Iterable[Answers]) -> Answers:
    """All of them, as one."""
    found: Answers = {}
    for piece in pieces:
        for answer, (n, public) in piece.items():
            before = found.get(answer, CellCount(0))
            found[answer] = CellCount(before.n + n, before.published + public)
    return found


def many(answers: Answers) -> int:
    """How many answers that is."""
    return sum(n for n, _ in answers.values())
