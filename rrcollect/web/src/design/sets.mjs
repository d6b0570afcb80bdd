// @ts-check
/**
 * A set of options for a choice: `size` of `options`, the truth among them with chance p.
 *
 * Rules
 * 1. It is its three numbers, exactly.
 * 2. A device applies it only on the grid of 1/2^64: p, or of one option the chance of each other one.
 */
import { ONE, whole } from "./fraction.mjs";
import { Balanced } from "./balanced.mjs";
import { binOf, drawnSet, systemSource } from "./sampling.mjs";
import { setSentences, setTold } from "./sentences.mjs";

/**
 * @import { Kind } from "../publish/kinds.mjs"
 * @import { Fraction } from "./fraction.mjs"
 * @import { Source } from "./sampling.mjs"
 */

/** A set of `size` of `options`, the truth among them with chance p, exactly; an answer has one bit for each option. */
export class SetDesign extends Balanced {
  /** @param {number} options @param {number} size @param {Fraction} p */
  constructor(options, size, p) {
    super(options, size, p, size === 1 ? ONE.minus(p).over(whole(options - 1)) : p);
    this.options = options;
    this.width = options;
    Object.freeze(this);
  }
  /** How many different answers there are: C(options, size). @returns {bigint} */
  get values() {
    let made = 1n;
    for (let i = 1n; i <= this.size; i++) made = made * (BigInt(this.options) - i + 1n) / i;
    return made;
  }
  /** Whether this text is an answer: one character per option, as many 1 as the set has options. @param {unknown} answer */
  allows(answer) {
    return typeof answer === "string" && /^[01]*$/.test(answer) && answer.length === this.options && answer.replaceAll("0", "").length === this.size;
  }
  /** An answer, until one is drawn. */
  get blank() { return "1".repeat(this.size).padEnd(this.options, "0"); }
  /** Whether questions of this kind can be asked with it: a choice of as many options, or a number in as many bins. @param {Kind} kind */
  fits(kind) { return kind.kind === "choice" ? kind.options.length === this.options : kind.kind === "number" && kind.bins === this.options; }
  /** The answer to send instead of the number of an option, or a number in a range. @param {any} truth @param {Kind | null} kind @param {Source} [source] */
  draw(truth, kind, source = systemSource) {
    return drawnSet(kind?.kind === "number" ? binOf(truth, kind, this.options) : truth, this.thresholds(), this.options, this.size, source);
  }
  /** Sets of one option are spoken of as that option. @param {string} kind */
  sentences(kind) { return setSentences(this.options, this.size, ONE.minus(this.p), this.worstRatio, kind); }
  /** The options sent, by their numbers from 1, and what they can tell. @param {string} answer @param {string} kind */
  told(answer, kind) { return setTold(answer, this.size, this.worstRatio, kind); }
  toWire() { return { options: this.options, p: String(this.p), size: this.size }; }
}
