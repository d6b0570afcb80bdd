/* AES-256 in counter mode by OpenSSL, a chunk at a time, compared in the nearest cache: see c_loop.py. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As <openssl/evp.h> declares them; written out because the library is often there without its headers. */
typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;
typedef struct evp_cipher_st EVP_CIPHER;
EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void);
void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *);
const EVP_CIPHER *EVP_aes_256_ctr(void);
int EVP_EncryptInit_ex(EVP_CIPHER_CTX *, const EVP_CIPHER *, void *, const uint8_t *, const uint8_t *);
int EVP_EncryptUpdate(EVP_CIPHER_CTX *, uint8_t *, int *, const uint8_t *, int);

#define CHUNK 16384
#define RESTS 256
#define SEVENS 0x7f7f7f7f7f7f7f7fULL

static int draw(EVP_CIPHER_CTX *cipher, void *to, size_t n) {
    static const uint8_t zeros[CHUNK];
    int done;
    return EVP_EncryptUpdate(cipher, to, &done, zeros, (int)n);
}

/* Returns 1 if OpenSSL did all it was asked. n is a multiple of 8, a truth is 0 or 1. */
int booleans(const uint8_t *restrict truth, uint8_t *restrict said, size_t n, const uint8_t *key, const uint8_t *nonce,
             uint64_t t0, uint64_t t1) {
    const uint8_t base = (uint8_t)(255 - (t0 >> 56)), step = (uint8_t)((t0 >> 56) - (t1 >> 56));
    const uint64_t low[2] = {t0 << 8, t1 << 8};
    uint8_t u[CHUNK];
    uint64_t rest[RESTS];
    size_t left = 0;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int good = cipher && EVP_EncryptInit_ex(cipher, EVP_aes_256_ctr(), NULL, key, nonce);
    for (size_t i = 0; good && i < n; i += CHUNK) {
        const size_t m = n - i < CHUNK ? n - i : CHUNK;
        const uint8_t *restrict x = truth + i;
        uint8_t *restrict y = said + i;
        good &= draw(cipher, u, m);
        for (size_t j = 0; j < m; j++) y[j] = u[j] > (uint8_t)(x[j] * step + base);
        for (size_t j = 0; j < m; j += 8) {
            uint64_t word;
            memcpy(&word, u + j, 8);
            uint64_t open = ~((((word & SEVENS) + SEVENS) | word) | SEVENS); /* the high bit of every byte that is 0 */
            for (; open; open &= open - 1) {
                const size_t at = j + (size_t)__builtin_ctzll(open) / 8;
                if (!left) {
                    good &= draw(cipher, rest, sizeof rest);
                    left = RESTS;
                }
                y[at] = (rest[--left] & ~255ULL) < low[x[at]];
            }
        }
    }
    EVP_CIPHER_CTX_free(cipher);
    return good;
}
