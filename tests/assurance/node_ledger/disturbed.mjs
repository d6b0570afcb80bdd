/** A program that is killed, whose disk fails, or beside which another one runs, at any call of its ledger to the disk.
 *
 * Rules
 * 1. The calls of `node:fs` are counted while `disturbed` runs.  At the call asked for, `how` decides what happens.
 * 2. A program that died makes no further call: whatever it still tries throws.  What it had written is there.
 * 3. `Disk` knows what was flushed: names by a flush of their folder, bytes by a flush of their file.  After a power cut
 *    the rest is gone ("lost"), or the names are there without the bytes that were not flushed ("named").
 */

import fs from "node:fs";

const CALLS = [
  "openSync", "writeSync", "fsyncSync", "closeSync", "renameSync", "mkdirSync", "rmSync", "readdirSync", "readFileSync",
  "lstatSync", "existsSync", "writeFileSync",
];
export const real = { ...fs };

/** Who listens to the calls at the moment. */
let listener = null;
for (const name of CALLS) {
  fs[name] = (...given) => (listener ? listener(name, given, () => real[name](...given)) : real[name](...given));
}

class Dead extends Error {
  code = "DEAD";
}

export const failing = (code) => Object.assign(new Error(code), { code });

/** Run `work`, which ends in one go; at its call number `at`, `how(name, given, go, die)` happens in place of `go`.
 * `seen(name, given, result)` is told of every call that was made. */
export function disturbed(at, how, work, seen = () => {}) {
  const outer = listener, open = new Set(), found = { calls: 0, dead: false, struck: false };
  const die = () => {
    found.dead = true;
    for (const file of open) real.closeSync(file);
    throw new Dead();
  };
  const inside = (run) => { // what happens here is not counted
    const mine = listener;
    listener = null;
    try {
      return run();
    } finally {
      listener = mine;
    }
  };
  listener = (name, given, go) => {
    if (found.dead) throw new Dead();
    found.calls++;
    const make = () => {
      const result = inside(go);
      if (name === "openSync") open.add(result);
      if (name === "closeSync") open.delete(given[0]);
      inside(() => seen(name, given, result));
      return result;
    };
    if (found.calls < at) return make();
    if (found.calls === at) found.struck = true;
    return inside(() => how(name, given, make, die, found.calls - at));
  };
  try {
    found.result = work();
  } catch (error) {
    found.error = error;
  } finally {
    listener = outer;
  }
  return found;
}

/** What can go wrong at a call; `later` counts the calls after it. */
export const MANNERS = {
  "killed before": (name, given, go, die) => die(),
  "killed after": (name, given, go, die) => (go(), die()),
  "killed in a write": (name, given, go, die) => {
    const half = (data) => data.subarray(0, data.length / 2);
    if (name === "writeSync") real.writeSync(given[0], half(given[1].subarray(given[2] ?? 0)));
    return die();
  },
  "failed": (name, given, go, die, later) => {
    if (later === 0 && name !== "closeSync" && name !== "existsSync") throw failing("EIO");
    return go();
  },
  "done, and called failed": (name, given, go, die, later) => {
    const result = go();
    if (later === 0 && ["renameSync", "fsyncSync", "writeSync", "mkdirSync"].includes(name)) throw failing("EIO");
    return result;
  },
  "disk full": (name, given, go, die, later) => {
    const makes = name === "openSync" && given[1] !== "r" && !real.existsSync(given[0]);
    if (name === "mkdirSync" || makes) throw failing("ENOSPC");
    if (name !== "writeSync") return go();
    const data = given[1].subarray(given[2] ?? 0);
    if (later > 3 || data.length < 200) throw failing("ENOSPC");
    return real.writeSync(given[0], data.subarray(0, data.length / 2)); // the kernel writes what fits, and says so
  },
};
export const KILLS = Object.keys(MANNERS).slice(0, 3), FAULTS = Object.keys(MANNERS).slice(3);

/** What of a folder survives a power cut. */
export class Disk {
  constructor(root) {
    this.root = root;
    this.names = new Map(); // inode of a folder: the names in it that are flushed, and their inodes
    this.bytes = new Map(); // inode of a file: its bytes that are flushed
    this.links = new Map(); // inode of a symbolic link: where it leads
    this.opened = new Map();
    this.flushAll(root);
  }
  flushAll(path) {
    this.flushed(path);
    if (!real.lstatSync(path).isDirectory()) return;
    for (const name of real.readdirSync(path)) this.flushAll(`${path}/${name}`);
  }
  flushed(path) {
    const status = real.lstatSync(path), { ino } = status;
    if (status.isSymbolicLink()) return this.links.set(ino, real.readlinkSync(path));
    if (!status.isDirectory()) return this.bytes.set(ino, real.readFileSync(path));
    const names = real.readdirSync(path).map((name) => [name, real.lstatSync(`${path}/${name}`)]);
    return this.names.set(ino, names.map(([name, { ino: one }]) => [name, one]));
  }
  seen(name, given, result) {
    const path = String(given[0]);
    if (name === "mkdirSync") this.names.set(real.lstatSync(path).ino, []);
    if (name === "openSync") {
      this.opened.set(result, path);
      if (given[1] === "wx") for (const known of [this.bytes, this.names]) known.delete(real.lstatSync(path).ino);
    }
    if (name === "fsyncSync") this.flushed(this.opened.get(given[0]));
  }
  /** The power is cut. */
  cut(kind) {
    const after = `${this.root}.after`;
    const build = (ino, from, to) => {
      const now = () => real.readdirSync(from).map((name) => [name, real.lstatSync(`${from}/${name}`).ino]);
      if (this.links.has(ino)) return real.symlinkSync(this.links.get(ino), to);
      if (!this.names.has(ino)) return real.writeFileSync(to, this.bytes.get(ino) ?? "");
      real.mkdirSync(to);
      for (const [name, one] of kind === "lost" ? this.names.get(ino) : now()) build(one, `${from}/${name}`, `${to}/${name}`);
    };
    build(real.lstatSync(this.root).ino, this.root, after);
    real.rmSync(this.root, { recursive: true });
    real.renameSync(after, this.root);
  }
}
