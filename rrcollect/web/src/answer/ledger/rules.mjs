// @ts-check
/**
 * What follows from what a ledger holds: what was spent, for life, and what was withdrawn.
 */
import { ONE, ZERO } from "../../design/fraction.mjs";
import { Epsilon, epsilonOf, fractionOf } from "../../design/parameters.mjs";
import { refuse } from "../../errors.mjs";

/**
 * @import { Fraction } from "../../design/fraction.mjs"
 * @import { Promised } from "../../design/mechanism.mjs"
 * @import { Survey } from "../../publish/survey.mjs"
 * @import { Attribute } from "../attributes.mjs"
 * @import { Draw, State } from "./ledger.mjs"
 */

/** These names of an attribute, its own first, and all that were ever used as one with them. @param {State} state @param {Attribute} attribute */
export function allNames({ same }, { name, aliases }) {
  const found = [...new Set([name, ...aliases])];
  for (const one of found) { // which grows
    for (const pair of same) if (pair.includes(one)) found.push(...pair.filter((other) => !found.includes(other)));
  }
  return found;
}

/** Keep for good that an attribute's names are one. @param {State} state @param {string[]} names */
export function rememberNames({ same }, [name, ...aliases]) {
  for (const alias of aliases) if (!same.some(([one, other]) => one === name && other === alias)) same.push([name, alias]);
}

/** @param {Draw[]} draws @returns {Promised} */
export function total(draws) {
  let epsilon = new Epsilon(ZERO, ONE), delta = ZERO;
  for (const draw of draws) {
    epsilon = epsilon.plus(epsilonOf("epsilon", draw.epsilon));
    delta = delta.plus(fractionOf("delta", draw.delta));
  }
  return { epsilon, delta: delta.compare(ONE) > 0 ? ONE : delta };
}

/** @param {string} what @param {Draw[]} draws @param {Promised} cost @param {Epsilon} epsilon @param {Fraction} delta */
export function within(what, draws, cost, epsilon, delta) {
  const before = total(draws);
  if (before.epsilon.plus(cost.epsilon).compare(epsilon) > 0 || before.delta.plus(cost.delta).compare(delta) > 0) {
    refuse("BudgetExhausted", `the ${what} budget of ε = ${epsilon.toNumber().toPrecision(4)} would be exceeded; ` +
      `ε = ${before.epsilon.toNumber().toPrecision(4)} is spent`);
  }
}

/** Only its own publisher ends a survey. @param {State} state @param {string} digest @param {string} publisher */
export function isWithdrawn(state, digest, publisher) {
  return state.withdrawn.some((one) => one.survey === digest && one.publisher === publisher);
}

/** @param {State} state @param {{survey: Survey, digest: string}} accepted */
export function checkWithdrawn(state, { survey, digest }) {
  if (isWithdrawn(state, digest, survey.publisher)) refuse("SurveyWithdrawn", `'${survey.name}' was withdrawn by its publisher`);
}
