"""The log of published surveys: signed states of a tree that anybody can check and compare (`tree`).

Forms (C2SP: signed-note, tlog-checkpoint, tlog-cosignature, tlog-tiles, tlog-proof)
1. A checkpoint is origin, size and root, signed by the log's Ed25519 key.  A witness that saw every earlier checkpoint
   signs the same text with its moment.  A key is written `name+id+base64`; the app names keys, never the survey.
2. A note counts if the log's own signature fits.  A signature under a key that is known and does not fit refuses the
   note; a key that nobody here knows is passed over.
3. A proof that travels with an envelope is index, path and checkpoint, with the publisher's key (`extra`) that its
   entry names.  The entry of a survey is the canonical JSON of digest, key, name and version.  An owner's deed has an
   entry too: the SHA-256 of a line that the owner keeps.
4. Sizes are checked before anything is parsed or hashed: no note has more than 17 signatures.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rrcollect.errors import NotLogged, ParameterError, SplitLog, SurveyRefused
from rrcollect.publish.canonical import canonical
from rrcollect.publish.envelope import from_base64
from rrcollect.publish.keys import PublicKey, SigningKey
from rrcollect.publish.tree import (
    DEEPEST,
    HEIGHT,
    WIDTH,
    Tree,
    check_consistency,
    check_inclusion,
    joined,
    leaf_hash,
    tile_name,
)

LARGEST_NOTE = 4096  # characters
MOST_NOTE_SIGNATURES = 17  # the log's and sixteen witnesses'
FIRST_LINE = "c2sp.org/tlog-proof@v1"
LOG, WITNESS = 1, 4  # the kinds of signature that a key makes
_NUMBER = re.compile("0|[1-9][0-9]{0,14}")
_KEY = re.compile(r"([!-*,-~]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{44})")


# ---- keys and checkpoints -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogKey:
    """The public key of a log, or of a witness, with its name.

    >>> LogKey.read("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k").name
    'example.com/foo'
    """

    name: str
    key: PublicKey
    kind: int = LOG

    @classmethod
    def read(cls, text: object, kind: int = LOG) -> LogKey:
        """The key in a text `name+id+base64`."""
        parts = _KEY.fullmatch(text) if isinstance(text, str) else None
        try:
            raw = from_base64(parts[3]) if parts else b""
            made = cls(parts[1], PublicKey(raw[1:]), raw[0]) if parts else None
        except (SurveyRefused, ParameterError):
            made = None
        if made is None or made.kind != kind or made.text != text:
            named = "log's key" if kind == LOG else "witness's key"
            raise ParameterError(named, text, "a text as the log prints it, NAME+ID+KEY, of Ed25519")
        return made

    @property
    def id(self) -> bytes:
        """Four bytes that go with the name in a signature."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.key.raw).digest()[:4]

    @property
    def text(self) -> str:
        """As an app names it."""
        return f"{self.name}+{self.id.hex()}+{b64encode(bytes([self.kind]) + self.key.raw).decode()}"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a log: its name, how many entries it has, and the root of their tree."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"

    def signed(self, key: SigningKey) -> str:
        """The note with the log's own signature."""
        own = LogKey(self.origin, key.public)
        return f"{self.text}\n{_line(own, key.sign(self.text.encode()))}"

    def cosigned(self, name: str, key: SigningKey, moment: int) -> str:
        """The line by which a witness says that at this moment (seconds since 1970) it knew no later state of the log,
        and that this one goes on from every state it saw before."""
        said = f"cosignature/v1\ntime {moment}\n{self.text}".encode()
        return _line(LogKey(name, key.public, WITNESS), moment.to_bytes(8, "big") + key.sign(said))


def _line(key: LogKey, signature: bytes) -> str:
    return f"— {key.name} {b64encode(key.id + signature).decode()}\n"


def read_checkpoint(note: str, log: LogKey, witnesses: Iterable[LogKey] = ()) -> tuple[Checkpoint, frozenset[LogKey]]:
    """The checkpoint in a note that the log signed, and which of the witnesses signed it too."""
    head, between, tail = note.partition("\n\n") if len(note) <= LARGEST_NOTE else ("", "", "")
    lines, signed = head.split("\n"), tail.removesuffix("\n").split("\n")
    if len(lines) != 3 or not between or not tail.endswith("\n") or len(signed) > MOST_NOTE_SIGNATURES:
        raise NotLogged("this is not a signed checkpoint")
    origin, size, root = lines[0], lines[1], _base64(lines[2])
    if origin != log.name or not _NUMBER.fullmatch(size) or len(root) != 32:
        raise NotLogged(f"this is not a checkpoint of the log {log.name!r}")
    found, known = Checkpoint(origin, int(size), root), {(one.name, one.id): one for one in (log, *witnesses)}
    good = set()
    for line in signed:
        dash, name, data, *more = [*line.split(" "), "", ""]
        raw = _base64(data)
        if dash != "—" or len(raw) < 5 or any(more):
            raise NotLogged("a line of signatures is not one")
        by = known.get((name, raw[:4]))
        if by is not None:
            moment, signature = (raw[4:12], raw[12:]) if by.kind == WITNESS else (b"", raw[4:])
            said = f"cosignature/v1\ntime {int.from_bytes(moment, 'big')}\n" if by.kind == WITNESS else ""
            if by in good or not by.key.verifies(signature, (said + found.text).encode()):
                raise NotLogged(f"the signature of {name!r} does not fit the checkpoint, or is there twice")
            good.add(by)
    if log not in good:
        raise NotLogged(f"the log {log.name!r} has not signed this checkpoint")
    return found, frozenset(good - {log})


def _base64(text: str) -> bytes:
    try:
        return from_base64(text)
    except SurveyRefused as error:
        raise NotLogged(str(error)) from None


# ---- the entry of a survey, and its proof ---------------------------------------------------------------------------


def survey_entry(key: PublicKey, name: str, version: int, digest: str) -> bytes:
    """The entry of a survey, by a key that signed it."""
    return canonical({"digest": digest, "key": key.raw.hex(), "name": name, "version": version})


@dataclass(frozen=True)
class LogProof:
    """What travels with an envelope: where its entry is, under which key, and in which signed state of the log."""

    key: PublicKey
    index: int
    path: tuple[bytes, ...]
    note: str

    @property
    def text(self) -> str:
        """As it is written."""
        path = "".join(f"{b64encode(each).decode()}\n" for each in self.path)
        extra = b64encode(self.key.raw).decode()
        return f"{FIRST_LINE}\nextra {extra}\nindex {self.index}\n{path}\n{self.note}"

    @classmethod
    def read(cls, text: str) -> LogProof:
        """The proof in a text; its checkpoint is not read yet."""
        head, _, note = text[: 2 * LARGEST_NOTE + 1].partition("\n\n")
        lines = [*head.split("\n", DEEPEST + 3), "", "", ""]
        named, index, path = lines[1].removeprefix("extra "), lines[2].removeprefix("index "), lines[3:-3]
        key = _base64(named)
        if not _NUMBER.fullmatch(index) or len(path) > DEEPEST or len(key) != 32:
            raise NotLogged("this is not a proof of a log")
        made = cls(PublicKey(key), int(index), tuple(_base64(one) for one in path), note)
        if made.text != text or any(len(one) != 32 for one in made.path):
            raise NotLogged("this is not a proof of a log")
        return made


@dataclass(frozen=True)
class LogRule:
    """Which log must have a survey, and how many of which witnesses must have seen the same state of it."""

    log: LogKey
    witnesses: frozenset[LogKey] = frozenset()
    needed: int = 0

    @classmethod
    def of(cls, log: Any, witnesses: Any, needed: Any) -> LogRule | None:
        """The rule that an app gives by the texts of keys; None without a log.  `needed` witnesses, or all of them."""
        listed = isinstance(witnesses, Iterable) and not isinstance(witnesses, str)
        named = frozenset(LogKey.read(one, WITNESS) for one in (witnesses if listed else [witnesses]))
        if log is None and (named or needed is not None):
            raise ParameterError("log", log, "the log's key, since witnesses are named: they sign the states of a log")
        least = len(named) if needed is None else needed
        if isinstance(least, bool) or not isinstance(least, int) or not 0 <= least <= len(named):
            raise ParameterError("witnesses_needed", needed, f"a whole number, 0 to {len(named)}")
        return None if log is None else cls(LogKey.read(log), named, least)

    def check(
        self, proof: str | None, signers: Iterable[PublicKey], about: tuple[str, int, str]
    ) -> tuple[Checkpoint, int]:
        """The state of the log in which a survey (name, version, digest) by one of its signers is, and how many of the
        witnesses signed it; `NotLogged` if the proof does not show it."""
        if proof is None:
            raise NotLogged("this policy takes surveys of a log only, and this envelope has no proof that it is there")
        found = LogProof.read(proof)
        if found.key not in signers:
            raise NotLogged("the log names a key that has not signed this survey, or that this policy does not trust")
        state, seen = read_checkpoint(found.note, self.log, self.witnesses)
        if len(seen) < self.needed:
            raise NotLogged(f"{len(seen)} of {self.needed} needed witnesses have signed this state of the log")
        check_inclusion(leaf_hash(survey_entry(found.key, *about)), found.index, state.size, state.root, found.path)
        return state, len(seen)


# ---- reading a log --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogReader:
    """A log as anybody reads it: `fetch` returns the bytes at an address below the log's own.

    What it returns is nobody's word until it leads to a signed root."""

    fetch: Callable[[str], bytes]

    def tree(self, size: int) -> Tree:
        """The first `size` entries, by their tiles."""
        known: dict[tuple[int, int], bytes] = {}

        def read(level: int, first: int, count: int) -> list[bytes]:
            number, there = first // WIDTH, size >> HEIGHT * level
            if (level, number) not in known:
                known[level, number] = self._tile(level, number, min(WIDTH, there - number * WIDTH))
            begin = first % WIDTH * 32
            return [known[level, number][i : i + 32] for i in range(begin, begin + count * 32, 32)]

        return Tree(size, read)

    def _tile(self, level: int, number: int, width: int) -> bytes:
        found = self.fetch(tile_name(level, number, width))
        if len(found) != width * 32:
            raise SplitLog(f"the log has no tile {tile_name(level, number, width)}")
        return found

    def check(self, first: Checkpoint, second: Checkpoint) -> None:
        """Return if one of two signed states goes on from the other; `SplitLog` if the log showed two histories."""
        old, new = sorted((first, second), key=lambda one: one.size)
        proof = self.tree(new.size).consistency(old.size)
        check_consistency(old.size, old.root, new.size, new.root, proof)

    def entries(self, state: Checkpoint) -> Iterator[bytes]:
        """Every entry of a signed state; all of them are read before the first is believed."""
        found: list[bytes] = []
        for number in range(-(-state.size // WIDTH)):
            width = min(WIDTH, state.size - number * WIDTH)
            found += _unpacked(self.fetch(tile_name("entries", number, width)), width)
        if joined([leaf_hash(one) for one in found]) != state.root:
            raise SplitLog("the entries that the log shows do not lead to the root it signed")
        return iter(found)

    def leaves(self, state: Checkpoint, key: PublicKey, name: str) -> int:
        """How many surveys this key has in the log under this name."""
        listed = (json.loads(entry) for entry in self.entries(state))
        return sum((one.get("key"), one.get("name")) == (key.raw.hex(), name) for one in listed)


def _unpacked(bundle: bytes, width: int) -> list[bytes]:
    found, at = list[bytes](), 0
    while at < len(bundle) and len(found) < width:
        end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
        found.append(bundle[at + 2 : end])
        at = end
    if at != len(bundle) or len(found) != width:
        raise SplitLog("a bundle of entries is cut off, or has more than it should")
    return found


def packed(entries: Iterable[bytes]) -> bytes:
    """A bundle of entries."""
    return b"".join(len(one).to_bytes(2, "big") + one for one in entries)
