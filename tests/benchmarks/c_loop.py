"""The physical limit: C loops that draw one byte per answer, compiled on the spot where they can be.

The same law as `rrcollect.design.bulk_bits`: the first byte of a draw decides but for one value in 256, for which 56
more bits are drawn; and the same cipher, AES-256 in counter mode, keyed afresh.
    openssl.c     OpenSSL's AES, the loop a C programmer would write
    registers.c   the processor's AES instructions by hand: the keystream never leaves the registers, which neither an
                  array library nor a cipher library can do.  Packed truths are answered sixteen to a block as well: the
                  comparison's mask is the packed answer.  With 16 key bytes it is AES-128, which draws faster.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Limits = tuple[int, int]


@dataclass(frozen=True)
class OpensslLoop:
    """openssl.c, compiled; the number of truths must be a multiple of 8, and both thresholds below 2^64."""

    loaded: Any

    def booleans(
        self, truths: NDArray[np.bool_], limits: Limits, key: bytes = b"", nonce: bytes = b""
    ) -> NDArray[np.bool_]:
        """One byte per truth, one byte per answer."""
        said = np.empty(truths.size, np.bool_)
        secret = key or os.urandom(32), nonce or os.urandom(16)
        if not self.loaded.booleans(*_pointers(truths, said), _size(truths.size, 8), *secret, *_words(limits)):
            raise RuntimeError("OpenSSL failed")
        return said


@dataclass(frozen=True)
class RegisterLoop:
    """registers.c, compiled; the number of truths must be a multiple of 128, and both thresholds below 2^64."""

    loaded: Any

    def booleans(
        self, truths: NDArray[np.bool_], limits: Limits, rounds: int = 14, key: bytes = b""
    ) -> NDArray[np.bool_]:
        """One byte per truth, one byte per answer; AES-128 with 10 rounds, AES-256 with 14."""
        said = np.empty(truths.size, np.bool_)
        self._run(self.loaded.booleans, truths, said, n=truths.size, limits=limits, key=key or _fresh_key(rounds))
        return said

    def packed(self, truths: NDArray[np.uint8], limits: Limits, rounds: int = 14) -> NDArray[np.uint8]:
        """Eight truths per byte, lowest bit first; eight answers per byte."""
        said = np.empty(truths.size, np.uint8)
        self._run(self.loaded.packed, truths, said, n=truths.size * 8, limits=limits, key=_fresh_key(rounds))
        return said

    def _run(self, loop: Any, truths: Any, said: Any, *, n: int, limits: Limits, key: bytes) -> None:
        rounds = 10 if len(key) == 16 else 14
        loop(*_pointers(truths, said), _size(n, 128), key, rounds, *_words(limits))


def _pointers(*arrays: Any) -> list[ctypes.c_void_p]:
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]


def _size(n: int, multiple: int) -> ctypes.c_size_t:
    if n % multiple:
        raise ValueError(f"this C loop takes multiples of {multiple} truths, not {n}")
    return ctypes.c_size_t(n)


def _words(limits: Limits) -> list[ctypes.c_uint64]:
    if max(limits) >= 1 << 64:
        raise ValueError("the C loops take thresholds below 2^64")
    return [ctypes.c_uint64(limit) for limit in limits]


def _fresh_key(rounds: int) -> bytes:
    return os.urandom(16 if rounds == 10 else 32)


@cache
def openssl_loop() -> OpensslLoop | None:
    """The loop, or None where it cannot be compiled (no compiler, no OpenSSL)."""
    library = _compiled("openssl.c", "-l:libcrypto.so.3") or _compiled("openssl.c", "-lcrypto")
    return OpensslLoop(library) if library else None


@cache
def register_loop() -> RegisterLoop | None:
    """The loops, or None where they cannot be compiled (no compiler, or a processor without AES instructions)."""
    library = _compiled("registers.c")
    return RegisterLoop(library) if library else None


def _compiled(name: str, *flags: str) -> Any:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(__file__).with_name(name), Path(folder, "loop.so")
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(source), *flags]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        return ctypes.CDLL(str(library))
