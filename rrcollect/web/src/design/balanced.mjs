// @ts-check
/**
 * What follows alike for sets of options and for blocks of a space: a group of `size` of the `truths`, the truth in it with
 * chance p; every truth is in as many groups as every other, every two are in as many together.
 *
 * Rules
 * 1. All groups of one design are alike: each of them tells, or none.
 * 2. The promise is never read off the column of one option.
 */
import { refuse } from "../errors.mjs";
import { signAtExp } from "./exponential.mjs";
import { Fraction, ONE, ZERO, whole } from "./fraction.mjs";
import { GRID, Mechanism } from "./mechanism.mjs";
import { tells } from "./sentences.mjs";
import { Design } from "./yes_no.mjs";

/** @import { Promised } from "./mechanism.mjs" */

/** A group of `size` of `truths` options, the truth in it with chance p. */
export class Balanced extends Mechanism {
  /** @param {number} truths @param {number} size @param {Fraction} p @param {Fraction} [applied] the chance that a device applies */
  constructor(truths, size, p, applied = p) {
    super();
    this.truths = truths;
    this.size = size;
    this.p = p;
    const scaled = applied.times(new Fraction(GRID));
    /** That chance on 2^64; null off the grid. @type {bigint | null} */
    this.limit = scaled.d === 1n ? scaled.n : null;
  }
  /** The chance of an option that is not the truth. */
  get q() { return whole(this.size).minus(this.p).over(whole(this.truths - 1)); }
  get c() { return this.p.minus(this.q); }
  get onGrid() { return this.limit !== null; }
  /** P(a group | a truth in it), P(the group | one outside), both times the same number. */
  says() { return [this.p.times(whole(this.truths - this.size)), ONE.minus(this.p).times(whole(this.size))]; }
  /** How much every answer can change the odds; null if it excludes an option. @returns {Fraction | null} */
  get worstRatio() {
    const [most, least] = this.says();
    return least.sign() ? most.over(least) : null;
  }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies({ epsilon, delta }) {
    const [most, least] = this.says();
    return signAtExp(delta.times(whole(this.truths - 1)).minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
  }
  /** Each group tells, or none. @returns {[Fraction, Fraction]} */
  telling() {
    const ratio = this.worstRatio;
    return ratio === null || tells(ratio) ? [ONE, ONE] : [ratio, ZERO];
  }
  /** Each group exposes, or none. */
  mostExposed() { return ONE; }
  /** One option seen alone, for estimates. @returns {Design} */
  get column() { return new Design(ONE.minus(this.q), this.p); }
  /** The limit, or why there is none. @returns {bigint} */
  thresholds() { return this.limit ?? refuse("OffGridDesign", "the design is off the grid of 1/2^64"); }
}
