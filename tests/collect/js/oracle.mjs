// Judges numbers read from standard input, for comparison with Python: one JSON line each.
import { createInterface } from "node:readline";
import * as rr from "../../../rrcollect/web/src/index.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  const it = JSON.parse(line);
  const [a, b] = [rr.Epsilon.parse(it.a), rr.Epsilon.parse(it.b)];
  const design = it.options ? new rr.SetDesign(it.options, it.size, rr.parseFraction(it.p)) : new rr.Design(rr.parseFraction(it.p00), rr.parseFraction(it.p11));
  console.log(JSON.stringify({
    a: a && String(a),
    compare: a && b && a.compare(b),
    sum: a && b && String(a.plus(b)),
    keeps: a && design.satisfies({ epsilon: a, delta: rr.parseFraction(it.delta) }),
    ratio: design.worstRatio && String(design.worstRatio),
    float: a && a.toNumber(),
    c: String(design.c), column: design.column.text, text: design.text, grid: design.onGrid, blank: design.allows(design.blank),
  }));
}
