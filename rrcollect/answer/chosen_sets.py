"""Many sets of options: what a bulk randomisation of a choice returns.

An answer is one character per option, as in a single draw (`answers[i]`, `texts()`); `counts()` is how many answers
hold each option, which is all that an estimate needs; `numpy.asarray(answers)` is a table of 0 and 1.
Kept small: one byte per answer if sets have one option, else one bit per option.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.sets import SetDesign

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1 << 16  # answers spread out at once


class ChosenSets:
    """The answers, by the number of the one option (`indices`) or as bits (`maps`, bit j for option j)."""

    def __init__(
        self, design: SetDesign, *, indices: NDArray[np.uint8] | None = None, maps: NDArray[Any] | None = None
    ) -> None:
        self.design = design
        self._indices, self._maps = indices, maps

    def __repr__(self) -> str:
        return f"ChosenSets({len(self)} answers by {self.design})"

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def _kept(self) -> NDArray[Any]:
        return self._indices if self._indices is not None else np.asarray(self._maps)

    def _spread(self, part: NDArray[Any]) -> NDArray[np.uint8]:
        """Some answers as rows of 0 and 1."""
        k = self.design.options
        if self._indices is not None:
            return np.asarray(part[:, None] == np.arange(k, dtype=np.uint8)).view(np.uint8)
        little = np.ascontiguousarray(part.astype(part.dtype.newbyteorder("<"), copy=False))
        return np.unpackbits(little.view(np.uint8).reshape(len(part), -1), axis=1, count=k, bitorder="little")

    def _parts(self, kept: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
        return (self._spread(kept[start : start + CHUNK]) for start in range(0, len(kept), CHUNK))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        table = np.concatenate([np.empty((0, self.design.options), np.uint8), *self._parts(self._kept)])
        return table if dtype is None else table.astype(dtype)

    def counts(self) -> NDArray[np.int64]:
        """How many answers hold each option."""
        if self._indices is not None:
            return np.bincount(self._indices, minlength=self.design.options)
        total = np.zeros(self.design.options, np.int64)
        for part in self._parts(self._kept):
            total += part.sum(axis=0, dtype=np.int64)
        return total

    def texts(self, places: NDArray[np.intp] | None = None) -> Iterator[str]:
        """The answers as they are sent, one after the other; or those at some places, in this order."""
        for part in self._parts(self._kept if places is None else self._kept[places]):
            width = part.shape[1]
            written = (part + np.uint8(48)).tobytes().decode("ascii")
            yield from (written[place : place + width] for place in range(0, len(written), width))

    def __getitem__(self, place: int) -> str:
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} answers")
        place %= len(self)
        return "".join(map(str, self._spread(self._kept[place : place + 1])[0].tolist()))
