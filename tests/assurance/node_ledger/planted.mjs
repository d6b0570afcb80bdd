/** Ledgers with a planted bug, which the searches must find.  Each takes a path, as `FileLedger` does. */

import fs from "node:fs";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import { RRCollectError } from "../../../rrcollect/web/src/index.mjs";

function refuse(name, message) {
  throw new RRCollectError(name, message);
}

function broughtForward(state) {
  return state ?? { schema: 1, draws: [], reports: [], words: {}, seen: {}, declined: [], withdrawn: [] };
}

/** A ledger whose folder is changed by `plant`. */
function planted(plant) {
  return class extends FileLedger {
    constructor(path) {
      super(path);
      this.place = this.place.then((folder) => (plant(folder), folder));
    }
  };
}

/** The state that is the ledger is overwritten, whoever wrote it since: no comparison before the swap. */
export const Overwriting = planted((folder) => {
  const { swap } = folder;
  folder.swap = (now, state) => swap.call(folder, now, state) ?? swap.call(folder, folder.now().now, state);
});

/** The old name is removed before the new one is made. */
export const TwoSteps = planted((folder) => {
  folder.swap = (now, state) => {
    const next = `${String(Number(now.slice(0, 12)) + 1).padStart(12, "0")}-`, data = Buffer.from(JSON.stringify({ before: now, state }));
    const edition = next + folder.digest(data);
    folder.write(`${folder.path}/state.${edition}`, data);
    fs.rmSync(`${folder.path}/now.${now}`);
    folder.write(`${folder.path}/now.${edition}`, new Uint8Array());
    return edition;
  };
});

/** What was written is not flushed before it is handed out. */
export const Unflushed = planted((folder) => {
  folder.flush = () => {};
});

/** The state is not flushed before it is named. */
export const Volatile = planted((folder) => {
  folder.write = (path, data) => fs.writeFileSync(path, data, { mode: 0o600 });
});

/** A write that was cut off by a full disk passes for a whole one. */
export const Trusting = planted((folder) => {
  folder.write = (path, data) => {
    const file = fs.openSync(path, "wx", 0o600);
    fs.writeSync(file, data);
    fs.fsyncSync(file);
    fs.closeSync(file);
  };
});

/** An old copy is used as if it were the ledger. */
export const Unguarded = planted((folder) => {
  const { append } = folder;
  folder.guarded = () => (folder.now() === null ? [] : [folder.now().now]);
  folder.append = (now) => append.call(folder, now, fs.constants.O_CREAT);
});

/** The ledger of a Node program as it once was: one file, replaced under a lock file.  A short write is not seen, a
 * symbolic link and `chdir` make another ledger, and a lock that is taken over lets two in. */
export class OldFileLedger {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    /** @type {Promise<unknown>} */
    this.turn = Promise.resolve();
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  transact(change) {
    const next = this.turn.then(() => this.once(change));
    this.turn = next.catch(() => {});
    return next;
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async once(change) {
    const fs = await import(/* @vite-ignore */ "node:fs"), lock = `${this.path}.lock`;
    try {
      await this.lock(fs, lock);
    } catch (error) {
      return refuse("LedgerUnavailable", `the ledger cannot be locked (${/** @type {any} */ (error).code})`);
    }
    try {
      let stored;
      try {
        stored = fs.existsSync(this.path) ? JSON.parse(fs.readFileSync(this.path, "utf8")) : undefined;
      } catch {
        return refuse("LedgerCorrupt", "the ledger's file is damaged or is not a ledger");
      }
      const state = broughtForward(stored), result = change(state);
      try {
        const fresh = `${this.path}.new`, file = fs.openSync(fresh, "w", 0o600);
        try {
          fs.writeSync(file, JSON.stringify(state));
          fs.fsyncSync(file);
        } finally {
          fs.closeSync(file);
        }
        fs.renameSync(fresh, this.path);
        const folder = fs.openSync(this.path.replace(/[^/\\]*$/, "") || ".", "r");
        try {
          fs.fsyncSync(folder);
        } finally {
          fs.closeSync(folder);
        }
      } catch (error) {
        return refuse("LedgerUnavailable", `the ledger cannot be written (${/** @type {any} */ (error).code})`);
      }
      return result;
    } finally {
      fs.rmSync(lock, { force: true });
    }
  }
  /** Take the lock file; one whose process is gone is taken over. @param {any} fs @param {string} lock */
  async lock(fs, lock) {
    const process = /** @type {any} */ (globalThis).process;
    for (let attempt = 0; ; attempt++) {
      try {
        fs.writeFileSync(lock, String(process.pid), { flag: "wx" });
        return;
      } catch (error) {
        if (/** @type {any} */ (error).code !== "EEXIST" || attempt >= 500) throw error;
      }
      try {
        const holder = Number(fs.readFileSync(lock, "utf8"));
        if (holder) process.kill(holder, 0);
      } catch (error) {
        if (/** @type {any} */ (error).code === "ESRCH") fs.rmSync(lock, { force: true });
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
