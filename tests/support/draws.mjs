// The browser client on given cases, a JSON list.  {design, draw}: the answers to every truth; with a `kind` and `numbers`
// (texts; a double as {double: its shortest text}) the answers to these, with `truths` to these.  {design, texts, promises}: its wire form and text,
// which of the texts it allows, and which of the promises it keeps.
import { readFileSync } from "node:fs";
import { needDesign } from "../../rrcollect/web/src/publish/question.mjs";
import * as rr from "../../rrcollect/web/src/index.mjs";

const answers = JSON.parse(readFileSync(0, "utf8")).map(({ design, draw, kind, numbers, truths: given, texts, promises }) => {
  const made = needDesign(design, "design");
  if (texts) {
    const kept = promises.map(([epsilon, delta]) => made.satisfies({ epsilon: rr.Epsilon.parse(epsilon), delta: rr.parseFraction(delta) }));
    return { wire: made.toWire(), text: made.text, blank: made.blank, allowed: texts.map((text) => made.allows(text)), kept };
  }
  const source = (bytes) => (bytes.set(draw.match(/../g).map((pair) => parseInt(pair, 16))), bytes);
  if (given) return given.map((truth) => made.draw(truth, kind, source));
  if (kind) return numbers.map((one) => String(rr.randomiseNumber(typeof one === "string" ? one : Number(one.double), made, kind, source)));
  const truths = made.truths > 2 || design.options ? Array.from({ length: made.truths }, (_, truth) => truth) : [false, true];
  return truths.map((truth) => made.draw(truth, { kind: design.p00 ? "yes_no" : "choice" }, source));
});
console.log(JSON.stringify(answers));
