// @ts-check
/**
 * What an app is willing to be asked about, under the app's own names.
 */
import { wholeNumber } from "../design/parameters.mjs";
import { badSetting, needSettings } from "../errors.mjs";
import { isObject } from "../publish/canonical.mjs";
import { MOST_ROUNDS } from "../publish/question.mjs";

/**
 * @import { Question } from "../publish/question.mjs"
 * @import { Survey } from "../publish/survey.mjs"
 */

/** @typedef {{name: string, rounds: number, aliases: string[]}} Attribute */

/** The registered attributes, and the rule that finds a question's own one. */
export class Attributes {
  /** @param {unknown} registered */
  constructor(registered) {
    /** @type {Map<string, Attribute>} by what publishers call it */
    this.asked = new Map();
    /** @type {Map<string, Attribute>} by its own name */
    this.own = new Map();
    /** @type {Map<string, Attribute>} by its earlier names */
    this.earlier = new Map();
    /** @type {Map<string, number>} */
    this.publishers = new Map();
    if (!Array.isArray(registered)) return badSetting("attributes", registered, "a list of names");
    for (const entry of registered) {
      if (isObject(entry) && "everyAttributeOf" in entry) addPublisher(this, entry);
      else addAttribute(this, typeof entry === "string" ? { name: entry } : entry);
    }
    for (const alias of this.earlier.keys()) {
      if (this.own.has(alias)) badSetting("aliases", alias, "earlier names, which are not registered any more");
    }
  }
  /** What a question asks about, if it is registered. @param {Survey} survey @param {Question} question @returns {Attribute | undefined} */
  find({ publisher }, { attribute }) {
    const name = `${publisher}/${attribute}`, rounds = this.publishers.get(publisher);
    return this.asked.get(attribute) ?? (rounds === undefined ? rounds : this.earlier.get(name) ?? { name, rounds, aliases: [] });
  }
}

/** @param {Attributes} all @param {any} entry */
function addPublisher(all, entry) {
  needSettings("everyAttributeOf", entry, ["everyAttributeOf", "rounds"]);
  const { everyAttributeOf: publisher, rounds = 1 } = entry;
  if (typeof publisher !== "string" || !publisher) badSetting("publisher", publisher, "its name");
  if (all.publishers.has(publisher)) badSetting("attributes", publisher, "each publisher once");
  all.publishers.set(publisher, wholeNumber("rounds", rounds, 1, MOST_ROUNDS));
}

/** @param {Attributes} all @param {any} entry */
function addAttribute(all, entry) {
  needSettings("an attribute", entry, ["name", "rounds", "askedAs", "aliases"]);
  const { name, rounds = 1, askedAs = [], aliases = [] } = entry;
  if (typeof name !== "string" || !name || name.includes("/")) badSetting("attribute name", name, "a text without '/'");
  for (const [what, list] of [["askedAs", askedAs], ["aliases", aliases]]) {
    const names = Array.isArray(list) && list.every((one) => typeof one === "string" && one !== "");
    if (!names) badSetting(what, list, "a list of names");
  }
  const made = { name, rounds: wholeNumber("rounds", rounds, 1, MOST_ROUNDS), aliases: [...aliases] };
  all.own.set(name, made);
  for (const as of askedAs.length ? askedAs : [name]) {
    if (all.asked.has(as)) badSetting("attributes", as, "each name asked about belongs to one attribute");
    all.asked.set(as, made);
  }
  for (const alias of aliases) {
    if (all.earlier.has(alias)) badSetting("aliases", alias, "each earlier name belongs to one attribute");
    all.earlier.set(alias, made);
  }
}
