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

const UNIT = { kind: /** @type {const} */ ("number"), low: "0", high: "1", unit: {}, clip: false };
/** Whether the thing asked about is true of simulated person i, and the truth that person gives. @type {Record<string, (i: number, design: any) => [boolean, any]>} */
const ASKED = {
  yes_no: (i) => [i < OF_THEM, i < OF_THEM],
  choice: (i, design) => [i < OF_THEM, i < OF_THEM ? 0 : 1 + (i % (design.truths - 1))],
  number: (i) => [i < PEOPLE / 2, 1 - (i + 0.5) / PEOPLE],
};

/** Simulated people: whether the thing asked about is true of each, and what would be sent for each.  For a choice the thing is
 * the first option, for a number its upper half. @param {Question} question */
function simulated({ kind, design }) {
  return Array.from({ length: PEOPLE }, (_, i) => {
    const [truth, given] = ASKED[kind.kind](i, design);
    return { truth, sent: design.draw(given, kind.kind === "number" ? UNIT : kind)[0] === "1" };
  });
}

/** Simulated people, what the crowd shows and what one answer shows. @param {Question} question @param {Words} words */
export function simulation(question, words) {
  const { kind, design } = question, { p00, p11 } = design.column, none = 1 - p00.toNumber(), all = p11.toNumber();
  const shown = make("div"), end = { yes_no: "", choice: "_option", number: "_number" }[kind.kind], whole = kind.kind === "number" ? 100 : PEOPLE;
  const play = () => {
    const people = simulated(question), sent = people.filter((one) => one.sent).length, share = (sent / PEOPLE - none) / (all - none);
    const estimate = Math.round(whole * Math.max(0, Math.min(1, share))), word = words.say(kind.kind === "number" ? "high" : "yes");
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
