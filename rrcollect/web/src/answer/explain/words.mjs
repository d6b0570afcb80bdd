// @ts-check
/**
 * Every sentence a person is told by this device, and how others' text is kept apart.
 */
import { badSetting, refuse, shown } from "../../errors.mjs";
import { isObject } from "../../publish/canonical.mjs";
import { need, written } from "../../publish/document.mjs";
import { LANGUAGE, NON_JOINER } from "../../publish/texts.mjs";
import { ourTable } from "../../words.mjs";

/** @import { Said } from "../../design/sentences.mjs" */

const OURS = ["en", "de", "fr", "es", "ar"], RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
const FORMS = ["zero", "one", "two", "few", "many", "other"];
const MARK = "> ", COLUMNS = 76, WIDE = 0x1100;

/** @typedef {string | Record<string, string>} Sentence a sentence, or its forms by the plural categories of Unicode */

/** @typedef {Record<string, Sentence>} Table key to sentence, as in words/en.json */

/** The direction in which a language is written, for `dir`. @param {string} language @returns {"ltr" | "rtl"} */
export function direction(language) {
  const parts = language.split("-");
  return RIGHT_TO_LEFT.includes(parts[0]) || parts.includes("Arab") || parts.includes("Hebr") ? "rtl" : "ltr";
}

/** The form that so many things take; other languages than ours are given that of English. @param {string} language @param {number} count */
function plural(language, count) {
  if (language === "ar") return count < 3 ? FORMS[count] : count % 100 >= 3 && count % 100 <= 10 ? "few" : count % 100 > 10 ? "many" : "other";
  return count === 1 || (language === "fr" && count === 0) ? "one" : "other";
}

/** The sentences of one language; made by `loadWords` only. */
export class Words {
  /** @param {string} language @param {Table} table @param {string | null} [notice] our sentence that somebody else supplied it */
  constructor(language, table, notice = null) {
    this.language = language;
    this.table = table;
    this.notice = notice;
    this.direction = direction(language);
    Object.freeze(this);
  }
  /** The sentence with its places filled; `count` chooses its form. @param {string} key @param {Record<string, string | number>} [places] */
  say(key, places = {}) {
    return this.parts(key, places).join("");
  }
  /** The sentence in parts, for places that are not text, such as elements of a page.
   * @template T @param {string} key @param {Record<string, T>} places @returns {(T | string)[]} */
  parts(key, places) {
    const said = this.table[key];
    if (said === undefined) refuse("ParameterError", `there are no words ${shown(key)}`);
    const text = typeof said === "string" ? said : said[plural(this.language, Number(places.count))] ?? said.other;
    return text.split(/\{([a-z]+)\}/).map((part, i) => (i % 2 ? this.number(places[part] ?? refuse("ParameterError", `${key} needs ${part}`)) : part));
  }
  /** The sentence of this key, its places filled. @param {Said} said @param {Record<string, string>} [more] @returns {string} */
  spoken({ key, places = {} }, more = {}) {
    const filled = Object.entries(places).map(([name, value]) => [name, typeof value === "object" ? this.spoken(value) : typeof value === "number" ? this.counted(value) : value]);
    return this.say(key, { ...Object.fromEntries(filled), ...more });
  }
  /** A number with the decimal sign of this language, and its minus where it is read; anything else as it is. @template T @param {T} value */
  number(value) {
    if (typeof value === "object") return value;
    const text = String(value).replace(/^(-?[0-9]+)\.([0-9]+)$/, (_, whole, rest) => `${whole}${this.table.decimal}${rest}`);
    return this.direction === "rtl" && /^-[0-9]/.test(text) ? `\u200e${text}` : text;
  }
  /** A small number as a word, as the sentences with "one in four" need it. @param {number} number */
  counted(number) {
    return String(this.table.numbers).split(" ")[number - 2] ?? String(number);
  }
  /** A day and a time of it, in UTC or where this device is. @param {Date} date @param {{local?: boolean}} [given] */
  moment(date, { local = false } = {}) {
    const at = new Date(local ? date.getTime() - date.getTimezoneOffset() * 60_000 : date).toISOString();
    const month = String(this.table.months).split(" ")[Number(at.slice(5, 7)) - 1];
    return this.say("moment", { count: Number(at.slice(8, 10)), month, year: Number(at.slice(0, 4)), time: at.slice(11, 16) });
  }
}

/** The words of the first of these languages that there are words for, else English.  `own`: further languages, supplied by
 * whoever asks or made the page, each whole and in the form of words/en.json; they are marked as such.
 * @param {string | readonly string[]} [languages] such as navigator.languages @param {Record<string, Table>} [own] @returns {Promise<Words>} */
export async function loadWords(languages = [], own = {}) {
  const base = (/** @type {string} */ language) => language.split("-")[0].toLowerCase();
  for (const language of Object.keys(own)) {
    if (!LANGUAGE.test(language) || OURS.includes(base(language))) badSetting("words", language, `a language such as 'it' that is not ours (${OURS.join(", ")})`);
  }
  for (const wanted of [languages].flat()) {
    const found = [wanted, base(wanted)].find((one) => Object.hasOwn(own, one));
    if (found !== undefined) {
      const english = await ourTable("en");
      checkTable(found, own[found], english);
      return new Words(found, own[found], new Words("en", english).say("supplied"));
    }
    if (OURS.includes(base(wanted))) return new Words(base(wanted), await ourTable(base(wanted)));
  }
  return new Words("en", await ourTable("en"));
}

/** Refuse a table that lacks a sentence or a place, or has one too many, or hides something.
 * @param {string} language @param {Table} table @param {Table} english */
function checkTable(language, table, english) {
  const formsOf = (/** @type {Sentence} */ said) => (isObject(said) ? said : { other: said }), needText = written(2000, NON_JOINER);
  const placesOf = (/** @type {string} */ text) => [...text.matchAll(/\{([a-z]+)\}/g)].map((found) => found[1]);
  for (const key of new Set([...Object.keys(english), ...Object.keys(table)])) {
    const places = Object.values(formsOf(english[key] ?? "")).flatMap(placesOf), forms = formsOf(table[key]);
    try {
      for (const text of Object.values(forms)) need(placesOf(needText(text, key)).every((place) => [...places, "count"].includes(place)), key, "");
      need(Object.hasOwn(english, key) && "other" in forms && Object.keys(forms).every((form) => FORMS.includes(form)), key, "");
      need(places.every((place) => placesOf(forms.other).includes(place)), key, "");
    } catch {
      badSetting(`words.${language}.${key}`, table[key], `as in words/en.json, with the places ${places.join(", ")}`);
    }
  }
}

/** @param {string} what @param {unknown} words @returns {Words} */
export function wordsOf(what, words) {
  return words instanceof Words ? words : badSetting(`${what}: words`, words, "what loadWords(language) gave");
}

/** @typedef {Readonly<{text: string, foreign: boolean, question: string | null}>} Line
 * some text, whether somebody else wrote it (then it may have several lines), and the question it belongs to */

/** @param {string} text @param {string | null} [question] @returns {Line} */
export const ours = (text, question = null) => ({ text, foreign: false, question });

/** @param {string} text @param {string | null} [question] @returns {Line[]} */
export const theirs = (text, question = null) => (text ? [{ text, foreign: true, question }] : []);

/** The whole text: ours as it is, every line of theirs with its mark. @param {Line[]} lines */
export function shownLines(lines) {
  return lines.flatMap(({ text, foreign }) => (foreign ? marked(text) : [text])).join("\n");
}

/** @param {string} text */
function marked(text) {
  return text.split("\n").flatMap(broken).map((part) => MARK + part);
}

/** The line in parts that fit, broken at spaces where there are some. @param {string} line */
function broken(line) {
  const parts = [];
  let left = [...line];
  for (let cut = fitting(left); cut < left.length; cut = fitting(left)) {
    const space = left.lastIndexOf(" ", cut), at = space > 0 ? space : cut;
    parts.push(left.slice(0, at).join(""));
    left = left.slice(space > 0 ? at + 1 : at);
  }
  return [...parts, left.join("")];
}

/** How many characters fit. @param {string[]} line */
function fitting(line) {
  let columns = 0;
  const cut = line.findIndex((character) => (columns += /** @type {number} */ (character.codePointAt(0)) >= WIDE ? 2 : 1) > COLUMNS);
  return cut < 0 ? line.length : cut;
}
