// @ts-check
/**
 * What <rr-survey> tells whoever makes the page around it, in the console: one line with the attribute and what was expected.
 *
 * Rules
 * 1. Only what is wrong with the page or the survey is told, never what a person did or entered: nothing was asked yet.
 * 2. States of a person or a browser (offline, ended, no storage) are not errors of the page, and are not told.
 */

/** What each attribute must be. @type {Record<string, string>} */
const EXPECTED = {
  src: "the address of a survey that its publisher signed",
  publisher: "the public keys that may sign the survey, each of 64 hexadecimal digits, with spaces between them",
  "publisher-name": "the name of the publisher in the signed survey",
  threshold: "a whole number from 1 to the number of keys in publisher",
  words: "tables of words in further languages, each in the form of words/en.json",
  origin: "a page at an origin that the signed survey lists, by itself or inside one of its frames",
};

/** The attribute that is wrong, by the name of the error; what is not here is no error of the page. @type {Record<string, string>} */
const WRONG = {
  Missing: "src", Unavailable: "src", Another: "src", Oversize: "src", MalformedDocument: "src", DuplicateKey: "src", FloatInDocument: "src",
  NotCanonical: "src", MissingSignature: "src", BadSignature: "src", KeyCountedTwice: "src", ClaimTooSmall: "src", NotOriented: "src",
  OffGridDesign: "src", RolledBack: "src", WrongOrigin: "origin", WrongFrame: "origin",
};

/** The attribute that is wrong; undefined if the page is not to blame. @param {HTMLElement} host @param {Error} error */
function wrongAttribute(host, { name, message }) {
  const keys = (host.getAttribute("publisher") ?? "").split(/\s+/).filter(Boolean), threshold = Number(host.getAttribute("threshold") ?? 1);
  if (!host.getAttribute("src")) return "src";
  if (!keys.length || !keys.every((key) => /^[0-9a-f]{64}$/.test(key))) return "publisher";
  if (!(Number.isInteger(threshold) && threshold >= 1 && threshold <= new Set(keys).size)) return "threshold";
  if (name === "UntrustedKey") return host.hasAttribute("publisher-name") && message.startsWith("the publisher") ? "publisher-name" : "publisher";
  return name === "ParameterError" ? "words" : WRONG[name];
}

/** One line in the console, if the page is to blame. @param {HTMLElement} host @param {Error} error */
export function tellDeveloper(host, error) {
  const attribute = wrongAttribute(host, error);
  if (attribute === undefined) return;
  const given = attribute === "origin" ? location.origin : host.getAttribute(attribute), detail = error.message === error.name ? "" : `: ${error.message}`;
  console.error(`<rr-survey> ${attribute} is ${given === null ? "missing" : `"${given}"`}: use ${EXPECTED[attribute]} (${error.name}${detail})`);
}
