// @ts-check
/**
 * Where a survey may be answered: at its origins, by itself or inside pages of the frames that it lists.
 *
 * Rules
 * 1. A browser keeps storage apart by the site at the top of all frames: inside somebody else's page there is another ledger,
 *    and each would be one more draw.
 * 2. So every page around is of the same origin, or else each is that or a frame the survey lists, and the one at the top is
 *    listed: then `ledgersOf` has counted it.
 * 3. A page that the browser does not name (an older Firefox), a frame without lasting storage (credentialless) and a worker, which
 *    cannot see what is around it, are no places to answer.
 */

import { refuse, shown } from "../errors.mjs";

/** @import { Survey } from "../publish/survey.mjs" */

/** The origins of the pages around this one, the nearest first; null for each that is not known. @returns {(string | null)[]} */
export function ancestorsHere() {
  const here = /** @type {any} */ (globalThis);
  if (here.WorkerGlobalScope !== undefined) return [null];
  if (here.top === here.self) return [];
  if (here.credentialless) return [null];
  if (here.location.ancestorOrigins) return [...here.location.ancestorOrigins];
  const found = [];
  for (let inner = here.self; inner !== here.top; inner = inner.parent) {
    try {
      found.push(inner.parent.location.origin);
    } catch {
      found.push(null);
    }
  }
  return found;
}

/** Why a survey may not be answered here; null if it may. @param {Survey} survey @param {string | null} origin of the page
 * @param {readonly (string | null)[]} ancestors @returns {"WrongOrigin" | "WrongFrame" | null} */
export function wrongPlace({ origins, frames }, origin, ancestors) {
  const listed = (/** @type {string | null | undefined} */ one) => frames.some((frame) => frame === one);
  if (origin === null) return null; // a program
  if (!origins.includes(origin)) return "WrongOrigin";
  if (ancestors.every((one) => one === origin)) return null;
  return listed(ancestors.at(-1)) && ancestors.every((one) => one === origin || listed(one)) ? null : "WrongFrame";
}

/** Refuse to answer where the survey may not be answered. @param {Survey} survey @param {string | null} origin @param {readonly (string | null)[]} ancestors */
export function checkPlace(survey, origin, ancestors) {
  const wrong = wrongPlace(survey, origin, ancestors), { origins, frames } = survey;
  if (wrong === null) return;
  const where = `this survey is answered ${origins.length ? `at ${origins.join(", ")}` : "by apps, and on no page"}`;
  if (wrong === "WrongOrigin") refuse(wrong, `${where}; this page is of ${shown(origin)}`);
  const around = ancestors.map((one) => (one === null ? "a page that the browser does not name" : shown(one))).join(", ");
  refuse(wrong, `${where}, by itself${frames.length ? ` or inside ${frames.join(", ")}` : ""}; around this page is ${around}`);
}
