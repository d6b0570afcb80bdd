// @ts-check
/**
 * How an answer is drawn from random bytes: the mapping is that of design/sampling.py, part of the wire format.
 *
 * Rules
 * 1. An answer is one comparison of 64 random bits with an exact threshold.  The truth enters by arithmetic, not by an index or
 *    a branch, which a processor would predict.
 * 2. A failing source is an error; there is no other source.
 * 3. A truth that does not fit is refused, and is not shown.
 */
import { badSetting, refuse } from "../errors.mjs";
import { Fraction, bitLength } from "./fraction.mjs";
import { GRID } from "./mechanism.mjs";
import { fractionOf, parseFraction } from "./parameters.mjs";

/**
 * @import { Pair } from "../answer/explain/bound.mjs"
 * @import { NumberLike } from "./parameters.mjs"
 */

/** @typedef {(bytes: Uint8Array) => Uint8Array} Source */

/** @type {Source} */
export const systemSource = (bytes) => globalThis.crypto.getRandomValues(bytes);

/** @param {number} n @param {Source} source */
export function randomBytes(n, source) {
  let bytes;
  try {
    bytes = source(new Uint8Array(n));
  } catch {
    return refuse("NoRandomness", "the secure generator failed; no answer was made");
  }
  if (!(bytes instanceof Uint8Array) || bytes.length !== n) refuse("NoRandomness", "the secure generator gave too few bytes");
  return bytes;
}

/** @param {Uint8Array} bytes */
export function wholeNumberOf(bytes) {
  return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

/** 1 with chance exactly T/2^64, T the limit of the truth's row; the same statements run for both truths, and the truth enters by
 * one "and" with whether the comparisons differ.
 * @param {unknown} truth @param {readonly [bigint, bigint]} limits @param {Source} source @returns {0 | 1} */
export function drawnBit(truth, limits, source) {
  if (typeof truth !== "boolean") refuse("BadTruth", "the truth must be true or false; what was given is not shown");
  const drawn = wholeNumberOf(randomBytes(8, source));
  const no = Number(drawn < limits[0]), yes = Number(drawn < limits[1]);
  return /** @type {0 | 1} */ (no ^ ((no ^ yes) & Number(truth)));
}

/** 1 with chance exactly τ/2^64, τ between the limits as the number is between the ends of its range.
 * @param {unknown} truth @param {readonly [bigint, bigint]} limits @param {Range} range @param {Source} source @returns {0 | 1} */
export function drawnNumber(truth, [none, all], range, source) {
  const [inside, width] = insideOf(truth, range), limit = none + (((all - none) * ((inside * GRID) / width)) >> 64n);
  return /** @type {0 | 1} */ (Number(wholeNumberOf(randomBytes(8, source)) < limit));
}

/** In which of so many equal parts of its range a number lies, from 0 on; on an edge it is the part above, at the upper end the last.
 * @param {unknown} truth @param {Range} range @param {number} bins @returns {number} */
export function binOf(truth, range, bins) {
  const [inside, width] = insideOf(truth, range), bin = Number((inside * BigInt(bins)) / width);
  return Math.min(bin, bins - 1);
}

/** How far a number lies above the lower end, and the width of the range, both as whole numbers over the same.
 * @param {unknown} truth @param {Range} range @returns {[bigint, bigint]} */
function insideOf(truth, { low, high, clip = false }) {
  const [least, most] = [fractionOf("low", low), fractionOf("high", high)];
  if (least.compare(most) >= 0) badSetting("low", low, "below high");
  const [upper, lower] = ratioOf(truth) ?? refuse("BadTruth", "the truth must be a finite number, or its text; what was given is not shown");
  const above = (upper * least.d - least.n * lower) * most.d, width = (most.n * least.d - least.n * most.d) * lower; // x = above/width
  const inside = above < 0n ? 0n : above > width ? width : above;
  if (inside !== above && !clip) {
    refuse("BadTruth", `the truth must lie from ${least} to ${most} (the survey does not say 'clip'); what was given is not shown`);
  }
  return [inside, width];
}

/** @typedef {{low: NumberLike, high: NumberLike, clip?: boolean}} Range */

/** A number as whole numbers, one over the other, exactly; the same statements for all doubles. @param {unknown} given @returns {Pair | null} */
function ratioOf(given) {
  if (typeof given === "bigint") return [given, 1n];
  const exact = typeof given === "string" ? parseFraction(given) : given;
  if (exact instanceof Fraction) return [exact.n, exact.d];
  if (typeof given !== "number" || !Number.isFinite(given)) return null;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, given);
  const bits = view.getBigUint64(0), power = (bits >> 52n) & 2047n, normal = BigInt(power > 0n), sign = 1n - 2n * (bits >> 63n);
  const digits = (bits & ((1n << 52n) - 1n)) | (normal << 52n); // of 53 bits, and fewer below 2^-1022
  return [(sign * digits) << (power - normal), 1n << 1074n];
}

/** The set to send instead of the number of an option, one character per option; drawn for the first option and turned by the
 * truth. @param {unknown} truth @param {bigint} limit @param {number} options @param {number} size @param {Source} source @returns {string} */
export function drawnSet(truth, limit, options, size, source) {
  const index = optionNumber(truth, options), said = size === 1 ? oneOption(limit, options, source) : severalOptions(limit, options, size, source);
  const all = (1n << BigInt(options)) - 1n, turned = ((said << BigInt(index)) | (said >> BigInt(options - index))) & all;
  return [...turned.toString(2).padStart(options, "0")].reverse().join("");
}

/** @param {bigint} each @param {number} options @param {Source} source */
function oneOption(each, options, source) {
  const drawn = wholeNumberOf(randomBytes(8, source)), last = BigInt(options - 1);
  const step = each && drawn / each < last ? drawn / each : last;
  return 1n << ((last - step) % BigInt(options));
}

/** @param {bigint} limit @param {number} options @param {number} size @param {Source} source */
function severalOptions(limit, options, size, source) {
  let bound = 1n;
  for (let i = 1; i <= size; i++) bound *= BigInt(options - i);
  const { inside, number } = drawnBelow(limit, bound, source);
  return chosenSet(inside, number, options, size);
}

/** The truth as the number of an option. @param {unknown} truth @param {number} options @returns {number} */
export function optionNumber(truth, options) {
  if (typeof truth === "number" && Number.isInteger(truth) && truth >= 0 && truth < options) return truth;
  return refuse("BadTruth", `the truth must be the number of an option, 0 to ${options - 1}; what was given is not shown`);
}

/** Whether the first 64 bits are below the limit, and a uniform whole number below the bound.
 * @param {bigint} limit @param {bigint} bound @param {Source} source */
export function drawnBelow(limit, bound, source) {
  const length = Math.ceil(bitLength(bound) / 8) + 8, accepted = ((1n << BigInt(8 * length)) / bound) * bound;
  const drawn = randomBytes(8 + length, source), inside = Number(wholeNumberOf(drawn.subarray(0, 8)) < limit);
  let number = wholeNumberOf(drawn.subarray(8));
  while (number >= accepted) number = wholeNumberOf(randomBytes(length, source)); // never a remainder that favours somebody
  return { inside, number: number % bound };
}

/** Floyd's sampling among the other options; its first element gives way to the truth, option 0, if that is in.
 * @param {number} inside @param {bigint} number @param {number} options @param {number} size */
function chosenSet(inside, number, options, size) {
  const below = (/** @type {number} */ n) => {
    const least = Number(number % BigInt(n));
    number /= BigInt(n);
    return least;
  };
  let said = 1n << BigInt((1 - inside) * (1 + below(options - size)));
  for (let place = options - size; place < options - 1; place++) {
    const other = below(place + 1), taken = Number((said >> BigInt(1 + other)) & 1n);
    said |= 1n << BigInt(1 + other + taken * (place - other));
  }
  return said;
}
