// @ts-check
/**
 * Drawn questions: one of many yes/no questions is drawn before the truth is read, and answered at full ε.
 *
 * Rules
 * 1. The device draws question i whatever is true; then it answers with Warner's design: the answer is the truth's with chance p.
 *    The number that is sent is 2i, and one more for a "yes", written with as many digits as the largest has.
 * 2. An answer changes the odds by p/(1 − p) at most.  Two truths that differ in questions of the total chance `apart` are told
 *    apart with that chance only; `design/drawn.py` has the lemma.
 * 3. A draw takes 16 bytes: a number below `ways`, by rejection and never by a remainder that favours somebody, from which the
 *    question follows; then the 64 bits of the answer.
 */
import { refuse } from "../errors.mjs";
import { signAtExp } from "./exponential.mjs";
import { Fraction, ONE } from "./fraction.mjs";
import { GRID, Mechanism } from "./mechanism.mjs";
import { binOf, drawnBit, randomBytes, systemSource, wholeNumberOf } from "./sampling.mjs";
import { binSentences, binTold, severalSentences, severalTold } from "./sentences.mjs";
import { Design } from "./yes_no.mjs";

/**
 * @import { Kind } from "../publish/kinds.mjs"
 * @import { Promised } from "./mechanism.mjs"
 * @import { Source } from "./sampling.mjs"
 */

export const MOST_SEVERAL = 200, MOST_BINS = 1024;

/** What the two have in common. */
class DrawnDesign extends Mechanism {
  /** @param {number} questions @param {bigint} ways @param {Fraction} apart @param {Fraction} p */
  constructor(questions, ways, apart, p) {
    super();
    this.questions = questions;
    this.ways = ways;
    this.apart = apart;
    this.p = p;
    this.width = String(2 * questions - 1).length;
    /** The drawn question's answer. */
    this.column = new Design(p, p);
  }
  get c() { return this.column.c; }
  get onGrid() { return this.column.onGrid; }
  /** Two for each question. @returns {bigint} */
  get values() { return 2n * BigInt(this.questions); }
  get worstRatio() { return this.column.worstRatio; }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies({ epsilon, delta }) {
    const most = this.apart.times(this.p), least = this.apart.times(ONE.minus(this.p));
    return signAtExp(delta.minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
  }
  /** Whether this text is a number of `width` digits that an answer can be. @param {unknown} answer */
  allows(answer) {
    return typeof answer === "string" && /^[0-9]*$/.test(answer) && answer.length === this.width && Number(answer) < 2 * this.questions;
  }
  /** An answer, until one is drawn. */
  get blank() { return "0".repeat(this.width); }
  /** @param {bigint} _ @returns {number} */
  questionOf(_) { return 0; }
  /** @param {any} _ @param {number} __ @returns {boolean} */
  holds(_, __) { return false; }
  /** @param {any} truth @param {Kind} __ @returns {any} */
  checked(truth, __) { return truth; }
  /** The drawn question with its answer. @param {any} truth @param {Kind} kind @param {Source} [source] */
  draw(truth, kind, source = systemSource) {
    const given = this.checked(truth, kind), limits = this.column.thresholds(), accepted = (GRID / this.ways) * this.ways;
    const drawn = randomBytes(16, source);
    let number = wholeNumberOf(drawn.subarray(0, 8));
    while (number >= accepted) number = wholeNumberOf(randomBytes(8, source));
    const question = this.questionOf(number % this.ways);
    const said = drawnBit(this.holds(given, question), limits, (bytes) => (bytes.set(drawn.subarray(8)), bytes));
    return String(2 * question + said).padStart(this.width, "0");
  }
  /** Each answer tells, or none. @returns {[Fraction, Fraction]} */
  telling() { return this.column.telling(); }
  /** Each answer exposes, or none. */
  mostExposed() { return this.column.mostExposed(); }
  /** The limits, or why there are none. */
  thresholds() { return this.column.thresholds(); }
}

/** One of `several` options, each of which is true of a person or not, drawn and answered truly with chance p. */
export class SeveralDesign extends DrawnDesign {
  /** @param {number} several @param {Fraction} p */
  constructor(several, p) {
    super(several, BigInt(several), ONE, p);
    this.several = several;
    Object.freeze(this);
  }
  /** Every subset of the options. */
  get truths() { return 2 ** this.several; }
  /** @param {bigint} number */
  questionOf(number) { return Number(number); }
  /** The numbers of the options that are true, as bits. @param {any} truth */
  checked(truth) {
    const wrong = () => refuse("BadTruth", `the truth must be a list of the numbers of options, each from 0 to ${this.several - 1}; what was given is not shown`);
    if (!Array.isArray(truth)) return wrong();
    return truth.reduce((said, option) => (Number.isInteger(option) && option >= 0 && option < this.several ? said | (1n << BigInt(option)) : wrong()), 0n);
  }
  /** @param {bigint} truth @param {number} question */
  holds(truth, question) { return Boolean((truth >> BigInt(question)) & 1n); }
  /** "All that apply" of as many options. @param {Kind} kind */
  fits(kind) { return kind.kind === "several" && kind.options.length === this.several; }
  /** That one option is drawn, and how often its answer is switched. */
  sentences() { return severalSentences(this.several, this.column.sentences("")); }
  /** Which option was asked, by its number from 1, what was sent, and what that can tell. @param {string} answer */
  told(answer) { return severalTold(Math.floor(Number(answer) / 2) + 1, this.column.told(String(Number(answer) % 2), "")); }
  toWire() { return { p: String(this.p), several: this.several }; }
}

/** Where a number lies among `bins` equal parts of its range: one Haar–Walsh question, drawn and answered truly with chance p. */
export class BinDesign extends DrawnDesign {
  /** @param {number} bins a power of two @param {Fraction} p */
  constructor(bins, p) {
    const levels = Math.log2(bins);
    super(bins - 1, BigInt(levels * (bins / 2)), new Fraction(BigInt(levels + 1), BigInt(2 * levels)), p);
    this.bins = bins;
    this.levels = levels;
    this.truths = bins;
    Object.freeze(this);
  }
  /** The level is the remainder by the number of levels, the row the last bits of the quotient. @param {bigint} number */
  questionOf(number) {
    const rows = 2 ** Number(number % BigInt(this.levels));
    return rows - 1 + Number(number / BigInt(this.levels)) % rows;
  }
  /** The number of the bin, or of a number in its range. @param {any} truth @param {any} kind */
  checked(truth, kind) { return binOf(truth, kind, this.bins); }
  /** In the right half of its node, turned where node and row have an odd number of common bits. @param {number} truth @param {number} question */
  holds(truth, question) {
    const level = 31 - Math.clz32(question + 1), row = question + 1 - 2 ** level, right = truth >> (this.levels - 1 - level);
    let common = (right >> 1) & row, odd = right & 1;
    for (; common; common >>= 1) odd ^= common & 1;
    return odd === 1;
  }
  /** A number in as many bins. @param {Kind} kind */
  fits(kind) { return kind.kind === "number" && kind.bins === this.bins; }
  /** That one question about where the number lies is drawn, and how often its answer is switched. */
  sentences() { return binSentences(this.column.sentences(""), this.worstRatio); }
  /** That an answer about the number was sent, and what it can tell. @param {string} _ */
  told(_) { return binTold(this.worstRatio); }
  toWire() { return { bins: this.bins, p: String(this.p) }; }
}
