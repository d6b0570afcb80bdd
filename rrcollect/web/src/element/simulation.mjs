// @ts-check
/**
 * Simulated people, for who wants to know how <rr-survey> protects them.
 *
 * Rules
 * 1. They are drawn by the client's own functions and generator, and never from anything that was entered.
 */
import { dots } from "./drawings.mjs";
import { make } from "./entries.mjs";

/** @import { Question, Words } from "../index.mjs" */

const PEOPLE = 20, OF_THEM = 8; // simulated people, and those of them with a true "yes"

const UNIT = { kind: /** @type {const} */ ("number"), low: "0", high: "1", unit: {}, clip: false, bins: 0 };
/** Whether the thing asked about is true of simulated person i, and the truth that person gives. @type {Record<string, (i: number, design: any) => [boolean, any]>} */
const ASKED = {
  yes_no: (i) => [i < OF_THEM, i < OF_THEM],
  several: (i) => [i < OF_THEM, i < OF_THEM],
  choice: (i, design) => [i < OF_THEM, i < OF_THEM ? 0 : 1 + (i % (design.truths - 1))],
  number: (i) => [i < PEOPLE / 2, 1 - (i + 0.5) / PEOPLE],
};

/** How people are simulated: of a drawn question its yes or no; of sets of bins as of options. @param {Question} question @returns {"yes_no" | "choice" | "several" | "number"} */
function asked({ kind, design }) {
  if (kind.kind !== "number" || !kind.bins) return kind.kind;
  return design.width === kind.bins ? "choice" : "several";
}

/** Simulated people: whether the thing asked about is true of each, and what would be sent for each.  For a choice the thing is
 * the first option, for a number its upper half. @param {Question} question */
function simulated(question) {
  const how = asked(question), { design } = question, drawn = how === "several" ? design.column : design;
  return Array.from({ length: PEOPLE }, (_, i) => {
    const [truth, given] = ASKED[how](i, design), kind = how === "number" ? UNIT : { kind: how === "choice" ? how : "yes_no" };
    return { truth, sent: drawn.draw(given, /** @type {any} */ (kind))[0] === "1" };
  });
}

/** Simulated people, what the crowd shows and what one answer shows. @param {Question} question @param {Words} words */
export function simulation(question, words) {
  const how = asked(question), { p00, p11 } = question.design.column, none = 1 - p00.toNumber(), all = p11.toNumber();
  const shown = make("div"), end = { yes_no: "", several: "", choice: "_option", number: "_number" }[how], whole = how === "number" ? 100 : PEOPLE;
  const play = () => {
    const people = simulated(question), sent = people.filter((one) => one.sent).length, share = (sent / PEOPLE - none) / (all - none);
    const estimate = Math.round(whole * Math.max(0, Math.min(1, share))), word = words.say(how === "number" ? "high" : "yes");
    shown.replaceChildren(
      make("p", {}, words.say("true_row")), dots(people.map((one) => one.truth)), make("p", {}, words.say("sent_row")), dots(people.map((one) => one.sent)),
      make("p", {}, words.say(`crowd${end}`, { sent, count: PEOPLE, estimate, truth: OF_THEM })), make("p", {}, words.say(`one_person${end}`, { word })), make("p", {}, words.say("crowd_rough", { count: PEOPLE })),
    );
  };
  play();
  const again = make("button", { type: "button", class: "plain", onclick: play }, words.say("draw_again"));
  return make("div", { class: "simulation", part: "simulation" },
    make("p", { class: "h2" }, words.say("example", { count: PEOPLE })), make("p", { class: "small quiet" }, words.say("made_up")), shown, make("div", { class: "actions" }, again));
}
