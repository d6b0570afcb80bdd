// @ts-check
/**
 * What may be true, and how it is asked: yes or no, one of several options, all that apply, a number in a range.
 *
 * Rules
 * 1. A kind says which truths there are; the design beside it says how they are randomised.  They must fit.
 * 2. The order of options is part of the document: the first option is the first bit of an answer.  No two have the same label in
 *    a language: nobody could tell them apart.
 * 3. `KINDS` is the only list: what is true of one kind alone stands there.
 */
import { MOST_BINS } from "../design/drawn.mjs";
import { SIGNED, parseFraction } from "../design/parameters.mjs";
import { canonical, isObject } from "./canonical.mjs";
import { byLanguage, distinct, integer, need, needBoolean, needFields, needList, needTexts, needWords } from "./document.mjs";
import { sha256 } from "./keys.mjs";

/**
 * @import { Fraction } from "../design/fraction.mjs"
 * @import { Said } from "../design/sentences.mjs"
 * @import { Need, Texts } from "./document.mjs"
 */

export const MOST_OPTIONS = 200;

/** @typedef {Readonly<{kind: "yes_no"}> | Readonly<{kind: "choice", options: readonly Texts[]}> |
 *   Readonly<{kind: "several", options: readonly Texts[]}> | Readonly<{kind: "number", low: string, high: string, unit: Texts, clip: boolean, bins: number}>} Kind */

/** @type {Need} */
function needExact(value, place) {
  const exact = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  need(exact !== null && String(exact) === value, place, "must be a number in lowest terms, such as '40' or '1/2'");
  return value;
}

/** A kind that lists its options. @param {string} name */
function ofOptions(name) {
  return {
    /** @type {Record<string, Need>} */
    fields: { options: (value, place) => needList(value, place, 2, MOST_OPTIONS, byLanguage(needWords, 1)) },
    check: (/** @type {any} */ { options }, /** @type {string} */ place) => {
      const labels = options.flatMap((/** @type {Texts} */ option) => Object.entries(option).map(([language, label]) => `${language} ${label}`));
      need(distinct(labels), place, "two options have the same label");
    },
    truths: async (/** @type {any} */ { options }) => `${name} of ${await sha256(canonical(options))}`, // all languages, in their order
    texts: (/** @type {any} */ { options }) => options,
    goesWith: (/** @type {any} */ { options }) => `a ${name} of ${options.length} options goes with a design for ${options.length} options`,
  };
}

/** Of each kind: its fields beside its name; what they must say of each other; what may be true, as ledgers write it; its texts for
 * people; which designs fit, in words; what people read about it beside what they read about its design.
 * @type {Record<string, {fields: Record<string, Need>, check?: (kind: any, place: string) => void, truths?: (kind: any) => string | Promise<string>,
 *   texts?: (kind: any) => readonly Texts[], goesWith?: (kind: any) => string, sentences?: (kind: any) => Said[]}>} */
const KINDS = {
  yes_no: { fields: {} },
  choice: ofOptions("choice"),
  several: ofOptions("several"),
  number: {
    fields: { low: needExact, high: needExact, unit: needTexts, clip: needBoolean, bins: integer(0, MOST_BINS) },
    check: ({ low, high, bins }, place) => {
      const [least, most] = [low, high].map((text) => /** @type {Fraction} */ (parseFraction(text)));
      need(least.compare(most) < 0, place, "low must be below high");
      need(!bins || (bins >= 4 && (bins & (bins - 1)) === 0), place, "bins must be a power of two from 4 to 1024, or 0");
    },
    goesWith: ({ bins }) => (bins ? `a number of ${bins} bins goes with a design for ${bins} bins` : "a number question goes with a design of p00 and p11"),
    truths: ({ low, high, bins }) => `number from ${low} to ${high}${bins ? ` in ${bins} bins` : ""}`,
    texts: ({ unit }) => [unit],
    sentences: ({ low, high, clip }) => (clip ? [{ key: "clipped", places: { low, high } }] : []),
  },
};

/** @type {Need} */
export function needKind(value, place) {
  need(isObject(value) && typeof value.kind === "string" && Object.hasOwn(KINDS, value.kind), place, "must be of a known kind");
  const { fields, check } = KINDS[value.kind], kind = needFields(value, place, { kind: (name) => name, ...fields });
  check?.(kind, place);
  return kind;
}

/** What may be true, as ledgers write it: an answer to other truths does not stand for one to these. @param {Kind} kind
 * @returns {Promise<string>} */
export async function truthsOf(kind) {
  return KINDS[kind.kind].truths?.(kind) ?? kind.kind;
}

/** The texts for people in it. @param {Kind} kind @returns {readonly Texts[]} */
export function textsOf(kind) {
  return KINDS[kind.kind].texts?.(kind) ?? [];
}

/** Which designs fit, in words. @param {Kind} kind @returns {string} */
export function goesWith(kind) {
  return KINDS[kind.kind].goesWith?.(kind) ?? `a ${kind.kind} question goes with a design of p00 and p11`;
}

/** What people read about it beside what they read about its design. @param {Kind} kind @returns {Said[]} */
export function sentencesOf(kind) {
  return KINDS[kind.kind].sentences?.(kind) ?? [];
}
