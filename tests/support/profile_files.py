"""Everything that a browser left in a profile's folder, decoded where a format hides text.

Raw bytes of every file; besides them what is inside mozLz4 (Firefox's session), gzip, Zstandard and LZ4 files, LevelDB
tables (Chromium's IndexedDB: blocks of Snappy), and SQLite databases (Firefox's IndexedDB: values in Snappy).
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa

FRAMES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
TABLE = bytes.fromhex("57fb808b247547db")  # the end of a LevelDB table
LARGEST = 1 << 28


def streams(profile: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's name and bytes; what could be decoded comes under the same name with a suffix."""
    for path in sorted(path for path in profile.rglob("*") if path.is_file()):
        name, data = str(path.relative_to(profile)), path.read_bytes()
        yield name, data
        if data.startswith(b"mozLz40\0"):
            size = int.from_bytes(data[8:12], "little")
            yield f"{name} (mozLz4)", pa.decompress(data[12:], size, codec="lz4_raw").to_pybytes()
        elif data.startswith(b"SQLite format 3\0"):
            yield f"{name} (SQLite)", b"\n".join(_values(path))
        elif data.endswith(TABLE):
            yield f"{name} (LevelDB)", b"\n".join(_blocks(data))
        for mark, codec in FRAMES.items():
            if data.startswith(mark):
                with suppress(OSError), pa.input_stream(pa.BufferReader(data), compression=codec) as stream:
                    yield f"{name} ({codec})", stream.read(LARGEST)


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def unsnapped(data: bytes) -> bytes | None:
    """What raw Snappy says; None if it is something else."""
    with suppress(IndexError, OSError, pa.ArrowException):
        size, _ = varint(data, 0)
        if size <= LARGEST:
            return bytes(pa.decompress(data, size, codec="snappy").to_pybytes())
    return None


def _values(path: Path) -> Iterator[bytes]:
    """Every text and blob of every table, the write-ahead log included; read from a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        for end in ("", "-wal"):
            if path.with_name(path.name + end).exists():
                shutil.copy(path.with_name(path.name + end), f"{copy}{end}")
        with closing(sqlite3.connect(copy)) as database:
            database.text_factory = bytes
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                with suppress(sqlite3.DatabaseError):  # a virtual table of a module that is not here
                    for row in database.execute(f'SELECT * FROM "{name.decode()}"'):  # noqa: S608
                        for value in row:
                            if isinstance(value, bytes):
                                yield value
                                yield unsnapped(value) or b""


def _blocks(table: bytes) -> Iterator[bytes]:
    """The blocks of a LevelDB table."""
    footer = table[-48:]
    _, place = varint(footer, 0)
    _, place = varint(footer, place)
    offset, place = varint(footer, place)
    size, _ = varint(footer, place)
    index, place = _block(table, offset, size), 0
    end = len(index) - 4 - 4 * int.from_bytes(index[-4:], "little")
    while place < end:
        _, place = varint(index, place)
        own, place = varint(index, place)
        length, place = varint(index, place)
        at, after = varint(index, place + own)
        yield _block(table, at, varint(index, after)[0])
        place += own + length


def _block(table: bytes, offset: int, size: int) -> bytes:
    data, kind = table[offset : offset + size], table[offset + size]
    return (unsnapped(data) or b"") if kind == 1 else data
