import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { judge } from "./judge.mjs";

const folder = new URL("../../vectors/", import.meta.url);
const load = (path) => JSON.parse(readFileSync(new URL(path, folder), "utf8"));
const all = (family) => Object.fromEntries(
  readFileSync(new URL(`${family}.jsonl`, folder), "utf8").trim().split("\n").map((line) => JSON.parse(line)).map((one) => [one.name, one]),
);

test("every vector is judged as Python judges it", async () => {
  const { wrong, judged } = await judge(rr, {
    ...Object.fromEntries(["surveys", "reports", "withdrawals"].map((kind) => [kind, all(kind)])),
    ...Object.fromEntries(["draws", "sets", "asked", "numbers", "drawn", "settings", "explained", "tickets", "words"].map((name) => [name, load(`${name}.json`)])),
  });
  assert.deepEqual(wrong, []);
  assert.ok(judged > 1000, `${judged}`);
});

test("the judge can fail", async () => {
  const surveys = all("surveys"), none = { typed: [], tickets: [] }, tickets = load("tickets.json");
  const planted = { ...rr, acceptSurvey: async () => ({ digest: "0" }) };
  const { wrong } = await judge(planted, { surveys, reports: {}, draws: [], settings: [], tickets: none });
  assert.equal(wrong.length, Object.keys(surveys).length);
  const mute = { ...rr, explainSurvey: () => "Nothing is sent." };
  const empty = { surveys: {}, reports: {}, draws: [], settings: [] }, explained = load("explained.json");
  const { wrong: untold } = await judge(mute, { ...empty, explained });
  assert.equal(untold.length, explained.surveys.length);
  const Mute = class { draw() { return "x"; } };
  const hasty = { ...rr, acceptWithdrawal: async () => ({ survey: "0" }), randomiseChoice: () => "1", randomiseNumber: () => null, BinDesign: Mute, SeveralDesign: Mute };
  const some = { withdrawals: all("withdrawals"), sets: load("sets.json"), asked: load("asked.json"), numbers: load("numbers.json") };
  const { wrong: unread } = await judge(hasty, { ...empty, ...some });
  assert.equal(unread.length, Object.values(some).reduce((sum, one) => sum + Object.keys(one).length, 0));
  const { uniform: words, accepting } = load("drawn.json");
  const first = { ...rr, uniform: () => 0, Client: class extends rr.Client { drawPlaces() {} } };
  const { wrong: undrawn } = await judge(first, { ...empty, drawn: { uniform: words, accepting } });
  assert.ok(undrawn.length > words.length / 2 + accepting.filter(({ used }) => used).length);
  const careless = { ...rr, Policy: class {} };
  const { wrong: taken } = await judge(careless, { surveys: {}, reports: {}, draws: [], settings: load("settings.json"), tickets: none });
  assert.ok(taken.length > 50);
  const gullible = { ...rr, checkInvite: async (typed) => typed.trim().toLowerCase(), ticket: async (invite) => invite };
  const { wrong: mistyped } = await judge(gullible, { surveys: {}, reports: {}, draws: [], settings: [], tickets });
  assert.ok(mistyped.length > tickets.tickets.length + 50);
  const known = load("words.json"), literal = { ...rr, fingerprints: async (text) => Object.values(text) };
  assert.equal((await judge(literal, { ...empty, words: known })).wrong.length, known.length);
});
