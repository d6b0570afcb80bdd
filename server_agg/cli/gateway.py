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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rrcollect
from rrcollect import Report
from rrcollect.answer.draw import fresh_keystream
from rrcollect.publish.kinds import AnyKind
from server_agg import write_packed
from server_agg.batch.writing import write_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect.answer.acceptance import AcceptedSurvey
    from rrcollect.design.mechanism import Mechanism
    from server_agg.cli.truths import Roster

AT_ONCE = 65_536


def shuffled_ids(n: int) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Fresh random ids, n × 16 bytes in ascending order, and the places of the rows they go to: a uniform shuffle."""
    ids = np.zeros((n, 16), np.uint8)
    fresh_keystream()(ids.reshape(-1))
    order = np.argsort(ids.view("S16").reshape(-1), kind="stable")
    return ids[order], order


class ColumnQuestion(NamedTuple):
    """What a column answers: a kind of truth, by a design; of a survey, or of nobody's for a bare ε."""

    kind: AnyKind
    design: Mechanism
    accepted: AcceptedSurvey | None = None
    envelope: bytes | None = None

    def drawn(self, truths: NDArray[Any]) -> Any:
        """An answer for every truth."""
        return rrcollect.randomise_many(truths, self.design, **self.kind.bounded)

    def ones(self, answers: Any) -> int | list[int]:
        """How many answers are 1; of a choice, how many hold each option."""
        counts = self.design.counted(answers)[1]
        return list(counts) if self.design.cells > 1 else counts[0]


def write_answers(
    options: Namespace, partial: Path, roster: Roster, drawn: NDArray[np.bool_], asked: ColumnQuestion
) -> int | list[int]:
    """A report for everybody `drawn`, by the published design; returns the `ones` of them."""
    accepted = asked.accepted
    assert accepted is not None, "reports are a survey's"  # noqa: S101
    question = accepted.survey.question(options.question)
    answers = asked.drawn(roster.truths[drawn])
    ids, order = shuffled_ids(len(answers))
    names = {name: accepted.survey.segments[name].names for name in roster.segments}
    places = {name: found[drawn] for name, found in roster.segments.items()}

    def reports() -> Iterator[Report]:
        for start in range(0, order.size, AT_ONCE):
            here = order[start : start + AT_ONCE]
            values = {name: [names[name][place] for place in found[here]] for name, found in places.items()}
            said_here = zip(asked.design.texts(answers[here]), ids[start : start + AT_ONCE], strict=True)
            for place, (answer, id_) in enumerate(said_here):
                yield Report(
                    survey=accepted.digest,
                    question=question.id,
                    design=question.design,
                    answer=answer,
                    id=id_.tobytes().hex(),
                    round=options.round,
                    segments={name: said[place] for name, said in values.items()},
                )

    write_whole(partial, reports())
    return asked.ones(answers)


def write_bits(options: Namespace, partial: Path, truths: NDArray[Any], asked: ColumnQuestion) -> int | list[int]:
    """Eight bits to a byte, one bit per answer, or of a choice one per option; returns the `ones` of the answers."""
    counted = options.out.name.lower().endswith(".rrbits")
    if counted:
        truths = truths[shuffled_ids(truths.size)[1]]
    answers = asked.drawn(truths)
    packed, ones = np.packbits(np.asarray(answers), bitorder="little"), asked.ones(answers)
    if counted and asked.envelope is not None:
        write_packed(partial, packed, truths.size, asked.envelope, options.question, round=options.round)
    else:
        partial.write_bytes(packed.tobytes())
    return ones
