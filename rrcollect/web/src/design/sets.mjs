// @ts-check
/**
 * A set of options for a choice: `size` of `options`, the truth among them with chance p.
 *
 * Rules
 * 1. It is its three numbers, exactly; all sets of one design are alike: each of them tells, or none.
 * 2. A device applies it only on the grid of 1/2^64: `thresholds` says why not.
 */
import { refuse } from "../errors.mjs";
import { signAtExp } from "./exponential.mjs";
import { Fraction, ONE, ZERO, whole } from "./fraction.mjs";
import { GRID, Mechanism } from "./mechanism.mjs";
import { binOf, drawnSet, systemSource } from "./sampling.mjs";
import { setSentences, setTold, tells } from "./sentences.mjs";
import { Design } from "./yes_no.mjs";

/**
 * @import { Kind } from "../publish/kinds.mjs"
 * @import { Promised } from "./mechanism.mjs"
 * @import { Source } from "./sampling.mjs"
 */

/** A set of `size` of `options`, the truth among them with chance p, exactly; an answer has one bit for each option. */
export class SetDesign extends Mechanism {
  /** @param {number} options @param {number} size @param {Fraction} p */
  constructor(options, size, p) {
    super();
    this.options = options;
    this.size = size;
    this.p = p;
    this.truths = options;
    this.width = options;
    const scaled = (size === 1 ? ONE.minus(p).over(whole(options - 1)) : p).times(new Fraction(GRID));
    /** R (the chance of each other option, for one) or P (of the truth, for several) on 2^64; null off the grid.
     * @type {bigint | null} */
    this.limit = scaled.d === 1n ? scaled.n : null;
    Object.freeze(this);
  }
  /** The chance of an option that is not the truth. */
  get q() { return whole(this.size).minus(this.p).over(whole(this.options - 1)); }
  get c() { return this.p.minus(this.q); }
  get onGrid() { return this.limit !== null; }
  /** How many different answers there are: C(options, size). @returns {bigint} */
  get values() {
    let made = 1n;
    for (let i = 1n; i <= this.size; i++) made = made * (BigInt(this.options) - i + 1n) / i;
    return made;
  }
  /** P(a set | a truth in it), P(the set | one outside), both times the same number. */
  says() { return [this.p.times(whole(this.options - this.size)), ONE.minus(this.p).times(whole(this.size))]; }
  /** How much every answer can change the odds; null if it excludes an option. @returns {Fraction | null} */
  get worstRatio() {
    const [most, least] = this.says();
    return least.sign() ? most.over(least) : null;
  }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies({ epsilon, delta }) {
    const [most, least] = this.says();
    return signAtExp(delta.times(whole(this.options - 1)).minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
  }
  /** Whether this text is an answer: one character per option, as many 1 as the set has options. @param {unknown} answer */
  allows(answer) {
    return typeof answer === "string" && /^[01]*$/.test(answer) && answer.length === this.options && answer.replaceAll("0", "").length === this.size;
  }
  /** An answer, until one is drawn. */
  get blank() { return "1".repeat(this.size).padEnd(this.options, "0"); }
  /** Whether questions of this kind can be asked with it: a choice of as many options, or a number in as many bins. @param {Kind} kind */
  fits(kind) { return kind.kind === "choice" ? kind.options.length === this.options : kind.kind === "number" && kind.bins === this.options; }
  /** The answer to send instead of the number of an option, or a number in a range. @param {any} truth @param {Kind} kind @param {Source} [source] */
  draw(truth, kind, source = systemSource) {
    return drawnSet(kind.kind === "number" ? binOf(truth, kind, this.options) : truth, this.thresholds(), this.options, this.size, source);
  }
  /** Each set tells, or none. @returns {[Fraction, Fraction]} */
  telling() {
    const ratio = this.worstRatio;
    return ratio === null || tells(ratio) ? [ONE, ONE] : [ratio, ZERO];
  }
  /** Each set exposes, or none. */
  mostExposed() { return ONE; }
  /** Sets of one option are spoken of as that option. @param {string} kind */
  sentences(kind) { return setSentences(this.options, this.size, ONE.minus(this.p), this.worstRatio, kind); }
  /** The options sent, by their numbers from 1, and what they can tell. @param {string} answer @param {string} kind */
  told(answer, kind) { return setTold(answer, this.size, this.worstRatio, kind); }
  /** One option seen alone, for estimates: the promise is never read off it. @returns {Design} */
  get column() { return new Design(ONE.minus(this.q), this.p); }
  toWire() { return { options: this.options, p: String(this.p), size: this.size }; }
  /** The limit, or why there is none. @returns {bigint} */
  thresholds() { return this.limit ?? refuse("OffGridDesign", "the design is off the grid of 1/2^64"); }
}
