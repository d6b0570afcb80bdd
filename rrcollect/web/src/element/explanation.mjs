// @ts-check
/**
 * What <rr-survey> tells when somebody asks "How does this protect me?", and what else few need: loaded at that moment.
 *
 * Rules
 * 1. It says what the client says, line by line, and nothing of its own.
 * 2. Nothing here is needed to answer a question, or to refuse one.
 * 3. After its end a survey asks nothing, and what was answered before is told as it is.  What still waits is sent: collectors
 *    take it for a while.  After a withdrawal nothing is sent.
 */
import { budgetLines } from "../answer/explain/budget.mjs";
import { surveyLines } from "../answer/explain/explanation.mjs";
import { RRCollectError } from "../errors.mjs";
import { coloured } from "./colours.mjs";
import { tellDeveloper } from "./developers.mjs";
import { make } from "./entries.mjs";
import { simulation } from "./simulation.mjs";

export { coloured };

/** @typedef {import("../index.mjs").Survey} Survey @typedef {import("../index.mjs").Question} Question
 * @typedef {import("../index.mjs").Budget} Budget @typedef {import("../index.mjs").Words} Words
 * @typedef {Awaited<ReturnType<typeof explanation>>} Explanation
 * @typedef {Error & {places?: readonly string[], over?: {client: import("../index.mjs").Client, survey: {digest: string}} | null}} Failure */

/** @param {Survey} survey @param {Words} words @param {string} language of the survey's texts */
export async function explanation(survey, words, language) {
  const lines = surveyLines(survey, { words, language, page: true });
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

/** The page of each state: its title, and what it means; states that are not here are told as "refused".
 * @type {Record<string, [title: string, words: string]>} */
const STATES = {
  Unset: ["cannot_show", "unset"], Unavailable: ["cannot_show", "not_handed_out"], Missing: ["nowhere", "mistyped"],
  Offline: ["cannot_show", "offline"], Another: ["other_survey", "digest_differs"], Expired: ["ended", ""], SurveyWithdrawn: ["withdrawn", ""],
  WrongOrigin: ["not_here", "elsewhere"], WrongFrame: ["not_here", "not_framed"], LedgerUnavailable: ["cannot_show", "storage"], NoEd25519: ["cannot_show", "old_browser"],
  Insecure: ["cannot_show", "insecure"],
  BadSignature: ["was_refused", "bad_signature"], UntrustedKey: ["was_refused", "untrusted_key"], RolledBack: ["was_refused", "older"],
  OverPolicy: ["was_refused", "too_much"], CertainDisclosure: ["was_refused", "too_much"], BudgetExhausted: ["was_refused", "used_up"],
};

/** The name of a state or of an error of the client says it all; other errors have words of their own. @param {Error} error */
function technical(error) {
  return error instanceof RRCollectError || "places" in error ? error.name : String(error);
}

/** What an error means to a person; what was entered is in none. @param {Error} error @param {Words} words */
export async function inWords(error, words) {
  const [title, told] = STATES[error.name] ?? [error.name, ""], key = told || title;
  return Object.hasOwn(words.table, key) ? words.say(key) : `${words.say("failed")} ${words.say("technical", { detail: technical(error) })}`;
}

/** A page for what went wrong. @param {HTMLElement} host @param {Failure} error @param {Words} words @param {Node} again
 * @param {{head: () => Node[], foot: () => Node[]} | null} view of a survey that is over */
export async function failure(host, error, words, again, view) {
  const { name, places = [], over } = error, known = name === "NoEd25519" && !isSecureContext ? "Insecure" : name;
  const [title, told] = STATES[known] ?? ["was_refused", "failed"], line = (/** @type {string} */ key) => make("p", {}, words.say(key));
  const list = [line("answered_at"), make("ul", {}, ...places.map((place) => make("li", { class: "foreign" }, place)))], last = line("nothing_asked");
  const below = view ? 1 : 0;
  tellDeveloper(host, error);
  if (over) {
    last.textContent = ""; // it may have been answered before
    tellBefore(over.client, over.survey.digest, last, words);
  }
  return [...(view ? [view.head()[0]] : []), make("section", { class: "card", part: "card failure", role: "alert", "data-state": name },
    make(`h${(host.hasAttribute("page") ? 1 : 2) + below}`, { class: `h${below}` }, words.say(title)), ...(told ? [line(told)] : []), ...(places.length ? list : []), last,
    ...(name === "Unavailable" ? [again] : []),
    ...(title === "was_refused" ? [make("p", { class: "small quiet" }, words.say("technical", { detail: technical(error) }))] : [])), ...(view ? view.foot() : [])];
}

/** Tell what became of the answers to a survey that is over. @param {import("../index.mjs").Client} client @param {string} digest
 * @param {Element} line where it is told @param {Words} words */
async function tellBefore(client, digest, line, words) {
  const tell = async (/** @type {string} */ waiting) => {
    const reports = (await client.budget()).reports.filter((one) => one.survey === digest), states = reports.map(({ state }) => String(state));
    const found = [["waiting", waiting], ["delivered", "stays_sent"], ["refused", "refused"], ["withdrawn", "over"], ["cancelled", "cancelled"]].find(([state]) => states.includes(state));
    line.textContent = words.say(found ? found[1] : "nothing_asked");
    return states.includes("waiting");
  };
  if (!await tell("drawn_text")) return;
  await client.deliver({ within: 10 }).catch(() => {});
  await tell("kept");
}
