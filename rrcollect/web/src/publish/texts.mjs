// @ts-check
/**
 * Text that people read: nothing in it hides, reorders or fakes what they see.
 */
import { encoder } from "./canonical.mjs";
import { sha256 } from "./keys.mjs";

/** @import { Texts } from "./document.mjs" */

export const JOINER = "\u200d", NON_JOINER = "\u200c", LANGUAGE = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/;

/** Ranges of code points that hide, reorder or fake what a person reads: the same table as in publish/texts.py. */
const HIDDEN = [
  [0x0000, 0x001F], [0x007F, 0x009F], [0x00AD, 0x00AD], [0x034F, 0x034F], [0x0600, 0x0605], [0x061C, 0x061C],
  [0x06DD, 0x06DD], [0x070F, 0x070F], [0x0890, 0x0891], [0x08E2, 0x08E2], [0x115F, 0x1160], [0x17B4, 0x17B5],
  [0x180B, 0x180F], [0x200B, 0x200F], [0x2028, 0x202E], [0x2060, 0x206F], [0x3164, 0x3164], [0xD800, 0xF8FF],
  [0xFDD0, 0xFDEF], [0xFEFF, 0xFEFF], [0xFFA0, 0xFFA0], [0xFFF0, 0xFFFB], [0xFFFE, 0xFFFF], [0x110BD, 0x110BD],
  [0x110CD, 0x110CD], [0x13430, 0x13442], [0x16FE4, 0x16FE4], [0x1BCA0, 0x1BCA3], [0x1D159, 0x1D159],
  [0x1D173, 0x1D17A], [0x1FFFE, 0x1FFFF], [0x2FFFE, 0x2FFFF], [0x3FFFE, 0x3FFFF], [0x4FFFE, 0x4FFFF],
  [0x5FFFE, 0x5FFFF], [0x6FFFE, 0x6FFFF], [0x7FFFE, 0x7FFFF], [0x8FFFE, 0x8FFFF], [0x9FFFE, 0x9FFFF],
  [0xAFFFE, 0xAFFFF], [0xBFFFE, 0xBFFFF], [0xCFFFE, 0xCFFFF], [0xDFFFE, 0xDFFFF], [0xE0000, 0xE0FFF],
  [0xEFFFE, 0x10FFFF],
];

const BLANK = "\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000"; // shows nothing, but takes room
export const HIDING = new RegExp(`[${HIDDEN.map(([a, b]) => `\\u{${a.toString(16)}}-\\u{${b.toString(16)}}`).join("")}]`, "gu");
const JOINING = "\\u0620-\\u0dff"; // from Arabic to Sinhala: where a non-joiner changes what is seen
export const VISIBLE = new RegExp(`[^${BLANK}\\n${JOINER}${NON_JOINER}\\ufe00-\\ufe0f]`, "u");
export const BLANK_END = new RegExp(`^[${BLANK}\\n]|[${BLANK}\\n]$`, "u");
export const LOOSE_JOINER = new RegExp(`(?:^|[${BLANK}\\n${JOINER}])${JOINER}|${JOINER}(?:$|[${BLANK}\\n])`, "u");
export const LOOSE_NON_JOINER = new RegExp(`(?<![${JOINING}])${NON_JOINER}|${NON_JOINER}(?![${JOINING}])`, "u");

/** More marks on one letter than any writing has: they would cover the lines above and below. */
export const PILE = new RegExp("[\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05c7\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u06d6-\\u06ed\\u0e31\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u0eb1-\\u0ebc\\u0ec8-\\u0ecd\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]{5}", "u");

/** A text of a survey in a language, or in its base language, or in the survey's own; "" if there is none.
 * @param {{language: string}} survey @param {Texts} texts @param {string | null} [language] @returns {string} */
export function say(survey, texts, language = null) {
  const wanted = language || survey.language;
  const found = [wanted, wanted.split("-")[0], survey.language].find((one) => Object.hasOwn(texts, one));
  return found === undefined ? "" : texts[found];
}

/** Letters and digits that can be taken for one another: the same table as in publish/texts.py. */
const ALIKE = [
  "a\u0430\u03b1\u0251", "b\u0432\u03b2", "c\u0441", "d\u0501", "e\u0435\u03b5", "g\u0261\u0581",
  "h\u043d\u04bb\u03b7n\u043fv\u03bd\u0570\u0578", "i\u0456\u03b9l\u04cf1\u0269", "j\u0458", "k\u043a\u03ba",
  "m\u043c\u03bc", "o\u043e\u03bf0\u0585\u00f8", "p\u0440\u03c1", "q\u051b", "s\u0455", "t\u0442\u03c4",
  "u\u057d", "w\u051d", "x\u0445\u03c7", "y\u0443\u03c5\u03b3", "z\u03b6",
];

/** One letter that looks like two. @type {Record<string, string>} */
const PAIRS = { d: "cl", m: "rn", w: "vv" };

const FIRST = new Map(ALIKE.flatMap((group) => Array.from(group, (letter) => [letter, group[0]])));
const first = (/** @type {string} */ text) => Array.from(text, (c) => FIRST.get(c) ?? c).join("");
const LOOKS = new Map(Array.from(FIRST, ([letter, one]) => [letter, first(PAIRS[one] ?? one)]));

/** What numbers a question: digits, a letter or a small Roman number, and a mark; also "2. a) ". */
const NUMBER = new RegExp("^(?:[^\\p{L}\\p{N}]*(?:\\p{L}?\\p{Nd}{1,3}(?:\\.\\p{Nd}{1,3})*\\s*(?:[)\\]}.:\\u3001](?!\\p{Nd})|[-\\u2013\\u2014](?=\\s+\\P{Nd}))"
  + "|(?:\\p{L}|[ivx]{2,5})\\s*(?:[)\\]}]|[.:\\u3001](?=[\\s)\\]}])|[-\\u2013\\u2014](?=\\s))))+", "u");

/** Letters and digits; if there are no letters, digits and pictures. @param {string} text */
const compared = (text) => (text.match(/\p{L}/u.test(text) ? /[\p{L}\p{N}]/gu : /(?!\p{Sk})[\p{N}\p{S}]/gu) ?? []).join("");

/** A hash that is equal for texts with the same letters and digits, however they are numbered, spaced, marked or cased.
 * @param {string} text */
export function fingerprint(text) {
  const folded = Array.from(text.normalize("NFKD").replace(/\p{M}/gu, ""), (c) => c.toUpperCase().toLowerCase()).join("");
  const plain = compared(folded.replace(NUMBER, "")) || compared(folded);
  return sha256(encoder.encode(Array.from(plain, (c) => LOOKS.get(c) ?? c).join("")));
}

/** Of the text of a question, of its help, and of both together, in every language.
 * @param {Record<string, string>} text @param {Record<string, string>} help @returns {Promise<string[]>} */
export async function fingerprints(text, help) {
  const spoken = Object.keys({ ...text, ...help }).map((language) => [text, help].flatMap((one) => (Object.hasOwn(one, language) ? [one[language]] : [])));
  return [...new Set(await Promise.all(spoken.flatMap((texts) => [...texts, texts.join(" ")]).map(fingerprint)))];
}
