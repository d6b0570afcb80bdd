// @ts-check
/**
 * How a report leaves the device, and what a reply says about it.
 */
import { RRCollectError, badSetting, needSettings, refuse, shown } from "../errors.mjs";
import { isObject } from "../publish/canonical.mjs";

/** The reasons for which a collector refuses a report for good, with the status of each. @type {Record<string, number>} */
const REASONS = {
  malformed: 400, unknown_survey: 404, unknown_question: 422, wrong_design: 422, unknown_round: 422, bad_answer: 422,
  undeclared_segment: 422, missing_ticket: 403, unexpected_ticket: 422, bad_ticket: 422, bad_id: 422,
  conflicting_id: 409, ticket_reused: 403, unknown_ticket: 403, closed: 410, withdrawn: 410,
};

/** What each means. @type {Record<string, string>} */
const MEANINGS = {
  malformed: "cut off, broken, or with a value of the wrong type",
  unknown_survey: "no survey with this digest is published here",
  unknown_question: "the survey has no question with this id",
  wrong_design: "the recorded design is not the published one in its one spelling: it cannot be counted",
  unknown_round: "not a round of the question: 0 to rounds − 1",
  bad_answer: "not an answer the design can give",
  undeclared_segment: "a segment or value the survey does not declare, or not in canonical JSON",
  missing_ticket: "the survey is by invitation, and the report has no ticket",
  unexpected_ticket: "the survey is open to everybody, and the report has a ticket",
  bad_ticket: "a ticket that is not 32 hexadecimal digits in lower case",
  bad_id: "not 32 hexadecimal digits in lower case",
  conflicting_id: "another report has this id",
  ticket_reused: "another report has this ticket, question and round",
  unknown_ticket: "no invitation of this survey gives this ticket",
  closed: "the survey has expired, and its grace period is over",
  withdrawn: "the survey's publisher has withdrawn it",
};
const LONGEST_REPLY = 4096, NOT_A_COLLECTOR = [404, 405, 501];

/** Returns if the collector has the report; throws what its reply means otherwise.  Only its own JSON is believed.
 * @param {string} destination @param {number} status @param {string} said */
export function judge(destination, status, said) {
  /** @type {any} */
  let words = null;
  try {
    words = JSON.parse(said);
  } catch { /* not a collector's */ }
  if (isObject(words)) {
    const counts = [words.new, words.known], { error } = words;
    const one = counts.every((count) => count === 0 || count === 1) && words.new + words.known === 1;
    if ((status === 200 || status === 201) && one && Object.keys(words).length === 2) return;
    if (typeof error === "string" && Object.hasOwn(REASONS, error) && REASONS[error] === status) {
      throw new RRCollectError("ReportRefused", `${error}: ${MEANINGS[error]}`); // it is kept with the report
    }
  }
  if (NOT_A_COLLECTOR.includes(status)) wrongAddress(destination, `there is no collector (status ${status})`);
  refuse("TransportFailed", `the reply (status ${status}) is not a collector's word on the report`);
}

/** @param {string} destination @param {string} why @returns {never} */
function wrongAddress(destination, why) {
  return refuse("WrongAddress", `${shown(destination)}: ${why}; the report waits.  The survey's collector must be the whole address, ` +
    "as in https://collect.example.org/reports");
}

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"], MOST_PATIENT = 3600;

/** @param {string} destination */
function addressOf(destination) {
  try {
    const { protocol, hostname, username, password, hash, href } = new URL(destination);
    const safe = protocol === "https:" || (protocol === "http:" && LOCAL_HOSTS.includes(hostname));
    if (safe && !username && !password && !hash) return href;
  } catch { /* not an address */ }
  return wrongAddress(destination, "not an https address, nor http on this machine");
}

/** The bytes of a reply; none if it is longer than it may be. @param {Response} response @param {number} longest */
async function shortReply(response, longest) {
  const reader = response.body?.getReader(), parts = [];
  let length = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > longest) {
      await reader?.cancel();
      return new Uint8Array();
    }
    parts.push(part.value);
  }
  const whole = new Uint8Array(length);
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** POST each report to the collector it was drawn for: https, or http on this machine; no cookies, no referrer, no redirects,
 * in Node a connection of its own.  The collector sees the network address.  What a survey with a relay sends goes by `OhttpTransport`
 * and no other way; another proxy cannot be named here. */
export class HttpTransport {
  /** @param {{timeout?: number, fetch?: typeof fetch}} [given] seconds */
  constructor(given = {}) {
    if (isObject(given) && "relay" in given) {
      refuse("ParameterError", "relay: a page and Node's fetch cannot go through one by themselves; use the browser's or system's proxy, " +
        "a `fetch` that does, or the Python client");
    }
    needSettings("the transport", given, ["timeout", "fetch"]);
    const { timeout = 10, fetch: via } = given;
    if (!(typeof timeout === "number" && timeout > 0 && timeout <= MOST_PATIENT)) badSetting("timeout", timeout, "seconds, above 0 and at most 3600");
    if (via !== undefined && typeof via !== "function") badSetting("fetch", typeof via, "a function");
    this.timeout = timeout;
    this.fetch = via ?? globalThis.fetch.bind(globalThis);
  }
  /** @param {string} destination @param {Uint8Array} body @param {AbortSignal} [signal] */
  async send(destination, body, signal) {
    if (destination.startsWith("{")) wrongAddress("a relay", "this survey's reports leave through its relay and no other way: use OhttpTransport");
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    const { status, said } = await this.exchange(destination, body, headers, LONGEST_REPLY, this.timeout, signal);
    judge(destination, status, new TextDecoder().decode(said));
  }
  /** One POST. @param {string} destination @param {Uint8Array} body @param {Record<string, string>} given headers
   * @param {number} longest bytes of a reply @param {number} patience seconds @param {AbortSignal} [signal] */
  async exchange(destination, body, given, longest, patience, signal) {
    const address = addressOf(destination), stop = new AbortController(), hangUp = () => stop.abort();
    const headers = { ...given, ...(globalThis.location ? {} : { Connection: "close" }) }, timer = setTimeout(hangUp, patience * 1000);
    signal?.addEventListener("abort", hangUp);
    try {
      if (signal?.aborted) hangUp();
      const response = await this.fetch(address, {
        method: "POST", body: /** @type {any} */ (body), credentials: "omit", redirect: "error", cache: "no-store",
        referrerPolicy: "no-referrer", headers, signal: stop.signal,
      });
      return { status: response.status, said: await shortReply(response, longest) };
    } catch {
      return refuse("TransportFailed", "the collector could not be reached");
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", hangUp);
    }
  }
}
