// @ts-check
/**
 * What a survey would make this device send, in words.
 */
import { needSettings } from "../../errors.mjs";
import { CARRIED } from "../../publish/document.mjs";
import { sentencesOf } from "../../publish/kinds.mjs";
import { MOST_REPEATED, bitsOf, reportValues } from "../../publish/survey.mjs";
import { say } from "../../publish/texts.mjs";
import { boundOf, drawsOf, greatest, ledgersOf, limitSentences } from "./bound.mjs";
import { ours, shownLines, theirs, wordsOf } from "./words.mjs";

/**
 * @import { Texts } from "../../publish/document.mjs"
 * @import { Question } from "../../publish/question.mjs"
 * @import { Survey } from "../../publish/survey.mjs"
 * @import { Line, Words } from "./words.mjs"
 */

/** What would be sent, in words: ours and theirs, line by line, for a page to show each in its own way; the survey's texts
 * in this language, if it has it, ours in the `words` that `loadWords` gave.  `page`: it is answered on its page, where every
 * origin keeps a ledger of its own.
 * @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given @returns {Line[]} */
export function surveyLines(survey, given) {
  needSettings("surveyLines", given, ["words", "language", "page"]);
  const { language = null, page = globalThis.location?.origin !== undefined } = given, words = wordsOf("surveyLines", given.words);
  const { questions, origins, frames, opens } = survey, expires = words.moment(survey.expires), count = questions.length;
  const ledgers = ledgersOf(survey, page), alone = survey.ask === "one" && questions.length > 1;
  const lines = [
    ...(words.notice === null ? [] : [ours(words.notice)]), ours(words.say("mark")), ...theirs(say(survey, survey.title, language)), ours(words.say("publisher")), ...theirs(survey.publisher),
    ...(survey.pilot ? [ours(words.say("pilot"))] : []),
    ours(opens ? words.say("from_until", { opens: words.moment(opens), expires }) : words.say("until", { expires })),
    ...(alone ? [ours(words.say("ask_one", { count }))] : []),
  ];
  questions.forEach((question, i) => {
    const { id, text, help } = question, values = reportValues(survey, question);
    lines.push(
      ours(words.say("question", { number: i + 1, count }), id),
      ...theirs(say(survey, text, language), id), ...theirs(say(survey, help, language), id),
      ...questionSentences(question, ledgers, words).map((told) => ours(told, id)),
      ours(words.say(values > MOST_REPEATED ? "bits_once" : "bits", { count: bitsOf(values) }), id),
    );
  });
  if (questions.length > 1) {
    const draws = questions.map((q) => drawsOf(q, ledgers)), whole = alone ? greatest(draws.map((one) => boundOf([one]))) : boundOf(draws);
    lines.push(...limitSentences(whole, "survey_", words).map((told) => ours(told)));
  }
  if (page && origins.length > 1) lines.push(ours(words.say("origins", { count: origins.length })), ...theirs(origins.join("\n")));
  if (page && frames.length) lines.push(ours(words.say("frames")), ...theirs(frames.join("\n")));
  if (survey.collector === CARRIED) {
    const bits = questions.map((q) => bitsOf(reportValues(survey, q)) * drawsOf(q, ledgers)[1]);
    const all = alone ? Math.max(...bits) : bits.reduce((sum, one) => sum + one, 0);
    lines.push(ours(words.say("carried")), ours(words.say("carried_bits", { count: all })));
  } else {
    if (survey.relay) lines.push(ours(words.say("relay")), ...theirs(survey.relay.operator));
    lines.push(ours(words.say(survey.relay ? "relay_to" : "collector")), ...theirs(survey.collector), ours(words.say("smallest_crowd", { count: survey.minimum })));
  }
  if (Object.keys(survey.segments).length) lines.push(ours(words.say("segments")), ...theirs(segmentsInWords(survey, language).join("\n")));
  if (survey.inviteOnly && survey.issuer === null) lines.push(ours(words.say("invite")));
  return [...lines, ours(words.say("decline")), ours(words.say("device"))];
}

/** The same as one text, for a terminal. @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given */
export function explainSurvey(survey, given) {
  return shownLines(surveyLines(survey, given));
}

/** @param {Survey} survey @param {string | null} language */
function segmentsInWords(survey, language) {
  const both = (/** @type {Texts} */ label, /** @type {string} */ sent) => {
    const read = say(survey, label, language);
    return read ? `${read} (${sent})` : sent;
  };
  return Object.keys(survey.segments).sort().map((name) => {
    const { label, values } = survey.segments[name];
    return `${both(label, name)}: ${values.map((one) => both(one.label, one.value)).join(", ")}`;
  });
}

/** How the answer is changed, in how many rounds, and what all answers to the question can tell. @param {Question} question @param {number} ledgers @param {Words} words */
function questionSentences(question, ledgers, words) {
  const { kind, design, rounds, panel } = question, { drawn, proofs } = design.sentences(kind.kind);
  return [
    ...[drawn, ...sentencesOf(kind)].map((said) => words.spoken(said)), ...(rounds > 1 ? [words.say(panel ? "panel" : "rounds", { count: rounds })] : []),
    ...proofs.map((said) => words.spoken(said)), ...limitSentences(boundOf([drawsOf(question, ledgers)]), "", words),
  ];
}
