// @ts-check
/**
 * The exact sign of a number with e to a rational power in it.
 */
import { ZERO, bitLength } from "./fraction.mjs";

/** @import { Fraction } from "./fraction.mjs" */

/** Integers low, high, w with low/2^w <= e^(n/d) <= high/2^w, for n/d > 0: Taylor at x/2^k, then k squarings outward.
 * @param {bigint} n @param {bigint} d @param {number} bits @returns {[bigint, bigint, bigint]} */
function scaledExp(n, d, bits) {
  const k = BigInt(bitLength(n / d + 1n) + 8), w = BigInt(bits) + k + 16n, divisor = d << k;
  let low = 1n << w, term = low, terms = 0n;
  while (term) {
    terms++;
    term = (term * n) / (divisor * terms);
    low += term;
  }
  let high = low + 2n * terms + 2n;
  for (let i = 0n; i < k; i++) {
    low = (low * low) >> w;
    high = ((high * high) >> w) + 1n;
  }
  return [low, high, w];
}

/** The sign of a + b·e^r, exactly: e^r is transcendental for r != 0, so refining ends (Lindemann).
 * @param {Fraction} a @param {Fraction} b @param {Fraction} r @returns {number} */
export function signAtExp(a, b, r) {
  if (b.sign() === 0) return a.sign();
  if (r.sign() === 0) return a.plus(b).sign();
  if (a.sign() === 0) return b.sign();
  if (r.sign() < 0) return signAtExp(b, a, ZERO.minus(r));
  const ia = a.n * b.d, ib = b.n * a.d; // both times the common denominator
  const abs = (/** @type {bigint} */ x) => (x < 0n ? -x : x);
  const bound = BigInt(bitLength(abs(ia) / abs(ib) + 2n)); // e^r > 2^r: beyond it b decides, however huge r is
  if (r.n >= bound * r.d) return b.sign();
  for (let bits = 64; ; bits *= 2) {
    const [low, high, w] = scaledExp(r.n, r.d, bits);
    const least = (ia << w) + ib * (ib > 0n ? low : high), most = (ia << w) + ib * (ib > 0n ? high : low);
    if (least > 0n) return 1;
    if (most < 0n) return -1;
  }
}
