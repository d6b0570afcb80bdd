import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { checkGrown } from "../../../rrcollect/web/src/publish/log.mjs";
import { Tree, checkConsistency, checkInclusion, joined, leafHash, tileName } from "../../../rrcollect/web/src/publish/tree.mjs";
import { NOW, bytes, device, refused } from "./device.mjs";

// github.com/transparency-dev/merkle, testonly: the inputs, and the roots of the first 1, 2, … of them.
const INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS = ["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"];
const raw = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const sha = (...parts) => createHash("sha256").update(Buffer.concat(parts.map((part) => Buffer.from(part)))).digest("hex");

/** What a log keeps of these leaves, hashed by Node's own library. */
async function stored(leaves) {
  const levels = [leaves];
  for (let below = leaves; below.length >= 256; below = levels.at(-1)) {
    levels.push(await Promise.all(Array.from({ length: Math.floor(below.length / 256) }, (_, i) => joined(below.slice(i * 256, i * 256 + 256)))));
  }
  return { levels, read: async (level, first, count) => levels[level].slice(first, first + count) };
}

test("the reference roots of Certificate Transparency, and every proof of small trees", async () => {
  const leaves = await Promise.all(INPUTS.map((one) => leafHash(raw(one)))), { read } = await stored(leaves);
  for (const [i, root] of ROOTS.entries()) {
    const size = i + 1, tree = new Tree(size, read);
    assert.equal(await tree.root(), root);
    for (let index = 0; index < size; index++) {
      const path = await tree.inclusion(index);
      await checkInclusion(leaves[index], index, size, root, path);
      await assert.rejects(checkInclusion(leaves[index], index + 1, size, root, path), refused("NotLogged"));
      for (let j = 0; j < path.length; j++) {
        await assert.rejects(checkInclusion(leaves[index], index, size, root, path.with(j, "00".repeat(32))), refused("NotLogged"));
        await assert.rejects(checkInclusion(leaves[index], index, size, root, path.toSpliced(j, 1)), refused("NotLogged"));
      }
    }
    for (let old = 0; old <= size; old++) {
      const proof = await tree.consistency(old), first = old ? ROOTS[old - 1] : sha();
      await checkConsistency(old, first, size, root, proof);
      await assert.rejects(checkConsistency(old, "00".repeat(32), size, root, proof), refused("SplitLog"));
      for (let j = 0; j < proof.length; j++) {
        await assert.rejects(checkConsistency(old, first, size, root, proof.with(j, "00".repeat(32))), refused("SplitLog"));
        await assert.rejects(checkConsistency(old, first, size, root, proof.toSpliced(j, 1)), refused("SplitLog"));
      }
      await assert.rejects(checkConsistency(old, first, size, root, [...proof, "00".repeat(32)]), refused("SplitLog"));
    }
  }
});

test("tiles have the addresses of C2SP, and a log that has grown is read from few of them", async () => {
  assert.equal(tileName(0, 1234067), "tile/0/x001/x234/067");
  assert.equal(tileName("entries", 0, 5), "tile/entries/000.p/5");
  const size = 66_000, leaves = Array.from({ length: size }, (_, i) => sha([0], String(i))), { levels, read } = await stored(leaves);
  const tree = new Tree(size, read), asked = [];
  const fetch = async (name) => {
    asked.push(name);
    const [, level, digits, width] = /^tile\/(\d)\/([x\d/]+?)(?:\.p\/(\d+))?$/.exec(name), from = Number(digits.replace(/[x/]/g, "")) * 256;
    return raw(levels[level].slice(from, from + Number(width ?? 256)).join(""));
  };
  const now = { origin: "log", size, root: await tree.root() };
  for (const old of [1, 255, 256, 40_000, size - 1]) {
    await checkGrown({ origin: "log", size: old, root: await tree.root(old) }, now, fetch);
    await assert.rejects(checkGrown({ origin: "log", size: old, root: "00".repeat(32) }, now, fetch), refused("SplitLog"));
  }
  assert.ok(new Set(asked).size < 10, `${asked}`);
  await assert.rejects(checkGrown({ origin: "log", size: 5, root: "" }, now, null), refused("NotLogged"));
  await assert.rejects(checkGrown({ origin: "log", size: 5, root: "" }, now, async () => new Uint8Array(31)), refused("SplitLog"));
  await assert.rejects(checkGrown({ origin: "log", size: 5, root: "" }, now, async () => "text"), refused("SplitLog"));
});

const CASES = readFileSync(new URL("../../vectors/surveys.jsonl", import.meta.url), "utf8").split("\n").filter((line) => line.includes('"name": "good_logged_seen_by_one"'));
const { policy: { publishers, log, witnesses } } = JSON.parse(CASES[0]);

test("a device remembers the state of a log, and demands that the next goes on from it", async () => {
  const policy = new rr.Policy(publishers, { log }), client = device({ policy });
  const accepted = await client.accept(bytes("good_logged"));
  assert.equal(accepted.state.size, 300);
  await client.answer(accepted, "q1", true);
  await client.accept(bytes("good_logged"));
  await assert.rejects(client.accept(bytes("good_logged_last")), refused("SplitLog")); // as many entries, another root
  await assert.rejects(client.accept(bytes("good_logged_alone")), refused("NotLogged"));
  await assert.rejects(client.accept(bytes("good_logged_alone"), { log: async () => new Uint8Array() }), refused("SplitLog"));
  await assert.rejects(client.accept(bytes("good_plain")), refused("NotLogged"));
  const lax = await rr.acceptSurvey(bytes("good_logged"), new rr.Policy(publishers), { now: NOW });
  await assert.rejects(device({ policy }).answer(lax, "q1", true), refused("NotLogged"));
});

test("what means nothing in a policy is an error", async () => {
  const bad = [{ log: 7 }, { log: "x" }, { log: witnesses[0] }, { log: `${log} ` }, { log: log.replace("log.", "lag.") }, { log, witnesses: log }, { log, witnesses: [log] },
    { witnesses }, { witnessesNeeded: 0 }, { log, witnessesNeeded: 1 }, { log, witnesses, witnessesNeeded: 0.5 }, { log, witnesses: [7] }];
  for (const caps of bad) { // its form at once; whether the id fits, when it is used
    const used = async () => rr.acceptSurvey(bytes("good_logged"), new rr.Policy(publishers, caps), { now: NOW });
    await assert.rejects(used(), refused("ParameterError"), JSON.stringify(caps));
  }
});
