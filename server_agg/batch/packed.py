"""The packed file (`.rrbits`): a gateway's millions of answers to one question, eight to a byte, in one file.

    {"answers":…,"bitorder":"little","envelope":"…","format":"rrcollect-packed-1","id":"…","question":"…","round":0,
     "segments":{},"sha256":"…"}   one line of canonical JSON, then spaces and a newline up to a multiple of 64 bytes
    the answers' bits              ceil(answers/8) bytes, the unused bits of the last one 0

Why not `.npz` or Arrow: both need a library to be read at all, neither says what its bits mean, and an array inside a
zip cannot be mapped into memory.  This is a header that a person reads with `head -1`, and an aligned array after it.

Rules
1. The file alone suffices: it carries the signed survey envelope.  The matrix is the envelope's, never the header's.
2. The header is in its one spelling, the lengths fit, and the digest of the bits is theirs; otherwise nothing is read.
   (A digest finds damage, not fraud: who may hand in a file is the owner's to decide.)
3. The id is fresh random 128 bits and stands for the whole file: handed in twice, it counts once.
4. Bits are counted where they are stored, mapped and not read into memory.
5. One bit per answer: yes/no and numbers.  A choice is refused by name; its sets go into rows.
6. In a batch the file is the report: it is judged by the same rules, and all its answers are taken or none.  The survey
   must be one of those given; without any, the file's own envelope is verified under the trusted keys.
7. The same file twice (id and all) counts once, its answers are then `repeated`; different files under one id are all
   refused as `conflicting_id`.  Tickets have no place here: a survey by invitation is refused as `missing_ticket`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError, RRCollectError, shown
from rrcollect.publish.canonical import canonical
from rrcollect.publish.document import SignedDocument
from rrcollect.publish.envelope import LARGEST_ENVELOPE, Base64, Envelope, verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.report import ReportRow, fault
from rrcollect.publish.survey import Publication, Survey
from server_agg.batch.summary import BatchResult, Summary
from server_agg.count.tallies import Tallies, TallyKey, refuse_mixed
from server_agg.count.tally import Tally, count_ones
from server_agg.errors import UnreadableReports
from server_agg.files import new_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE_BIT = "a packed file holds answers of one bit (yes/no, numbers); sets go into rows (.jsonl, .csv, .parquet)"
ALIGNED = 64
PIECE = 1 << 20


class PackedHeader(SignedDocument):
    """What a packed file says of itself in its first line."""

    largest: ClassVar = 2 * LARGEST_ENVELOPE
    answers: int = Field(ge=0)
    bitorder: Literal["little", "big"]
    envelope: Base64
    format: Literal["rrcollect-packed-1"] = "rrcollect-packed-1"
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    question: str
    round: int = Field(ge=0)
    segments: dict[str, str]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class PackedAnswers:
    """A packed file as read: what it claims, and its bits, mapped.  `envelope` is not yet verified."""

    path: str
    id: str
    envelope: bytes = field(repr=False)
    question: str
    round: int
    segments: Mapping[str, str] = field(hash=False)
    answers: int
    bitorder: str
    sha256: str
    bits: NDArray[np.uint8] = field(repr=False, compare=False)

    def survey(self, trusted: Iterable[PublicKey]) -> Survey:
        """The survey of the envelope, verified under the trusted keys."""
        return Survey.from_payload(verify(self.envelope, trusted).payload)

    @property
    def survey_digest(self) -> str:
        """The digest of what the envelope holds; equal to a survey's own if it is that survey."""
        try:
            return hashlib.sha256(Envelope.read(self.envelope).payload).hexdigest()
        except RRCollectError as error:
            raise _unreadable(self.path, f"its envelope is not one ({error})") from None

    @property
    def ones(self) -> int:
        """How many answers are 1."""
        return count_ones(self.bits)


def write_packed(
    path: str | os.PathLike[str],
    packed: NDArray[np.uint8],
    answers: int,
    publication: Publication | bytes,
    question: str,
    *,
    round: int = 0,
    segments: Mapping[str, str] | None = None,
    bitorder: Literal["little", "big"] = "little",
) -> str:
    """Write the packed answers of `randomise_many(…, packed=n)` with their survey; returns the file's id.

    The file appears under its name when it is whole.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import Question, Survey, SigningKey, optimal_design
    >>> key = SigningKey.generate()
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "gateway.rrbits")
    >>> file_id = write_packed(path, np.array([0b00000101], np.uint8), 3, survey.publish([key]), "q1")
    >>> read_packed(path).ones, len(file_id)
    (2, 32)
    """
    envelope = publication.envelope if isinstance(publication, Publication) else publication
    asked = publication.survey.questions if isinstance(publication, Publication) else ()
    if any(one.id == question and one.design.width > 1 for one in asked):
        raise ParameterError("question", question, ONE_BIT)
    n = whole_number("answers", answers, minimum=0)
    bits = np.ascontiguousarray(packed)
    if bits.dtype != np.uint8 or bits.ndim != 1 or bits.size != -(-n // 8):
        raise ParameterError("packed", f"{bits.dtype} of shape {bits.shape}", f"{-(-n // 8)} bytes for {n} answers")
    if bitorder not in ("little", "big"):
        raise ParameterError("bitorder", bitorder, "'little' or 'big'")
    if n % 8 and bits[-1] & _unused(n, bitorder):
        raise ParameterError("packed", "a last byte with unused bits set", "zeros beyond the last answer")
    if not str(path).endswith(".rrbits"):
        raise ParameterError("path", os.fspath(path), "a name ending in .rrbits")
    header = PackedHeader(
        answers=n,
        bitorder=bitorder,
        envelope=envelope,
        id=secrets.token_hex(16),
        question=question,
        round=round,
        segments=dict(segments or {}),
        sha256=hashlib.sha256(bits.data).hexdigest(),
    )
    line = header.payload()
    line += b" " * (-(len(line) + 1) % ALIGNED) + b"\n"
    with new_file(path) as partial, partial.open("wb") as file:
        file.write(line)
        file.write(bits.data)
    return header.id


def _unreadable(path: str, why: str) -> UnreadableReports:
    return UnreadableReports(shown(path), None, why, skippable=False)


def _unused(n: int, bitorder: str) -> int:
    return 255 & ~((1 << n % 8) - 1) if bitorder == "little" else (255 >> n % 8)


def read_packed(path: str | os.PathLike[str], *, check: bool = True) -> PackedAnswers:
    """The header and the mapped bits of a packed file; `check=False` skips the digest of the bits, nothing else.

    >>> read_packed("no-such-file.rrbits")
    Traceback (most recent call last):
    ...
    server_agg.errors.UnreadableReports: 'no-such-file.rrbits': cannot be read (No such file or directory)
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            line = file.readline(PackedHeader.largest)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise _unreadable(name, f"cannot be read ({error.strerror})") from None
    if not line.endswith(b"\n") or len(line) % ALIGNED:
        raise _unreadable(
            name, "it has no whole header line: it is cut off or not a packed file; copy or pack it again"
        )
    try:
        header = PackedHeader.from_payload(line.rstrip(b" \n"))
    except RRCollectError as error:
        raise _unreadable(name, f"its header is not readable: {error}") from None
    n = header.answers
    if size - len(line) != -(-n // 8):
        raise _unreadable(name, f"{size - len(line)} bytes of bits; {-(-n // 8)} are announced: copy or pack it again")
    bits: NDArray[np.uint8] = np.memmap(name, np.uint8, "r", len(line)) if n else np.zeros(0, np.uint8)
    if n % 8 and int(bits[-1]) & _unused(n, header.bitorder):
        raise _unreadable(name, "bits are set beyond the last answer")
    if check:
        digest = hashlib.sha256()
        for start in range(0, bits.size, PIECE):
            digest.update(bits[start : start + PIECE].data)
        if digest.hexdigest() != header.sha256:
            raise _unreadable(name, "the bits do not fit their digest: the file is damaged; copy or pack it again")
    return PackedAnswers(path=name, bits=bits, **header.model_dump(exclude={"format"}))


# ---- in a batch -----------------------------------------------------------------------------------------------------

Content = tuple[object, ...]


def tally_packed(
    paths: Sequence[str],
    surveys: Sequence[Survey],
    trusted: Iterable[PublicKey] = (),
    *,
    deduplicate: bool = True,
    earlier: Sequence[str] = (),
) -> BatchResult:
    """The tallies of packed files."""
    keys = list(trusted)
    if not surveys and not keys:
        raise ParameterError("surveys", [], "surveys, or trusted keys to verify the files' own envelopes with")
    seen: dict[str, list[PackedAnswers]] = {}
    for path in paths:
        packed = read_packed(path)
        seen.setdefault(packed.id if deduplicate else path, []).append(packed)
    before = {packed.id: _content(packed) for packed in map(read_packed, earlier)}
    result, pilots = BatchResult(Tallies(), Summary(0, 0)), dict[str, bool]()
    for files in seen.values():
        for packed in files:
            own = surveys or [packed.survey(keys)]
            pilots |= {f"{survey.name!r} ({survey.digest[:12]}…)": survey.pilot for survey in own}
            refuse_mixed(pilots)
            result += _judged(packed, own, files, before)
    return result


def _content(packed: PackedAnswers) -> Content:
    segments = canonical(dict(packed.segments))
    return packed.survey_digest, packed.question, packed.round, segments, packed.answers, packed.bitorder, packed.sha256


def _judged(
    packed: PackedAnswers,
    surveys: Sequence[Survey],
    same_id: list[PackedAnswers],
    before: dict[str, Content],
) -> BatchResult:
    n, digest, question, number = packed.answers, packed.survey_digest, packed.question, packed.round
    survey = next((survey for survey in surveys if survey.digest == digest), None)
    design = next((one.design for one in (survey.questions if survey else ()) if one.id == question), None)
    if design is not None and design.width > 1:
        raise _unreadable(packed.path, f"question {question!r} is a choice: {ONE_BIT}")
    contents = {_content(one) for one in same_id} | {before[packed.id] for _ in [0] if packed.id in before}
    segments = canonical(dict(packed.segments)).decode()
    # the row that every answer of the file would be; its design is the envelope's own
    row = ReportRow(digest, question, number, None if design is None else design.text, "0", packed.id, None, segments)
    reason = fault(row, survey) or ("conflicting_id" if len(contents) > 1 else None)
    if reason or survey is None or design is None:
        return BatchResult(Tallies(), Summary(n, 0, 0, {reason or "unknown_survey": n}))
    if packed.id in before or packed is not same_id[0]:
        return BatchResult(Tallies(), Summary(n, 0, n))
    key = TallyKey(digest, question, design, tuple(packed.segments.items()), number, survey.pilot)
    return BatchResult(Tallies({key: Tally(design, n, [packed.ones])}), Summary(n, n))
