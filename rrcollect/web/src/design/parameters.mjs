// @ts-check
/**
 * Numbers as people type them, exactly.
 *
 * Rules
 * 1. A text is the number it is written as, a double the decimal it prints.  Nothing is rounded.
 * 2. How long a number may be is bounded (`TYPED`), more narrowly in a signed document (`SIGNED`), as in Python.
 */
import { badSetting } from "../errors.mjs";
import { signAtExp } from "./exponential.mjs";
import { Fraction, ONE, ZERO, bitLength } from "./fraction.mjs";

/** @typedef {{characters: number, bits: number}} Limits how long a number's text may be, and how many bits its parts have */

/** @type {Limits} */
const TYPED = { characters: 20000, bits: 13500 };

/** In a signed document. @type {Limits} */
export const SIGNED = { characters: 700, bits: 512 };

const MOST_DIGITS = 4300, LARGEST_EXPONENT = 4000;
const QUOTIENT = /^([+-]?[0-9]+) ?\/ ?([0-9]+)$/;
const DECIMAL = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,6}))?$/;

/** Without white space at its ends. @param {string} text */
function stripped(text) {
  return text.replace(/^[ \t\n\r\f\v]+/, "").replace(/[ \t\n\r\f\v]+$/, "");
}

/** The number a text is written as, exactly; null if it is not one, or too long.
 * @param {string} text @param {Limits} [limits] @returns {Fraction | null} */
export function parseFraction(text, limits = TYPED) {
  if (text.length > limits.characters) return null;
  const exact = fromText(stripped(text));
  return exact && exact.bits <= limits.bits ? exact : null;
}

/** @param {string} text @returns {Fraction | null} */
function fromText(text) {
  const quotient = QUOTIENT.exec(text);
  if (quotient) {
    if (quotient[1].replace(/^[+-]/, "").length > MOST_DIGITS || quotient[2].length > MOST_DIGITS) return null;
    const under = BigInt(quotient[2]);
    return under === 0n ? null : new Fraction(BigInt(quotient[1].replace(/^\+/, "")), under);
  }
  const decimal = DECIMAL.exec(text);
  if (!decimal) return null;
  const whole = decimal[2] ?? "", part = decimal[3] ?? decimal[4] ?? "", exponent = Number(decimal[5] ?? 0);
  if (Math.abs(exponent) > LARGEST_EXPONENT || whole.length > MOST_DIGITS || part.length > MOST_DIGITS) return null;
  const digits = BigInt(whole + part || "0") * (decimal[1] === "-" ? -1n : 1n);
  const power = exponent - part.length;
  return power >= 0 ? new Fraction(digits * 10n ** BigInt(power)) : new Fraction(digits, 10n ** BigInt(-power));
}

const LOGARITHM = /^ln[ \t\n\r\f\v]*(?:\(([^()]*)\)|([^ \t\n\r\f\v()/]+))$/;

/** A privacy loss ε = rational + ln factor >= 0, exactly. */
export class Epsilon {
  /** @param {Fraction} rational @param {Fraction} factor */
  constructor(rational, factor) {
    this.rational = rational;
    this.factor = factor;
    Object.freeze(this);
  }
  /** @param {string} text @param {Limits} [limits] @returns {Epsilon | null} */
  static parse(text, limits = TYPED) {
    let rational = ZERO, factor = ONE;
    if (text.length > limits.characters) return null;
    for (const term of text.split(" + ")) {
      const logarithm = LOGARITHM.exec(stripped(term));
      const number = parseFraction(logarithm ? (logarithm[1] || logarithm[2] || "") : term, limits);
      if (number === null) return null;
      if (logarithm) factor = factor.times(number);
      else rational = rational.plus(number);
      if (rational.bits > limits.bits || factor.bits > limits.bits) return null;
    }
    if (factor.sign() <= 0 || signAtExp(new Fraction(-1n), factor, rational) < 0) return null;
    return new Epsilon(rational, factor);
  }
  /** @param {Epsilon} o */
  plus(o) { return new Epsilon(this.rational.plus(o.rational), this.factor.times(o.factor)); }
  /** @param {Epsilon} o */
  compare(o) { return signAtExp(ZERO.minus(o.factor), this.factor, this.rational.minus(o.rational)); }
  toString() {
    if (this.factor.compare(ONE) === 0) return String(this.rational);
    return this.rational.sign() === 0 ? `ln(${this.factor})` : `${this.rational} + ln(${this.factor})`;
  }
  toNumber() {
    const log = (/** @type {bigint} */ x) => {
      const drop = Math.max(0, bitLength(x) - 64);
      return Math.log(Number(x >> BigInt(drop))) + drop * Math.LN2;
    };
    return this.rational.toNumber() + log(this.factor.n) - log(this.factor.d);
  }
}

/** @typedef {string | number | bigint | Fraction} NumberLike a number as typed; a double means the decimal it prints */

/** @param {string} name @param {unknown} value @param {string} [allowed] @returns {Fraction} */
export function fractionOf(name, value, allowed = "a number such as '1/3'") {
  const made = value instanceof Fraction ? value
    : typeof value === "bigint" ? new Fraction(value)
    : typeof value === "string" || typeof value === "number" ? parseFraction(String(value)) : null;
  return made && made.bits <= TYPED.bits ? made : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @returns {Fraction} */
export function probabilityOf(name, value) {
  const allowed = "a number between 0 and 1", made = fractionOf(name, value, allowed);
  return made.sign() >= 0 && made.compare(ONE) <= 0 ? made : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @returns {Epsilon} */
export function epsilonOf(name, value) {
  if (value instanceof Epsilon) return value;
  const allowed = "a finite number, 0 or more, also 'ln 3'";
  if (typeof value === "string") return Epsilon.parse(value) ?? badSetting(name, value, allowed);
  const rational = fractionOf(name, value, allowed);
  return rational.sign() >= 0 ? new Epsilon(rational, ONE) : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @param {number} least @param {number} most @returns {number} */
export function wholeNumber(name, value, least, most) {
  const good = typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most;
  return good ? value : badSetting(name, value, `a whole number from ${least} to ${most}`);
}

/** @param {string} name @param {unknown} value @param {number} most @returns {number} */
export function secondsOf(name, value, most) {
  const good = typeof value === "number" && value >= 0 && value <= most;
  return good ? value : badSetting(name, value, `seconds, 0 to ${most}`);
}
