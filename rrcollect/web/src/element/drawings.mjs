// @ts-check
/**
 * What <rr-survey> draws: how often answers are switched.
 *
 * Rules
 * 1. Drawings are made from the design, with a caption, and stand beside sentences that say the same: they are hidden from
 *    screen readers.  A design that treats a true "no" and a true "yes" differently has a row for each.
 */
import { make } from "./entries.mjs";

/** @import { Question, Words } from "../index.mjs" */

const DOTS = 20;

/** @param {string} tag @param {Record<string, any>} attributes @param {Node[]} children */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A row of dots, full or hollow. @param {boolean[]} full */
export const dots = (full) => svg("svg", { viewBox: `0 0 ${full.length * 16} 16`, class: "dots", "aria-hidden": "true" },
  ...full.map((one, i) => svg("circle", { cx: i * 16 + 8, cy: 8, r: 5, class: one ? "full" : "hollow" })));

/** How often what is sent is not the truth; for a number, how often "high" is sent, from one end to the other.
 * @param {Question} question @param {Words} words */
export function drawing({ kind, design }, words) {
  const { p00, p11 } = design.column, [no, yes] = [p00.toNumber(), p11.toNumber()], number = kind.kind === "number" && !kind.bins;
  const row = (/** @type {number} */ share) => dots(Array.from({ length: DOTS }, (_, i) => i >= Math.round(DOTS * (1 - share))));
  const [left, right] = [no, 1 - yes].map((share) => 4 + 72 * share), same = no === yes || design.width > 1;
  const made = number ? [svg("svg", { viewBox: "0 0 320 80", class: "slope" }, svg("path", { d: "M4 4V76H316" }), svg("path", { d: `M4 ${left}L316 ${right}`, class: "line" }))]
    : same ? [row(yes)] : [words.say("no"), row(no), words.say("yes"), row(yes)];
  return make("div", { class: "small quiet", "aria-hidden": "true" }, ...made, words.say(number ? "slope" : "dots"));
}
