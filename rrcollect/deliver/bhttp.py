"""Binary HTTP (RFC 9292): a request or a reply as bytes, of known length, padded.

Rules
1. A message is framing, control data, headers, content, trailers, and zeros up to its length.  The first three of the
   length-prefixed parts may be missing at the end, which is how RFC 9292 has it: zeros say the same.
2. What is read is bounded by its own bytes.  Informational replies and indeterminate lengths are refused: nobody here
   sends them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rrcollect.errors import TransportFailed

Fields = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Message:
    """A request (`control` is method, scheme, authority and path) or a reply (its status in decimal)."""

    control: tuple[bytes, ...]
    headers: tuple[tuple[bytes, bytes], ...] = ()
    content: bytes = b""

    def packed(self, length: int) -> bytes:
        """Exactly so many bytes.

        >>> Message((b"GET", b"https", b"example.com", b"/")).packed(25).hex()
        '00034745540568747470730b6578616d706c652e636f6d012f'
        """
        request = len(self.control) > 1
        begin = b"\x00" + b"".join(map(_counted, self.control)) if request else b"\x01" + _number(int(self.control[0]))
        lines = b"".join(_counted(name) + _counted(value) for name, value in self.headers)
        parts = [_counted(lines), _counted(self.content)]
        while parts and parts[-1] == b"\x00":
            parts.pop()
        whole = begin + b"".join(parts)
        if len(whole) > length:
            raise TransportFailed(f"a message of {len(whole)} bytes does not fit into {length}")
        return whole.ljust(length, b"\x00")

    @classmethod
    def unpacked(cls, data: bytes) -> Message:
        """The message in these bytes."""
        reader = _Reader(data)
        kind = reader.number()
        if kind not in (0, 1):
            raise TransportFailed("this is not a message of known length")
        if kind == 0:
            control = tuple(reader.counted() for _ in range(4))
        else:
            status = reader.number()
            control = (b"%d" % status,)
            if not 200 <= status <= 599:
                raise TransportFailed("the status of a reply is 200 to 599")
        lines, headers = _Reader(reader.counted() if reader.left else b""), list[tuple[bytes, bytes]]()
        while lines.left:
            headers.append((lines.counted(), lines.counted()))
        content = reader.counted() if reader.left else b""
        trailers = reader.counted() if reader.left else b""
        if trailers or any(reader.data[reader.at :]):
            raise TransportFailed("a message ends with zeros")
        return cls(control, tuple(headers), content)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def number(self) -> int:
        size = 1 << (self.data[self.at] >> 6) if self.left else 1
        if self.left < size:
            raise TransportFailed("a message is cut off")
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "big") & (1 << 8 * size - 2) - 1

    def counted(self) -> bytes:
        size = self.number()
        if self.left < size:
            raise TransportFailed("a message is cut off")
        self.at += size
        return self.data[self.at - size : self.at]


def _number(value: int) -> bytes:
    """A number of 6, 14 or 30 bits in 1, 2 or 4 bytes (RFC 9000, 16).

    >>> _number(37).hex(), _number(15293).hex(), _number(494878333).hex()
    ('25', '7bbd', '9d7f3e7d')
    """
    size = 0 if value < 1 << 6 else 1 if value < 1 << 14 else 2
    return (value | size << 8 * (1 << size) - 2).to_bytes(1 << size, "big")


def _counted(data: bytes) -> bytes:
    return _number(len(data)) + data
