// Clocks that are set, and devices that sleep: nothing waits for ever, nothing is sent again and again, nothing together.

import assert from "node:assert/strict";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { World, device, document, signed } from "./device.mjs";

const YEAR = 365 * 86_400, HOUR = 3600;

/** A client with eight reports whose clock jumps by so many seconds in its n-th sleep, and how its pass ended. */
async function passed({ jump, at = 1, spread, within, fails = false }) {
  const world = new World(), moments = [], attributes = Array.from({ length: 8 }, (_, n) => `a${n}`);
  let sleeps = 0, slept = 0;
  const sleep = async (seconds, signal) => {
    await world.sleep(seconds, signal);
    slept = Math.max(slept, seconds);
    if (++sleeps === at) world.now += jump;
  };
  const client = device({ attributes, spread, clock: world.clock, sleep });
  const [question] = document().questions, questions = attributes.map((attribute, n) => ({ ...question, id: `q${n}`, attribute, text: { en: `Question ${n}?` } }));
  const survey = await client.accept(signed(document({ questions, segments: {} })));
  for (const { id } of questions) await client.answer(survey, id, true);
  const transport = { send: async () => {
    moments.push(world.now);
    if (moments.length > 100) throw new Error("again and again");
    if (fails) throw new rr.RRCollectError("TransportFailed", "503");
  } };
  const done = await client.deliver({ transport, within });
  return { done, moments, slept, reports: client.ledger.state.reports };
}

test("what was to leave apart does not leave together after the device slept", async () => {
  const { done, moments } = await passed({ jump: 8 * HOUR, spread: HOUR, within: 2 * HOUR });
  assert.equal(done.delivered, 8);
  assert.ok(new Set(moments).size >= 7, `${moments}`); // a false alarm needs two pairs of equal draws of 32 bits
});

test("a clock that is set back during a pass neither stops nor hurries it", async () => {
  for (const fails of [false, true]) {
    const { done, slept, reports } = await passed({ jump: -YEAR, at: 3, spread: 60, within: 120, fails });
    assert.equal(done.delivered, fails ? 0 : 8);
    assert.ok(slept <= 130, `${slept}`);
    assert.ok(reports.every(({ attempts }) => attempts >= 1 && attempts <= 4), `${reports.map((one) => one.attempts)}`);
  }
});

test("a report made by a clock that was ahead is not kept for a year", async () => {
  const world = new World(), client = device({ clock: world.clock, sleep: world.sleep, spread: HOUR });
  await client.answer(await client.accept(signed(document())), "q1", true);
  world.now -= YEAR;
  assert.equal((await client.deliver({ transport: { send: async () => {} } })).delivered, 1);
});

test("a program spreads its reports over hours, and a page, where a person looks on, over seconds", () => {
  const made = (given) => new rr.Client({ ledger: new rr.MemoryLedger(), attributes: ["doped"], policy: new rr.Policy(), ...given }).spread;
  assert.equal(made({}), 6 * HOUR);
  assert.equal(made({ origin: "https://survey.example.org" }), 5);
  assert.equal(made({ origin: "https://survey.example.org", spread: 60 }), 60);
});

/** How far the fractions are from uniform: the greatest difference of the distribution functions. */
function distance(fractions) {
  const ordered = fractions.toSorted((a, b) => a - b), n = ordered.length;
  return Math.max(...ordered.map((x, i) => Math.max((i + 1) / n - x, x - i / n)));
}

test("arrivals are uniform in the fraction of a second, whatever the error of the clock", async () => {
  const errors = [0, 0.25, -0.5, 86_400.777], devices = 16, kinds = ["first", "second", "overdue"];
  for (const error of errors) {
    const seen = { first: [], second: [], overdue: [] };
    await Promise.all(Array.from({ length: devices }, async () => {
      const world = new World(), attributes = Array.from({ length: 10 }, (_, n) => `a${n}`), came = {};
      const client = device({ attributes, spread: 60, clock: () => new Date(1000 * (world.now + error)), sleep: world.sleep });
      const [question] = document().questions, questions = attributes.map((attribute, n) => ({ ...question, id: `q${n}`, attribute, text: { en: `Question ${n}?` } }));
      const survey = await client.accept(signed(document({ questions, segments: {} })));
      for (const { id } of questions) await client.answer(survey, id, true);
      let fails = true;
      const transport = { send: async (_, body) => {
        (came[new TextDecoder().decode(body)] ??= []).push(world.now);
        if (fails) throw new rr.RRCollectError("TransportFailed", "503");
      } };
      await client.deliver({ transport, within: 125 });
      fails = false;
      world.now = Math.ceil(world.now) + 30 * 86_400;
      await client.deliver({ transport });
      for (const moments of Object.values(came)) {
        seen.first.push(moments[0]);
        seen.second.push(moments[1]);
        seen.overdue.push(moments.at(-1));
      }
    }));
    const n = devices * 10, most = Math.sqrt(Math.log(2 * errors.length * kinds.length / 1e-9) / (2 * n)); // false alarm 1e-9 (DKW)
    for (const kind of kinds) {
      assert.equal(seen[kind].length, n);
      const found = distance(seen[kind].map((moment) => moment % 1));
      assert.ok(found < most, `${kind}, ${error}: ${found}`);
    }
  }
  assert.ok(distance(Array.from({ length: 160 }, () => 0.25)) > 0.7); // whole seconds of one clock: as moments once were
});
