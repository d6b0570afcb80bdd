"""What `rrcollect randomise` writes once people are reserved: their answers, in an order that joins nobody.

Rules
1. Reports leave in the order of their ids, fresh random 128 bits each, and packed answers of a survey in an order drawn
   likewise: nothing in two outputs of one roster joins its people.  Bits alone (.bits) are about order: they keep that
   of the rows.
2. A person is 16 bytes of id, one of answer and four per segment in memory; ten million need about a gigabyte.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rrcollect
from rrcollect import Report
from rrcollect.answer.keystream import fresh_keystream
from server_agg import write_packed
from server_agg.batch.writing import write_whole
from server_agg.count.packed import count_ones

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect import AcceptedSurvey, Design
    from server_agg.cli.truths import Roster

__all__ = ["shuffled_ids", "write_answers", "write_bits"]

AT_ONCE = 65_536


def shuffled_ids(n: int) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Fresh random ids, n × 16 bytes in ascending order, and the places of the rows they go to: a uniform shuffle."""
    ids = np.zeros((n, 16), np.uint8)
    fresh_keystream()(ids.reshape(-1))
    order = np.argsort(ids.view("S16").reshape(-1), kind="stable")
    return ids[order], order


def write_answers(
    options: Namespace, partial: Path, roster: Roster, drawn: NDArray[np.bool_], accepted: AcceptedSurvey
) -> int:
    """A report for everybody `drawn`, by the published matrix; returns how many say yes."""
    question = accepted.survey.question(options.question)
    answers = rrcollect.randomise_many(roster.truths[drawn], question.design)
    ids, order = shuffled_ids(answers.size)
    names = {name: accepted.survey.segments[name].names for name in roster.segments}
    places = {name: found[drawn] for name, found in roster.segments.items()}

    def reports() -> Iterator[Report]:
        for start in range(0, order.size, AT_ONCE):
            here = order[start : start + AT_ONCE]
            values = {name: [names[name][place] for place in found[here]] for name, found in places.items()}
            for place, (answer, id_) in enumerate(zip(answers[here], ids[start : start + AT_ONCE], strict=True)):
                yield Report(
                    survey=accepted.digest,
                    question=question.id,
                    design=question.design,
                    answer=str(int(answer)),
                    id=id_.tobytes().hex(),
                    round=options.round,
                    segments={name: said[place] for name, said in values.items()},
                )

    write_whole(partial, reports())
    return int(answers.sum())


def write_bits(
    options: Namespace, partial: Path, truths: NDArray[np.bool_], design: Design, envelope: bytes | None
) -> int:
    """Eight answers to a byte; returns how many say yes."""
    counted = options.out.name.lower().endswith(".rrbits") and envelope is not None
    if counted:
        truths = truths[shuffled_ids(truths.size)[1]]
    packed = rrcollect.randomise_packed(np.packbits(truths, bitorder="little"), truths.size, design)
    if counted and envelope is not None:
        write_packed(partial, packed, truths.size, envelope, options.question, round=options.round)
    else:
        partial.write_bytes(packed.tobytes())
    return count_ones(packed)
