/** Answers in Node: `node client.mjs '{"folder": …, "publisher": …, "key": …, "repetitions": …}'` prints the seconds per
 * answer of every repetition, of the draw alone and of the whole client with a ledger in memory and in a folder. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FileLedger } from "../../rrcollect/web/src/answer/ledger/file.mjs";
import { Client, Design, MemoryLedger, Policy, parseFraction, randomise } from "../../rrcollect/web/src/index.mjs";

const { folder, publisher, key, repetitions } = JSON.parse(process.argv[2]);
const envelope = readFileSync(join(folder, "survey.json"));
const policy = new Policy([{ name: publisher, keys: [key], threshold: 1 }]);
let ledgers = 0;

async function first(ledger) {
  const client = new Client({ ledger, attributes: ["doped"], policy }), accepted = await client.accept(envelope);
  const start = process.cpuUsage();
  await client.answer(accepted, "q1", true);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

function drawn(calls) {
  const design = new Design(parseFraction("3/4"), parseFraction("3/4")), start = process.cpuUsage();
  for (let i = 0; i < calls; i += 1) randomise(i % 3 === 0, design);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6 / calls;
}

async function several(make) {
  let seconds = 0;
  for (let i = 0; i < 20; i += 1) seconds += await first(make());
  return seconds / 20;
}

const found = { draw: [], memory: [], file: [] };
for (let i = 0; i < repetitions; i += 1) {
  found.draw.push(drawn(3000));
  found.memory.push(await several(() => new MemoryLedger()));
  found.file.push(await several(() => new FileLedger(join(folder, `node-${ledgers++}`))));
}
console.log(JSON.stringify(found));
