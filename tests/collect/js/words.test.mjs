// The words of the browser client: which language is taken, its forms, and words that somebody else supplies.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";

const OURS = ["en", "de", "fr", "es", "ar"];
const english = JSON.parse(readFileSync(new URL("../../../rrcollect/web/src/words/en.json", import.meta.url), "utf8"));
/** A table in a language that is not ours, with some changes; null leaves a key out. */
const italian = (changes = {}) => Object.fromEntries(Object.entries({
  ...Object.fromEntries(Object.entries(english).map(([key, said]) => [key, typeof said === "string" ? `IT ${said}` : { other: `IT ${said.other}` }])),
  ...changes,
}).filter(([, said]) => said !== null));
const refused = (error) => error instanceof rr.RRCollectError && error.name === "ParameterError";

test("the first of a person's languages that there is, is taken", async () => {
  const taken = async (...languages) => (await rr.loadWords(languages)).language;
  assert.deepEqual(await Promise.all([taken("de-AT"), taken("pt-BR", "fr-CA", "de"), taken("AR-EG"), taken("pt"), taken()]), ["de", "fr", "ar", "en", "en"]);
  assert.equal((await rr.loadWords("es")).language, "es");
  for (const language of OURS) assert.equal((await rr.loadWords(language)).direction, language === "ar" ? "rtl" : "ltr");
  assert.deepEqual(["he", "fa-IR", "az-Arab", "az-Latn"].map(rr.direction), ["rtl", "rtl", "rtl", "ltr"]);
});

test("forms are those of Unicode", async () => {
  for (const language of OURS) {
    const forms = Object.fromEntries(["zero", "one", "two", "few", "many", "other"].map((form) => [form, form]));
    const words = new rr.Words(language, { forms }), rules = new Intl.PluralRules(language);
    for (let count = 0; count < 1200; count++) assert.equal(words.say("forms", { count }), rules.select(count), `${language} ${count}`);
  }
});

test("a sentence is given in parts for a page, and its numbers in the language's way", async () => {
  const words = await rr.loadWords("de"), element = { tag: "strong" };
  assert.deepEqual(words.parts("asked_by", { publisher: element }), ["Umfrage von ", element, ""]);
  assert.equal(words.say("clipped", { low: "-0.5", high: "1/3" }), "Eine Zahl unter -0,5 zählt als -0,5, eine über 1/3 als 1/3.");
  assert.ok((await rr.loadWords("ar")).say("from_to", { low: "-5", high: 5 }).includes(" \u200e-5 "));
  assert.throws(() => words.say("nothing of this name"), refused);
  assert.throws(() => words.say("clipped", { low: 0 }), refused);
  assert.throws(() => rr.explainSurvey({}, { words: english }), refused);
});

test("a moment is told in UTC, or where the device is", async () => {
  const words = await rr.loadWords("fr"), date = new Date("2100-03-01T09:05:00Z");
  assert.equal(words.moment(date), "1er mars 2100 à 09:05");
  const local = words.moment(date, { local: true });
  assert.ok(local.endsWith(`${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`), local);
});

test("words that somebody supplies are used whole, and marked in ours", async () => {
  const words = await rr.loadWords(["it-CH", "en"], { it: italian() });
  assert.deepEqual([words.language, words.notice, words.say("send")], ["it", english.supplied, "IT Send"]);
  assert.equal((await rr.loadWords("de", { it: italian() })).notice, null);
});

test("words that are not whole, hide something, or are in a language of ours, are refused", async () => {
  const bad = [
    { send: null }, { more: "x" }, { share: "spesso" }, { send: "{word}" }, { send: "a\u202eb" }, { send: "a\nb" }, { send: { one: "x" } },
    { send: { other: "x", lots: "y" } }, { send: 5 }, { send: "x".repeat(2001) }, { send: "" }, { send: ["x"] },
  ];
  for (const changes of bad) await assert.rejects(rr.loadWords("it", { it: italian(changes) }), refused, JSON.stringify(changes));
  for (const language of ["de", "de-AT", "Italian"]) await assert.rejects(rr.loadWords("it", { [language]: italian() }), refused, language);
});
