// @ts-check
/**
 * What is asked, with which design, under which promise.
 */
import { BinDesign, MOST_BINS, MOST_SEVERAL, SeveralDesign } from "../design/drawn.mjs";
import { BlockDesign, isSpace } from "../design/blocks.mjs";
import { ONE, whole } from "../design/fraction.mjs";
import { Epsilon, SIGNED, parseFraction } from "../design/parameters.mjs";
import { tells } from "../design/sentences.mjs";
import { SetDesign } from "../design/sets.mjs";
import { Design } from "../design/yes_no.mjs";
import { refuse } from "../errors.mjs";
import { isObject } from "./canonical.mjs";
import { byLanguage, integer, needBoolean, needFields, needName, needPassage, needPassages, orNull } from "./document.mjs";
import { MOST_OPTIONS, goesWith, needKind } from "./kinds.mjs";

/**
 * @import { AnyDesign, Promised } from "../design/mechanism.mjs"
 * @import { Need, Texts } from "./document.mjs"
 * @import { Kind } from "./kinds.mjs"
 */

export const MOST_ROUNDS = 1000;

/** @type {Need} */
function needProbability(value, place) {
  const found = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  if (!found || found.sign() < 0 || found.compare(ONE) > 0) return refuse("MalformedDocument", `${place}: must be text such as '3/4', from 0 to 1`);
  return found;
}

/** The mechanisms, by the keys of their wire form: their fields, in the order in which faults are told, how one is made, and why
 * nothing can be learned if c is not above 0. @type {Record<string, {fields: (value: any) => Record<string, Need>, made: (given: any) => AnyDesign, learns: (design: any) => boolean, why: string}>} */
const DESIGNS = {
  options: {
    fields: ({ options }) => ({ options: integer(2, MOST_OPTIONS), size: integer(1, typeof options === "number" ? options - 1 : 0), p: needProbability }),
    made: ({ options, size, p }) => new SetDesign(options, size, p), learns: ({ c }) => c.sign() > 0, why: "p is not above the share of options sent",
  },
  several: {
    fields: () => ({ several: integer(2, MOST_SEVERAL), p: needProbability }),
    made: ({ several, p }) => new SeveralDesign(several, p), learns: ({ c }) => c.sign() > 0, why: "p is not above 1/2",
  },
  bins: {
    fields: () => ({ bins: needBins, p: needProbability }),
    made: ({ bins, p }) => new BinDesign(bins, p), learns: ({ c }) => c.sign() > 0, why: "p is not above 1/2",
  },
  field: {
    fields: () => ({ field: integer(2, 645), dimension: integer(3, 28), p: needProbability }),
    made: ({ field, dimension, p }) => (isSpace(field, dimension) ? new BlockDesign(field, dimension, p) : refuse("MalformedDocument", `there is no space of dimension ${dimension} over ${field}`)),
    learns: ({ c }) => c.sign() > 0, why: "p is not above the share of options in a block",
  },
  p00: {
    fields: () => ({ p00: needProbability, p11: needProbability }),
    made: ({ p00, p11 }) => new Design(p00, p11), learns: ({ c }) => c.sign() !== 0, why: "p00 + p11 = 1",
  },
};

/** @type {Need} */
function needBins(value, place) {
  const bins = integer(4, MOST_BINS)(value, place);
  return (bins & (bins - 1)) === 0 ? bins : refuse("MalformedDocument", `${place}: must be a power of two`);
}

/** @param {any} value @param {string} place @returns {AnyDesign} */
export function needDesign(value, place) {
  const key = Object.keys(DESIGNS).find((name) => isObject(value) && name in value) ?? "p00";
  const { fields, made, learns, why } = DESIGNS[key], given = needFields(value, place, fields(value ?? {})), design = made(given);
  if (!learns(design)) refuse("NotOriented", `${place}: ${why}, so nothing can be learned`);
  if (Object.entries(design.toWire()).some(([name, part]) => part !== value[name])) refuse("NotCanonical", `${place}: a probability is not in lowest terms`);
  return design;
}

/** @type {Need} */
function needEpsilon(value, place) {
  const epsilon = typeof value === "string" ? Epsilon.parse(value, SIGNED) : null;
  return epsilon ?? refuse("MalformedDocument", `${place}: must be text such as 'ln(3)', 0 or more`);
}

/** @type {Need} */
const needPromise = (value, place) => needFields(value, place, { epsilon: needEpsilon, delta: needProbability });

/** @type {Need} */
const needDisclosure = (value, place) => needFields(value, place, { exposed: integer(0, 1e9), respondents: integer(1, 1e9) });

/** @type {Record<string, Need>} in the order in which faults are told, here and below */
export const QUESTION = {
  id: needName, attribute: needName, kind: needKind, text: byLanguage(needPassage, 1), help: needPassages,
  design: needDesign, promise: needPromise, rounds: integer(1, MOST_ROUNDS), panel: needBoolean, disclosure: orNull(needDisclosure),
};

/** @typedef {Readonly<{id: string, attribute: string, kind: Kind, text: Texts, help: Texts, design: AnyDesign, promise: Promised,
 *   rounds: number, panel: boolean, disclosure: Readonly<{exposed: number, respondents: number}> | null}>} Question */

/** Refuse a question that no device may answer. @param {Question} question */
export function checkQuestion(question) {
  const where = `question '${question.id}'`, { design, promise, disclosure, kind } = question;
  if (!design.fits(kind)) {
    refuse("MalformedDocument", `${where}: ${goesWith(kind)}`);
  }
  if (question.panel && question.rounds === 1) refuse("MalformedDocument", `${where}: a panel needs two rounds or more`);
  if (design.c.sign() <= 0) refuse("NotOriented", `${where}: p00 + p11 must be above 1`);
  if (!design.onGrid) refuse("OffGridDesign", `${where}: the matrix is off the grid of 1/2^64`);
  if (!design.satisfies(promise)) refuse("ClaimTooSmall", `${where} promises more than its matrix keeps`);
  if (disclosure !== null) {
    if (whole(disclosure.exposed).compare(design.mostExposed().times(whole(disclosure.respondents))) > 0) {
      refuse("MalformedDocument", `${where}: fewer people can be exposed than it says`);
    }
    if (tells(design.worstRatio) && disclosure.exposed === 0) refuse("MalformedDocument", `${where}: somebody will be exposed`);
  }
}
