import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import * as rr from "../../../rrcollect/web/src/index.mjs";

import { NOW, device, document, envelope, policy, refused, signed, unread } from "./device.mjs";

const label = (en) => ({ en });
const CHOICE = { kind: { kind: "choice", options: ["Red", "Green", "Blue", "None"].map(label) }, design: { options: 4, p: "5/8", size: 1 }, promise: { epsilon: "ln(5)", delta: "0" } };
const HOURS = { kind: { kind: "number", low: "0", high: "24", unit: label("hours"), clip: false, bins: 0 } };
const PANEL = { rounds: 4, panel: true };
const WARNER = new rr.Design(rr.parseFraction("3/4"), rr.parseFraction("3/4"));

/** A generator that gives these numbers, 8 bytes each, and counts what was taken. */
function words(...numbers) {
  const source = (bytes) => {
    assert.ok(bytes.length === 8 && source.used < numbers.length, "more was drawn than was to be");
    new DataView(bytes.buffer).setBigUint64(0, BigInt(numbers[source.used++]));
    return bytes;
  };
  source.used = 0;
  return source;
}

/** Several questions about a0, a1, … as a document. */
function several(count, question = {}, changes = {}) {
  const [one] = document().questions;
  return document({ questions: Array.from({ length: count }, (_, n) => ({ ...one, id: `q${n}`, attribute: `a${n}`, text: label(`Number ${n}?`), ...question })), ...changes });
}

const times = (...days) => days.slice(1).map((day, i) => ({ opens: `2026-${days[i]}T00:00:00Z`, closes: `2026-${day}T00:00:00Z` }));

test("a number is taken exactly: a double as the binary fraction it is, a text as it is written", () => {
  const at = (number, draw, given = {}) => rr.randomiseNumber(number, WARNER, { low: "0", high: "1", ...given }, words(draw));
  const limit = (n, d) => 2n ** 62n + (2n ** 63n * ((n * 2n ** 64n) / d) >> 64n); // τ = T0 + ⌊(T1 − T0)⌊x·2^64⌋/2^64⌋
  const tenth = [3602879701896397n, 2n ** 55n];
  assert.notEqual(limit(...tenth), limit(1n, 10n));
  for (const [number, n, d] of [[0.1, ...tenth], ["0.1", 1n, 10n], ["1/10", 1n, 10n], [rr.parseFraction("1/10"), 1n, 10n], [0, 0n, 1n], [-0, 0n, 1n], [1n, 1n, 1n],
    [5e-324, 1n, 2n ** 1074n], [2 ** -64, 1n, 2n ** 64n], [1 - 2 ** -53, 2n ** 53n - 1n, 2n ** 53n], ["1e-3", 1n, 1000n]]) {
    assert.deepEqual([at(number, limit(n, d) - 1n), at(number, limit(n, d))], [1, 0], String(number));
  }
  for (const number of [1e308, -1e308, "25", 2n]) {
    assert.throws(() => at(number, 0), refused("BadTruth", /must lie from 0 to 1 .*not shown/));
    const end = Number(number) > 0 ? 1n : 0n;
    assert.deepEqual([at(number, limit(end, 1n) - 1n, { clip: true }), at(number, limit(end, 1n), { clip: true })], [1, 0]);
  }
  for (const wrong of [NaN, Infinity, true, null, undefined, "", "12a", [1], {}, "7".repeat(20001)]) {
    assert.throws(() => at(wrong, 0, { clip: true }), (error) => refused("BadTruth", /finite number/)(error) && !error.message.includes("12a"));
  }
  assert.throws(() => at(1, 0, { low: "1" }), refused("ParameterError"));
});

test("an answer of every kind goes out as its design says, and the truth is not in it", async () => {
  const sent = async (question, truth, draw) => {
    const client = device({ source: words(draw) }), survey = await client.accept(envelope({}, question));
    const report = await client.answer(survey, "q1", truth), again = await client.answer(survey, "q1", unread);
    assert.deepEqual(again, report);
    const { answer, design, round } = rr.readReport(new TextEncoder().encode(report.body));
    assert.equal(round, 0);
    assert.equal(rr.canonical(design).length, rr.canonical(survey.survey.questions[0].design.toWire()).length);
    return answer;
  };
  assert.equal(await sent(CHOICE, 2, 2n ** 64n - 1n), "0010"); // the truth itself
  assert.equal(await sent(CHOICE, 2, 0n), "0100");
  assert.equal(await sent(HOURS, "12", 2n ** 63n - 1n), "1");
  assert.equal(await sent(HOURS, 12, 2n ** 63n), "0");
  const survey = envelope({}, CHOICE);
  for (const wrong of [4, -1, 1.5, "1", true, null, 1n]) {
    const client = device({ source: words() });
    await assert.rejects(client.answer(await client.accept(survey), "q1", () => wrong), refused("BadTruth", /0 to 3; what was given is not shown/));
    assert.deepEqual([client.ledger.state.draws, client.ledger.state.reports], [[], []]);
  }
});

test("an answer stands for the same truths alone, and is charged once", async () => {
  const client = device({ source: words(0n) });
  await client.answer(await client.accept(envelope({}, HOURS)), "q1", 12);
  const [draw] = client.ledger.state.draws;
  assert.equal(draw.kind, "number from 0 to 24");
  const wider = { ...HOURS.kind, high: "48" }, bent = { ...HOURS.kind, clip: true };
  const others = [[{ kind: "yes_no" }, false], [wider, false], [bent, true], [{ ...HOURS.kind, unit: {} }, true]];
  for (const [i, [kind, known]] of others.entries()) {
    const said = client.answer(await client.accept(envelope({ name: `other-${i}` }, { kind })), "q1", unread);
    if (known) assert.equal(JSON.parse((await said).body).answer, draw.answer);
    else await assert.rejects(said, refused("AlreadyAnswered", /as number from 0 to 24/));
  }
  assert.equal(client.ledger.state.draws.length, 1);
  const sets = device({ source: words(0n) });
  await sets.answer(await sets.accept(envelope({}, CHOICE)), "q1", 0);
  assert.equal(String((await sets.budget()).spent.epsilon), "ln(5)"); // of the mechanism; a column says less
  await assert.rejects(device({ policy: policy({ maxEpsilon: "ln 3" }) }).accept(envelope({}, CHOICE)), refused("OverPolicy"));
});

test("a panel is answered in the round that was drawn, and is paid for once", async () => {
  const source = words(6n, 0n), client = device({ source }), survey = await client.accept(envelope({}, PANEL));
  assert.equal(source.used, 1); // before any truth
  assert.equal(await client.panelRound(survey, "q1"), 2);
  for (const round of [0, 1, 3]) await assert.rejects(client.answer(survey, "q1", unread, { round }), refused("NotDrawn", /in round 2 only/));
  for (const round of [4, -1, 0.5]) await assert.rejects(client.answer(survey, "q1", unread, { round }), refused("ParameterError"));
  const report = await client.answer(survey, "q1", true);
  assert.deepEqual([report.round, (await client.answer(survey, "q1", unread, { round: 2 })).id], [2, report.id]);
  const other = await client.accept(envelope({ name: "other" }, { ...PANEL, rounds: 3, text: label("In other words?") }));
  assert.equal((await client.answer(other, "q1", unread)).round, 2); // the attribute's round, and its answer
  const plain = await client.accept(envelope({ name: "plain" }, { rounds: 4, text: label("Once more?") }));
  await assert.rejects(client.answer(plain, "q1", unread), refused("AlreadyAnswered", /1 of 1 rounds/)); // round 0 would be a second draw
  const short = await client.accept(envelope({ name: "short" }, { ...PANEL, rounds: 2, text: label("Twice?") }));
  await assert.rejects(client.answer(short, "q1", unread), refused("NotDrawn"));
  assert.equal(client.ledger.state.draws.length, 1);
});

test("the round of a panel is one that has not closed", async () => {
  const rounds = times("10-01", "10-02", "10-03", "12-01", "12-31"), late = { clock: () => new Date("2026-12-31T00:00:00Z") };
  const client = device({ source: words(3n) }), survey = await client.accept(envelope({ rounds }, PANEL)); // rounds 2 and 3 are left
  assert.equal(await client.panelRound(survey, "q1"), 3);
  await assert.rejects(client.answer(survey, "q1", unread), refused("RoundClosed"));
  const over = device({ source: words(), ...late }), seen = await over.accept(envelope({ rounds }, PANEL));
  assert.equal(await over.panelRound(seen, "q1"), null);
  await assert.rejects(over.answer(seen, "q1", unread), refused("RoundClosed", /every round/));
  const stray = device({ source: words() }), unseen = await rr.acceptSurvey(envelope({}, PANEL), policy(), { now: NOW });
  await assert.rejects(stray.answer(unseen, "q1", unread), refused("NotDrawn", /accept the survey/));
});

test("of a survey that asks one question only the drawn one is answered", async () => {
  const attributes = ["a0", "a1", "a2"], source = words(5n, 2n ** 64n - 1n), one = several(3, {}, { ask: "one" });
  const client = device({ attributes, source }), survey = await client.accept(signed(one));
  assert.equal(await client.drawnQuestion(survey), "q2");
  await assert.rejects(client.answer(survey, "q0", unread), refused("NotDrawn", /question 'q2' of this survey only/));
  assert.equal(JSON.parse((await client.answer(survey, "q2", true)).body).question, "q2");
  const reordered = { ...one, version: 9, questions: [{ ...one.questions[2], id: "q7" }, one.questions[0]] };
  assert.equal(await client.drawnQuestion(await client.accept(signed(reordered))), "q7"); // the attribute is still asked about
  const without = { ...one, version: 10, questions: one.questions.slice(0, 2) };
  const anew = device({ attributes, source: words(1n), ledger: client.ledger });
  assert.equal(await anew.drawnQuestion(await anew.accept(signed(without))), "q1");
  const all = await client.accept(signed(several(3, {}, { name: "all" })));
  assert.equal(await client.drawnQuestion(all), null);
  const unseen = await rr.acceptSurvey(signed({ ...one, name: "unseen" }), policy(), { now: NOW });
  await assert.rejects(client.answer(unseen, "q0", unread), refused("NotDrawn", /accept the survey/));
});

test("of several faults the earliest of the script is told", async () => {
  const rounds = times("10-01", "10-02", "10-03", "12-01", "12-31"), given = { segments: { x: "y" } };
  const both = signed(several(2, PANEL, { ask: "one", rounds })), attributes = ["a1"], client = device({ attributes, source: words(1n, 1n) });
  const survey = await client.accept(both); // question q1, round 3
  const said = async (id, more, by = client) => (await by.answer(survey, id, unread, { ...given, ...more }).catch((error) => error)).name;
  assert.equal(await said("q9", {}), "ParameterError");
  assert.equal(await said("q0", { round: 9 }), "NotDrawn"); // before the attribute and the round
  assert.equal(await said("q1", { round: 9 }, device({ attributes: [], ledger: client.ledger })), "UnknownAttribute");
  assert.equal(await said("q1", { round: 9 }), "ParameterError");
  assert.equal(await said("q1", { round: 0 }), "NotDrawn"); // before its times
  assert.equal(await said("q1", {}), "RoundClosed"); // before the segments
  assert.equal(await said("q1", {}, device({ attributes, ledger: client.ledger, clock: () => new Date("2026-12-05T00:00:00Z") })), "ParameterError");
});

test("what was drawn stays in the files of a ledger, and a failed transaction draws nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kinds-")), path = join(folder, "ledger");
  try {
    const given = { attributes: ["a0", "a1", "a2"], ledger: new FileLedger(path) };
    const asked = signed(several(3, PANEL, { ask: "one" }));
    const first = device({ ...given, source: words(4n, 7n) }), survey = await first.accept(asked);
    const later = device({ ...given, ledger: new FileLedger(path), source: words() }), again = await later.accept(asked);
    assert.deepEqual([await later.drawnQuestion(again), await later.panelRound(again, "q1"), await later.panelRound(again, "q0")], ["q1", 3, null]);
    assert.equal(survey.digest, again.digest);
    const failing = device({ ...given, ledger: new FileLedger(join(folder, "other")), source: (bytes) => bytes.subarray(1) });
    await assert.rejects(failing.accept(asked), refused("NoRandomness"));
    assert.deepEqual(await failing.ledger.transact(({ seen, asked: drawn, panels }) => [seen, drawn, panels]), [{}, {}, []]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the round of a panel is kept under the app's own name, whatever that is", async () => {
  const attributes = [{ name: "__proto__", askedAs: ["doped"] }], client = device({ attributes, source: words(1n) });
  const survey = await client.accept(envelope({}, PANEL));
  assert.equal(await client.panelRound(survey, "q1"), 1);
  assert.deepEqual(client.ledger.state.panels, [{ attribute: "__proto__", round: 1 }]);
  const renamed = device({ attributes: [{ name: "x", askedAs: ["doped"], aliases: ["__proto__"] }], ledger: client.ledger, source: words() });
  assert.equal(await renamed.panelRound(await renamed.accept(envelope({}, PANEL)), "q1"), 1);
});

// ---- a repeated report carries few bits --------------------------------------------------------------------------------------------

const options = (count) => ({ kind: { kind: "choice", options: Array.from({ length: count }, (_, n) => label(`Option ${n}`)) } });
const NINE = { ...options(9), design: { options: 9, p: "1/2", size: 1 }, promise: { epsilon: "ln(8)", delta: "0" } };
const EIGHT = { ...options(8), design: { options: 8, p: "9/16", size: 1 }, promise: { epsilon: "ln(9)", delta: "0" } };

test("a report of more than eight values is handed out for its own question, and for nothing else", async () => {
  const others = { survey: [{ name: "other" }, {}], version: [{ version: 99 }, {}], question: [{ version: 99 }, { id: "q7" }], name: [{ name: "other" }, { attribute: "enhanced" }] };
  for (const [what, [changes, question]] of Object.entries(others)) {
    const client = device({ attributes: [{ name: "doped", askedAs: ["doped", "enhanced"] }] });
    const survey = await client.accept(envelope({}, NINE)), report = await client.answer(survey, "q1", 3);
    const other = await client.accept(envelope(changes, { ...NINE, ...question }));
    await assert.rejects(client.answer(other, question.id ?? "q1", unread), refused("AlreadyAnswered", /of 4 bits would mark this person/), what);
    assert.deepEqual((await client.budget()).reports, [report]);
    assert.deepEqual(await client.answer(survey, "q1", unread), report);
    const few = device({ attributes: [{ name: "doped", askedAs: ["doped", "enhanced"] }] });
    const { body } = await few.answer(await few.accept(envelope({}, EIGHT)), "q1", 3);
    const again = await few.answer(await few.accept(envelope(changes, { ...EIGHT, ...question })), question.id ?? "q1", unread);
    assert.equal(JSON.parse(again.body).answer, JSON.parse(body).answer);
  }
});

test("what else the device drew counts with the answer: the question, and the round of a panel", async () => {
  for (const [count, repeated] of [[4, true], [5, false]]) {
    const client = device({ attributes: Array.from({ length: count }, (_, n) => `a${n}`) });
    const first = await client.accept(signed(several(count, {}, { ask: "one" }))), drawn = await client.drawnQuestion(first);
    await client.answer(first, drawn, true);
    const again = client.answer(await client.accept(signed(several(count, {}, { ask: "one", version: 99 }))), drawn, unread);
    await (repeated ? again : assert.rejects(again, refused("AlreadyAnswered", /of 4 bits/)));
    const panel = device(), asked = { panel: true, rounds: count };
    await panel.answer(await panel.accept(envelope({}, asked)), "q1", true);
    const later = panel.answer(await panel.accept(envelope({ version: 99 }, asked)), "q1", unread);
    await (repeated ? later : assert.rejects(later, refused("AlreadyAnswered", /of 4 bits/)));
  }
});

test("it is addressed anew only while no attempt to send it was made", async () => {
  for (const [question, allowed] of [[EIGHT, true], [NINE, false]]) {
    const client = device(), survey = await client.accept(envelope({ segments: { sport: { label: {}, help: {}, values: ["run", "ski"].map((value) => ({ value, label: {} })) } } }, question));
    const { id } = await client.answer(survey, "q1", 3, { segments: { sport: "run" } });
    const second = await client.answer(survey, "q1", unread, { segments: { sport: "ski" } });
    assert.notEqual(second.id, id);
    await client.change(second.id, (report) => Object.assign(report, { attempts: 1, state: "refused" }));
    const third = client.answer(survey, "q1", unread, { segments: { sport: "run" } });
    await (allowed ? third : assert.rejects(third, refused("ParameterError", /may have been taken/)));
  }
});

test("a page is told how to ask each question, in the person's language", async () => {
  const [one] = document().questions, options = [{ en: "Red", de: "Rot" }, { en: "Blue", de: "Blau" }];
  const choice = { ...CHOICE, kind: { kind: "choice", options }, design: { options: 2, p: "3/4", size: 1 } };
  const questions = [one, { ...one, ...choice, id: "q2", attribute: "colour" }, { ...one, ...HOURS, id: "q3", attribute: "hours" }];
  const { survey } = await device().accept(signed(document({ questions })));
  const [german, english] = [await rr.loadWords("de-AT"), await rr.loadWords("en")];
  const asked = rr.questionsFor(survey, { words: german });
  assert.deepEqual(asked.map(({ id, kind }) => [id, kind]), [[one.id, "yes_no"], ["q2", "choice"], ["q3", "number"]]);
  assert.deepEqual(asked.map((question) => question.options), [
    [{ truth: true, label: "Ja" }, { truth: false, label: "Nein" }], [{ truth: 0, label: "Rot" }, { truth: 1, label: "Blau" }], [],
  ]);
  assert.deepEqual([asked[2].low, asked[2].high, asked[2].unit, asked[2].clip], ["0", "24", "hours", false]); // the survey has no other unit
  assert.equal(asked[0].text, rr.say(survey, survey.questions[0].text, "de"));
  assert.equal(rr.questionsFor(survey, { words: english, language: "de" })[1].options[0].label, "Rot");
  assert.throws(() => rr.questionsFor(survey, { words: "de" }), refused("ParameterError", /loadWords/));
  assert.throws(() => rr.questionsFor(survey, { words: german, lang: "de" }), refused("ParameterError", /lang/));
});

test("options in another order, or others, do not get the answers of the ones that stood there", async () => {
  const labels = CHOICE.kind.options, moved = [[...labels].reverse(), [...labels.slice(1), label("Grey")], [{ en: "Red", de: "Rot" }, ...labels.slice(1)]];
  for (const changed of moved) {
    const client = device();
    await client.answer(await client.accept(envelope({}, CHOICE)), "q1", 0);
    const later = await client.accept(envelope({ version: 99 }, { ...CHOICE, kind: { kind: "choice", options: changed } }));
    await assert.rejects(client.answer(later, "q1", unread), refused("AlreadyAnswered", /answered before .*as choice of /));
  }
});
