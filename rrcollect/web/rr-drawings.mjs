// @ts-check
/**
 * What <rr-survey> draws: the survey's colour made readable, how often answers are switched, and simulated people.
 *
 * Rules
 * 1. A colour is one that was checked (#rrggbb).  It is brought towards black or white until it can be read on its ground, and
 *    letters on it are black or white, whichever is read better: at least 4.5 to 1, as WCAG 2 asks.
 * 2. Drawings are made from the design, with a caption, and stand beside sentences that say the same: they are hidden from
 *    screen readers.  A design that treats a true "no" and a true "yes" differently has a row for each.
 * 3. Simulated people are drawn by the client's own functions and generator, and never from anything that was entered.
 */
import { make } from "./rr-entries.mjs";

/** @typedef {import("./rrcollect.mjs").Question} Question @typedef {import("./rrcollect.mjs").Words} Words */

const PEOPLE = 20, OF_THEM = 8; // simulated people, and those of them with a true "yes"

// ---- look: the survey's colour, made readable -----------------------------------------------------------------------

/** The relative luminance of WCAG 2. @param {number[]} rgb of 0 to 255 */
function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {number[]} one @param {number[]} other */
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The colour, as far towards black or white as it takes to be read on a ground. @param {number[]} rgb @param {number[]} ground */
function legible(rgb, ground) {
  const end = luminance(ground) > 0.2 ? 0 : 255;
  let made = rgb;
  for (let step = 1; step <= 20 && contrast(made, ground) < 4.8; step++) made = rgb.map((c) => Math.round(c + ((end - c) * step) / 20));
  return made;
}

/** A sheet with the survey's colour: each scheme gets one that is read on its cards, and letters that are read on it.
 * @param {string} colour as #rrggbb */
export function coloured(colour) {
  const rgb = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)), css = (/** @type {number[]} */ c) => `rgb(${c.join(" ")})`;
  const pair = [[255, 255, 255], [27, 34, 43]].map((card) => legible(rgb, card));
  const ink = pair.map((ground) => [[255, 255, 255], [0, 0, 0]].sort((a, b) => contrast(b, ground) - contrast(a, ground))[0]);
  const both = (/** @type {number[][]} */ [light, dark]) => `light-dark(${css(light)}, ${css(dark)})`;
  return sheet(`:host { --accent: var(--rr-accent, ${both(pair)}); --accent-ink: var(--rr-accent-ink, ${both(ink)}); }`);
}

/** @param {string} text */
export function sheet(text) {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

// ---- drawings: dots for people, made from the design ----------------------------------------------------------------

/** @param {string} tag @param {Record<string, any>} attributes @param {Node[]} children */
function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A row of dots, full or hollow. @param {boolean[]} full */
const dots = (full) => svg("svg", { viewBox: `0 0 ${full.length * 16} 16`, class: "dots", "aria-hidden": "true" },
  ...full.map((one, i) => svg("circle", { cx: i * 16 + 8, cy: 8, r: 5, class: one ? "full" : "hollow" })));

/** How often what is sent is not the truth; for a number, how often "high" is sent, from one end to the other.
 * @param {Question} question @param {Words} words */
export function drawing({ kind, design }, words) {
  const { p00, p11 } = design.column, [no, yes] = [p00.toNumber(), p11.toNumber()], number = kind.kind === "number";
  const row = (/** @type {number} */ share) => dots(Array.from({ length: PEOPLE }, (_, i) => i >= Math.round(PEOPLE * (1 - share))));
  const [left, right] = [no, 1 - yes].map((share) => 4 + 72 * share), same = no === yes || design.width > 1;
  const made = number ? [svg("svg", { viewBox: "0 0 320 80", class: "slope" }, svg("path", { d: "M4 4V76H316" }), svg("path", { d: `M4 ${left}L316 ${right}`, class: "line" }))]
    : same ? [row(yes)] : [words.say("no"), row(no), words.say("yes"), row(yes)];
  return make("div", { class: "small quiet", "aria-hidden": "true" }, ...made, words.say(number ? "slope" : "dots"));
}

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
