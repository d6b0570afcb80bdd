// @ts-check
/**
 * The ledger of a Node program: a folder of files.
 *
 * Rules
 * 1. The folder is found when the object is made, symbolic links resolved; `chdir` and other names change nothing.
 * 2. In it an empty file `now.N-digest` names the file `state.N-digest` that is the ledger.  A transaction writes the next
 *    state whole, flushes it, reads it back, and renames `now` from the state it began with to the new one.  Of all who
 *    rename from one name the first succeeds; the others begin again with its state, and what they made is thrown away.
 *    No name comes twice: a state holds fresh random bytes.
 * 3. Nothing is held meanwhile: a program killed at any moment leaves a whole ledger, and nobody has to wait for it.
 * 4. Before a state is followed by another, or anything of it is handed out, its folder is flushed and its number and digest
 *    are added to the file `<folder>.guard`, which is older than the folder.  A ledger that is older than the last state in it,
 *    or does not follow one that is in it, is refused: LedgerRestored.
 */
// @ts-ignore: the types of Node are not needed for anything else
import { createHash, randomBytes } from "node:crypto";
// @ts-ignore
import fs from "node:fs";
// @ts-ignore
import * as paths from "node:path";
// @ts-ignore
import process from "node:process";
import { RRCollectError, refuse } from "../../errors.mjs";
import { broughtForward } from "./ledger.mjs";

/** @typedef {import("./ledger.mjs").State} State @typedef {import("./ledger.mjs").Ledger} Ledger */

const encoder = new TextEncoder();
const PATIENCE = 30_000; // milliseconds to begin again for, while other programs are first
/** The number and digest of a state; no state has those of the empty ledger. */
const EDITION = /^\d{12}-[0-9a-f]{64}$/;
const EMPTY = `${"0".repeat(12)}-${"0".repeat(64)}`;

/** The ledger of a Node program: a folder, and a rollback guard beside it. @implements {Ledger} */
export class FileLedger {
  /** @param {string} path of its folder, which is made if its parent is there */
  constructor(path) {
    this.place = LedgerFolder.at(path);
    this.place.catch(() => {}); // told when it is used
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const folder = await this.place;
    for (const end = Date.now() + PATIENCE; ; ) {
      const done = folder.once(change);
      if (done) return done.result;
      if (Date.now() > end) refuse("LedgerUnavailable", "other programs change the ledger all the time; nothing was answered");
      await new Promise((resolve) => setTimeout(resolve, randomBytes(1)[0] / 16));
    }
  }
}

/** The files of a ledger; every method ends in one go, without waiting. */
class LedgerFolder {
  /** @param {string} parent @param {string} name */
  constructor(parent, name) {
    this.parent = parent;
    this.name = name;
    this.path = `${parent}/${name}`;
  }
  /** @param {string} given */
  static async at(given) {
    if (typeof given !== "string" || given === "") refuse("ParameterError", "the path of a ledger is a text");
    try {
      const whole = paths.resolve(given), there = fs.lstatSync(whole, { throwIfNoEntry: false });
      const { dir, base } = paths.parse(there ? fs.realpathSync.native(whole) : whole); // to a link to nothing: ENOENT
      if (base === "") refuse("ParameterError", "a ledger has a folder of its own");
      return new LedgerFolder(fs.realpathSync.native(dir), base);
    } catch (error) {
      return unavailable("found", error);
    }
  }
  /** @param {Uint8Array} data @returns {string} */
  digest(data) {
    return createHash("sha256").update(data).digest("hex");
  }
  /** Change the ledger; null if somebody else was first.
   * @template T @param {(state: State) => T} change @returns {{result: T} | null} */
  once(change) {
    let known = this.guarded();
    const found = this.now(), last = known.at(-1) ?? EMPTY; // in this order: the guard is never ahead of the ledger
    if (found === null) {
      if (last !== EMPTY) refuse("LedgerRestored", "the ledger is gone; its rollback guard knows it");
      return this.make();
    }
    const { now, states } = found, stored = this.read(now);
    if (stored === null) return null;
    const follows = () => known.includes(now) || known.includes(stored.before);
    if (!follows()) known = this.guarded(); // read once more: others may have gone on in between
    if (known.length === 0) refuse("LedgerRestored", "the ledger's rollback guard is gone");
    if (!follows() || number(last) > number(now) || (number(last) === number(now) && last !== now)) {
      refuse("LedgerRestored", "the ledger is an old copy, or one of another history: its rollback guard knows a later one");
    }
    if (!known.includes(now)) this.settle(now);
    const was = JSON.stringify(stored.state ?? broughtForward(undefined)), state = broughtForward(stored.state);
    const result = change(state), next = JSON.stringify(state) === was ? now : this.swap(now, state);
    if (next === null) return null;
    if (next !== now) this.settle(next);
    for (const one of states) if (one !== next && number(one) <= number(next)) this.remove(`${this.path}/state.${one}`);
    return { result };
  }
  /** The state that is the ledger, and all that have files; null if there is no ledger. */
  now() {
    for (let look = 0; look < 100; look++) { // a file renamed while the folder is listed may be seen twice, or not at all
      /** @type {string[]} */
      let names;
      try {
        names = fs.readdirSync(this.path);
        const marks = names.filter((name) => name.startsWith("now.") && EDITION.test(name.slice(4)));
        if (names.length === 0) return null;
        if (marks.length !== 1) continue;
        const now = marks[0].slice(4), links = fs.lstatSync(`${this.path}/${marks[0]}`).nlink;
        if (links > 1) refuse("LedgerUnavailable", "the ledger has a copy made of hard links: one draw means one ledger");
        const states = names.filter((name) => name.startsWith("state.")).map((name) => name.slice(6));
        return { now, states: states.filter((one) => EDITION.test(one)) };
      } catch (error) {
        const { code } = /** @type {any} */ (error);
        if (code === "ENOTDIR") refuse("LedgerCorrupt", "the ledger's path is not the folder of a ledger");
        if (code !== "ENOENT") return unavailable("read", error);
        if (!fs.existsSync(this.path)) return null;
      }
    }
    return refuse("LedgerCorrupt", "the ledger's folder is damaged or is not one");
  }
  /** @param {string} now @returns {{before: string, state: any} | null} null if it is not the ledger any more */
  read(now) {
    if (now === EMPTY) return { before: EMPTY, state: undefined };
    try {
      const data = fs.readFileSync(`${this.path}/state.${now}`);
      if (this.digest(data) === now.slice(13)) return JSON.parse(data.toString());
    } catch (error) {
      if (/** @type {any} */ (error).code !== "ENOENT") return unavailable("read", error);
      if (!fs.existsSync(`${this.path}/now.${now}`)) return null;
    }
    return refuse("LedgerCorrupt", "the ledger's file is damaged or gone");
  }
  /** From one state to the next; null if somebody else was first. @param {string} now @param {State} state */
  swap(now, state) {
    const data = encoder.encode(JSON.stringify({ before: now, random: randomBytes(16).toString("hex"), state }));
    const next = `${String(number(now) + 1).padStart(12, "0")}-${this.digest(data)}`, file = `${this.path}/state.${next}`;
    let named = false; // from then on the file stays: over a network a rename can be done and yet be called failed
    try {
      this.write(file, data);
      this.flush(this.path);
      named = true;
      fs.renameSync(`${this.path}/now.${now}`, `${this.path}/now.${next}`);
      return next;
    } catch (error) {
      if (!named) this.remove(file);
      return /** @type {any} */ (error).code === "ENOENT" ? null : unavailable("written", error);
    }
  }
  /** Make an empty ledger, unless somebody else does: a folder is renamed to one that is empty or not there. @returns {null} */
  make() {
    const fresh = `${this.path}.${randomBytes(16).toString("hex")}.new`;
    try {
      this.append(EMPTY, fs.constants.O_CREAT);
      this.flush(this.parent);
      fs.mkdirSync(fresh, 0o700);
      this.write(`${fresh}/now.${EMPTY}`, new Uint8Array());
      this.flush(fresh);
      fs.renameSync(fresh, this.path);
      this.flush(this.parent);
      for (const name of fs.readdirSync(this.parent)) { // what programs killed at this left behind
        const rest = name.startsWith(this.name) && name.slice(this.name.length);
        if (rest && /^\.[0-9a-f]{32}\.new$/.test(rest)) this.remove(`${this.parent}/${name}`);
      }
    } catch (error) {
      this.remove(fresh);
      if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(/** @type {any} */ (error).code)) return unavailable("made", error);
      if (!fs.existsSync(this.path)) return unavailable("made", error);
    }
    return null;
  }
  /** Keep a state for good, before anything is handed out or follows it. @param {string} now */
  settle(now) {
    try {
      if (number(now) === 1) this.flush(this.parent); // whoever made the folder may not have come to it
      this.flush(this.path);
      this.append(now);
    } catch (error) {
      unavailable("flushed", error);
    }
  }
  /** The states that the guard knows, the newest last; none if it is gone, or was never finished. @returns {string[]} */
  guarded() {
    try {
      const lines = fs.readFileSync(`${this.path}.guard`, "utf8").split("\n");
      return lines.filter((/** @type {string} */ line) => EDITION.test(line)).sort();
    } catch (error) {
      return /** @type {any} */ (error).code === "ENOENT" ? [] : unavailable("read", error);
    }
  }
  /** A line of its own in the guard, also after one that was cut off. @param {string} now @param {number} [flag] */
  append(now, flag = 0) {
    const { O_APPEND, O_WRONLY } = fs.constants;
    const file = fs.openSync(`${this.path}.guard`, O_APPEND | O_WRONLY | flag, 0o600), line = encoder.encode(`\n${now}\n`);
    try {
      if (fs.writeSync(file, line) !== line.length) throw Object.assign(new Error("cut off"), { code: "ENOSPC" });
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }
  /** A new file, whole on the disk and read back. @param {string} path @param {Uint8Array} data */
  write(path, data) {
    const file = fs.openSync(path, "wx", 0o600);
    try {
      for (let at = 0, more = 0; at < data.length; at += more) {
        more = fs.writeSync(file, data, at);
        if (more === 0) throw Object.assign(new Error("cut off"), { code: "ENOSPC" });
      }
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    if (!fs.readFileSync(path).equals(data)) throw Object.assign(new Error("read back otherwise"), { code: "EIO" });
  }
  /** The names in a folder, on the disk. @param {string} path */
  flush(path) {
    if (process.platform === "win32") return; // it opens no folders
    const folder = fs.openSync(path, "r");
    try {
      fs.fsyncSync(folder);
    } finally {
      fs.closeSync(folder);
    }
  }
  /** What cannot be removed now is removed later. @param {string} path */
  remove(path) {
    try {
      fs.rmSync(path, { force: true, recursive: true });
    } catch {
      return;
    }
  }
}

/** @param {string} edition */
function number(edition) {
  return Number(edition.slice(0, 12));
}

/** @param {string} what @param {unknown} error @returns {never} */
function unavailable(what, error) {
  if (error instanceof RRCollectError) throw error;
  const { code = error } = /** @type {any} */ (error);
  return refuse("LedgerUnavailable", `the ledger cannot be ${what} (${code}); nothing was answered`);
}
