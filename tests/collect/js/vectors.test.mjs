import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import * as rr from "../../../rrcollect/web/rrcollect.mjs";
import { judge } from "./judge.mjs";

const folder = new URL("../../vectors/", import.meta.url);
const load = (path) => JSON.parse(readFileSync(new URL(path, folder), "utf8"));
const all = (kind) => Object.fromEntries(
  readdirSync(new URL(kind, folder)).filter((f) => f.endsWith(".json")).map((f) => [f.slice(0, -5), load(`${kind}/${f}`)]),
);

test("every vector is judged as Python judges it", async () => {
  const { wrong, judged } = await judge(rr, {
    surveys: all("surveys"), reports: all("reports"), draws: load("draws.json"), settings: load("settings.json"),
  });
  assert.deepEqual(wrong, []);
  assert.ok(judged > 1000, `${judged}`);
});

test("the types name what the module exports", () => {
  const types = readFileSync(new URL("../../../rrcollect/web/rrcollect.d.mts", import.meta.url), "utf8");
  const named = [...types.matchAll(/^export (?:function|class) (\w+)/gm)].map((found) => found[1]);
  assert.deepEqual(named.sort(), Object.keys(rr).sort());
});

test("the judge can fail", async () => {
  const surveys = all("surveys");
  const planted = { ...rr, acceptSurvey: async () => ({ digest: "0" }) };
  const { wrong } = await judge(planted, { surveys, reports: {}, draws: [], settings: [] });
  assert.equal(wrong.length, Object.keys(surveys).length);
  const careless = { ...rr, Policy: class {} };
  const { wrong: taken } = await judge(careless, { surveys: {}, reports: {}, draws: [], settings: load("settings.json") });
  assert.ok(taken.length > 50);
});
