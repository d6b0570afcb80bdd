// @ts-check
/**
 * A published 2×2 matrix: yes or no, and "low" or "high" for a number.
 *
 * Rules
 * 1. It is its diagonal (p00, p11), exactly; all that is decided here is decided exactly.
 * 2. A device applies it only on the grid of 1/2^64 and if p00 + p11 is above 1: `thresholds` says why not.
 */
import { refuse } from "../errors.mjs";
import { signAtExp } from "./exponential.mjs";
import { ONE, ZERO, larger } from "./fraction.mjs";
import { GRID, Mechanism } from "./mechanism.mjs";
import { drawnBit, drawnNumber, systemSource } from "./sampling.mjs";
import { tells, yesNoSentences, yesNoTold } from "./sentences.mjs";

/**
 * @import { Kind } from "../publish/kinds.mjs"
 * @import { Fraction } from "./fraction.mjs"
 * @import { Promised } from "./mechanism.mjs"
 * @import { Source } from "./sampling.mjs"
 */

/** The published matrix by its diagonal (p00, p11), exactly: two truths, an answer of one bit. */
export class Design extends Mechanism {
  /** @param {Fraction} p00 @param {Fraction} p11 */
  constructor(p00, p11) {
    super();
    this.p00 = p00;
    this.p11 = p11;
    this.truths = 2;
    this.width = 1;
    const applied = this.c.sign() > 0 && this.onGrid;
    /** (T0, T1): 64 random bits below T[truth] say 1; null if no device applies this design.
     * @type {[bigint, bigint] | null} */
    this.limits = applied ? [GRID - (p00.n * GRID) / p00.d, (p11.n * GRID) / p11.d] : null;
    Object.freeze(this.limits);
    Object.freeze(this);
  }
  /** How many different answers there are. @returns {bigint} */
  get values() { return 2n; }
  get c() { return this.p00.plus(this.p11).minus(ONE); }
  get onGrid() { return GRID % this.p00.d === 0n && GRID % this.p11.d === 0n; }
  /** P(answer | the truth it speaks for), P(answer | the other): the larger first. @param {number} answer */
  says(answer) {
    const given = answer ? [ONE.minus(this.p00), this.p11] : [this.p00, ONE.minus(this.p11)];
    return given[0].compare(given[1]) >= 0 ? given : given.reverse();
  }
  /** How much an answer can change the odds; null if it proves the truth. @param {number} answer */
  likelihoodRatio(answer) {
    const [most, least] = this.says(answer);
    return least.sign() ? most.over(least) : null;
  }
  /** The larger ratio of the two answers; null if an answer is a proof. @returns {Fraction | null} */
  get worstRatio() {
    const [no, yes] = [this.likelihoodRatio(0), this.likelihoodRatio(1)];
    return no && yes && larger(no, yes);
  }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies({ epsilon, delta }) {
    return [0, 1].every((answer) => {
      const [most, least] = this.says(answer);
      return signAtExp(delta.minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
    });
  }
  /** Whether this text is an answer: "0" or "1". @param {unknown} answer */
  allows(answer) { return answer === "0" || answer === "1"; }
  /** An answer, until one is drawn. */
  get blank() { return "0"; }
  /** Whether questions of this kind can be asked with it: yes or no, or a number. @param {Kind} kind */
  fits(kind) { return kind.kind === "yes_no" || (kind.kind === "number" && !kind.bins); }
  /** The answer to send instead of a truth of this kind. @param {any} truth @param {Kind} kind @param {Source} [source] */
  draw(truth, kind, source = systemSource) {
    return String(kind.kind === "number" ? drawnNumber(truth, this.thresholds(), kind, source) : drawnBit(truth, this.thresholds(), source));
  }
  /** The answers that are proofs, or as good as proofs. */
  tellingAnswers() { return [1, 0].filter((answer) => tells(this.likelihoodRatio(answer))); }
  /** The greatest ratio of an answer that does not tell by itself, and the chance of one that does. @returns {[Fraction, Fraction]} */
  telling() {
    const telling = this.tellingAnswers(), others = [0, 1].filter((answer) => !telling.includes(answer));
    const ratios = others.map((answer) => /** @type {Fraction} */ (this.likelihoodRatio(answer)));
    const rows = [[this.p00, ONE.minus(this.p00)], [ONE.minus(this.p11), this.p11]];
    const told = rows.map((row) => telling.reduce((sum, answer) => sum.plus(row[answer]), ZERO));
    return [ratios.reduce(larger, ONE), larger(told[0], told[1])];
  }
  /** The largest share of respondents that answers can expose. */
  mostExposed() {
    const chances = [this.p00, this.p11], telling = this.tellingAnswers(); // of each answer, at its likeliest
    const most = telling.length ? telling.reduce((sum, answer) => sum.plus(chances[answer]), ZERO) : larger(this.p00, this.p11);
    return most.compare(ONE) > 0 ? ONE : most;
  }
  /** What people read before they answer; of a number its answers are "low" and "high". @param {string} kind */
  sentences(kind) {
    return yesNoSentences([this.p00, this.p11], [this.likelihoodRatio(0), this.likelihoodRatio(1)], this.telling(), kind);
  }
  /** Which word was sent, and by how much it can change the odds. @param {string} answer @param {string} kind */
  told(answer, kind) { return yesNoTold(Number(answer), this.likelihoodRatio(Number(answer)), kind); }
  /** The one bit of the answer seen alone: the design itself. @returns {Design} */
  get column() { return this; }
  toWire() { return { p00: String(this.p00), p11: String(this.p11) }; }
  /** The limits, or why there are none. @returns {[bigint, bigint]} */
  thresholds() {
    if (this.c.sign() <= 0) refuse("NotOriented", "p00 + p11 <= 1: its answers would mean their opposite");
    return this.limits ?? refuse("OffGridDesign", "the matrix is off the grid of 1/2^64");
  }
}
