"""The epoch key: what the waiting reports are encrypted with, and how it is destroyed.

Rules
1. A report that waits is written only under the key of the current epoch: its content by AES-GCM, together with those
   of its transaction and each padded to the longest that its survey allows, so that the length tells how many they are
   and nothing about any of them; its id and its ticket as marks.  An id is
   one block, and its mark is that block under AES, a permutation; the mark of a ticket is a keyed hash.  With the key
   gone, what heaps, logs, archives and backups still hold of them cannot be read, compared or joined with anything.
2. A key is one file of 32 random bytes outside the database, of mode 600.  It is on disk, and so is its name in the
   folder, before the first report is written under it.
3. A fold makes the next key first, names it in the database in the transaction that empties the intake, and then
   destroys every other key of this database: overwritten, flushed, unlinked, the folder flushed.  After a crash or a
   failure at any moment the key that the database names is there, and the next look for something to fold, or the next
   start, destroys what was left over.
4. The secret of a survey's tokens lies in the same folder, by the survey's digest, until the survey is closed.
5. Everybody who works on one database works with one folder of keys: `lock` lets one of them change it at a time.
   Several processes of one machine share it.  Collectors on several machines need it on a file system that they share
   and that has locks and flushes; one that does not find the key named in the database does not work on it.

What a file system or a flash disk keeps of overwritten blocks is not ours to destroy: keep the folder on an encrypted
disk.  The folder may hold keys of several databases; a file is named by its database, and a copy of a database takes
a name of its own (`epochs`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from server_agg.errors import EpochKeyMissing, KeysBusy, StoreUnavailable

KEY_BYTES = 32
NONCE = 12
BLOCK = 16  # bytes of an id and of a mark
STEP = 256  # bytes; contents are padded to a multiple of it
_NAME = re.compile(r"[0-9a-f]{32}")
_SURVEY = re.compile(r"[0-9a-f]{64}")


class EpochKey:
    """One epoch's key.

    >>> key = EpochKey(bytes(32))
    >>> key.opened(key.sealed(b"content"))
    b'content'
    >>> len(key.sealed(b"content", 300)) == len(key.sealed(b"a longer one", 300))
    True
    >>> one, two = key.id_marks(["ab" * 16, "cd" * 16])
    >>> key.id_marks(["cd" * 16]) == [two] != EpochKey(bytes(31) + b"1").id_marks(["cd" * 16])
    True
    """

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(hashlib.blake2b(key=secret, digest_size=32, person=b"content").digest())
        ids = hashlib.blake2b(key=secret, digest_size=32, person=b"ids").digest()
        self._ids = Cipher(AES(ids), ECB())  # noqa: S305 (single blocks, no two alike: a permutation is what is wanted)
        self._tickets = hashlib.blake2b(key=secret, digest_size=32, person=b"tickets").digest()

    def id_marks(self, ids: Iterable[str]) -> list[bytes]:
        """For each id (32 hexadecimal digits) the sixteen bytes that stand for it as long as the key lives."""
        marks = self._ids.encryptor().update(bytes.fromhex("".join(ids)))
        return [marks[start : start + BLOCK] for start in range(0, len(marks), BLOCK)]

    def ticket_mark(self, spending: bytes) -> bytes:
        """Sixteen bytes that stand for what a ticket is spent on as long as the key lives."""
        return hashlib.blake2b(spending, digest_size=BLOCK, key=self._tickets).digest()

    def sealed(self, content: bytes, size: int = STEP) -> bytes:
        """The content, padded to a multiple of so many bytes and encrypted; it begins with a random nonce."""
        nonce, padded = os.urandom(NONCE), content + b"\x80"
        return nonce + self._cipher.encrypt(nonce, padded + bytes(-len(padded) % size), None)

    def opened(self, sealed: bytes) -> bytes:
        """The content again; altered bytes raise `cryptography.exceptions.InvalidTag`."""
        padded = self._cipher.decrypt(sealed[:NONCE], sealed[NONCE:], None)
        return padded[: padded.rindex(b"\x80")]

    def __repr__(self) -> str:
        return "EpochKey(…)"


class KeyFolder:
    """The keys of one database, in a folder that only its owner may read."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def make(self, database: str) -> str:
        """A new key, durable when this returns; its name."""
        name = secrets.token_hex(16)
        with _as_trouble("made"):
            self._prepare()
            _write(self._path(database, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.urandom(KEY_BYTES))
            _flush(self.folder)
        return name

    def read(self, database: str, name: str) -> EpochKey:
        """The key of this name."""
        try:
            secret = self._path(database, name).read_bytes()
        except FileNotFoundError:
            raise EpochKeyMissing(
                f"the folder of keys {str(self.folder)!r} does not have the key that this database names; every "
                "collector of a database needs the same folder"
            ) from None
        except OSError as error:
            raise StoreUnavailable(f"the epoch key cannot be read: {error.strerror}") from None
        if len(secret) != KEY_BYTES or not any(secret):
            raise EpochKeyMissing(
                f"the key that this database names is damaged, in {str(self.folder)!r}: restore the folder, or give up "
                "what waits under the key (serve --discard-unreadable)"
            )
        return EpochKey(secret)

    def keep_only(self, database: str, name: str) -> int:
        """Destroy every other key of this database; how many there were.  To be called under `lock`."""
        with _as_trouble("destroyed"):
            others = [path for path in self.folder.glob(f"{database}.*.key") if path != self._path(database, name)]
            for path in others:
                _write(path, os.O_WRONLY, bytes(max(KEY_BYTES, path.stat().st_size)))
                path.unlink()
            if others:
                _flush(self.folder)
        return len(others)

    def keep_secret(self, survey: str, text: str) -> None:
        """Keep the secret of a survey's tokens, by its digest; durable when this returns."""
        with _as_trouble("kept"):
            self._prepare()
            draft = self._secret(survey).with_suffix(f".{secrets.token_hex(8)}")
            _write(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, text.encode())
            draft.rename(self._secret(survey))
            _flush(self.folder)

    def secret(self, survey: str) -> str | None:
        """The secret of a survey's tokens; None if it is not here."""
        try:
            return self._secret(survey).read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise StoreUnavailable("the secret of the survey's tokens cannot be read") from None

    def destroy_secret(self, survey: str) -> None:
        """Overwrite and unlink it, if it is here."""
        path = self._secret(survey)
        with _as_trouble("destroyed"):
            if path.exists():
                _write(path, os.O_WRONLY, bytes(path.stat().st_size))
                path.unlink()
                _flush(self.folder)

    def _secret(self, survey: str) -> Path:
        if not _SURVEY.fullmatch(survey):
            raise StoreUnavailable("a survey is named by its digest")
        return self.folder / f"{survey}.tokens"

    @contextmanager
    def lock(self, *, wait: bool = True) -> Iterator[None]:
        """One at a time, over all threads and processes that use this folder; the kernel releases it.  Without `wait` a
        folder that is locked is `KeysBusy`."""
        with _as_trouble("locked"):
            self._prepare()
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with _as_trouble("locked"):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                except BlockingIOError:
                    raise KeysBusy("a fold or a copy of the database is under way: try again in a moment") from None
            yield
        finally:
            os.close(handle)

    def _prepare(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(OSError):  # the folder's own name; some file systems cannot flush a folder
                _flush(self.folder.parent)

    def _path(self, database: str, name: str) -> Path:
        if not _NAME.fullmatch(name) or not _NAME.fullmatch(database):
            raise EpochKeyMissing("the database names a key that is not one of ours")
        return self.folder / f"{database}.{name}.key"


def _flush(folder: Path) -> None:
    _write(folder, os.O_RDONLY | os.O_DIRECTORY)


def _write(path: Path, flags: int, content: bytes = b"") -> None:
    """Write what there is to write, and flush it."""
    handle = os.open(path, flags, 0o600)
    try:
        if content and os.write(handle, content) != len(content):
            raise OSError(None, "a short write")
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _as_trouble(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"an epoch key cannot be {what}: {error.strerror}") from None
