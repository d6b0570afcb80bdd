/** First answers of many clients: `node client.mjs` reads {envelope, publishers, truth, ledgers, rounds} from its input
 * and prints the answers of all reports, as they stand in the reports' bytes.  Every ledger is new. */

import { readFileSync } from "node:fs";
import { Client, MemoryLedger, Policy } from "../../../rrcollect/web/src/index.mjs";

const { envelope, publishers, truth, ledgers, rounds } = JSON.parse(readFileSync(0, "utf8"));
const policy = new Policy(publishers, { maxEpsilon: "5", maxRatio: "100", attributeEpsilon: "1000", lifetimeEpsilon: "1000" });
const said = [];
for (let ledger = 0; ledger < ledgers; ledger += 1) {
  const client = new Client({ ledger: new MemoryLedger(), attributes: [{ name: "doped", rounds }], policy });
  const accepted = await client.accept(Buffer.from(envelope, "base64"));
  for (let round = 0; round < rounds; round += 1) {
    const { body } = await client.answer(accepted, "q1", truth, { round });
    said.push(JSON.parse(body).answer);
  }
}
console.log(JSON.stringify(said));
