// @ts-check
/**
 * Which question is asked, and in which round of a panel: drawn once, before any truth is known.  And what a page asks with.
 */
import { GRID } from "../design/mechanism.mjs";
import { randomBytes, wholeNumberOf } from "../design/sampling.mjs";
import { needSettings, refuse } from "../errors.mjs";
import { say } from "../publish/texts.mjs";
import { wordsOf } from "./explain/words.mjs";
import { allNames } from "./ledger/rules.mjs";

/**
 * @import { Source } from "../design/sampling.mjs"
 * @import { Texts } from "../publish/document.mjs"
 * @import { Question } from "../publish/question.mjs"
 * @import { Survey } from "../publish/survey.mjs"
 * @import { Attribute } from "./attributes.mjs"
 * @import { Words } from "./explain/words.mjs"
 * @import { State } from "./ledger/ledger.mjs"
 */

/** A whole number below `count`, each with the same chance; 8 bytes are drawn for each attempt, for 1 none.
 * @param {number} count @param {Source} source */
export function uniform(count, source) {
  const bound = BigInt(count), accepted = (GRID / bound) * bound;
  let drawn = 0n;
  if (count > 1) do drawn = wholeNumberOf(randomBytes(8, source)); while (drawn >= accepted);
  return Number(drawn % bound);
}

/** @param {Survey} survey */
export function surveyKey({ publisher, name }) {
  return JSON.stringify([publisher, name]);
}

/** The id of the one question that was drawn, if the survey asks one and has it still. @param {State} state @param {Survey} survey */
export function askedOf(state, survey) {
  const about = survey.ask === "one" ? state.asked[surveyKey(survey)] : undefined;
  return survey.questions.find((question) => question.attribute === about)?.id ?? null;
}

/** The round that was drawn for an attribute, under its name or else its first alias. @param {State} state @param {Attribute} attribute */
export function panelOf(state, attribute) {
  const kept = new Map(state.panels.map((one) => [one.attribute, one.round]));
  return kept.get(allNames(state, attribute).find((one) => kept.has(one)) ?? "") ?? null;
}

/** The question's rounds that have not closed; all, if the survey does not say when they are.
 * @param {Survey} survey @param {Question} question @param {Date} now */
export function notClosed({ rounds }, question, now) {
  return [...Array(question.rounds).keys()].filter((round) => !rounds.length || now < rounds[round].closes);
}

/** The round to answer in: the one given, or the panel's, or the first; an error if it is not this device's.
 * @param {Survey} survey @param {Question} question @param {number | null} given @param {number | null} drawn @param {Date} now */
export function answeredRound(survey, question, given, drawn, now) {
  const where = `question '${question.id}'`, first = "accept the survey by this client first";
  if (given !== null && !(Number.isInteger(given) && given >= 0 && given < question.rounds)) {
    refuse("ParameterError", `round must be a whole number below ${question.rounds}`);
  }
  if (!question.panel) return given ?? 0;
  if (drawn === null) {
    if (!notClosed(survey, question, now).length) refuse("RoundClosed", `every round of ${where} has closed`);
    return refuse("NotDrawn", `this device has not drawn the round it answers in: ${first}`);
  }
  if ((given !== null && given !== drawn) || drawn >= question.rounds) refuse("NotDrawn", `this device answers ${where} in round ${drawn} only`);
  return drawn;
}

/** @typedef {Readonly<{id: string, kind: "yes_no" | "choice" | "several" | "number", text: string, help: string,
 *   options: readonly Readonly<{truth: boolean | number, label: string}>[], low: string, high: string, unit: string, clip: boolean}>} Asked
 *   a question as a page asks it: a number has no options, and only a number has a range */

/** The questions of a survey as a page asks them, each text in the person's language: the `words` are what `loadWords` gave, and the
 * survey's own texts are in their language too, or in `language`, if the survey has it.  The truth of an option is what `answer` takes.
 * @param {Survey} survey @param {{words: Words, language?: string}} given @returns {Asked[]} */
export function questionsFor(survey, given) {
  needSettings("questionsFor", given, ["words", "language"]);
  const words = wordsOf("questionsFor", given.words), { language = words.language } = given;
  const yesNo = () => [{ truth: true, label: words.say("yes_button") }, { truth: false, label: words.say("no_button") }];
  return survey.questions.map(({ id, text, help, kind: { kind, ...rest } }) => {
    const { options = [], unit = {}, low = "", high = "", clip = false } = /** @type {any} */ (rest);
    const labels = options.map((/** @type {Texts} */ label, /** @type {number} */ truth) => ({ truth, label: say(survey, label, language) }));
    return Object.freeze({
      id, kind, text: say(survey, text, language), help: say(survey, help, language), options: kind === "yes_no" ? yesNo() : labels,
      low, high, unit: say(survey, unit, language), clip,
    });
  });
}
