// What the browser client says to documents: "accepted", or the name of its error.  The same function runs in Node and
// in Chromium.  A stray error (one that is not thrown on purpose) is named as such, and is not a refusal.
import { policyOf, unb64 } from "../../collect/js/judge.mjs";

async function verdict(rr, work) {
  try {
    await work();
    return "accepted";
  } catch (error) {
    return error instanceof rr.RRCollectError ? error.name : `a stray ${error}`;
  }
}

export async function verdicts(rr, { surveys = [], reports = [], flips = [] }) {
  const survey = (data, it) =>
    verdict(rr, () => rr.acceptSurvey(data, policyOf(rr, it.policy), { now: new Date(it.now), seen: it.seen }));
  const said = [];
  for (const it of surveys) said.push(await survey(unb64(it.envelope), it));
  for (const it of reports) said.push(await verdict(rr, () => rr.readReport(unb64(it.report))));
  for (const { document, bits } of flips) {
    const whole = unb64(document.envelope);
    for (const bit of bits) {
      const data = whole.slice();
      data[bit >> 3] ^= 1 << (bit & 7);
      said.push(await survey(data, document));
    }
  }
  return said;
}
