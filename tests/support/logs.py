"""A log in memory, for tests of those who read one."""

from __future__ import annotations

from collections.abc import Sequence

from rrcollect import PublicKey, SigningKey
from tests.inside.publish import log, tree
from tests.vectors.parts import key

NAME = "log.example.org"
OWN = key("log")
WITNESSES = [key("first witness"), key("second witness"), key("third witness")]
LOG = log.LogKey(NAME, OWN.public)
SEEN_BY = [log.LogKey(f"witness.example/{i}", one.public, log.WITNESS) for i, one in enumerate(WITNESSES)]


def stored(leaves: Sequence[bytes]) -> tree.Read:
    """What a log keeps of these leaves: the hashes of tiles."""
    levels = [list(leaves)]
    while len(levels[-1]) >= tree.WIDTH:
        below = levels[-1]
        levels.append([tree.joined(below[i : i + 256]) for i in range(0, len(below) - 255, 256)])
    return lambda level, first, count: levels[level][first : first + count]


class MemoryLog:
    """Entries, and all that is served of them; `asked` are the addresses that were fetched."""

    def __init__(self, entries: Sequence[bytes] = ()) -> None:
        self.entries = list(entries)
        self.asked: list[str] = []

    def tree(self, size: int | None = None) -> tree.Tree:
        leaves = [tree.leaf_hash(one) for one in self.entries[:size]]
        return tree.Tree(len(leaves), stored(leaves))

    def state(self, size: int | None = None) -> log.Checkpoint:
        grown = self.tree(size)
        return log.Checkpoint(NAME, grown.size, grown.root())

    def note(self, size: int | None = None, *, witnesses: int = 0, own: SigningKey = OWN) -> str:
        state = self.state(size)
        seen = [state.cosigned(SEEN_BY[i].name, one, 1_800_000_000) for i, one in enumerate(WITNESSES[:witnesses])]
        return state.signed(own) + "".join(seen)

    def proof(self, by: PublicKey, index: int, note: str | None = None) -> str:
        path = tuple(self.tree().inclusion(index))
        return log.LogProof(by, index, path, note if note is not None else self.note()).text

    def fetch(self, name: str) -> bytes:
        """The bytes at an address, as C2SP's tiles have them."""
        self.asked.append(name)
        place, _, width = name.partition(".p/")
        _, level, *digits = place.split("/")
        number, count = int("".join(digits).replace("x", "")), int(width or 256)
        if level == "entries":
            return log.packed(self.entries[number * 256 : number * 256 + count])
        return b"".join(self.tree().read(int(level), number * 256, count))
