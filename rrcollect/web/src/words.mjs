// @ts-check
/**
 * Our words are JSON files beside this module, here and in the built element: pages fetch them, Node reads them.
 */
import { RRCollectError } from "./errors.mjs";

/** @import { Table } from "./answer/explain/words.mjs" */

/** @type {Map<string, Promise<Table>>} what was loaded, by language */
const TABLES = new Map();

/** The sentences of one of our languages; without a network it is tried again. @param {string} language @returns {Promise<Table>} */
export function ourTable(language) {
  const known = TABLES.get(language) ?? load(new URL(`./words/${language}.json`, import.meta.url));
  TABLES.set(language, known);
  known.catch(() => TABLES.delete(language));
  return known;
}

/** @param {URL} address @returns {Promise<Table>} */
async function load(address) {
  if (address.protocol === "file:") { // no page: Node
    const { readFileSync } = /** @type {any} */ (globalThis).process.getBuiltinModule("node:fs");
    return JSON.parse(readFileSync(address, "utf8"));
  }
  const got = await fetch(address);
  if (!got.ok) throw new RRCollectError("Unavailable", `${address.href}: status ${got.status} instead of the words of a language`);
  return got.json();
}
