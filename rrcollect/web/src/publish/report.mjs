// @ts-check
/**
 * The report: all that ever leaves the device.
 */
import { refuse } from "../errors.mjs";
import { canonical, exactFields, readCanonical } from "./canonical.mjs";
import { integer, need } from "./document.mjs";
import { MOST_ROUNDS, needDesign } from "./question.mjs";

const LARGEST_REPORT = 8192, HEX_32 = /^[0-9a-f]{32}$/, TICKET = /^[0-9a-f]{32}(?:[0-9a-f]{96})?$/;
const REPORT_FIELDS = ["answer", "design", "id", "question", "round", "segments", "survey", "ticket"];

/** The bytes of a report: canonical, and of the same length for all answers; what cannot be sent is refused.
 * @param {Record<string, any>} report */
export function reportBytes(report) {
  return asReport(() => {
    const data = canonical(Object.fromEntries(REPORT_FIELDS.map((name) => [name, report[name]])));
    if (data.length > LARGEST_REPORT) refuse("Oversize", `a report has at most ${LARGEST_REPORT} bytes`);
    checkReport(report);
    return data;
  });
}

/** The report of canonical bytes; every other spelling is refused. @param {Uint8Array} data @returns {Record<string, any>} */
export function readReport(data) {
  return asReport(() => {
    const value = exactFields(readCanonical(data, LARGEST_REPORT), "a report", REPORT_FIELDS);
    checkReport(value);
    return value;
  });
}

/** What `work` returns; what it refuses is not a report. @template T @param {() => T} work @returns {T} */
function asReport(work) {
  try {
    return work();
  } catch (error) {
    return refuse("MalformedReport", /** @type {Error} */ (error).message);
  }
}

/** @param {Record<string, any>} report */
function checkReport({ answer, design, id, question, round, segments, survey, ticket }) {
  need(typeof survey === "string" && /^[0-9a-f]{64}$/.test(survey), "survey", "must be a digest");
  need(typeof id === "string" && HEX_32.test(id), "id", "must be 32 hexadecimal digits");
  need(typeof question === "string" && question !== "" && [...question].length <= 64, "question", "must be a question's id");
  need(needDesign(design, "design").allows(answer), "answer", "must be a text that the design can give");
  integer(0, MOST_ROUNDS - 1)(round, "round");
  need(ticket === null || (typeof ticket === "string" && TICKET.test(ticket)), "ticket", "must be null, 32 hexadecimal digits, or 128 of a token");
  need(typeof segments === "object" && segments !== null && !Array.isArray(segments), "segments", "must be an object");
  need(Object.values(segments).every((text) => typeof text === "string"), "segments", "must hold strings");
}

/** The body of a report around another answer: these characters alone change. @param {string} body @param {string} answer */
export function withAnswer(body, answer) {
  const start = '{"answer":"'; // the first field
  return start + answer + body.slice(start.length + answer.length);
}
