// @ts-check
/**
 * The survey: a document, read strictly and frozen.
 */
import { refuse, shown } from "../errors.mjs";
import { canonical, readCanonical, sameBytes } from "./canonical.mjs";
import {
  LOOK, ORIGIN, SEGMENT, byLanguage, distinct, integer, matching, need, needBoolean, needCollector, needFields, needList, needMap, needMoment, needName, needPassages, needWords, orNull, writtenMoment,
} from "./document.mjs";
import { LARGEST_ENVELOPE } from "./envelope.mjs";
import { textsOf } from "./kinds.mjs";
import { MOST_ROUNDS, QUESTION, checkQuestion } from "./question.mjs";
import { needFit, needRelay, wireRelay } from "./relay.mjs";
import { LANGUAGE } from "./texts.mjs";

/**
 * @import { Need, Segment, Texts } from "./document.mjs"
 * @import { Question } from "./question.mjs"
 * @import { Relay } from "./relay.mjs"
 */

const MOST_QUESTIONS = 200;
const TEXTS = /** @type {const} */ (["title", "introduction", "consent", "contact", "privacy", "thanks"]);

/** @type {Need} */
function needOrigins(value, place) {
  return needList(value, place, 0, 16, matching(new RegExp(`^${ORIGIN}$`), "an origin looks like https://survey.example.org"));
}

/** @type {Record<string, Need>} */
const SURVEY = {
  name: needName, version: integer(1, 2 ** 31), publisher: needWords, pilot: needBoolean,
  language: matching(LANGUAGE, "a language looks like 'en' or 'de-AT'"), title: byLanguage(needWords, 1),
  introduction: needPassages, consent: needPassages, contact: needPassages,
  privacy: byLanguage(matching(/^https:\/\/[!-~]{3,1990}$/, "a link begins with https://")), thanks: needPassages,
  look: (value, place) => needFields(value, place, LOOK), collector: needCollector, relay: orNull(needRelay),
  origins: needOrigins, frames: needOrigins,
  opens: orNull(needMoment), expires: needMoment,
  rounds: (value, place) => needList(value, place, 0, MOST_ROUNDS, (item, at) => needFields(item, at, { opens: needMoment, closes: needMoment })),
  ask: matching(/^(all|one)$/, "must be 'all' or 'one'"), minimum: integer(2, 1e9), invite_only: needBoolean,
  issuer: orNull((_, place) => refuse("MalformedDocument", `${place}: this client fetches no tokens; the survey is answered by the Python client`)),
  segments: (value, place) => needMap(value, place, 0, 16, needName, (item, at) => needFields(item, at, SEGMENT)),
  questions: (value, place) => needList(value, place, 1, MOST_QUESTIONS, (item, at) => needFields(item, at, QUESTION)),
};

/**
 * @typedef {Readonly<{name: string, version: number, publisher: string, pilot: boolean, language: string, title: Texts,
 *   introduction: Texts, consent: Texts, contact: Texts, privacy: Texts, thanks: Texts,
 *   look: Readonly<{colour: string | null, logo: string | null}>, collector: string, relay: Relay | null, origins: readonly string[], frames: readonly string[],
 *   opens: Date | null, expires: Date, rounds: readonly Readonly<{opens: Date, closes: Date}>[], ask: "all" | "one",
 *   minimum: number, inviteOnly: boolean, issuer: null, segments: Readonly<Record<string, Segment>>, questions: readonly Question[]}>} Survey
 */

/** Surveys that `readSurvey` made: frozen, all but their moments. @type {WeakSet<Survey>} */
export const READ = new WeakSet();

/** The survey of canonical bytes; every other spelling is refused. @param {Uint8Array} payload @returns {Survey} */
export function readSurvey(payload) {
  const value = readCanonical(payload, LARGEST_ENVELOPE);
  const { invite_only: inviteOnly, ...rest } = needFields(value, "survey", SURVEY);
  /** @type {Survey} */
  const survey = Object.freeze({ ...rest, inviteOnly });
  needConsistent(survey);
  if (!sameBytes(surveyBytes(survey), payload)) refuse("NotCanonical", "a number is not written in its one canonical form");
  survey.questions.forEach(checkQuestion);
  READ.add(survey);
  return survey;
}

/** What fields say of each other. @param {Survey} survey */
function needConsistent(survey) {
  const { questions, segments, rounds, expires, opens, origins, frames } = survey;
  for (const what of /** @type {("id" | "attribute")[]} */ (["id", "attribute"])) {
    need(distinct(questions.map((q) => q[what])), "questions", `two have the same ${what}`);
  }
  for (const [name, { values }] of Object.entries(segments)) {
    need(distinct(values.map((one) => one.value)), `segments.${name}`, "lists a value twice");
  }
  for (const texts of allTexts(survey)) {
    const empty = Object.keys(texts).length === 0;
    need(empty || Object.hasOwn(texts, survey.language), "survey", "a text is not there in the survey's own language");
  }
  need(opens === null || opens < expires, "opens", "the survey opens after it expires");
  const moments = rounds.flatMap((times) => [times.opens, times.closes]);
  const ordered = moments.every((moment, i) => i === 0 || moment >= moments[i - 1]) && rounds.every((times) => times.opens < times.closes);
  need(ordered, "rounds", "open and close one after the other");
  need(rounds.length === 0 || moments[moments.length - 1] <= expires, "rounds", "the last closes after the survey expires");
  need(rounds.length === 0 || questions.every((q) => q.rounds <= rounds.length), "rounds", "a question has more than open and close");
  need(distinct(origins) && distinct(frames), "origins", "one is listed twice");
  needFit(survey);
}

/** Every text for people. @param {Survey} survey @returns {Texts[]} */
function allTexts(survey) {
  const segments = Object.values(survey.segments).flatMap((s) => [s.label, s.help, ...s.values.map((one) => one.label)]);
  return [...TEXTS.map((name) => survey[name]), ...segments, ...survey.questions.flatMap((q) => [q.text, q.help, ...textsOf(q.kind)])];
}

/** @param {Survey} survey @param {string} id @returns {Question} */
export function questionOf(survey, id) {
  return survey.questions.find((q) => q.id === id) ?? refuse("ParameterError", `the survey has no question ${shown(id)}`);
}

/** Values of a report that a device repeats for another question about the attribute; one with more it sends once. */
export const MOST_REPEATED = 8n;

/** How many different reports a device can send for a question: its answers, with everything else the device drew that the report
 * shows: which question, and which round of a panel. @param {Survey} survey @param {Question} question @returns {bigint} */
export function reportValues({ ask, questions }, { design, panel, rounds }) {
  return design.values * BigInt(ask === "one" ? questions.length : 1) * BigInt(panel ? rounds : 1);
}

/** The bits that so many values take, rounded up. @param {bigint} values */
export function bitsOf(values) {
  return (values - 1n).toString(2).length;
}

/** The values that may be declared for each segment. @param {Survey} survey @returns {Record<string, string[]>} */
export function segmentValues(survey) {
  const named = Object.entries(survey.segments).map(([name, segment]) => [name, segment.values.map((one) => one.value)]);
  return Object.assign(Object.create(null), Object.fromEntries(named));
}

/** The canonical bytes of a survey: what was signed. @param {Survey} survey @returns {Uint8Array} */
export function surveyBytes({ opens, expires, rounds, questions, inviteOnly, relay, ...rest }) {
  return canonical({
    ...rest, relay: wireRelay(relay), invite_only: inviteOnly, opens: opens && writtenMoment(opens), expires: writtenMoment(expires),
    rounds: rounds.map((times) => ({ opens: writtenMoment(times.opens), closes: writtenMoment(times.closes) })),
    questions: questions.map((q) => ({
      ...q, design: q.design.toWire(), promise: { epsilon: String(q.promise.epsilon), delta: String(q.promise.delta) },
    })),
  });
}
