"""Ed25519 keys of publishers: made, stored and loaded safely.

Rules
1. A key's identity is the SHA-256 of its 32 public bytes; nothing else names it.
2. A private key is written once, to a new file that only its owner may read (mode 0600), and is refused on loading if
   others may read it.  An existing file is never overwritten.
3. Private bytes never appear in a repr or an error.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from rrcollect.errors import KeyFileError, ParameterError


@dataclass(frozen=True, slots=True, repr=False)
class PublicKey:
    """A publisher's public key.

    >>> key = PublicKey(bytes(32))
    >>> key.key_id[:16]
    '66687aadf862bd77'
    """

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != 32:
            raise ParameterError("public key", self.raw, "32 bytes of an Ed25519 key")

    @property
    def key_id(self) -> str:
        """SHA-256 of the public bytes, in hexadecimal."""
        return hashlib.sha256(self.raw).hexdigest()

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether the signature is this key's for exactly this message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    @classmethod
    def read(cls, given: PublicKey | str | bytes) -> PublicKey:
        """A public key as people hand it on: the key itself, its PEM text, or its 64 hexadecimal digits.

        >>> PublicKey.read("00" * 32) == PublicKey(bytes(32)) == PublicKey.read(PublicKey(bytes(32)).to_pem())
        True
        """
        if isinstance(given, PublicKey):
            return given
        try:
            text = (given.decode("ascii") if isinstance(given, bytes) else given).strip()
            return cls(bytes.fromhex(text)) if len(text) == 64 else cls.from_pem(text.encode("ascii"))
        except (AttributeError, ValueError):
            raise KeyFileError("this is not a public key: use its PEM text, or its 64 hexadecimal digits") from None

    @classmethod
    def from_pem(cls, pem: bytes) -> PublicKey:
        """A public key from its PEM text."""
        try:
            key = serialization.load_pem_public_key(pem)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise KeyFileError("this is not a public key in PEM form (bytes)") from None
        if not isinstance(key, Ed25519PublicKey):
            raise KeyFileError("this key is not Ed25519")
        return cls(key.public_bytes_raw())

    def to_pem(self) -> bytes:
        """PEM text, to be handed to whoever embeds the client."""
        return Ed25519PublicKey.from_public_bytes(self.raw).public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def __repr__(self) -> str:
        return f"PublicKey({self.key_id[:16]}…)"


class SigningKey:
    """A publisher's private key.

    >>> key = SigningKey.generate()
    >>> key.public.verifies(key.sign(b"text"), b"text"), key.public.verifies(key.sign(b"text"), b"other")
    (True, False)
    """

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key from the operating system's generator."""
        return cls(Ed25519PrivateKey.generate())

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature of exactly this message."""
        return self._key.sign(message)

    def save(self, path: str | os.PathLike[str], password: str | None = None) -> None:
        """Write the key to a new file that only its owner may read; encrypted if a password is given."""
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            if not password:
                raise KeyFileError("the password is empty; give none, or a real one")
            encryption = serialization.BestAvailableEncryption(password.encode())
        pem = self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        made = False
        try:
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                made = True
                file.write(pem)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise KeyFileError(f"{os.fspath(path)} exists already; a key is never overwritten") from None
        except OSError as error:
            if made:
                os.unlink(path)  # a key cut short is not a key
            raise KeyFileError(f"{os.fspath(path)} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str], password: str | None = None) -> SigningKey:
        """Read a key written by `save`; refused if group or others may read the file."""
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
            pem = Path(path).read_bytes()
        except OSError as error:
            raise KeyFileError(f"{os.fspath(path)} cannot be read: {error.strerror}") from None
        if os.name == "posix" and mode & 0o077:
            raise KeyFileError(f"{os.fspath(path)} has mode {mode:o}: others may read this key; chmod 600 it first")
        try:
            key = serialization.load_pem_private_key(pem, password.encode() if password is not None else None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise KeyFileError(f"{os.fspath(path)} is not a private key, or the password is wrong or missing") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyFileError(f"{os.fspath(path)} holds a key that is not Ed25519")
        return cls(key)

    def __repr__(self) -> str:
        return f"SigningKey({self.public.key_id[:16]}…)"

    def __reduce__(self) -> str:
        raise TypeError("a SigningKey is not pickled; save it to a file of its own")
