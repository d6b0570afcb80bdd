// @ts-check
/**
 * The ledger of a web page.
 */
import { RRCollectError } from "../../errors.mjs";
import { broughtForward } from "./ledger.mjs";

/** @import { State } from "./ledger.mjs" */

/** The ledger of a web page: one IndexedDB transaction, durable before it resolves, one at a time over all tabs. */
export class IndexedDBLedger {
  /** @param {string} [name] */
  constructor(name = "rrcollect") {
    this.name = name;
    /** @type {Promise<IDBDatabase> | null} */
    this.opened = null;
  }
  open() {
    this.opened ??= new Promise((resolve, reject) => {
      const fail = () => reject(new RRCollectError("LedgerUnavailable", "this browser keeps no data for this page; nothing was drawn"));
      let request;
      try {
        request = indexedDB.open(this.name, 1);
      } catch {
        return fail();
      }
      request.onupgradeneeded = () => request.result.createObjectStore("ledger");
      request.onsuccess = () => {
        request.result.onclose = () => { this.opened = null; }; // the browser was told to forget; the next one opens anew
        resolve(request.result);
      };
      request.onerror = request.onblocked = fail;
    });
    this.opened.catch(() => { this.opened = null; });
    return this.opened;
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      const unwritten = () => new RRCollectError("LedgerUnavailable", "the ledger could not be written; nothing was sent");
      let transaction;
      try {
        transaction = database.transaction("ledger", "readwrite", { durability: "strict" });
      } catch { // it is closed
        this.opened = null;
        return reject(unwritten());
      }
      const store = transaction.objectStore("ledger"), got = store.get("state");
      /** @type {T} */
      let result;
      /** @type {unknown} */
      let trouble = null;
      got.onsuccess = () => {
        try {
          const state = broughtForward(got.result);
          result = change(state);
          store.put(state, "state");
        } catch (error) {
          trouble = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(trouble ?? unwritten());
    });
  }
}
