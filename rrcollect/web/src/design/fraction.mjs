// @ts-check
/**
 * Exact fractions, as Python's standard library has them.
 */

/** @param {bigint} a @param {bigint} b */
function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

/** A fraction in lowest terms. */
export class Fraction {
  /** @param {bigint} n @param {bigint} [d] */
  constructor(n, d = 1n) {
    if (d === 0n) throw new RangeError("division by zero");
    const g = (gcd(n, d) || 1n) * (d < 0n ? -1n : 1n);
    this.n = n / g;
    this.d = d / g;
    Object.freeze(this);
  }
  /** The bits of the numerator or the denominator, whichever has more. */
  get bits() { return Math.max(bitLength(this.n < 0n ? -this.n : this.n), bitLength(this.d)); }
  /** @param {Fraction} o */ plus(o) { return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d); }
  /** @param {Fraction} o */ minus(o) { return new Fraction(this.n * o.d - o.n * this.d, this.d * o.d); }
  /** @param {Fraction} o */ times(o) { return new Fraction(this.n * o.n, this.d * o.d); }
  /** @param {Fraction} o */ over(o) { return new Fraction(this.n * o.d, this.d * o.n); }
  /** @param {Fraction} o */
  compare(o) {
    const difference = this.n * o.d - o.n * this.d;
    return difference > 0n ? 1 : difference < 0n ? -1 : 0;
  }
  sign() { return this.n > 0n ? 1 : this.n < 0n ? -1 : 0; }
  toString() { return this.d === 1n ? String(this.n) : `${this.n}/${this.d}`; }
  /** The nearest double, for reading only. */
  toNumber() {
    const bits = bitLength(this.d) - bitLength(this.n < 0n ? -this.n : this.n) + 64;
    const shift = BigInt(Math.max(0, bits)), back = Math.max(0, bits);
    const quotient = Number((this.n << shift) / this.d);
    return back > 1000 ? (quotient / 2 ** 1000) / 2 ** (back - 1000) : quotient / 2 ** back;
  }
}

export const ZERO = new Fraction(0n), ONE = new Fraction(1n);

/** @param {number} n */
export const whole = (n) => new Fraction(BigInt(n));

/** @param {bigint} n */
export function bitLength(n) {
  return n === 0n ? 0 : n.toString(2).length;
}

/** @param {Fraction} one @param {Fraction} other */
export function larger(one, other) {
  return one.compare(other) >= 0 ? one : other;
}
