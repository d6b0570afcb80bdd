// @ts-check
/**
 * The ledger: one state, changed in one transaction, and the steps of its schema.
 */
import { refuse } from "../../errors.mjs";

/**
 * @import { Outgoing } from "../../deliver/outbox.mjs"
 * @import { SeenVersion } from "../acceptance.mjs"
 */

/**
 * @typedef {{attribute: string, round: number, kind: string, design: string, answer: string, epsilon: string, delta: string}} Draw
 * @typedef {{schema: number, draws: Draw[], reports: Outgoing[], words: Record<string, string>, seen: Record<string, SeenVersion>,
 *   declined: string[], withdrawn: {survey: string, publisher: string}[], panels: {attribute: string, round: number}[],
 *   asked: Record<string, string>, same: [string, string][], logs: Record<string, {size: number, root: string}>}} State
 * `words`: the attribute that each fingerprint of a question's text was asked about; `panels`: the one round in which an
 * attribute is answered; `asked`: what the one question of a survey that asks one is about; `same`: names that were used as one
 * attribute, which they are for good; `logs`: the largest state that was accepted of each log.
 * @typedef {{transact<T>(change: (state: State) => T): Promise<T>}} Ledger
 * A ledger calls `change` with the whole state, makes what it did durable, and only then resolves; if `change` throws,
 * nothing is kept.  Where another program was first, it calls it again with the newer state, and the first try is forgotten.
 */

/** What brings a state forward: the first step turns schema 1 into schema 2, and so on. @type {((state: any) => void)[]} */
const STEPS = [];

/** @returns {State} */
function emptyState() {
  return { schema: 1 + STEPS.length, draws: [], reports: [], words: {}, seen: {}, declined: [], withdrawn: [], panels: [], asked: {}, same: [], logs: {} };
}

/** A stored state in today's schema, for ledgers; what was never stored is empty. @param {any} state @returns {State} */
export function broughtForward(state) {
  if (state === undefined) return emptyState();
  if (!Number.isInteger(state?.schema) || state.schema < 1) return refuse("LedgerCorrupt", "the ledger is damaged or is not one");
  if (state.schema > 1 + STEPS.length) {
    refuse("LedgerNewer", `the ledger has schema ${state.schema}; this program knows schemas up to ${1 + STEPS.length}: a newer version wrote it`);
  }
  for (const step of STEPS.slice(state.schema - 1)) step(state);
  return Object.assign(state, { schema: 1 + STEPS.length });
}

/** A ledger for tests, which forgets. @implements {Ledger} */
export class MemoryLedger {
  constructor() {
    this.state = emptyState();
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const copy = structuredClone(this.state);
    const result = change(copy);
    this.state = copy;
    return result;
  }
}
