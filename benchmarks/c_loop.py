"""The physical limit: a C loop with AES-NI that draws one byte an answer, compiled on the spot where it can be."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wmmintrin.h>
#include <emmintrin.h>

static __m128i step(__m128i key, __m128i made) {
    made = _mm_shuffle_epi32(made, 0xff);
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    return _mm_xor_si128(key, made);
}
#define EXPAND(i, r) k[i] = step(k[i - 1], _mm_aeskeygenassist_si128(k[i - 1], r))

/* AES-128 in counter mode, 8 blocks at a time, compared in the registers; one undecided byte in 256 draws 8 more. */
void answer(const uint8_t *truth, uint8_t *said, size_t n, const uint8_t *key, uint64_t t0, uint64_t t1) {
    __m128i k[11];
    k[0] = _mm_loadu_si128((const __m128i *)key);
    EXPAND(1, 0x01); EXPAND(2, 0x02); EXPAND(3, 0x04); EXPAND(4, 0x08); EXPAND(5, 0x10);
    EXPAND(6, 0x20); EXPAND(7, 0x40); EXPAND(8, 0x80); EXPAND(9, 0x1b); EXPAND(10, 0x36);
    const __m128i c0 = _mm_set1_epi8((char)(255 - (t0 >> 56))), c1 = _mm_set1_epi8((char)(255 - (t1 >> 56)));
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1), sign = _mm_set1_epi8((char)0x80);
    const uint64_t low[2] = {t0 & ((1ULL << 56) - 1), t1 & ((1ULL << 56) - 1)};
    uint64_t counter = 0, extra = 1ULL << 63;
    for (size_t i = 0; i + 128 <= n; i += 128) {
        __m128i b[8];
        for (int j = 0; j < 8; j++) b[j] = _mm_xor_si128(_mm_set_epi64x(0, (long long)counter++), k[0]);
        for (int r = 1; r < 10; r++) for (int j = 0; j < 8; j++) b[j] = _mm_aesenc_si128(b[j], k[r]);
        for (int j = 0; j < 8; j++) {
            __m128i u = _mm_aesenclast_si128(b[j], k[10]);
            __m128i x = _mm_loadu_si128((const __m128i *)(truth + i + 16 * j));
            __m128i yes = _mm_cmpeq_epi8(x, one);
            __m128i limit = _mm_or_si128(_mm_and_si128(yes, c1), _mm_andnot_si128(yes, c0));
            __m128i above = _mm_cmpgt_epi8(_mm_xor_si128(u, sign), _mm_xor_si128(limit, sign));
            _mm_storeu_si128((__m128i *)(said + i + 16 * j), _mm_and_si128(above, one));
            unsigned open = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(u, zero));
            while (open) {
                unsigned at = (unsigned)__builtin_ctz(open);
                open &= open - 1;
                __m128i m = _mm_xor_si128(_mm_set_epi64x(1, (long long)extra++), k[0]);
                for (int r = 1; r < 10; r++) m = _mm_aesenc_si128(m, k[r]);
                uint64_t more = (uint64_t)_mm_cvtsi128_si64(_mm_aesenclast_si128(m, k[10])) >> 8;
                size_t place = i + 16 * (size_t)j + at;
                said[place] = more < low[truth[place]];
            }
        }
    }
}
"""


def c_loop() -> Callable[[NDArray[np.bool_], tuple[int, int]], NDArray[np.bool_]] | None:
    """answer(truths, thresholds), or None where it cannot be compiled; the length must be a multiple of 128."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(SOURCE)
        done = subprocess.run(
            [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(source)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            return None
        loaded = ctypes.CDLL(str(library))

    def answer(truths: NDArray[np.bool_], limits: tuple[int, int]) -> NDArray[np.bool_]:
        said = np.empty(truths.size, np.bool_)
        loaded.answer(
            truths.ctypes.data_as(ctypes.c_void_p),
            said.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(truths.size),
            os.urandom(16),
            ctypes.c_uint64(limits[0]),
            ctypes.c_uint64(limits[1]),
        )
        return said

    return answer
