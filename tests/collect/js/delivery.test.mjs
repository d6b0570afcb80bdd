// Where and when a report goes, and what is believed of a reply.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { Collector, World, accepted, device, document, envelope, refused, signed, unread } from "./device.mjs";

const HERE = "https://collect.example.org/reports";
/** A clock of milliseconds wakes up a little late. */
const onTime = (at, moment) => at - moment > -1e-6 && at - moment < 0.003;

/** A client with reports to `count` questions, and its world. */
async function answered(count, { spread = 0, ...given } = {}) {
  const world = new World(), attributes = Array.from({ length: count }, (_, n) => `a${n}`);
  const client = device({ attributes, spread, clock: world.clock, sleep: world.sleep, ...given });
  const [question] = document().questions, questions = attributes.map((attribute, n) => ({ ...question, id: `q${n}`, attribute, text: { en: `Question ${n}?` } }));
  const survey = await client.accept(signed(document({ questions, segments: {} })));
  for (const { id } of questions.slice(0, 10)) await client.answer(survey, id, true);
  for (const { id } of questions.slice(10)) { // beyond the lifetime budget: one answer of the tests stands for all
    client.ledger.state.reports.push({ ...client.ledger.state.reports[0], id: id.slice(1).padStart(32, "0"), question: id });
  }
  if (spread > 0) world.now -= 1; // nobody is due: a moment may be the very second of the answer
  return { client, world, survey };
}

test("a report goes to the survey's collector, and to no other address", async () => {
  const other = "https://other.example.org/reports", client = device({ attributes: ["doped"] });
  for (const [name, collector] of [["here", HERE], ["there", other]]) await client.answer(await client.accept(signed(document({ name, collector }))), "q1", true);
  const collector = new Collector();
  await client.deliver({ transport: collector });
  const surveys = new Map(client.ledger.state.reports.map((r) => [r.survey, r.destination]));
  assert.deepEqual(collector.sent.map(([to]) => to).sort(), [HERE, other]);
  for (const [to, sent] of collector.sent) assert.equal(surveys.get(sent.survey), to);
});

test("all moments are drawn with the report: the first within the spread, then gaps that double", async () => {
  const start = 1_793_491_200, firsts = [];
  for (const spread of [0, 5, 60, 6 * 3600, 30 * 86_400]) {
    for (let n = 0; n < 40; n++) {
      const client = device({ spread, clock: () => new Date(1000 * (start + 0.7)) }), { times } = await client.answer(await accepted(), "q1", true);
      assert.equal(times.length, 10);
      assert.ok(times.every((one) => Math.round(one * 1e6) / 1e6 === one) && times[0] >= start + 0.7 && times[0] <= start + 0.7 + spread, `${times}`);
      if (spread === 6 * 3600) firsts.push(times[0]);
      let gap = spread;
      for (let i = 1; i < 10; i++) {
        gap = Math.min(Math.max(gap, 5), 86_400);
        const took = times[i] - times[i - 1];
        assert.ok(took > gap / 2 - 2e-6 && took < gap + 2e-6, `${took} of ${gap}`);
        gap *= 2;
      }
    }
  }
  assert.ok(new Set(firsts).size > 20); // false alarm below 1e-30: 20 of 40 moments would repeat among 21,600
});

test("a report is sent at its own moment, and not before", async () => {
  const { client, world } = await answered(8, { spread: 3600 }), start = world.now, sent = [];
  const moments = Object.fromEntries(client.ledger.state.reports.map(({ id, times }) => [id, times[0]]));
  const transport = { send: async (to, body) => void sent.push([JSON.parse(new TextDecoder().decode(body)).id, world.now]) };
  const least = Math.min(...Object.values(moments)), none = await client.deliver({ transport, within: Math.max(0, least - start - 1) });
  assert.deepEqual([none.delivered, none.waiting, sent], [0, 8, []]);
  assert.equal(none.nextMoment.getTime(), Math.ceil(1000 * least));
  const done = await client.deliver({ transport, within: 3600 });
  assert.deepEqual([done.delivered, done.waiting, done.nextMoment], [8, 0, null]);
  for (const [id, at] of sent) assert.ok(onTime(at, moments[id]), `${at} for ${moments[id]}`);
});

test("what is overdue leaves within seconds, each at a moment of its own", async () => {
  const { client, world } = await answered(10, { spread: 3600 }), sent = [];
  world.now += 10 * 86_400; // the program was not running
  const start = world.now, done = await client.deliver({ transport: { send: async () => void sent.push(world.now - start) } });
  assert.equal(done.delivered, 10);
  assert.ok(sent.every((after) => after >= 0 && after <= 5), `${sent}`);
  assert.ok(new Set(sent).size >= 9); // false alarm below 1e-15: two of 45 pairs would agree in 32 bits
});

test("no reply moves the moment of another report, or of its own next attempt", async () => {
  for (const slow of [false, true]) {
    const { client, world } = await answered(4, { spread: 60 }), begun = {};
    const times = Object.fromEntries(client.ledger.state.reports.map(({ id, times: all }) => [id, all]));
    const transport = { send: async (to, body) => {
      const { id } = JSON.parse(new TextDecoder().decode(body));
      (begun[id] ??= []).push(world.now);
      if (slow) await world.sleep(1);
      throw new rr.RRCollectError("TransportFailed", "503");
    } };
    await client.deliver({ transport, within: 1000 });
    for (const [id, all] of Object.entries(times)) {
      const due = all.filter((moment) => moment <= world.now && moment <= all[0] + 1000);
      due.slice(0, begun[id].length).forEach((moment, n) => assert.ok(onTime(begun[id][n], moment), `${begun[id][n]} for ${moment}`));
      assert.ok(begun[id].length >= 3);
    }
  }
});

test("nobody waits for another's reply, but for those beyond 32 at once", async () => {
  const { client } = await answered(40);
  let open = 0, most = 0;
  const gates = [], transport = { send: () => new Promise((resolve) => { most = Math.max(most, ++open); gates.push(() => { open--; resolve(); }); }) };
  const done = client.deliver({ transport });
  const settled = (wanted) => new Promise((resolve) => { const look = () => (gates.length >= wanted ? resolve() : setTimeout(look, 2)); look(); });
  await settled(32);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(gates.length, 32);
  gates.splice(0, 8).forEach((gate) => gate());
  await settled(32);
  gates.splice(0).forEach((gate) => gate());
  assert.equal((await done).delivered, 40);
  assert.equal(most, 32);
});

test("an attempt is recorded before the bytes leave, and used up moments are not used again", async () => {
  const { client, world } = await answered(1), seen = [];
  const transport = { send: async () => {
    seen.push(client.ledger.state.reports[0].attempts);
    throw new rr.RRCollectError("TransportFailed", "lost");
  } };
  const lost = await client.deliver({ transport });
  assert.deepEqual([lost.delivered, lost.waiting, lost.lastFailure, seen], [0, 1, "lost", [1]]);
  const { times } = client.ledger.state.reports[0];
  assert.equal(times.length, 9);
  assert.equal(lost.nextMoment.getTime(), Math.ceil(1000 * times[0]));
  assert.equal((await client.deliver({ transport })).waiting, 1); // not yet
  assert.equal(seen.length, 1);
  world.now = times[8] + 1;
  await client.deliver({ transport });
  const fresh = client.ledger.state.reports[0].times;
  assert.ok(fresh.length >= 9 && fresh.every((moment) => moment >= times[8]), "a fresh schedule");
  const done = await client.deliver({ transport: new Collector(), within: 10 });
  assert.deepEqual([done.delivered, client.ledger.state.reports[0].state], [1, "delivered"]);
  assert.equal((await client.deliver({ transport: new Collector(() => assert.fail("sent twice")), within: 1000 })).delivered, 0);
});

test("a refusal is final, and is kept with its reason", async () => {
  const { client } = await answered(2), done = await client.deliver({ transport: new Collector("ReportRefused", "taken") });
  assert.deepEqual([done.delivered, done.refused.length, done.waiting], [1, 1, 0]);
  const [kept] = client.ledger.state.reports.filter((r) => r.state === "refused");
  assert.deepEqual(done.refused, [[kept.id, kept.reason]]);
});

test("an address that cannot work is an error, after what was due has been tried", async () => {
  const { client } = await answered(5), collector = new Collector("WrongAddress", "taken");
  await assert.rejects(client.deliver({ transport: collector, within: 1_000_000 }), refused("WrongAddress"));
  assert.equal(collector.sent.length, 5);
  assert.deepEqual(client.ledger.state.reports.map((r) => r.state).sort(), ["delivered", "delivered", "delivered", "delivered", "waiting"]);
  const broken = await answered(2);
  await assert.rejects(broken.client.deliver({ transport: new Collector(() => { throw new RangeError("a bug"); }, "taken") }), RangeError);
});

test("a cancelled delivery starts nothing more and hangs up; what waits still waits", async () => {
  const { client } = await answered(40), cancel = new AbortController(), reason = new Error("enough");
  const started = [], transport = { send: (to, body, signal) => new Promise((resolve, reject) => {
    started.push(signal);
    signal.addEventListener("abort", () => reject(new rr.RRCollectError("TransportFailed", "hung up")));
    if (started.length === 32) setTimeout(() => cancel.abort(reason), 5);
  }) };
  await assert.rejects(client.deliver({ transport, signal: cancel.signal, within: 1_000_000 }), reason);
  assert.equal(started.length, 32);
  assert.ok(started.every((signal) => signal.aborted));
  assert.ok(client.ledger.state.reports.every((r) => r.state === "waiting"));
  assert.deepEqual(client.ledger.state.reports.filter((r) => r.attempts > 0).length, 32);
  await assert.rejects(client.deliver({ transport: new Collector(() => assert.fail("sent")), signal: AbortSignal.abort(reason) }), reason);
  const real = device({ spread: 3600 }), late = new AbortController(), before = Date.now();
  await real.answer(await accepted(), "q1", true);
  setTimeout(() => late.abort(reason), 20);
  await assert.rejects(real.deliver({ transport: new Collector(), within: 3600, signal: late.signal }), reason); // asleep, by a real timer
  assert.ok(Date.now() - before < 5000);
});

const via = (status, said, headers = { "Content-Type": "application/json" }) => async () => new Response(typeof said === "string" ? said : JSON.stringify(said), { status, headers });
const send = (fetch, to = HERE) => new rr.HttpTransport({ fetch }).send(to, new Uint8Array(3));

test("only the collector's own words are believed", async () => {
  for (const [status, said] of [[201, { new: 1, known: 0 }], [200, { new: 0, known: 1 }]]) await send(via(status, said));
  const final = { malformed: 400, unknown_survey: 404, unknown_question: 422, wrong_design: 422, unknown_round: 422, bad_answer: 422, undeclared_segment: 422,
    missing_ticket: 403, unexpected_ticket: 422, bad_ticket: 422, bad_id: 422, conflicting_id: 409, ticket_reused: 403, unknown_ticket: 403, closed: 410 };
  for (const [error, status] of Object.entries(final)) {
    await assert.rejects(send(via(status, { error, reason: "\u202eforeign words" })), (e) => refused("ReportRefused", new RegExp(`^${error}: `))(e) && !e.message.includes("foreign"));
    if (status !== 404) await assert.rejects(send(via(status === 400 ? 403 : 400, { error, reason: "" })), refused("TransportFailed"));
  }
  const page = "<!doctype html><title>Please sign in</title>";
  for (const [status, said] of [[200, page], [201, ""], [200, {}], [200, { new: 1 }], [200, { new: 1, known: 1 }], [200, { new: 0, known: 0 }], [200, { new: 2, known: -1 }],
    [200, { new: true, known: false }], [200, { new: "1", known: 0 }], [200, { new: 1, known: 0, more: 1 }], [202, { new: 1, known: 0 }], [200, [1]], [200, "1"], [200, "null"],
    [403, page], [413, page], [422, page], [400, { error: "constructor" }], [400, { error: "toString" }], [413, { error: "too_large" }], [400, { error: 400 }],
    [403, { error: "malformed" }], [408, { error: "too_slow" }], [425, ""], [429, ""], [500, ""], [503, { error: "QueueFull" }], [507, { error: "StoreFull" }],
    [200, " ".repeat(5000) + '{"new":1,"known":0}']]) {
    await assert.rejects(send(via(status, said, { "Retry-After": "9" })), refused("TransportFailed"), `${status} ${JSON.stringify(said)}`);
  }
  for (const status of [404, 405, 501]) {
    for (const said of [page, "", {}, { error: "closed" }]) await assert.rejects(send(via(status, said)), refused("WrongAddress", /collect\.example\.org.*whole address/));
  }
  await assert.rejects(send(async () => { throw new TypeError("network"); }), refused("TransportFailed"));
});

test("a reply without an end is not read to its end", async () => {
  let pulled = 0, cancelled = false;
  const body = () => new ReadableStream({ pull: (stream) => { pulled++; stream.enqueue(new Uint8Array(1024).fill(32)); }, cancel: () => { cancelled = true; } });
  await assert.rejects(send(async () => new Response(body(), { status: 200 })), refused("TransportFailed"));
  assert.ok(pulled < 10 && cancelled);
});

test("plain http goes to this machine alone, and every other address is wrong", async () => {
  const good = via(201, { new: 1, known: 0 });
  for (const to of ["http://collect.example.org/reports", "http://localhost.example.org/r", "http://192.168.0.1/r", "http://127.0.0.1.nip.io/r",
    "ftp://x/r", "https://me:secret@x/r", "https://x/r#part", "/reports", "", "carried"]) {
    await assert.rejects(send(async () => assert.fail("sent"), to), refused("WrongAddress"), to);
  }
  for (const to of ["https://x/r", "http://localhost/r", "http://127.0.0.1:8000/r", "http://[::1]:8000/r"]) await send(good, to);
  for (const given of [{ timeout: NaN }, { timeout: 0 }, { timeout: 3601 }, { timeout: "1" }, { allowHttp: true }, { url: HERE }, HERE, null, { fetch: 1 }]) {
    assert.throws(() => new rr.HttpTransport(given), refused("ParameterError"));
  }
  assert.throws(() => new rr.HttpTransport({ relay: "http://relay.example:3128" }), refused("ParameterError", /relay.*fetch cannot/));
});

test("in Node every report has a connection of its own, which a signal or the timeout hangs up", async () => {
  let connections = 0, silent = false;
  const server = createServer((request, response) => {
    if (silent) return;
    request.resume().on("end", () => response.writeHead(201, { "Content-Type": "application/json" }).end('{"known":0,"new":1}'));
  }).on("connection", () => connections++);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const collector = `http://127.0.0.1:${server.address().port}/reports`, client = device({ attributes: ["doped"] });
    for (const name of ["one", "two", "three"]) {
      await client.answer(await client.accept(signed(document({ name, collector }))), "q1", true);
      assert.equal((await client.deliver()).delivered, 1); // one after the other: a kept connection would be used again
    }
    assert.equal(connections, 3);
    silent = true;
    const body = new Uint8Array(3), before = Date.now();
    await assert.rejects(new rr.HttpTransport({ timeout: 0.05 }).send(collector, body), refused("TransportFailed"));
    await assert.rejects(new rr.HttpTransport().send(collector, body, AbortSignal.timeout(50)), refused("TransportFailed"));
    await assert.rejects(new rr.HttpTransport().send(collector, body, AbortSignal.abort()), refused("TransportFailed"));
    assert.ok(Date.now() - before < 5000);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("what is being sent when the person declines is told as it ends", async () => {
  const client = device(), survey = await client.accept(signed(document()));
  await client.answer(survey, "q1", true);
  let said;
  await client.deliver({ transport: { send: async () => { said = await client.decline(survey, "q1"); } } });
  assert.deepEqual(said, { stopped: 0, left: 1 });
  assert.equal((await client.budget()).reports[0].state, "delivered");
  assert.equal((await client.answer(survey, "q1", unread)).state, "delivered");
});

test("a pass leaves to another one what that one is about to send", async () => {
  const bodies = [], transport = { send: async (_, body) => { bodies.push(new TextDecoder().decode(body)); await new Promise((done) => setTimeout(done, 20)); } };
  const client = device({ attributes: ["a", "b"], spread: 0 });
  const passes = [];
  for (const attribute of ["a", "b"]) {
    const survey = await client.accept(envelope({ name: `of-${attribute}` }, { attribute, text: { en: `About ${attribute}?` } }));
    await client.answer(survey, "q1", true);
    passes.push(client.deliver({ transport, within: 1 }));
    await new Promise((done) => setTimeout(done, 5));
  }
  const results = await Promise.all(passes);
  assert.deepEqual(results.map((result) => result.delivered), [1, 1]);
  assert.equal(new Set(bodies).size, bodies.length);
});
