"""A Merkle tree that only grows, and what its tiles prove (RFC 9162, 2.1; C2SP tlog-tiles).

    MTH({}) = H(""),   MTH({d}) = H(0x00 ‖ d),   MTH(D) = H(0x01 ‖ MTH(D[:k]) ‖ MTH(D[k:])),
    H being SHA-256 and k the largest power of two below the number of entries.

Rules
1. The path of an entry, with its index, gives the root again.  A consistency proof gives the root of the first m
   entries and the root of all n: nothing was changed or taken away between the two.
2. A tile holds the hashes of 256 entries, or of 256 full tiles below.  Every root and proof follows from a few tiles.
3. No proof of more than 64 hashes is looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rrcollect.errors import NotLogged, SplitLog

WIDTH = 256  # hashes in a full tile
HEIGHT = 8  # levels of the tree in a tile
DEEPEST = 64

Read = Callable[[int, int, int], Sequence[bytes]]
"""(level of tile, first, how many): hashes of full subtrees of 256^level entries, as tiles hold them."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of an entry.

    >>> leaf_hash(b"").hex()[:16]
    '6e340b9cffb37a98'
    """
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def joined(hashes: Sequence[bytes]) -> bytes:
    """The hash of a tree by those of its full subtrees, all of one size.

    >>> joined([]) == hashlib.sha256(b"").digest()
    True
    """
    level = list(hashes)
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [node_hash(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)] + odd
    return level[0] if level else hashlib.sha256(b"").digest()


@dataclass(frozen=True)
class Tree:
    """The first `size` entries of a log, by the hashes that its tiles hold: root and proofs, each from a few tiles.

    >>> leaves = [leaf_hash(bytes([i])) for i in range(7)]
    >>> tree = Tree(7, lambda level, first, n: leaves[first : first + n])
    >>> check_inclusion(leaves[3], 3, 7, tree.root(), tree.inclusion(3))
    >>> check_consistency(4, joined(leaves[:4]), 7, tree.root(), tree.consistency(4))
    """

    size: int
    read: Read

    def root(self, size: int | None = None) -> bytes:
        """The root of the first `size` entries, or of all."""
        return self._hash(0, self.size if size is None else size)

    def inclusion(self, index: int) -> list[bytes]:
        """The path of an entry (2.1.3.1)."""
        begin, end, path = 0, self.size, list[bytes]()
        while end - begin > 1:
            middle = begin + _split(end - begin)
            path.append(self._hash(middle, end) if index < middle else self._hash(begin, middle))
            begin, end = (begin, middle) if index < middle else (middle, end)
        return path[::-1]

    def consistency(self, old: int) -> list[bytes]:
        """The proof that the first `old` entries are still the first (2.1.4.1)."""
        begin, end, proof = 0, self.size, list[bytes]()
        while 0 < old < end:
            middle = begin + _split(end - begin)
            proof.append(self._hash(middle, end) if old <= middle else self._hash(begin, middle))
            begin, end = (begin, middle) if old <= middle else (middle, end)
        return ([self._hash(begin, end)] if begin else []) * (0 < old < self.size) + proof[::-1]

    def _hash(self, begin: int, end: int) -> bytes:
        size = end - begin
        if size & (size - 1) and size:
            middle = begin + _split(size)
            return node_hash(self._hash(begin, middle), self._hash(middle, end))
        level = max(size.bit_length() - 1, 0) // HEIGHT
        return joined(self.read(level, begin >> HEIGHT * level, size >> HEIGHT * level) if size else ())


def _split(size: int) -> int:
    """The largest power of two below a size."""
    return 1 << (size - 1).bit_length() - 1


def check_inclusion(leaf: bytes, index: int, size: int, root: bytes, path: Sequence[bytes]) -> None:
    """Return if the entry with this hash has this index in the tree with this root (2.1.3.2); `NotLogged` otherwise."""
    place, last, found = index, size - 1, leaf
    if not 0 <= index < size or len(path) > DEEPEST:
        raise NotLogged("its proof is not of this tree")
    for each in path:
        if not last:
            raise NotLogged("its proof is longer than the tree is high")
        if place & 1 or place == last:
            found = node_hash(each, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, each)
        place, last = place >> 1, last >> 1
    if last or found != root:
        raise NotLogged("its proof does not lead to the signed root")


def check_consistency(old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> None:
    """Return if the tree with the second root begins with the tree with the first (2.1.4.2); `SplitLog` otherwise."""
    trouble = SplitLog(f"the log shows {size} entries that do not begin with the {old} it showed before")
    if not 0 <= old <= size or len(proof) > DEEPEST or (bool(proof) == (old in (0, size))):
        raise trouble
    if not proof:
        if (old == size and root != old_root) or (old == 0 and old_root != joined(())):
            raise trouble
        return
    place, last = old - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    first = second = path[0]
    for each in path[1:]:
        if not last:
            raise trouble
        if place & 1 or place == last:
            first, second = node_hash(each, first), node_hash(each, second)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, each)
        place, last = place >> 1, last >> 1
    if last or first != old_root or second != root:
        raise trouble


def tile_name(level: int | str, number: int, width: int = WIDTH) -> str:
    """The address of a tile of hashes, or (level "entries") of the entries themselves.

    >>> tile_name(0, 1234067), tile_name("entries", 0, 5)
    ('tile/0/x001/x234/067', 'tile/entries/000.p/5')
    """
    digits = f"{number:03}".zfill(-(-len(f"{number:03}") // 3) * 3)
    parts = [digits[i : i + 3] for i in range(0, len(digits), 3)]
    place = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
    return f"tile/{level}/{place}" + ("" if width == WIDTH else f".p/{width}")
