/* AES in counter mode by the processor's own instructions, compared in the registers: see c_loop.py. */
#include <stddef.h>
#include <stdint.h>
#include <immintrin.h>

static __m128i spread(__m128i key, __m128i made) {
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    return _mm_xor_si128(key, made);
}
#define ODD(key, r) _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, r), 0xff)
#define EVEN(key) _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, 0), 0xaa)
#define NEXT128(i, r) k[i] = spread(k[i - 1], ODD(k[i - 1], r))
#define NEXT256(i, r) k[i] = spread(k[i - 2], ODD(k[i - 1], r)); k[i + 1] = spread(k[i - 1], EVEN(k[i]))

static void expand(__m128i *k, const uint8_t *key, int rounds) {
    k[0] = _mm_loadu_si128((const __m128i *)key);
    if (rounds == 10) {
        NEXT128(1, 0x01); NEXT128(2, 0x02); NEXT128(3, 0x04); NEXT128(4, 0x08); NEXT128(5, 0x10);
        NEXT128(6, 0x20); NEXT128(7, 0x40); NEXT128(8, 0x80); NEXT128(9, 0x1b); NEXT128(10, 0x36);
        return;
    }
    k[1] = _mm_loadu_si128((const __m128i *)(key + 16));
    NEXT256(2, 0x01); NEXT256(4, 0x02); NEXT256(6, 0x04); NEXT256(8, 0x08); NEXT256(10, 0x10); NEXT256(12, 0x20);
    k[14] = spread(k[12], ODD(k[13], 0x40));
}

static uint64_t rest(const __m128i *k, int rounds, uint64_t *extra) {
    __m128i m = _mm_xor_si128(_mm_set_epi64x(1, (long long)(*extra)++), k[0]);
    for (int r = 1; r < rounds; r++) m = _mm_aesenc_si128(m, k[r]);
    return (uint64_t)_mm_cvtsi128_si64(_mm_aesenclast_si128(m, k[rounds])) >> 8;
}

/* Counter mode, 8 blocks at a time, compared in the registers; one undecided byte in 256 draws another block. */
static inline __attribute__((always_inline)) void answer(const uint8_t *truth, uint8_t *said, size_t n,
        const uint8_t *key, const int rounds, uint64_t t0, uint64_t t1, const int packed) {
    __m128i k[15];
    expand(k, key, rounds);
    const __m128i c0 = _mm_set1_epi8((char)(255 - (t0 >> 56))), c1 = _mm_set1_epi8((char)(255 - (t1 >> 56)));
    const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi8(1), sign = _mm_set1_epi8((char)0x80);
    const __m128i bit = _mm_set1_epi64x((long long)0x8040201008040201ULL);
    const __m128i lane = _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const uint64_t low[2] = {t0 & ((1ULL << 56) - 1), t1 & ((1ULL << 56) - 1)};
    uint64_t counter = 0, extra = 1ULL << 63;
    for (size_t i = 0; i + 128 <= n; i += 128) {
        __m128i b[8];
        for (int j = 0; j < 8; j++) b[j] = _mm_xor_si128(_mm_set_epi64x(0, (long long)counter++), k[0]);
        for (int r = 1; r < rounds; r++) for (int j = 0; j < 8; j++) b[j] = _mm_aesenc_si128(b[j], k[r]);
        for (int j = 0; j < 8; j++) {
            size_t place = i + 16 * (size_t)j;
            __m128i u = _mm_aesenclast_si128(b[j], k[rounds]), yes;
            uint32_t truths = 0;
            if (packed) {
                truths = ((const uint16_t *)truth)[place / 16];
                yes = _mm_and_si128(_mm_shuffle_epi8(_mm_cvtsi32_si128((int)truths), lane), bit);
                yes = _mm_cmpeq_epi8(yes, bit);
            } else {
                yes = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(truth + place)), one);
            }
            __m128i limit = _mm_or_si128(_mm_and_si128(yes, c1), _mm_andnot_si128(yes, c0));
            __m128i above = _mm_cmpgt_epi8(_mm_xor_si128(u, sign), _mm_xor_si128(limit, sign));
            if (packed) ((uint16_t *)said)[place / 16] = (uint16_t)_mm_movemask_epi8(above);
            else _mm_storeu_si128((__m128i *)(said + place), _mm_and_si128(above, one));
            unsigned open = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(u, zero));
            while (open) {
                unsigned at = (unsigned)__builtin_ctz(open);
                open &= open - 1;
                uint64_t more = rest(k, rounds, &extra);
                if (packed) ((uint16_t *)said)[place / 16] |= (uint16_t)((more < low[truths >> at & 1]) << at);
                else said[place + at] = more < low[truth[place + at]];
            }
        }
    }
}

void booleans(const uint8_t *truth, uint8_t *said, size_t n, const uint8_t *key, int rounds, uint64_t t0, uint64_t t1) {
    if (rounds == 10) answer(truth, said, n, key, 10, t0, t1, 0); else answer(truth, said, n, key, 14, t0, t1, 0);
}

void packed(const uint8_t *truth, uint8_t *said, size_t n, const uint8_t *key, int rounds, uint64_t t0, uint64_t t1) {
    if (rounds == 10) answer(truth, said, n, key, 10, t0, t1, 1); else answer(truth, said, n, key, 14, t0, t1, 1);
}
