/** The ledger of a Node program: one draw, whatever its path is called and whatever happens to the disk.  The long search
 * is tests/assurance/node_ledger. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import { IndexedDBLedger, RRCollectError } from "../../../rrcollect/web/src/index.mjs";

const MODULE = new URL("../../../rrcollect/web/src/answer/ledger/file.mjs", import.meta.url).href;
const refused = (name, words = /./) => (error) =>
  error instanceof RRCollectError && error.name === name && (words.test(error.message) || assert.fail(error.message));

/** A folder for one test. */
function tested(name, run) {
  test(name, async (t) => {
    const root = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), "rr-"));
    try {
      await run(root, join(root, "ledger"), t);
    } finally {
      fs.rmSync(root, { recursive: true });
    }
  });
}

let tokens = 0;
const asks = (attribute) => (state) => {
  let draw = state.draws.find((one) => one.attribute === attribute);
  if (!draw) state.draws.push((draw = { attribute, answer: `${process.pid} ${tokens++}`, words: "x".repeat(700) }));
  return draw.answer;
};
const ask = (ledger, attribute) => ledger.transact(asks(attribute));

/** What a program prints; it has `FileLedger`, `fs`, `path` and `ask(attribute)`. */
const PROGRAM = (path, code) => `import { FileLedger } from ${JSON.stringify(MODULE)}; import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  process.on("SIGXFSZ", () => {}); const path = ${JSON.stringify(path)}; let tokens = 0;
  const asks = ${asks}; const ask = (attribute) => new FileLedger(path).transact(asks(attribute));
  const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); ${code}`;
async function program(path, code, ...before) {
  const [command, ...rest] = [...before, process.execPath, "--input-type=module", "-e", PROGRAM(path, code)];
  return (await promisify(execFile)(command, rest)).stdout.trim();
}

tested("a full disk leaves the ledger as it was, and nothing is answered", async (root, path) => {
  const ledger = new FileLedger(path), drawn = [];
  for (let n = 0; n < 10; n++) drawn.push(await ask(ledger, `a${n}`));
  const code = `for (let n = 10; n < 13; n++) try { console.log("answered", await ask("a" + n)); }
    catch (error) { console.log(error.name, error.message); }`;
  const said = (await program(path, code, "prlimit", "--fsize=8192")).split("\n"); // 8 KiB are left
  const answered = said.filter((line) => line.startsWith("answered"));
  assert.ok(said.at(-1).startsWith("LedgerUnavailable"), said.join("\n"));
  assert.match(said.at(-1), /nothing was answered/);
  for (let n = 0; n < 10; n++) assert.equal(await ask(ledger, `a${n}`), drawn[n]);
  for (const [n, line] of answered.entries()) assert.equal(line, `answered ${await ask(ledger, `a${10 + n}`)}`);
  await ask(ledger, "after");
  assert.equal(fs.readdirSync(root).length + fs.readdirSync(path).length, 4);
});

tested("every name of a ledger is the same ledger", async (root, path) => {
  const first = await ask(new FileLedger(path), "a");
  fs.mkdirSync(join(root, "far"));
  fs.symlinkSync(root, join(root, "far", "up"));
  fs.symlinkSync("ledger", join(root, "alias"));
  const names = [path, join(root, "alias"), join(root, "far", "up", "ledger"), join(root, "far", "up", "alias")];
  const ledgers = names.map((name) => new FileLedger(name));
  for (const [n, ledger] of ledgers.entries()) {
    assert.equal(await ask(ledger, "a"), first);
    const other = await ask(ledger, `b${n}`);
    for (const again of [...ledgers, ...names.map((name) => new FileLedger(name))]) assert.equal(await ask(again, `b${n}`), other);
  }
  assert.ok(fs.lstatSync(join(root, "alias")).isSymbolicLink());
});

tested("the ledger is the one that was there when it was made, wherever the program goes", async (root, path) => {
  const home = process.cwd();
  fs.mkdirSync(join(root, "far"));
  try {
    process.chdir(root);
    const ledger = new FileLedger("ledger"), unmade = new FileLedger("./far/../late");
    process.chdir(join(root, "far"));
    const first = await ask(ledger, "a"), late = await ask(unmade, "a");
    process.chdir(home);
    assert.equal(await ask(ledger, "a"), first);
    assert.equal(await ask(new FileLedger(path), "a"), first);
    assert.equal(await ask(new FileLedger(join(root, "late")), "a"), late);
    assert.deepEqual(fs.readdirSync(join(root, "far")), []);
  } finally {
    process.chdir(home);
  }
  fs.symlinkSync(path, join(root, "alias")); // a link that leads elsewhere later
  const ledger = new FileLedger(join(root, "alias")), first = await ask(ledger, "a");
  fs.rmSync(join(root, "alias"));
  fs.symlinkSync(join(root, "late"), join(root, "alias"));
  assert.equal(await ask(ledger, "a"), first);
});

tested("a path that cannot be a ledger is refused", async (root, path) => {
  fs.symlinkSync(join(root, "nothing"), join(root, "dangling"));
  for (const name of ["dangling", "no/ledger"]) await assert.rejects(ask(new FileLedger(join(root, name)), "a"), refused("LedgerUnavailable"));
  for (const name of ["", 5, undefined, "/"]) await assert.rejects(ask(new FileLedger(name), "a"), refused("ParameterError"));
  fs.writeFileSync(path, "{}");
  await assert.rejects(ask(new FileLedger(path), "a"), refused("LedgerCorrupt"));
  fs.rmSync(path);
  fs.mkdirSync(path); // an empty folder becomes one
  await ask(new FileLedger(path), "a");
  assert.deepEqual([path, `${path}.guard`].map((name) => fs.statSync(name).mode & 0o777), [0o700, 0o600]);
});

tested("a copy made of hard links is refused", async (root, path) => {
  const first = await ask(new FileLedger(path), "a");
  fs.mkdirSync(join(root, "copy"));
  for (const name of fs.readdirSync(path)) fs.linkSync(join(path, name), join(root, "copy", name));
  fs.copyFileSync(`${path}.guard`, join(root, "copy.guard"));
  for (const name of ["ledger", "copy"]) await assert.rejects(ask(new FileLedger(join(root, name)), "b"), refused("LedgerUnavailable", /hard links/));
  fs.rmSync(join(root, "copy"), { recursive: true });
  assert.equal(await ask(new FileLedger(path), "a"), first);
});

tested("nothing that a program left behind blocks the next one", async (root, path) => {
  await ask(new FileLedger(path), "a");
  for (const text of [String(process.pid), "", "1"]) { // the lock of a program that had our number, or none yet, or lives
    fs.writeFileSync(`${path}.lock`, text);
    const start = Date.now();
    await ask(new FileLedger(path), "b");
    assert.ok(Date.now() - start < 2000);
  }
});

tested("a lock that was left behind lets nobody in twice", async (root, path) => {
  await ask(new FileLedger(path), "a");
  fs.writeFileSync(`${path}.lock`, "999999999"); // of a program that is gone
  const [stands, go, done] = ["stands", "go", "done"].map((name) => join(root, name));
  const until = (ready) => { for (const end = Date.now() + 3000; !ready() && Date.now() < end; ) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); };
  const other = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM(path, `
    const { rmSync, writeFileSync, existsSync } = fs; let first = true;
    fs.rmSync = (name, ...rest) => { // it knows that the holder is gone, and is about to take over
      if (first && name === path + ".lock") {
        first = false; writeFileSync(${JSON.stringify(stands)}, "");
        for (const end = Date.now() + 3000; !existsSync(${JSON.stringify(go)}) && Date.now() < end; ) pause();
      }
      return rmSync(name, ...rest);
    };
    syncBuiltinESMExports();
    const said = await ask("b").catch((error) => error.name);
    writeFileSync(${JSON.stringify(done)}, said); console.log(said);`)]);
  let said = "", ended = new Promise((resolve) => other.once("close", resolve));
  other.stdout.on("data", (data) => { said += data; });
  until(() => fs.existsSync(stands) || fs.existsSync(done));
  const mine = await new FileLedger(path).transact((state) => { // this one is in: the other one goes on now
    fs.writeFileSync(go, "");
    until(() => fs.existsSync(done));
    return asks("b")(state);
  });
  await ended;
  assert.equal(said.trim(), mine);
  assert.equal(await ask(new FileLedger(path), "b"), mine);
});

tested("what was made from a state that is no longer the ledger is thrown away", async (root, path) => {
  const [one, two] = [new FileLedger(path), new FileLedger(path)], second = await two.place;
  let calls = 0, theirs;
  const mine = await one.transact((state) => {
    if (calls++ === 0 || state.draws.length === 0) theirs = (second.once(asks("a")) ?? second.once(asks("a"))).result;
    return asks("a")(state);
  });
  assert.equal(mine, theirs);
  assert.equal(calls, 2);
  assert.equal(await one.transact((state) => state.draws.length), 1);
});

tested("an old copy, another history and a ledger without its rollback guard are refused", async (root, path) => {
  const ledger = new FileLedger(path), guard = `${path}.guard`, old = join(root, "old");
  const first = await ask(ledger, "a");
  fs.cpSync(path, old, { recursive: true });
  fs.copyFileSync(guard, `${old}.guard`);
  await ledger.transact((state) => { state.seen.survey = { version: 2, digest: "" }; }); // no draw: a version alone
  const put = (from, to) => (fs.rmSync(to, { recursive: true, force: true }), fs.cpSync(from, to, { recursive: true }));
  const restored = async () => {
    await assert.rejects(ask(new FileLedger(path), "b"), refused("LedgerRestored"));
    await assert.rejects(ask(ledger, "a"), refused("LedgerRestored"));
  };
  put(path, join(root, "kept"));
  put(old, path);
  await restored();
  const elsewhere = new FileLedger(old); // as many changes, but others
  await ask(elsewhere, "c");
  put(old, path);
  await restored();
  for (const attribute of ["d", "e", "f"]) { // more changes
    await ask(elsewhere, attribute);
    put(old, path);
    await restored();
  }
  fs.rmSync(path, { recursive: true });
  await restored();
  put(join(root, "kept"), path);
  fs.renameSync(guard, `${guard}.away`);
  await restored();
  fs.writeFileSync(guard, "");
  await restored();
  fs.renameSync(`${guard}.away`, guard);
  fs.appendFileSync(guard, "00000000"); // a line that was cut off
  assert.equal(await ask(ledger, "a"), first);
  await ask(ledger, "b");
  assert.equal(fs.readFileSync(guard, "utf8").split("\n").filter((line) => /^\d{12}-[0-9a-f]{64}$/.test(line)).length, 4);
});

tested("a rollback guard that cannot be written keeps the draw in, and the same draw leaves later", async (root, path) => {
  const ledger = new FileLedger(path), { fsyncSync } = fs;
  await ask(ledger, "a");
  let flushed = 0, seen;
  fs.fsyncSync = (file) => {
    if (++flushed >= 4) throw Object.assign(new Error(), { code: "ENOSPC" }); // the state, its folder, its folder, the guard
    return fsyncSync(file);
  };
  try {
    await assert.rejects(ledger.transact((state) => { seen = asks("b")(state); }), refused("LedgerUnavailable", /flushed \(ENOSPC\)/));
  } finally {
    fs.fsyncSync = fsyncSync;
  }
  assert.equal(await ask(ledger, "b"), seen);
});

tested("a damaged ledger is refused by name", async (root, path) => {
  const ledger = new FileLedger(path);
  await ask(ledger, "a");
  const names = fs.readdirSync(path), [now, state] = ["now.", "state."].map((start) => join(path, names.find((name) => name.startsWith(start))));
  const whole = fs.readFileSync(state);
  for (let at = 0; at < whole.length; at += 37) {
    const flipped = Uint8Array.from(whole);
    flipped[at] ^= 1;
    for (const bytes of [flipped, whole.subarray(0, at)]) {
      fs.writeFileSync(state, bytes);
      await assert.rejects(ask(ledger, "b"), refused("LedgerCorrupt"));
    }
  }
  fs.rmSync(state);
  await assert.rejects(ask(ledger, "b"), refused("LedgerCorrupt"));
  fs.writeFileSync(state, whole);
  fs.writeFileSync(now.replace(/\d{12}/, "000000000007"), ""); // two states at once
  await assert.rejects(ask(ledger, "b"), refused("LedgerCorrupt"));
  fs.rmSync(now.replace(/\d{12}/, "000000000007"));
  await ask(ledger, "b");
  await ledger.transact((value) => { value.schema = 99; });
  await assert.rejects(ask(ledger, "c"), refused("LedgerNewer", /schema 99/));
});

tested("what changes nothing writes nothing", async (root, path) => {
  const ledger = new FileLedger(path);
  await ask(ledger, "a");
  const before = [fs.readdirSync(path), fs.statSync(`${path}.guard`).size];
  await ask(ledger, "a");
  await assert.rejects(ledger.transact((state) => { state.draws.pop(); throw new RangeError("no"); }), RangeError);
  assert.deepEqual([fs.readdirSync(path), fs.statSync(`${path}.guard`).size], before);
});

/** A browser's database, of which `script` says when a transaction ends. */
function database(script) {
  const told = { options: [], stored: undefined, running: false };
  const transaction = (stores, mode, options) => {
    told.options.push([mode, options]);
    const store = {
      get: () => { const got = { result: structuredClone(told.stored) }; queueMicrotask(() => { told.running = true; got.onsuccess(); told.running = false; }); return got; },
      put: (value) => { const kept = structuredClone(value); script.end(() => { told.stored = kept; made.oncomplete(); }, () => made.onabort()); },
    };
    const made = { objectStore: () => store, abort: () => made.onabort() };
    if (script.closed) throw new DOMException("closed", "InvalidStateError");
    return made;
  };
  const open = () => { const request = { result: { transaction } }; queueMicrotask(() => (script.denied ? request.onerror() : request.onsuccess())); return request; };
  return { told, open };
}

test("the ledger of a page answers when its transaction is complete, and not before", async (t) => {
  const script = { end: (complete) => setTimeout(complete, 30) }, fake = database(script);
  Object.defineProperty(globalThis, "indexedDB", { value: fake, configurable: true });
  t.after(() => { delete globalThis.indexedDB; });
  const ledger = new IndexedDBLedger();
  let inside;
  const first = await ledger.transact((state) => { inside = fake.told.running; return asks("a")(state); });
  assert.equal(inside, true); // inside the one transaction
  assert.equal(fake.told.stored.draws[0].answer, first); // complete when it is answered
  assert.deepEqual(fake.told.options, [["readwrite", { durability: "strict" }]]);
  script.end = (complete, abort) => setTimeout(abort, 5);
  await assert.rejects(ask(ledger, "b"), refused("LedgerUnavailable"));
  await assert.rejects(ledger.transact(() => { throw new RangeError("no"); }), RangeError);
  assert.equal(fake.told.stored.draws.length, 1);
  script.end = (complete) => complete();
  script.closed = true; // the browser was told to forget
  await assert.rejects(ask(ledger, "b"), refused("LedgerUnavailable"));
  script.denied = true;
  await assert.rejects(ask(ledger, "b"), refused("LedgerUnavailable"));
  script.closed = script.denied = false;
  assert.equal(await ask(ledger, "a"), first);
});
