// @ts-check
/**
 * Documents: exact fields, exact types, the first fault told.
 */
import { refuse } from "../errors.mjs";
import { exactFields, isObject } from "./canonical.mjs";
import { faultOfLogo } from "./logo.mjs";
import { BLANK_END, HIDING, JOINER, LANGUAGE, LOOSE_JOINER, LOOSE_NON_JOINER, NON_JOINER, PILE, VISIBLE } from "./texts.mjs";

/**
 * @typedef {Readonly<Record<string, string>>} Texts a text by language
 * @typedef {(value: any, place: string) => any} Need reads a value, or refuses it
 */

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const MOMENT = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z$/;

/** @param {boolean} good @param {string} place @param {string} words */
export function need(good, place, words) {
  if (!good) refuse("MalformedDocument", `${place}: ${words}`);
}

/** @param {any} value @param {string} place @param {Record<string, Need>} fields @returns {any} */
export function needFields(value, place, fields) {
  exactFields(value, place, Object.keys(fields));
  return Object.freeze(Object.fromEntries(
    Object.entries(fields).map(([name, needField]) => [name, needField(value[name], `${place}.${name}`)]),
  ));
}

/** @param {any} value @param {string} place @param {number} least @param {number} most @param {Need} needItem */
export function needList(value, place, least, most, needItem) {
  need(Array.isArray(value) && value.length >= least && value.length <= most, place, `must be a list of ${least} to ${most}`);
  return Object.freeze(value.map((/** @type {any} */ item, /** @type {number} */ i) => needItem(item, `${place}.${i}`)));
}

/** @param {any} value @param {string} place @param {number} least @param {number} most @param {Need} needKey @param {Need} needItem */
export function needMap(value, place, least, most, needKey, needItem) {
  need(isObject(value), place, "must be an object");
  const names = Object.keys(value);
  need(names.length >= least && names.length <= most, place, `must have ${least} to ${most} entries`);
  const made = Object.create(null);
  for (const name of names) made[needKey(name, place)] = needItem(value[name], `${place}.${name}`);
  return Object.freeze(made);
}

/** @param {RegExp} pattern @param {string} words @returns {Need} */
export function matching(pattern, words) {
  return (value, place) => (need(typeof value === "string" && pattern.test(value), place, words), value);
}

/** @param {number} least @param {number} most @returns {Need} */
export function integer(least, most) {
  return (value, place) => (need(typeof value === "number" && value >= least && value <= most, place, `must be an integer from ${least} to ${most}`), value);
}

/** Text of 1 to `most` characters with nothing hidden in it. @param {number} most @param {string} also allowed inside @returns {Need} */
export function written(most, also) {
  return (value, place) => {
    need(typeof value === "string", place, "must be a string");
    const length = [...value].length;
    need(length >= 1 && length <= most, place, `must have 1 to ${most} characters`);
    const hidden = (value.match(HIDING) ?? []).filter((/** @type {string} */ c) => !also.includes(c));
    need(hidden.length === 0, place, "holds a character that cannot be shown to a person");
    need(VISIBLE.test(value), place, "shows nothing");
    need(!BLANK_END.test(value), place, "begins or ends with white space");
    need(!LOOSE_JOINER.test(value) && !LOOSE_NON_JOINER.test(value), place, "has a joiner where it joins nothing");
    need(!PILE.test(value), place, "has more than 4 marks on one letter");
    return value;
  };
}

/** A map from language to text. @param {Need} needText @param {number} [least] @returns {Need} */
export function byLanguage(needText, least = 0) {
  return (value, place) => needMap(value, place, least, 50, matching(LANGUAGE, "a language looks like 'en' or 'de-AT'"), needText);
}

/** @type {Need} */
export function needBoolean(value, place) {
  need(typeof value === "boolean", place, "must be true or false");
  return value;
}

/** @type {Need} */
export function needMoment(value, place) {
  const found = typeof value === "string" ? MOMENT.exec(value) : null;
  if (!found) return refuse("MalformedDocument", `${place}: must look like 2027-01-31T00:00:00Z`);
  const moment = new Date(value), year = Number(found[1]);
  const exact = !Number.isNaN(moment.getTime()) && writtenMoment(moment) === value; // the 30th of February is not
  need(exact && year >= 2000 && year <= 9000, place, "is not a moment of the years 2000 to 9000");
  return moment;
}

/** @param {Date} moment */
export function writtenMoment(moment) {
  return moment.toISOString().replace(".000Z", "Z");
}

/** @param {Need} needValue @returns {Need} */
export function orNull(needValue) {
  return (value, place) => (value === null ? null : needValue(value, place));
}

export const needName = matching(NAME, "must be a short lower-case name");
export const needWords = written(200, NON_JOINER), needPassage = written(2000, "\n" + JOINER + NON_JOINER);
export const needTexts = byLanguage(needWords), needPassages = byLanguage(needPassage);

/** @param {readonly string[]} items */
export function distinct(items) {
  return new Set(items).size === items.length;
}

export const ORIGIN = "(?:https://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\]))(?::[1-9][0-9]{0,4})?";

export const ADDRESS = new RegExp(`^${ORIGIN}(?:/[A-Za-z0-9._~-]+)+$`), LONGEST_ADDRESS = 500;
/** The collector of a survey whose reports another program passes on. */
export const CARRIED = "carried";

/** @type {Need} */
export function needCollector(value, place) {
  const address = typeof value === "string" && value.length <= LONGEST_ADDRESS && ADDRESS.test(value);
  need(address || value === CARRIED, place, `must look like https://collect.example.org/reports, or be '${CARRIED}'`);
  return value;
}

/** @type {Need} */
function needLogo(value, place) {
  const fault = faultOfLogo(value);
  need(fault === null, place, fault ?? "");
  return value;
}

/** @type {Record<string, Need>} */
export const LOOK = { colour: orNull(matching(/^#[0-9a-f]{6}$/, "must look like #336699")), logo: orNull(needLogo) };

/** @type {Record<string, Need>} */
export const SEGMENT = {
  values: (value, place) => needList(value, place, 1, 200, (item, at) => needFields(item, at, { value: needWords, label: needTexts })),
  label: needTexts, help: needPassages,
};

/** @typedef {Readonly<{values: readonly Readonly<{value: string, label: Texts}>[], label: Texts, help: Texts}>} Segment */
