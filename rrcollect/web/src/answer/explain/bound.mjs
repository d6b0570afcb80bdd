// @ts-check
/**
 * How much all that is sent can tell, exactly and in words.
 */
import { Fraction, ONE, bitLength, larger } from "../../design/fraction.mjs";
import { atMost, percentAtMost } from "../../design/sentences.mjs";

/**
 * @import { AnyDesign } from "../../design/mechanism.mjs"
 * @import { Question } from "../../publish/question.mjs"
 * @import { Survey } from "../../publish/survey.mjs"
 * @import { Words } from "./words.mjs"
 */

export const MOST_SHOWN = new Fraction(1000000n), EXACT_BITS = 1024, STEP = 1n << 256n;

/** @typedef {readonly [bigint, bigint]} Pair a number over another, not reduced: that would take longer than everything else */

/** Over so many draws by each design: how much all answers that do not tell by themselves can change the odds (null: too
 * much to be shown), and the chance, at most, of one that does. @param {[AnyDesign, number][]} draws */
export function boundOf(draws) {
  /** @type {Pair} */
  let ratio = [1n, 1n];
  /** @type {Pair} */
  let quiet = [1n, 1n]; // the chance that no answer tells
  for (const [design, count] of draws) {
    const [greatest, likeliest] = design.telling();
    ratio = upward(product(ratio, power(greatest, count, upward)));
    quiet = downward(product(quiet, power(ONE.minus(likeliest), count, downward)));
  }
  return { ratio: hidden(ratio) ? null : new Fraction(...ratio), telling: ONE.minus(new Fraction(...quiet)) };
}

/** The bound of whichever one of several things is sent. @param {ReturnType<typeof boundOf>[]} bounds */
export function greatest(bounds) {
  return bounds.reduce((a, b) => ({ ratio: a.ratio && b.ratio && larger(a.ratio, b.ratio), telling: larger(a.telling, b.telling) }));
}

/** @param {Fraction} number @param {number} count @param {(number: Pair) => Pair} rounded @returns {Pair} */
function power(number, count, rounded) {
  /** @type {Pair} */
  let made = [1n, 1n], base = /** @type {Pair} */ ([number.n, number.d]);
  for (let left = count; left > 0; ) {
    if (left % 2) made = rounded(product(made, base));
    left = Math.floor(left / 2);
    if (left) base = rounded(product(base, base));
  }
  return made;
}

/** @param {Pair} one @param {Pair} other @returns {Pair} */
function product(one, other) {
  return [one[0] * other[0], one[1] * other[1]];
}

/** @param {Pair} ratio */
function hidden([over, under]) {
  return over > MOST_SHOWN.n * under;
}

/** @param {Pair} ratio @returns {Pair} */
function upward(ratio) {
  if (hidden(ratio)) return [MOST_SHOWN.n + 1n, 1n]; // however large it is
  return bitLength(ratio[1]) <= EXACT_BITS ? ratio : [(ratio[0] * STEP + ratio[1] - 1n) / ratio[1], STEP];
}

/** @param {Pair} chance @returns {Pair} */
function downward(chance) {
  return bitLength(chance[1]) <= EXACT_BITS ? chance : [(chance[0] * STEP) / chance[1], STEP];
}

// ---- in words ------------------------------------------------------------------------------------------------------

const UNLIKELY = new Fraction(1n, 1000000n);

/** How often an answer is drawn: for a panel once. @param {Question} question @param {number} ledgers @returns {[AnyDesign, number]} */
export function drawsOf({ design, rounds, panel }, ledgers) {
  return [design, (panel ? 1 : rounds) * ledgers];
}

/** How many ledgers a person has at most for this survey: an app has one, and a browser (`page`) has for every origin one by
 * itself and one inside each frame. @param {Survey} survey @param {boolean} page */
export function ledgersOf({ origins, frames }, page) {
  return page ? Math.max(1, origins.length) * (1 + frames.length) : 1;
}

/** @param {{ratio: Fraction | null, telling: Fraction}} limits @param {string} prefix @param {Words} words */
export function limitSentences({ ratio, telling }, prefix, words) {
  const told = [];
  if (telling.sign()) told.push(words.say(prefix ? `${prefix}proof` : "proof_chance", { chance: chanceInWords(telling, words) }));
  if (ratio === null) told.push(words.say(`${prefix}no_limit`));
  else if (ratio.compare(ONE) > 0 && telling.compare(ONE) < 0) {
    told.push(words.say(telling.sign() ? `${prefix}limit_besides` : `${prefix}limit`, { ratio: atMost(ratio) }));
  }
  return told;
}

/** @param {Fraction} chance @param {Words} words */
export function chanceInWords(chance, words) {
  if (chance.compare(ONE) === 0) return words.say("certain");
  return chance.compare(UNLIKELY) >= 0 ? words.say("chance", { number: percentAtMost(chance) }) : words.say("never_likely");
}
