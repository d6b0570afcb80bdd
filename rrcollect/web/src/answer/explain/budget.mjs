// @ts-check
/**
 * What was drawn and sent so far, in words.
 */
import { ZERO } from "../../design/fraction.mjs";
import { Epsilon } from "../../design/parameters.mjs";
import { atMost, leastCovering } from "../../design/sentences.mjs";
import { CARRIED } from "../../publish/document.mjs";
import { needDesign } from "../../publish/question.mjs";
import { total } from "../ledger/rules.mjs";
import { MOST_SHOWN, boundOf, chanceInWords } from "./bound.mjs";
import { shareInWords } from "./headline.mjs";
import { ours, shownLines, theirs, wordsOf } from "./words.mjs";

/**
 * @import { Outgoing } from "../../deliver/outbox.mjs"
 * @import { Fraction } from "../../design/fraction.mjs"
 * @import { AnyDesign } from "../../design/mechanism.mjs"
 * @import { Client } from "../client.mjs"
 * @import { Draw } from "../ledger/ledger.mjs"
 * @import { Policy } from "../policy.mjs"
 * @import { Line, Words } from "./words.mjs"
 */

/** @typedef {Awaited<ReturnType<Client["budget"]>>} Budget */

/** What a device has drawn so far, in words, line by line for a page; what was drawn is shown only after a report around it
 * has left, or may have. @param {Budget} budget @param {Words} given @returns {Line[]} */
export function budgetLines({ draws, reports, policy, later }, given) {
  const words = wordsOf("budgetLines", given), designs = draws.map((draw) => needDesign(JSON.parse(draw.design), "design")), left = reports.filter(hasLeft);
  const lines = [ours(draws.length ? drawnInWords(designs, words) : words.say("nothing_drawn")), ours(capInWords(policy, words))];
  const share = shareInWords(total(draws), policy, words, "spent");
  if (share) lines.push(ours(share));
  if (words.notice !== null) lines.unshift(ours(words.notice));
  draws.forEach((draw, i) => {
    const names = [draw.attribute, later(draw.attribute)];
    const around = left.filter((report) => names.includes(report.attribute) && report.round === draw.round).length;
    lines.push(...theirs(draw.attribute), ours(sentInWords(designs[i], draw, around, words)));
    if (around) lines.push(ours(words.spoken(toldOf(designs[i], draw)[1])));
  });
  return lines;
}

/** The same as one text, for the person whose device this is. @param {Budget} budget @param {Words} words */
export function explainBudget(budget, words) {
  return shownLines(budgetLines(budget, words));
}

/** Whether a report has left this device, or may have. @param {Outgoing} report */
function hasLeft(report) {
  return ["delivered", "refused", CARRIED].includes(report.state) || report.attempts > 0;
}

/** @param {AnyDesign[]} designs @param {Words} words */
function drawnInWords(designs, words) {
  const { ratio, telling } = boundOf(designs.map((design) => [design, 1]));
  if (ratio === null) return words.say("drawn_no_limit");
  return words.say(telling.sign() ? "drawn_besides" : "drawn", { ratio: atMost(ratio) });
}

/** @param {Policy} policy @param {Words} words */
function capInWords({ lifetimeEpsilon: cap, lifetimeDelta, allowDisclosure }, words) {
  const covers = (/** @type {Fraction} */ number) => cap.compare(new Epsilon(ZERO, number)) <= 0;
  if (!covers(MOST_SHOWN)) return words.say("cap_no_limit");
  const ratio = leastCovering(covers);
  return allowDisclosure ? words.say("cap_besides", { ratio, chance: chanceInWords(lifetimeDelta, words) }) : words.say("cap", { ratio });
}

/** @param {AnyDesign} design @param {Draw} draw @param {number} reports @param {Words} words */
function sentInWords(design, draw, reports, words) {
  const round = String(draw.round + 1), end = draw.round ? "_in_round" : ""; // people count from 1
  if (!reports) return words.say(`not_sent${end}`, { round });
  const [{ key, places }] = toldOf(design, draw);
  return words.spoken({ key: key + end, places }, { round, reports: words.say("reports", { count: reports }) });
}

/** What was sent, and what it can tell; the kind of a draw begins with its name. @param {AnyDesign} design @param {Draw} draw */
function toldOf(design, { answer, kind }) {
  return design.told(answer, kind.split(" ")[0]);
}
