// @ts-check
/**
 * One of very many options, sent as the number of a block: the hyperplanes of the projective space PG(dimension − 1, field).
 *
 * Rules
 * 1. A point is a vector whose first coordinate that is not 0 is 1, and its number is made of where that is and of the digits
 *    behind it; so are blocks, by the vectors that they are orthogonal to.  Vectors are numbers to the base q.
 * 2. A draw is that of design/blocks.py: all coordinates but one are drawn, and the one of the truth's first 1 is solved for.
 * 3. An answer is the number of the block in as many decimal digits as the largest has.
 */
import { badSetting } from "../errors.mjs";
import { Balanced } from "./balanced.mjs";
import { ONE } from "./fraction.mjs";
import { drawnBelow, optionNumber, systemSource } from "./sampling.mjs";
import { blockSentences, blockTold } from "./sentences.mjs";

/**
 * @import { Kind } from "../publish/kinds.mjs"
 * @import { Fraction } from "./fraction.mjs"
 * @import { Source } from "./sampling.mjs"
 */

const LARGEST_SPACE = 2 ** 28;

/** Whether there is a space of so many vectors, over a field of a prime number. @param {unknown} field @param {unknown} dimension */
export function isSpace(field, dimension) {
  if (typeof field !== "number" || typeof dimension !== "number" || !Number.isInteger(field) || !Number.isInteger(dimension)) return false;
  if (field < 2 || dimension < 3 || dimension > 28 || field ** dimension > LARGEST_SPACE) return false;
  for (let divisor = 2; divisor * divisor <= field; divisor++) if (field % divisor === 0) return false;
  return true;
}

/** A block of the space, the truth in it with chance p, exactly. */
export class BlockDesign extends Balanced {
  /** @param {number} field @param {number} dimension @param {Fraction} p */
  constructor(field, dimension, p) {
    if (!isSpace(field, dimension)) badSetting("field, dimension", `${field}, ${dimension}`, "a prime number and 3 or more, whose power is at most 2^28");
    const most = field ** (dimension - 1);
    super((field * most - 1) / (field - 1), (most - 1) / (field - 1), p);
    this.field = field;
    this.dimension = dimension;
    this.width = String(this.truths - 1).length;
    Object.freeze(this);
  }
  /** As many blocks as options. @returns {bigint} */
  get values() { return BigInt(this.truths); }
  /** Whether this text is an answer: the number of a block, with all its digits. @param {unknown} answer */
  allows(answer) {
    return typeof answer === "string" && answer.length === this.width && /^[0-9]+$/.test(answer) && Number(answer) < this.truths;
  }
  /** The first block. */
  get blank() { return "0".repeat(this.width); }
  /** Whether questions of this kind can be asked with it: a choice of as many options or fewer. @param {Kind} kind */
  fits(kind) { return kind.kind === "choice" && kind.options.length <= this.truths; }
  /** The number of one block instead of that of an option. @param {any} truth @param {Kind | null} _ @param {Source} [source] */
  draw(truth, _, source = systemSource) {
    const q = this.field, m = q ** (this.dimension - 1), { weight, tail } = this.place(optionNumber(truth, this.truths));
    const { inside, number } = drawnBelow(this.thresholds(), BigInt(m) * BigInt(m - 1), source);
    const held = Number(number / BigInt(m)), other = Number(number % BigInt(m));
    const free = other + inside * (held + 1 - other), low = free % weight, high = (free - low) / weight;
    const solved = (1 - inside + q - product(low, tail, q)) % q;
    return String(this.number((high * q + solved) * weight + low)).padStart(this.width, "0");
  }
  /** The weight of a point's first coordinate that is not 0, and the number that the digits behind it make. @param {number} number */
  place(number) {
    let weight = this.field ** (this.dimension - 1);
    for (; number >= weight; weight /= this.field) number -= weight;
    return { weight, tail: number };
  }
  /** The point that a vector other than 0 spans. @param {number} vector */
  number(vector) {
    let weight = this.field ** (this.dimension - 1), before = 0;
    for (; vector < weight; weight /= this.field) before += weight;
    const rest = vector % weight, first = (vector - rest) / weight;
    let inverse = 1;
    while ((inverse * first) % this.field !== 1) inverse++;
    return before + times(inverse, rest, this.field);
  }
  /** A block is spoken of as a group of options. */
  sentences() { return blockSentences(this.truths, this.size, ONE.minus(this.p), this.worstRatio); }
  /** The number of the block sent, and what it can tell. @param {string} answer */
  told(answer) { return blockTold(answer, this.worstRatio); }
  toWire() { return { dimension: this.dimension, field: this.field, p: String(this.p) }; }
}

/** The inner product of two vectors. @param {number} one @param {number} other @param {number} q */
function product(one, other, q) {
  let found = 0;
  for (; one && other; one = Math.floor(one / q), other = Math.floor(other / q)) found += (one % q) * (other % q);
  return found % q;
}

/** Every coordinate times a factor. @param {number} factor @param {number} vector @param {number} q */
function times(factor, vector, q) {
  let found = 0;
  for (let weight = 1; vector; vector = Math.floor(vector / q), weight *= q) found += (((vector % q) * factor) % q) * weight;
  return found;
}
