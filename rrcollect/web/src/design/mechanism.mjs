// @ts-check
/**
 * What every published randomisation says of itself.  Nobody asks for its type.
 *
 * Rules
 * 1. A mechanism turns one of `truths` possible truths into an answer: a text of `width` characters that only its mechanism
 *    reads, by `allows`.
 * 2. It has one spelling: `toWire()` with its keys in order, and `text`, the same as canonical JSON.
 * 3. What people are told about it are keys of sentences, with what stands in their places (`sentences` and `told`): the words
 *    of a language make text of them.
 */

/**
 * @import { BinDesign, SeveralDesign } from "./drawn.mjs"
 * @import { Fraction } from "./fraction.mjs"
 * @import { Epsilon } from "./parameters.mjs"
 * @import { BlockDesign } from "./blocks.mjs"
 * @import { SetDesign } from "./sets.mjs"
 * @import { Design } from "./yes_no.mjs"
 */

/** The chances that a device applies are multiples of 1/GRID. */
export const GRID = 1n << 64n;

/** What a mechanism has beside its own exact numbers. */
export class Mechanism {
  /** Fractions in lowest terms, keys in order. @returns {Record<string, string | number>} */
  toWire() {
    return {};
  }
  /** The canonical JSON text. */
  get text() {
    return JSON.stringify(this.toWire());
  }
}

/** @typedef {Design | SetDesign | SeveralDesign | BinDesign | BlockDesign} AnyDesign */

/** @typedef {{epsilon: Epsilon, delta: Fraction}} Promised */
