// Whether, for whom and around which draw a question is answered: times, words, origins, tickets, a no, a withdrawal.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { Collector, INVITES, accepted, bytes, device, document, envelope, policy, refused, signed, unread, withdrawal } from "./device.mjs";

const body = (report) => JSON.parse(report.body);
const at = (moment) => () => new Date(moment);

test("a survey is answered from its opening on, and accepted before", async () => {
  const opens = "2026-11-02T00:00:00Z", early = device();
  const survey = await early.accept(envelope({ opens }));
  await assert.rejects(early.answer(survey, "q1", unread), refused("NotOpen", /opens at 2026-11-02T00:00:00Z/));
  assert.equal((await early.budget()).draws.length, 0);
  await device({ clock: at(opens) }).answer(survey, "q1", true);
  await assert.rejects(device({ clock: at("2026-11-01T23:59:59.999Z") }).answer(survey, "q1", unread), refused("NotOpen"));
});

test("a round is answered between its opening and its closing", async () => {
  const rounds = [["10-01", "11-01"], ["11-01", "12-01"]].map((pair) => pair.map((day) => `2026-${day}T00:00:00Z`)).map(([opens, closes]) => ({ opens, closes }));
  const survey = await accepted({ rounds }, { rounds: 2 }), attributes = [{ name: "doped", rounds: 2 }];
  const answer = (round, moment) => device({ attributes, clock: at(moment) }).answer(survey, "q1", true, { round });
  for (const [round, first, last] of [[0, "2026-10-01T00:00:00Z", "2026-10-31T23:59:59Z"], [1, "2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z"]]) {
    for (const moment of [first, last]) assert.equal(body(await answer(round, moment)).round, round);
  }
  for (const [round, moment] of [[0, "2026-11-01T00:00:00Z"], [0, "2026-09-30T23:59:59Z"], [1, "2026-10-31T23:59:59Z"], [1, "2026-12-01T00:00:00Z"]]) {
    await assert.rejects(answer(round, moment), refused("RoundClosed"));
  }
});

test("the same words under another attribute are refused, in any language, case and punctuation", async () => {
  const text = { en: "Have you ever doped?", de: "Haben Sie je gedopt?" }, client = device({ attributes: ["doped", "tested", "other"] });
  await client.answer(await client.accept(envelope({}, { text })), "q1", true);
  const same = [{ en: "Have you ever doped?" }, { en: "HAVE YOU ever — doped" }, { en: "Ｈave you ever doped…" }, { en: "Something else", fr: "haben sie je gedopt" }];
  for (const [n, words] of same.entries()) {
    const survey = await client.accept(envelope({ name: `again-${n}` }, { attribute: "tested", text: words }));
    await assert.rejects(client.answer(survey, "q1", unread), refused("AlreadyAnswered", /'doped'.*aliases: \['doped'\]/s));
  }
  const other = await client.accept(envelope({ name: "other" }, { attribute: "other", text: { en: "Have you ever been tested?" } }));
  await client.answer(other, "q1", true);
  assert.equal((await client.budget()).draws.length, 2);
  const sharp = device({ attributes: ["a", "b"] }), strasse = (name, attribute, words) => sharp.accept(envelope({ name }, { attribute, text: { en: words } }));
  await sharp.answer(await strasse("one", "a", "Wohnen Sie in dieser Straße?"), "q1", true);
  await assert.rejects(sharp.answer(await strasse("two", "b", "WOHNEN SIE IN DIESER STRASSE?"), "q1", unread), refused("AlreadyAnswered"));
});

test("the help of a question counts, and words that were numbered, moved or spelt in look-alikes", async () => {
  const known = JSON.parse(readFileSync(new URL("../../vectors/words.json", import.meta.url), "utf8")), alike = known.filter(({ like }) => like !== null);
  assert.ok(alike.length > 30);
  for (const { text, help, like } of alike) {
    const client = device({ attributes: ["doped", "tested"] }), first = known[like], languages = Object.keys({ ...text, ...help });
    await client.answer(await client.accept(envelope({}, { text: first.text, help: first.help })), "q1", true);
    const titled = { name: "again", language: Object.keys(text)[0], title: Object.fromEntries(languages.map((one) => [one, "T"])) };
    const own = Object.keys(text)[0], helped = Object.keys(help).length ? { ...help, [own]: help[own] ?? "Help" } : {};
    const survey = await client.accept(envelope(titled, { attribute: "tested", text, help: helped }));
    await assert.rejects(client.answer(survey, "q1", unread), refused("AlreadyAnswered", /'doped'/));
    assert.equal((await client.budget()).draws.length, 1);
  }
});

test("words are remembered of every survey that repeats an answer", async () => {
  const client = device({ attributes: ["doped", "tested"] });
  await client.answer(await client.accept(envelope()), "q1", true);
  await client.answer(await client.accept(envelope({ name: "reworded" }, { text: { en: "Did you ever dope?" } })), "q1", unread);
  const survey = await client.accept(envelope({ name: "third" }, { attribute: "tested", text: { en: "did you ever dope" } }));
  await assert.rejects(client.answer(survey, "q1", unread), refused("AlreadyAnswered", /'doped'/));
});

test("an attribute is renamed by an alias: draws, words and budget stay its own", async () => {
  const ledger = new rr.MemoryLedger(), every = device({ ledger, attributes: [{ everyAttributeOf: "Example Institute" }] });
  const first = await every.answer(await every.accept(envelope()), "q1", true);
  assert.equal(first.attribute, "Example Institute/doped");
  const survey = await accepted({ name: "later", version: 1 });
  await assert.rejects(device({ ledger }).answer(survey, "q1", unread), refused("AlreadyAnswered", /'Example Institute\/doped'/));
  const aliases = ["Example Institute/doped"], renamed = device({ ledger, attributes: [{ name: "doped", aliases }] });
  assert.equal(body(await renamed.answer(survey, "q1", unread)).answer, body(first).answer);
  const other = await accepted({ name: "other-words" }, { text: { en: "Quite other words?" } });
  assert.equal(body(await renamed.answer(other, "q1", unread)).answer, body(first).answer);
  const asked = device({ ledger, attributes: [{ name: "sport", askedAs: ["x"], aliases }, { everyAttributeOf: "Example Institute" }] });
  const more = await accepted({ name: "by-the-publisher" }, { text: { en: "Third words?" } });
  assert.equal(body(await asked.answer(more, "q1", unread)).answer, body(first).answer); // the publisher's name is the alias
  const cap = device({ ledger, attributes: [{ name: "doped", rounds: 2, aliases }], policy: policy({ attributeEpsilon: "ln 3" }) });
  await assert.rejects(cap.answer(await accepted({ name: "rounds" }, { rounds: 2 }), "q1", unread, { round: 1 }), refused("BudgetExhausted"));
  assert.equal(ledger.state.draws.length, 1);
});

test("of two draws made before an alias was declared the earliest is repeated", async () => {
  const ledger = new rr.MemoryLedger(), before = device({ ledger, attributes: ["new", "old"] });
  const ask = (attribute, text) => accepted({ name: `${attribute}-${text.length}` }, { attribute, text: { en: text } });
  const old = await before.answer(await ask("old", "One?"), "q1", true);
  const other = device({ ledger, attributes: ["new"], source: (b) => b.fill(255) });
  assert.notEqual(body(await other.answer(await ask("new", "Two?!"), "q1", true)).answer, body(old).answer);
  const both = device({ ledger, attributes: [{ name: "new", aliases: ["old"] }] });
  assert.equal(body(await both.answer(await ask("new", "Three?!?"), "q1", unread)).answer, body(old).answer);
});

test("a page answers at the survey's origins alone; a program is not a page", async () => {
  const origins = ["https://a.example.org", "https://b.example.org"], listed = await accepted({ origins }), none = await accepted();
  for (const origin of ["https://c.example.org", "https://a.example.org:444", "http://a.example.org", "null"]) {
    await assert.rejects(device({ origin }).answer(listed, "q1", unread), refused("WrongOrigin", /https:\/\/a\.example\.org/));
    await assert.rejects(device({ origin }).answer(none, "q1", unread), refused("WrongOrigin", /by apps/));
  }
  for (const origin of origins) await device({ origin }).answer(listed, "q1", true);
  for (const survey of [listed, none]) await device().answer(survey, "q1", true);
  assert.equal(device().origin, null);
  const plain = { ledger: new rr.MemoryLedger(), attributes: [], policy: policy() };
  assert.deepEqual([new rr.Client(plain).spread, new rr.Client({ ...plain, origin: "https://a" }).spread], [6 * 3600, 5]);
  globalThis.location = { origin: "https://c.example.org" };
  try {
    const page = new rr.Client({ ...plain, attributes: ["doped"], clock: at("2026-11-01T00:00:00Z") });
    assert.deepEqual([page.origin, page.spread], ["https://c.example.org", 5]);
    await assert.rejects(page.answer(listed, "q1", unread), refused("WrongOrigin"));
  } finally {
    delete globalThis.location;
  }
});

test("a report carries a ticket for this question and round, and nothing of the invite", async () => {
  const client = device({ attributes: [{ name: "doped", rounds: 2 }] }), [invite] = INVITES, ledger = client.ledger;
  const survey = await client.accept(envelope({ invite_only: true }, { rounds: 2 }));
  const made = [];
  for (const round of [0, 1]) made.push(await client.answer(survey, "q1", true, { round, invite: ` ${invite.toUpperCase()}\n` }));
  const tickets = made.map((report) => body(report).ticket);
  assert.deepEqual(tickets, await Promise.all([0, 1].map((round) => rr.ticket(invite, survey.digest, "q1", round))));
  assert.notEqual(tickets[0], tickets[1]);
  assert.ok(!JSON.stringify(ledger.state).toLowerCase().includes(invite.slice(0, 8)));
});

test("what is mistyped or cannot be sent is refused before the truth is read, and is not shown", async () => {
  const client = device(), survey = await client.accept(bytes("good_invite_only")), [invite] = INVITES;
  for (const wrong of [invite.slice(1), invite + "0", invite.replace(/.$/, (c) => (c === "0" ? "1" : "0")), "", 5, "\ud800", "x".repeat(10_000)]) {
    await assert.rejects(client.answer(survey, "q1", unread, { invite: wrong }), (error) =>
      refused("ParameterError", /mistyped/)(error) && (!wrong || !error.message.includes(String(wrong))));
  }
  await assert.rejects(client.answer(survey, "q1", unread, { invite, segments: 5 }), refused("ParameterError"));
  assert.equal((await client.budget()).draws.length, 0);
});

test("a report that the collector never took is addressed anew, around the same answer", async () => {
  const survey = await accepted({ invite_only: true }), [one, two] = INVITES, ski = { sport: "ski" }, run = { sport: "run" };
  const drawn = async (given = { invite: one, segments: ski }) => {
    const client = device(), first = await client.answer(survey, "q1", true, given);
    return { client, first, again: (more) => client.answer(survey, "q1", unread, more), answer: body(first).answer };
  };
  for (const [left, prepare] of [ // refused, never tried, cancelled before it was tried
    [1, (client) => client.deliver({ transport: new Collector("ReportRefused") })], [0, () => {}], [0, (client) => client.decline(survey, "q1")],
  ]) {
    const { client, first, again, answer } = await drawn();
    await prepare(client);
    const second = await again({ invite: two });
    assert.notEqual(second.id, first.id);
    assert.deepEqual([second.state, second.reason, body(second).id], ["waiting", null, second.id]);
    assert.equal(second.attempts, left); // that the answer may have left is not forgotten
    assert.deepEqual([body(second).answer, body(second).segments], [answer, ski]);
    assert.equal(body(second).ticket, await rr.ticket(two, survey.digest, "q1", 0));
    const third = await again({ invite: two, segments: run });
    assert.deepEqual([body(third).segments, body(third).answer, body(third).ticket], [run, answer, body(second).ticket]);
    const collector = new Collector();
    assert.equal((await client.deliver({ transport: collector })).delivered, 1);
    assert.deepEqual(collector.sent.map(([, sent]) => sent.id), [third.id]);
    assert.equal((await client.budget()).reports.length, 1);
  }
  for (const says of ["taken", "TransportFailed"]) { // delivered, or perhaps
    const { client, first, again } = await drawn();
    await client.deliver({ transport: new Collector(says) });
    for (const given of [{ invite: two }, { invite: one, segments: run }]) await assert.rejects(again(given), refused("ParameterError", /may have been taken/));
    assert.equal((await again({ invite: one, segments: ski })).id, first.id);
    await client.decline(survey, "q1");
    await assert.rejects(again({ invite: two }), refused("ParameterError"));
  }
});

test("after a decline nothing of the question leaves; asked again it is the same report", async () => {
  const rounds = { rounds: 3 }, client = device({ attributes: [{ name: "doped", rounds: 3 }, "b"] });
  const survey = await client.accept(signed(document({ questions: [document({}, rounds).questions[0],
    { ...document().questions[0], id: "q2", attribute: "b", text: { en: "Another?" } }] })));
  assert.deepEqual(await client.decline(survey, "q1"), { stopped: 0, left: 0 });
  const made = [];
  for (const round of [0, 1, 2]) {
    made.push(await client.answer(survey, "q1", true, { round }));
    if (round === 0) await client.deliver({ transport: new Collector("taken") });
    if (round === 1) await client.deliver({ transport: new Collector("TransportFailed") });
  }
  await client.answer(survey, "q2", true);
  assert.deepEqual(await client.decline(survey, "q1"), { stopped: 1, left: 2 });
  assert.deepEqual((await client.budget()).reports.map((r) => r.state), ["delivered", "cancelled", "cancelled", "waiting"]);
  const collector = new Collector();
  await client.deliver({ transport: collector, within: 1_000_000 });
  assert.deepEqual(collector.sent.map(([, sent]) => sent.question), ["q2"]);
  const again = await client.answer(survey, "q1", unread, { round: 2 });
  assert.deepEqual([again.id, again.body, again.state, again.times.length], [made[2].id, made[2].body, "waiting", 10]);
  assert.deepEqual((await client.budget()).declined, []);
  assert.equal((await client.deliver({ transport: collector })).delivered, 1);
  assert.equal((await client.budget()).draws.length, 4);
  await assert.rejects(client.decline(survey, "q9"), refused("ParameterError"));
  await assert.rejects(client.decline(survey.survey, "q1"), refused("ParameterError"));
});

test("a decline while the report is about to leave holds it back", async () => {
  const client = device(), survey = await client.accept(envelope()), collector = new Collector();
  await client.answer(survey, "q1", true);
  const { transact } = client.ledger;
  let calls = 0;
  client.ledger.transact = async (change) => { // after it was listed and before it is sent
    if (++calls === 2) await device({ ledger: { transact: transact.bind(client.ledger) } }).decline(survey, "q1");
    return transact.call(client.ledger, change);
  };
  assert.deepEqual([(await client.deliver({ transport: collector })).delivered, collector.sent], [0, []]);
});

test("a cancelled answer does not leave, and is the same when the person answers after all", async () => {
  const survey = await accepted(), cancel = new AbortController(), inner = new rr.MemoryLedger(), reason = new Error("closed the page");
  const ledger = { transact: async (change) => { const done = await inner.transact(change); cancel.abort(reason); return done; } };
  await assert.rejects(device({ ledger }).answer(survey, "q1", true, { signal: cancel.signal }), reason);
  assert.deepEqual(inner.state.reports.map((r) => r.state), ["cancelled"]);
  const client = device({ ledger: inner }), collector = new Collector(), [{ id }] = inner.state.reports;
  await client.deliver({ transport: collector, within: 1000 });
  assert.deepEqual(collector.sent, []);
  const again = await client.answer(survey, "q1", unread);
  assert.deepEqual([again.id, again.state], [id, "waiting"]);
  assert.equal((await client.deliver({ transport: collector })).delivered, 1);
  const never = device();
  await assert.rejects(never.answer(survey, "q1", unread, { signal: AbortSignal.abort(reason) }), reason);
  assert.equal((await never.budget()).draws.length, 0);
});

test("an answer that the ledger kept, but told as an error, does not leave", async () => {
  const survey = await accepted(), inner = new rr.MemoryLedger();
  const failing = { transact: async (change) => { const done = await inner.transact(change); if (done?.body) throw new rr.RRCollectError("LedgerUnavailable", "late"); return done; } };
  await assert.rejects(device({ ledger: failing }).answer(survey, "q1", true), refused("LedgerUnavailable"));
  const client = device({ ledger: inner }), [{ id, state }] = inner.state.reports;
  assert.equal(state, "cancelled");
  assert.equal((await client.answer(survey, "q1", unread)).id, id);
  const carried = await accepted({ collector: "carried" }), leave = new AbortController(), other = new rr.MemoryLedger();
  const ledger = { transact: async (change) => { const done = await other.transact(change); leave.abort(); return done; } };
  await assert.rejects(device({ ledger }).answer(carried, "q1", true, { signal: leave.signal }), { name: "AbortError" });
  assert.equal(other.state.reports[0].state, "cancelled"); // the app did not get it
  assert.equal((await device({ ledger: other }).answer(carried, "q1", unread)).state, "carried");
});

test("a survey that its publisher withdrew is refused for good, and what waits is dropped", async () => {
  const client = device(), survey = await client.accept(envelope()), other = await client.accept(envelope({ name: "other" }));
  await client.answer(survey, "q1", true);
  await client.answer(other, "q1", true);
  const said = await client.withdraw(withdrawal(survey));
  assert.deepEqual([said.survey, said.moment], [survey.digest, new Date("2026-10-31T12:00:00Z")]);
  await client.withdraw(withdrawal(survey)); // twice is once
  assert.equal(client.ledger.state.withdrawn.length, 1);
  assert.deepEqual((await client.budget()).reports.map((r) => r.state), ["withdrawn", "waiting"]);
  await assert.rejects(client.accept(envelope()), refused("SurveyWithdrawn"));
  await assert.rejects(client.answer(survey, "q1", unread), refused("SurveyWithdrawn"));
  const collector = new Collector();
  await client.deliver({ transport: collector });
  assert.deepEqual(collector.sent.map(([, sent]) => sent.survey), [other.digest]);
});

test("only its own publisher's keys withdraw a survey", async () => {
  const survey = await accepted(), wrong = async (name, made) => {
    const client = device();
    await client.answer(survey, "q1", true);
    await assert.rejects(client.withdraw(made), refused(name));
    assert.equal((await client.budget()).reports[0].state, "waiting");
  };
  await wrong("UntrustedKey", withdrawal(survey, {}, { by: ["mallory"] }));
  await wrong("UntrustedKey", withdrawal(survey, { publisher: "Another Institute" }));
  await wrong("MissingSignature", withdrawal(survey, {}, { by: [] }));
  await wrong("MalformedDocument", envelope()); // a survey is not a withdrawal
  await wrong("MalformedDocument", withdrawal(survey, {}, { type: "application/vnd.rrcollect.survey.v1+json" }));
  for (const change of [{ survey: "0" }, { version: 0 }, { name: "" }, { moment: "2026-02-30T00:00:00Z" }, { moment: null }, { more: 1 }]) {
    await wrong("MalformedDocument", withdrawal(survey, change));
  }
  await wrong("ParameterError", "text");
  await assert.rejects(device().accept(withdrawal(survey)), refused("MalformedDocument")); // nor the other way round
  const [known] = policy().publishers, two = new rr.Policy([known, { name: "B", keys: known.keys }]), client = device({ policy: two });
  await client.answer(survey, "q1", true);
  await client.withdraw(withdrawal(survey, { publisher: "B" })); // trusted, but not whose survey it is
  assert.equal((await client.budget()).reports[0].state, "waiting");
  await client.answer(survey, "q1", unread);
});

test("a report that the app carries is never sent by the device", async () => {
  const client = device(), survey = await client.accept(bytes("good_collector_carried")), collector = new Collector();
  const made = await client.answer(survey, "q1", true);
  assert.deepEqual([made.state, made.destination, made.times], ["carried", "carried", []]);
  assert.deepEqual(await client.answer(survey, "q1", unread), made);
  const done = await client.deliver({ transport: collector, within: 1_000_000 });
  assert.deepEqual([done.waiting, done.nextMoment, collector.sent], [0, null, []]);
  assert.deepEqual(await client.decline(survey, "q1"), { stopped: 0, left: 1 });
});

test("words that look the same are the same, in whatever script or case", async () => {
  for (const [one, other, same] of [
    ["Ever doped?", "Ever d\u043eped?", true], ["Ever doped?", "\u0395\u03bder doped?", true], ["HAVE YOU EVER?", "\u041d\u0410V\u0415 Y\u041eU EVER?", true],
    ["Were you ill in 2010?", "Were you iIl in 2O1O?", true], ["Auf der Straße gedopt?", "AUF DER STRASSE GEDOPT?", true], ["Ever doped?", "Ever hoped?", false],
    ["Ever doped?", "Ẹver dọpẹd?", true], ["Ever doped?", "Éver do\u0323ped?", true], ["Вы ещё курите?", "Вы еще курите?", true],
  ]) {
    const client = device({ attributes: ["a", "b"] }), asked = (attribute, text) => client.accept(envelope({ name: `of-${attribute}` }, { attribute, text: { en: text } }));
    await client.answer(await asked("a", one), "q1", true);
    const second = client.answer(await asked("b", other), "q1", same ? unread : true);
    await (same ? assert.rejects(second, refused("AlreadyAnswered", /attribute 'a'/)) : second);
  }
});

test("names that were used as one are one for good, whatever a later release declares", async () => {
  const ledger = new rr.MemoryLedger(), releases = [["a"], [{ name: "b", aliases: ["a"] }], ["b"], ["a", "b"], [{ name: "c", aliases: ["b"] }], ["c"]];
  for (const [number, attributes] of releases.entries()) {
    const last = attributes.at(-1), attribute = last.name ?? last, client = device({ ledger, attributes });
    const survey = await client.accept(envelope({ name: `s${number}` }, { attribute, text: { en: `Wording ${number}?` } }));
    await client.answer(survey, "q1", number ? unread : true);
  }
  assert.equal((await device({ ledger }).budget()).draws.length, 1);
  const other = new rr.MemoryLedger(), first = device({ ledger: other, attributes: [{ name: "b", aliases: ["a"] }] });
  await first.answer(await first.accept(envelope({}, { attribute: "b" })), "q1", true);
  const later = device({ ledger: other, attributes: ["a"] });
  await later.answer(await later.accept(envelope({ name: "later" }, { attribute: "a", text: { en: "Otherwise?" } })), "q1", unread);
});

test("inside frames a survey is answered where all of them are its own, or listed with the one at the top", async () => {
  const here = "https://a.example.org", club = "https://club.example", news = "https://news.example", other = "https://other.example";
  const alone = await accepted({ origins: [here] }), framed = await accepted({ origins: [here], frames: [club, news] });
  const cases = [ // around the page, from the nearest to the top; by itself; with frames
    [[], true, true], [[here], true, true], [[here, here], true, true], [[club], false, true], [[club, club], false, true], [[here, club], false, true],
    [[club, news], false, true], [[other], false, false], [[club, other], false, false], [[other, club], false, false], [[club, here], false, false],
    [[here, other, here], false, false], [[null], false, false], [[null, club], false, false], [[club, null], false, false], [["null"], false, false],
  ];
  for (const [ancestors, ...wanted] of cases) {
    for (const [i, survey] of [alone, framed].entries()) {
      const client = device({ origin: here, ancestors });
      if (wanted[i]) assert.equal((await client.answer(survey, "q1", true)).state, "waiting", String(ancestors));
      else await assert.rejects(client.answer(survey, "q1", unread), refused("WrongFrame", /https:\/\/a\.example\.org, by itself/), String(ancestors));
      assert.equal(client.ledger.state.draws.length, Number(wanted[i]));
    }
  }
  await assert.rejects(device({ origin: club, ancestors: [] }).answer(framed, "q1", unread), refused("WrongOrigin"));
  assert.equal((await device({ origin: null }).answer(alone, "q1", true)).state, "waiting"); // a program
  assert.throws(() => device({ origin: here, ancestors: here }), refused("ParameterError", /ancestors/));
});

test("what is around a page is known by the browser's word, or by pages of the same origin", async () => {
  const here = "https://a.example.org", saved = Object.getOwnPropertyDescriptors(globalThis);
  const names = ["self", "top", "parent", "location", "credentialless", "WorkerGlobalScope"];
  const around = (world) => {
    Object.assign(globalThis, world);
    try {
      return device({ origin: here }).ancestors;
    } finally {
      for (const name of names) {
        delete globalThis[name];
        if (saved[name]) Object.defineProperty(globalThis, name, saved[name]);
      }
    }
  };
  const top = { location: { origin: here } }, middle = { get location() { throw new Error("SecurityError"); } }, inner = { location: { origin: here } };
  top.parent = top;
  middle.parent = top;
  inner.parent = middle;
  assert.deepEqual(around({ self: inner, top: inner }), []);
  assert.deepEqual(around({ self: inner, top, location: { ancestorOrigins: ["https://x.example", here] } }), ["https://x.example", here]);
  assert.deepEqual(around({ self: inner, top, location: {} }), [null, here]); // Firefox
  assert.deepEqual(around({ self: { parent: top }, top, location: {} }), [here]);
  assert.deepEqual(around({ self: inner, top, location: { ancestorOrigins: [here, here] }, credentialless: true }), [null]);
  assert.deepEqual(around({ WorkerGlobalScope: class {} }), [null]);
});
