// @ts-check
/**
 * When a report is sent: drawn beforehand, and changed by nothing.
 */
import { randomBytes, systemSource, wholeNumberOf } from "../design/sampling.mjs";

export const ATTEMPTS = 10, HOURS = 6 * 3600, SECONDS = 5, CATCH_UP = 5, LEAST_GAP = 5, MOST_GAP = 86_400;
export const LONGEST_SPREAD = 30 * 86_400, LONGEST_WAIT = 1_000_000; // a timer counts no further than 2^31 milliseconds

/** Uniform on [0, 1), in steps of 2^-53. */
export function share() {
  return Number(wholeNumberOf(randomBytes(7, systemSource)) >> 3n) / 2 ** 53;
}

/** To the microsecond: rounded to seconds, reports would leave at ticks of the device's clock, and its error would be known. */
const toStep = (/** @type {number} */ moment) => Math.round(moment * 1e6) / 1e6;

/** The moments of all attempts, in seconds since 1970, with their fraction: the first within the spread, then after gaps that double, each
 * cut to a random share between a half and the whole. @param {number} now @param {number} spread @returns {number[]} */
export function schedule(now, spread) {
  let moment = now + share() * spread, gap = spread;
  const moments = [toStep(moment)];
  while (moments.length < ATTEMPTS) {
    gap = Math.min(Math.max(gap, LEAST_GAP), MOST_GAP);
    moment += gap * (0.5 + share() / 2);
    moments.push(toStep(moment));
    gap *= 2;
  }
  return moments;
}

/** The moments after an attempt: those to come, or a fresh schedule. @param {number[]} moments @param {number} now @param {number} spread */
export function remaining(moments, now, spread) {
  const later = moments.filter((moment) => moment > now);
  return later.length ? later : schedule(now, spread);
}

/** Whether a report is to be sent as soon as it may: its moment has come, or was drawn by a clock that was wrong.
 * @param {number[]} moments @param {number} now */
export function overdue([next], now) {
  return !(next > now && next <= now + LONGEST_SPREAD);
}

/** Waits so many seconds, or until the signal is aborted. @type {(seconds: number, signal?: AbortSignal) => Promise<void>} */
export const systemSleep = (seconds, signal) => new Promise((resolve) => {
  if (signal?.aborted) return resolve();
  const end = () => (clearTimeout(timer), signal?.removeEventListener("abort", end), resolve());
  const timer = setTimeout(end, Math.ceil(seconds * 1000));
  signal?.addEventListener("abort", end);
});
