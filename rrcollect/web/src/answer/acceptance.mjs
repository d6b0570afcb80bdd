// @ts-check
/**
 * From bytes to a survey this device is willing to answer.
 */
import { needSettings, refuse, shown } from "../errors.mjs";
import { readCanonical } from "../publish/canonical.mjs";
import { needFields, writtenMoment } from "../publish/document.mjs";
import { LARGEST_WITHDRAWAL, WITHDRAWAL, WITHDRAWAL_TYPE, verifyEnvelope } from "../publish/envelope.mjs";
import { sha256 } from "../publish/keys.mjs";
import { READ, readSurvey, surveyBytes } from "../publish/survey.mjs";
import { Policy } from "./policy.mjs";

/**
 * @import { Promised } from "../design/mechanism.mjs"
 * @import { Withdrawal } from "../publish/envelope.mjs"
 * @import { Checkpoint, Fetch } from "../publish/log.mjs"
 * @import { Survey } from "../publish/survey.mjs"
 * @import { Ledger } from "./ledger/ledger.mjs"
 */

/** @typedef {{version: number, digest: string}} SeenVersion the newest version of a survey accepted before */

/** The survey of a signed envelope, or the error that says why not.
 * @param {Uint8Array} envelope @param {Policy} policy
 * @param {{now?: Date, seen?: SeenVersion | ((survey: Survey) => SeenVersion | undefined)}} [given] */
export async function acceptSurvey(envelope, policy, given = {}) {
  needSettings("acceptSurvey", given, ["now", "seen"]);
  const { now = new Date(), seen } = given;
  if (!(policy instanceof Policy)) refuse("ParameterError", "a policy is a Policy");
  const { payload, signers, proof } = await verifyEnvelope(envelope, policy.keys);
  const survey = readSurvey(payload), digest = await sha256(payload), { logged } = policy, { name, version } = survey;
  checkSigners(survey.publisher, signers, policy);
  const state = logged && (await (await import("../publish/log.mjs")).checkLogged(logged, proof, signers, name, version, digest));
  await checkTrust({ survey, digest, signers, state }, policy);
  checkExpiry(survey, now);
  checkVersion(survey, digest, typeof seen === "function" ? seen(survey) : seen);
  /** @type {Record<string, Promised>} */
  const costs = {};
  for (const question of survey.questions) costs[question.id] = policy.cost(question);
  return { survey, digest, signers, state, costs };
}

/** Enough of the publisher's own keys have signed exactly this survey, which is returned as its signed bytes say it.
 * @param {{survey: Survey, digest: string, signers: Set<string>, state?: Checkpoint & {witnesses: number} | null}} accepted @param {Policy} policy @returns {Promise<Survey>} */
export async function checkTrust({ survey, digest, signers, state }, policy) {
  checkSigners(survey.publisher, signers, policy);
  if (policy.logged && state?.origin !== policy.logged.log.split("+")[0]) refuse("NotLogged", "the survey was accepted under a policy that names no log, or another one");
  if (policy.digests.length && !policy.digests.includes(digest)) refuse("OverPolicy", `the survey with the digest ${shown(digest)} is not one that this policy pins`);
  const known = VERIFIED.get(survey);
  if (known?.digest === digest && moments(known.survey) === moments(survey)) return known.survey;
  /** @type {Uint8Array} */
  let bytes = new Uint8Array();
  try {
    bytes = surveyBytes(survey);
  } catch { /* a field of another type than it had */ }
  if ((await sha256(bytes)) !== digest) refuse("BadSignature", "the survey was changed after it was accepted");
  const signed = readSurvey(bytes);
  if (READ.has(survey)) VERIFIED.set(survey, { digest, survey: signed });
  return signed;
}

/** Those whose digest was computed, with a copy of each that nobody else has. @type {WeakMap<Survey, {digest: string, survey: Survey}>} */
const VERIFIED = new WeakMap();

/** A Date is the only part of a survey that JavaScript cannot freeze. @param {Survey} survey */
function moments({ opens, expires, rounds, relay }) {
  return String([opens, expires, ...[...rounds, ...(relay?.keys ?? [])].flatMap((times) => [times.opens, times.closes])].map((date) => date && Date.prototype.getTime.call(date)));
}

/** @param {string} name of the publisher @param {Set<string>} signers @param {Policy} policy */
function checkSigners(name, signers, policy) {
  const publisher = policy.publishers.find((p) => p.name === name);
  if (!publisher) return refuse("UntrustedKey", `the publisher ${shown(name)} is not one this policy trusts`);
  const signed = new Set(publisher.keys.filter((key) => signers.has(key))).size;
  if (signed < publisher.threshold) refuse("UntrustedKey", `${signed} of ${publisher.threshold} needed keys have signed`);
}

/** The beginning of a digest, for people to compare: a survey made for one person alone has one of its own. @param {string} digest */
export function shortDigest(digest) {
  return (digest.slice(0, 24).match(/.{4}/g) ?? []).join(" ");
}

/** @param {Survey} survey @param {Date} now */
function checkExpiry(survey, now) {
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) refuse("ParameterError", "now is a Date");
  if (!(now < survey.expires)) refuse("Expired", `the survey expired at ${writtenMoment(survey.expires)}`);
}

/** Whether it may be answered now. @param {Survey} survey @param {Date} now */
export function checkOpen(survey, now) {
  checkExpiry(survey, now);
  if (survey.opens && !(now >= survey.opens)) refuse("NotOpen", `the survey opens at ${writtenMoment(survey.opens)}`);
}

/** @param {Survey} survey @param {number} round @param {Date} now */
export function checkRound({ rounds }, round, now) {
  if (!rounds.length) return;
  const { opens, closes } = rounds[round];
  if (!(now >= opens && now < closes)) {
    refuse("RoundClosed", `round ${round} is open from ${writtenMoment(opens)} to ${writtenMoment(closes)}`);
  }
}

/** Not older than, and not different from, what was seen before.
 * @param {Survey} survey @param {string} digest @param {SeenVersion | undefined} known */
export function checkVersion(survey, digest, known) {
  const same = known?.version === survey.version && known.digest === digest;
  if (known !== undefined && !(survey.version > known.version) && !same) {
    refuse("RolledBack", `version ${survey.version} of '${survey.name}' is older than one seen before, or differs from it`);
  }
}

/** Remember a state of a log, if it goes on from the last one that this device accepted.
 * @param {Ledger} ledger @param {Checkpoint} shown @param {Fetch | null} fetch */
export async function rememberLog(ledger, shown, fetch) {
  const { checkGrown } = await import("../publish/log.mjs"), { origin, size, root } = shown;
  for (let known = await ledger.transact((state) => state.logs[origin]); ; ) {
    if (known) await checkGrown({ origin, ...known }, shown, fetch);
    const was = JSON.stringify(known), found = await ledger.transact((state) => {
      const now = state.logs[origin];
      if (JSON.stringify(now) === was && size >= (now?.size ?? 0)) state.logs[origin] = { size, root };
      return now;
    });
    if (JSON.stringify(found) === was) return;
    known = found; // another program was first
  }
}

/** The withdrawal of a signed envelope, by as many of the publisher's keys as a survey needs.
 * @param {Uint8Array} envelope @param {Policy} policy @returns {Promise<Withdrawal>} */
export async function acceptWithdrawal(envelope, policy) {
  if (!(policy instanceof Policy)) refuse("ParameterError", "a policy is a Policy");
  const { payload, signers } = await verifyEnvelope(envelope, policy.keys, WITHDRAWAL_TYPE);
  const withdrawal = needFields(readCanonical(payload, LARGEST_WITHDRAWAL), "withdrawal", WITHDRAWAL);
  checkSigners(withdrawal.publisher, signers, policy);
  return withdrawal;
}

/** @typedef {Awaited<ReturnType<typeof acceptSurvey>>} AcceptedSurvey */
