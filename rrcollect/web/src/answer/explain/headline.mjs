// @ts-check
/**
 * The first thing a person reads: what happens to an answer, and what it proves.
 */
import { MOST_COUNTED, PROVES_NOTHING } from "../../design/sentences.mjs";
import { needSettings } from "../../errors.mjs";
import { boundOf, drawsOf, ledgersOf, limitSentences } from "./bound.mjs";
import { wordsOf } from "./words.mjs";

/**
 * @import { Promised } from "../../design/mechanism.mjs"
 * @import { Said } from "../../design/sentences.mjs"
 * @import { Question } from "../../publish/question.mjs"
 * @import { Survey } from "../../publish/survey.mjs"
 * @import { Policy } from "../policy.mjs"
 * @import { Words } from "./words.mjs"
 */

const TINY = 1e-9;

/** What happens to an answer, and what it proves, in one or two sentences: of the whole survey, and of each question by its id.
 * The survey's says where to look, if the questions' differ.
 * @param {Survey} survey @param {{words: Words, page?: boolean}} given @returns {{survey: string[], questions: Record<string, string[]>}} */
export function headlines(survey, given) {
  needSettings("headlines", given, ["words", "page"]);
  const { page = globalThis.location?.origin !== undefined } = given, words = wordsOf("headlines", given.words), ledgers = ledgersOf(survey, page);
  const told = survey.questions.map((question) => [words.spoken(question.design.sentences(question.kind.kind).happens), ...proves(question, words, ledgers)]);
  const same = told.every((one) => JSON.stringify(one) === JSON.stringify(told[0]));
  return { survey: same ? told[0] : [words.say("at_each")], questions: Object.fromEntries(survey.questions.map(({ id }, i) => [id, told[i]])) };
}

/** What one answer takes of all that a device gives away for life, in words. @param {Question} question @param {Policy} policy @param {Words} words */
export function shareOfLife(question, policy, words) {
  return shareInWords(policy.cost(question), policy, wordsOf("shareOfLife", words), "life");
}

/** @param {Promised} cost @param {Policy} policy @param {Words} words @param {"life" | "spent"} what */
export function shareInWords({ epsilon, delta }, { lifetimeEpsilon, lifetimeDelta }, words, what) {
  let share = epsilon.toNumber() / Math.max(lifetimeEpsilon.toNumber(), TINY);
  if (delta.sign()) share = Math.max(share, lifetimeDelta.sign() ? delta.over(lifetimeDelta).toNumber() : 2);
  if (share < TINY) return "";
  if (share > 1 + TINY && what === "life") return words.say("life_over");
  if (share < 1 / Number(MOST_COUNTED) - TINY) return words.say(`${what}_little`);
  const parts = Math.floor(1 / share + TINY);
  if (parts >= 2 && (share <= 0.1 || Math.abs(parts * share - 1) <= TINY)) return words.say(`${what}_part`, { count: parts, number: words.counted(parts) });
  return words.say(`${what}_percent`, { number: Math.min(100, Math.ceil(100 * share - TINY)) });
}

/** @param {Question} question @param {Words} words @param {number} ledgers */
function proves(question, words, ledgers) {
  const draws = drawsOf(question, ledgers), limits = boundOf([draws]), { proofs, proves: single } = question.design.sentences(question.kind.kind);
  const spoken = (/** @type {Said[]} */ all) => all.map((said) => words.spoken(said));
  const nothing = !limits.telling.sign() && limits.ratio !== null && limits.ratio.compare(PROVES_NOTHING) <= 0;
  if (draws[1] > 1) return [...spoken(proofs), ...(nothing ? [words.say("all_proves_nothing")] : limitSentences(limits, "", words))];
  return [...spoken(proofs), ...spoken(single)];
}
