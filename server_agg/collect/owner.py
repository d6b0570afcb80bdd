"""The owner's token: who may publish surveys, make invites and read results.

Rules
1. It comes from a file that only the owner may read, or from the environment; never from an address or a page.
2. It is sent as "Authorization: Bearer …" and compared in constant time, by hash, so that length tells nothing either.
3. It has at least 16 characters, and is not kept in memory in the clear.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

from rrcollect.errors import ParameterError
from server_agg.collect.settings import Settings, variable
from server_agg.errors import Refusal

SHORTEST = 16


class OwnerToken:
    """A token that can be checked but not read back.

    >>> token = OwnerToken("correct horse battery")
    >>> token.check(b"Bearer correct horse battery")
    >>> token
    OwnerToken(…)
    """

    def __init__(self, token: str) -> None:
        if not isinstance(token, str) or len(token) < SHORTEST or not token.isascii() or not token.isprintable():
            raise ParameterError("owner token", "…", f"{SHORTEST} or more printable ASCII characters")
        self._digest = hashlib.sha256(token.encode()).digest()

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> OwnerToken:
        """The token in a file, which others must not be able to read."""
        return cls(cls.read(path))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> str:
        """The text of such a file."""
        try:
            mode, text = stat.S_IMODE(os.stat(path).st_mode), Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            raise ParameterError("owner token file", os.fspath(path), "a file that can be read") from None
        if os.name == "posix" and mode & 0o077:
            raise ParameterError("owner token file", os.fspath(path), f"a file of mode 600; this one has {mode:o}")
        return text.strip()

    @classmethod
    def from_settings(cls, settings: Settings) -> OwnerToken:
        """The token that the settings hold."""
        if settings.owner_token is None:
            raise ParameterError("owner token", None, f"a token file, or the variable {variable('owner_token')}")
        return cls(settings.owner_token.get_secret_value())

    def check(self, authorization: bytes | None) -> None:
        """Return if the header carries the token; a `Refusal` otherwise."""
        scheme, _, given = (authorization or b"").partition(b" ")
        fits = hmac.compare_digest(hashlib.sha256(given.strip()).digest(), self._digest)
        if scheme.lower() != b"bearer" or not fits:
            raise Refusal(401, "owner_token", 'this needs the owner\'s token, as "Authorization: Bearer <token>"')

    def __repr__(self) -> str:
        return "OwnerToken(…)"
