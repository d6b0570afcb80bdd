/** A program with a ledger, for searches over processes: `node device.mjs '{"path": …, "attributes": […]}'`.
 *
 * It makes its ledger (standing in the folder `from`), goes to the folder `to`, waits for the end of its input if `waits`,
 * and asks about each attribute.  It prints a line each: what was handed out, or the name of the refusal.  A token is
 * made once. */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import { OldFileLedger } from "./planted.mjs";

const { path, attributes, from = ".", to = ".", waits = false, ledger = "FileLedger" } = JSON.parse(process.argv[2]);
process.on("SIGXFSZ", () => {}); // beyond the limit of a file's size a write fails, as on a full disk
process.chdir(from);
const mine = new { FileLedger, OldFileLedger }[ledger](path);
process.chdir(to);
if (waits) readFileSync(0);
for (const attribute of attributes) {
  try {
    const token = await mine.transact((state) => {
      let draw = state.draws.find((one) => one.attribute === attribute);
      if (!draw) state.draws.push((draw = { attribute, answer: randomUUID(), words: "x".repeat(300) }));
      return draw.answer;
    });
    console.log(JSON.stringify([attribute, token]));
  } catch (error) {
    console.log(JSON.stringify([attribute, null, error.name, error.message]));
  }
}
