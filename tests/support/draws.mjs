// The browser client's answers on given draws: a JSON list of {design, draw} in, the answers to every truth out; with a `kind`
// and `numbers` (texts; a double as {double: its shortest text}) the answers to these.
import { readFileSync } from "node:fs";
import * as rr from "../../rrcollect/web/rrcollect.mjs";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ design, draw, kind, numbers }) => {
  const source = (bytes) => (bytes.set(draw.match(/../g).map((pair) => parseInt(pair, 16))), bytes);
  if (design.options) {
    const sets = new rr.SetDesign(design.options, design.size, rr.parseFraction(design.p));
    return Array.from({ length: design.options }, (_, truth) => rr.randomiseChoice(truth, sets, source));
  }
  const matrix = new rr.Design(rr.parseFraction(design.p00), rr.parseFraction(design.p11));
  if (kind) return numbers.map((one) => String(rr.randomiseNumber(typeof one === "string" ? one : Number(one.double), matrix, kind, source)));
  return [false, true].map((truth) => String(rr.randomise(truth, matrix, source)));
});
console.log(JSON.stringify(answers));
