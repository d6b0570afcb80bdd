// @ts-check
/**
 * One answer to one truth, without a ledger: for programs that keep account of their draws themselves.
 */
import { drawnBit, drawnNumber, systemSource } from "../design/sampling.mjs";

/**
 * @import { NumberLike } from "../design/parameters.mjs"
 * @import { Range, Source } from "../design/sampling.mjs"
 * @import { BlockDesign } from "../design/blocks.mjs"
 * @import { SetDesign } from "../design/sets.mjs"
 * @import { Design } from "../design/yes_no.mjs"
 */

/** The bit to send instead of the truth, by 64 random bits and one comparison.
 * @param {boolean} truth @param {Design} design @param {Source} [source] @returns {0 | 1} */
export function randomise(truth, design, source = systemSource) {
  return drawnBit(truth, design.thresholds(), source);
}

/** What to send instead of the truth (the number of an option): a set, one character per option, or the number of a block.
 * @param {number} truth @param {SetDesign | BlockDesign} design @param {Source} [source] @returns {string} */
export function randomiseChoice(truth, design, source = systemSource) {
  return design.draw(truth, null, source);
}

/** The bit to send instead of a number in [low, high].  A number is taken as the binary fraction it is, a text such as "38.5" as it
 * is written.  What lies outside is refused, or brought to the nearer end if the survey says `clip`.
 * @param {NumberLike} truth @param {Design} design @param {Range} range @param {Source} [source] @returns {0 | 1} */
export function randomiseNumber(truth, design, range, source = systemSource) {
  return drawnNumber(truth, design.thresholds(), range, source);
}
