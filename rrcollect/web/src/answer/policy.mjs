// @ts-check
/**
 * The device's own rules.  They win over whatever a document claims.
 */
import { ONE, ZERO } from "../design/fraction.mjs";
import { Epsilon, epsilonOf, fractionOf, probabilityOf, wholeNumber } from "../design/parameters.mjs";
import { badSetting, needSettings, refuse } from "../errors.mjs";
import { unhex } from "../publish/keys.mjs";

/**
 * @import { LogRule } from "../publish/log.mjs"
 * @import { Promised } from "../design/mechanism.mjs"
 * @import { NumberLike } from "../design/parameters.mjs"
 * @import { Question } from "../publish/question.mjs"
 */

/** @typedef {{name: string, keys: string[], threshold?: number}} TrustedPublisher keys in hexadecimal */

/** @typedef {{maxEpsilon?: NumberLike | Epsilon, maxRatio?: NumberLike, attributeEpsilon?: NumberLike | Epsilon,
 *   attributeDelta?: NumberLike, lifetimeEpsilon?: NumberLike | Epsilon, lifetimeDelta?: NumberLike, allowDisclosure?: boolean, digests?: readonly string[],
 *   log?: string | null, witnesses?: readonly string[], witnessesNeeded?: number | null}} Caps
 * `digests` pins: with any there, no other survey is taken.  `log` is the key of a log that must have a survey, and of the `witnesses`
 * `witnessesNeeded` (all, unless said) must have signed the same state of it. */

/** @param {unknown} given @returns {Readonly<{name: string, keys: readonly string[], threshold: number}>} */
function trustedPublisher(given) {
  needSettings("a trusted publisher", given, ["name", "keys", "threshold"]);
  const { name, keys, threshold = 1 } = /** @type {TrustedPublisher} */ (given);
  if (typeof name !== "string" || !name) badSetting("publisher", name, "its name");
  if (!Array.isArray(keys) || !keys.length) badSetting("keys", keys, "a list of one public key or more");
  keys.forEach(unhex);
  const distinct = Object.freeze([...new Set(keys)]);
  return Object.freeze({ name, keys: distinct, threshold: wholeNumber("threshold", threshold, 1, distinct.length) });
}

/** @param {unknown} log @param {unknown} witnesses @param {number | null} needed @returns {LogRule | null} */
function logRule(log, witnesses, needed) {
  const listed = Array.isArray(witnesses) ? [...new Set(witnesses)] : badSetting("witnesses", witnesses, "a list of keys");
  if (log === null && (listed.length || needed !== null)) badSetting("log", log, "the log's key, since witnesses are named");
  for (const key of log === null ? [] : [log, ...listed]) if (typeof key !== "string") badSetting("key of a log or witness", key, "a text");
  const least = needed === null ? listed.length : wholeNumber("witnessesNeeded", needed, 0, listed.length);
  return log === null ? null : Object.freeze({ log: /** @type {string} */ (log), witnesses: Object.freeze(listed), needed: least });
}

/** Caps on what this device gives away; the defaults, and what is refused, are the Python client's. */
export class Policy {
  /** @param {TrustedPublisher[]} [publishers] @param {Caps} [caps] */
  constructor(publishers = [], caps = {}) {
    const defaults = {
      maxEpsilon: "ln 9", maxRatio: "20", attributeEpsilon: "ln 81", attributeDelta: "1/100",
      lifetimeEpsilon: "ln 59049", lifetimeDelta: "1/100", allowDisclosure: false, digests: /** @type {readonly string[]} */ ([]),
      log: /** @type {string | null} */ (null), witnesses: /** @type {readonly string[]} */ ([]), witnessesNeeded: /** @type {number | null} */ (null),
    };
    needSettings("the policy", caps, Object.keys(defaults));
    const given = { ...defaults, ...caps };
    if (!Array.isArray(publishers)) badSetting("publishers", publishers, "a list of trusted publishers");
    this.publishers = Object.freeze(publishers.map(trustedPublisher));
    if (new Set(this.publishers.map((p) => p.name)).size !== this.publishers.length) {
      refuse("ParameterError", "publishers: each stands here once, with all its keys");
    }
    this.maxRatio = fractionOf("maxRatio", given.maxRatio);
    if (this.maxRatio.compare(ONE) <= 0) badSetting("maxRatio", given.maxRatio, "a number above 1");
    if (typeof given.allowDisclosure !== "boolean") badSetting("allowDisclosure", given.allowDisclosure, "true or false");
    this.maxEpsilon = epsilonOf("maxEpsilon", given.maxEpsilon);
    this.attributeEpsilon = epsilonOf("attributeEpsilon", given.attributeEpsilon);
    this.attributeDelta = probabilityOf("attributeDelta", given.attributeDelta);
    this.lifetimeEpsilon = epsilonOf("lifetimeEpsilon", given.lifetimeEpsilon);
    this.lifetimeDelta = probabilityOf("lifetimeDelta", given.lifetimeDelta);
    this.allowDisclosure = given.allowDisclosure;
    const pinned = given.digests, good = Array.isArray(pinned) && pinned.every((one) => typeof one === "string" && /^[0-9a-f]{64}$/.test(one));
    if (!good) badSetting("digests", pinned, "a list of digests, each of 64 hexadecimal digits");
    this.digests = Object.freeze([...pinned]);
    this.logged = logRule(given.log, given.witnesses, given.witnessesNeeded);
    Object.freeze(this);
  }
  get keys() {
    return new Set(this.publishers.flatMap((p) => p.keys));
  }
  /** What one answer is charged; an error if this policy does not allow the question. @param {Question} question @returns {Promised} */
  cost(question) {
    const { design, id, disclosure } = question, ratio = design.worstRatio;
    const none = new Epsilon(ZERO, ONE);
    if (ratio === null || ratio.compare(this.maxRatio) > 0) {
      const start = `question '${id}': an answer could be a proof, or nearly one`;
      if (disclosure === null) refuse("CertainDisclosure", `${start}, and the publisher has not signed that this is meant`);
      if (!this.allowDisclosure) refuse("CertainDisclosure", `${start}; this device does not allow that`);
      return { epsilon: none, delta: design.c };
    }
    const epsilon = new Epsilon(ZERO, ratio);
    if (epsilon.compare(this.maxEpsilon) > 0) refuse("OverPolicy", `question '${id}' costs more than this device allows`);
    return { epsilon, delta: ZERO };
  }
}
