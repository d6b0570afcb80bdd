// @ts-check
/**
 * What <rr-survey> tells when somebody asks "How does this protect me?": the element loads it at that moment.
 *
 * Rules
 * 1. It says what the client says, line by line, and nothing of its own.
 * 2. Nothing here is needed to answer a question, or to refuse one.
 */
import { simulation } from "./rr-drawings.mjs";
import { budgetLines, surveyLines, wholeWords } from "./rrcollect.mjs";

/** @typedef {import("./rrcollect.mjs").Survey} Survey @typedef {import("./rrcollect.mjs").Question} Question
 * @typedef {import("./rrcollect.mjs").Budget} Budget @typedef {import("./rrcollect.mjs").Words} Words
 * @typedef {Awaited<ReturnType<typeof explanation>>} Explanation */

/** @param {Survey} survey @param {Words} given @param {string} language of the survey's texts */
export async function explanation(survey, given, language) {
  const words = await wholeWords(given), lines = surveyLines(survey, { words, language, page: true });
  const noticed = words.notice === null ? 0 : 1; // lines that say who supplied the words, which the head of the page shows
  const asks = lines.map((one) => one.question !== null), first = asks.indexOf(true), last = asks.lastIndexOf(true);
  return {
    words,
    /** What is true of the whole survey: after the mark and "Asked by:", which a page shows otherwise. */
    about: [...lines.slice(0, first).filter((one) => !one.foreign).slice(2 + noticed), ...lines.slice(last + 1)],
    /** What is true of one question, after "Question 1 of 2:". @param {Question} question */
    of: ({ id }) => lines.filter((one) => one.question === id && !one.foreign).slice(1).map(({ text }) => text),
    /** All that was drawn, and the limit. @param {Budget} budget */
    spent: (budget) => budgetLines(budget, words).slice(noticed, noticed + 2).map(({ text }) => text).join(" "),
    /** @param {Question} question */
    simulation: (question) => simulation(question, words),
  };
}
