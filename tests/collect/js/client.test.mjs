import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { FileLedger } from "../../../rrcollect/web/src/answer/ledger/file.mjs";
import * as rr from "../../../rrcollect/web/src/index.mjs";

import { INVITES, NOW, bytes, device, document, policy, refused, signed, unread, vector } from "./device.mjs";

test("asked again, the device repeats itself and does not read the truth", async () => {
  const client = device(), survey = await client.accept(bytes("good_plain"));
  const first = await client.answer(survey, "q1", true, { segments: { sport: "ski" } });
  const again = await client.answer(survey, "q1", () => assert.fail("the truth was read"));
  assert.deepEqual(again, first);
  const body = rr.readReport(new TextEncoder().encode(first.body));
  assert.equal(body.answer, "1"); // a draw of 0 is below both thresholds
  assert.equal(body.survey, survey.digest);
  assert.ok(!first.body.includes("true"));
});

test("another survey about the same attribute gets the same answer; another design gets none", async () => {
  const client = device(), one = await client.accept(bytes("good_plain"));
  const first = await client.answer(one, "q1", true);
  const two = await rr.acceptSurvey(bytes("good_rounds"), policy(), { now: NOW });
  const second = await client.answer(two, "q1", () => assert.fail("the truth was read"));
  assert.notEqual(second.id, first.id);
  assert.equal(JSON.parse(second.body).answer, JSON.parse(first.body).answer);
  const other = await rr.acceptSurvey(bytes("good_grid_design"), policy(), { now: NOW });
  await assert.rejects(client.answer(other, "q1", true), refused("AlreadyAnswered"));
});

test("the budgets are for life and compared exactly", async () => {
  const exact = device({ policy: policy({ attributeEpsilon: "ln 3" }) });
  await exact.answer(await exact.accept(bytes("good_plain")), "q1", true);
  const hair = "1098612288668109691/1000000000000000000"; // just below ln 3
  for (const cap of ["attributeEpsilon", "lifetimeEpsilon"]) {
    const client = device({ policy: policy({ [cap]: hair }) }), survey = await client.accept(bytes("good_plain"));
    await assert.rejects(client.answer(survey, "q1", () => assert.fail("read")), refused("BudgetExhausted"));
    assert.equal((await client.budget()).reports.length, 0);
  }
  const many = device({ attributes: [{ name: "doped", rounds: 52 }] }), survey = await many.accept(bytes("good_rounds"));
  for (let round = 0; round < 4; round++) await many.answer(survey, "q1", true, { round }); // 4 ln 3 = ln 81
  await assert.rejects(many.answer(survey, "q1", true, { round: 4 }), refused("BudgetExhausted"));
  assert.equal(String((await many.budget()).spent.epsilon), "ln(81)");
  assert.match(rr.explainBudget(await many.budget(), await rr.loadWords("en")), /at most 81 times as likely as the other\.\nFor your whole life this device stops at 59100 times\./);
});

test("what is not registered, listed or invited is refused before the truth is read", async () => {
  const read = () => assert.fail("the truth was read");
  const client = device({ attributes: [] }), survey = await client.accept(bytes("good_plain"));
  await assert.rejects(client.answer(survey, "q1", read), refused("UnknownAttribute"));
  const open = device({ attributes: [{ everyAttributeOf: "Example Institute" }] });
  const one = await open.accept(bytes("good_plain"));
  await assert.rejects(open.answer(one, "q1", read, { segments: { sport: "golf" } }), refused("ParameterError"));
  await assert.rejects(open.answer(one, "q1", read, { segments: { toString: "ski" } }), refused("ParameterError"));
  await assert.rejects(open.answer(one, "q1", read, { round: 1 }), refused("ParameterError"));
  const guarded = await rr.acceptSurvey(bytes("good_invite_only"), policy(), { now: NOW });
  await assert.rejects(open.answer(guarded, "q1", read), refused("ParameterError"));
  await assert.rejects(open.answer(one, "q1", "yes"), refused("BadTruth"));
  const made = await open.answer(one, "q1", false);
  assert.equal(made.attribute, "Example Institute/doped");
});

test("trust is judged again at every answer, and a survey changed after it was accepted is refused", async () => {
  const read = () => assert.fail("the truth was read");
  const client = device(), survey = await client.accept(bytes("good_plain"));
  const distrusting = device({ policy: new rr.Policy([]) });
  await assert.rejects(distrusting.answer(survey, "q1", read), refused("UntrustedKey"));
  const stricter = device({ policy: new rr.Policy(vector("good_two_signers").policy.publishers) }); // two keys needed
  await assert.rejects(stricter.answer(survey, "q1", read), refused("UntrustedKey"));
  const [question] = survey.survey.questions, half = new rr.Fraction(1n, 2n), weaker = new rr.Design(rr.parseFraction("7/8"), half);
  const changed = { ...survey, survey: { ...survey.survey, questions: [{ ...question, design: weaker }] } };
  await assert.rejects(client.answer(changed, "q1", read), refused("BadSignature"));
  assert.throws(() => survey.survey.segments.sport.values.push({ value: "golf", label: {} }), TypeError);
  const { expires } = survey.survey, kept = expires.getTime();
  expires.setTime(kept + 1000); // the only part of a survey that JavaScript cannot freeze
  await assert.rejects(client.answer(survey, "q1", read), refused("BadSignature"));
  expires.setTime(NaN);
  await assert.rejects(client.answer(survey, "q1", read), refused("BadSignature"));
  expires.setTime(kept);
  await assert.rejects(client.answer(survey.survey, "q1", read), refused("ParameterError"));
  await assert.rejects(client.answer({ ...survey, survey: null }, "q1", read), refused("ParameterError"));
  await assert.rejects(client.answer(survey, "q9", read), refused("ParameterError"));
  assert.equal((await client.answer(survey, "q1", true)).state, "waiting");
});

test("what is answered is what was signed, whatever was hung on the accepted survey", async () => {
  const client = device(), survey = await client.accept(bytes("good_plain")), [question] = survey.survey.questions;
  assert.throws(() => { question.design.limits[0] = 0n; }, TypeError);
  assert.throws(() => { question.design.limits = [0n, 0n]; }, TypeError);
  const forged = Object.create(rr.Design.prototype, { ...Object.getOwnPropertyDescriptors(question.design), limits: { value: [0n, 0n] } });
  const changed = { ...survey, survey: { ...survey.survey, questions: [{ ...question, design: forged }] } };
  const made = await client.answer(changed, "q1", true); // spelled as signed, so its digest is right
  assert.equal(JSON.parse(made.body).answer, "1"); // a draw of 0 is below the signed thresholds, and not below the forged ones
});

test("two accepts at once do not let an older version in after a newer one", async () => {
  const older = bytes("good_plain"), newer = bytes("good_version_4");
  for (const pair of [[older, newer], [newer, older]]) {
    const client = device(), done = await Promise.allSettled(pair.map((envelope) => client.accept(envelope)));
    const last = Object.values(client.ledger.state.seen)[0];
    const taken = done.filter(({ status }) => status === "fulfilled").map(({ value }) => value.survey.version);
    assert.equal(last.version, 4);
    if (taken.includes(3)) assert.deepEqual(taken, [3, 4]); // it was first
    await assert.rejects(client.accept(older), refused("RolledBack"));
  }
  // what was read before the newer one came is judged again when it is remembered
  const client = device(), { transact } = client.ledger;
  let calls = 0;
  client.ledger.transact = async (change) => {
    if (++calls === 2) await device({ ledger: { transact: transact.bind(client.ledger) } }).accept(newer);
    return transact.call(client.ledger, change);
  };
  await assert.rejects(client.accept(older), refused("RolledBack"));
});

test("settings that are unknown, or not exactly of their type, are refused", async () => {
  const publishers = vector("good_plain").policy.publishers, [known] = publishers;
  const wrong = (make) => assert.throws(make, refused("ParameterError"));
  for (const caps of [{ lifetime_epsilon: "1" }, { maxEpsilom: "1" }, { maxEpsilon: undefined }, { maxEpsilon: NaN }, { maxEpsilon: Infinity },
    { maxRatio: NaN }, { lifetimeDelta: NaN }, { allowDisclosure: "false" }, { maxEpsilon: ["1"] }, { maxEpsilon: new String("1") }, [], null,
    Object.create({ maxEpsilon: "ln 2" }), new (class { get lifetimeEpsilon() { return "ln 3"; } })(), JSON.parse('{"__proto__": {"maxRatio": "1000"}}')]) {
    wrong(() => policy(caps));
  }
  for (const threshold of [NaN, Infinity, 0, -1, 1.5, "1", null, true, 2]) wrong(() => new rr.Policy([{ ...known, threshold }]));
  for (const rounds of [NaN, Infinity, 0, -1, 1.5, "1", null, true, 1001]) {
    wrong(() => device({ attributes: [{ name: "doped", rounds }] }));
    wrong(() => device({ attributes: [{ everyAttributeOf: "Example Institute", rounds }] }));
  }
  for (const attributes of ["doped", null, [7], [null], [[]], [""], ["a/b"], [{}], [{ name: "a", round: 1 }], [{ name: "a", asked_as: ["b"] }],
    [{ name: "a", askedAs: "b" }], [{ name: "a", askedAs: [7] }], [{ name: "a", aliases: "b" }], [{ name: "a", aliases: [""] }], ["a", "a"],
    ["a", { name: "b", aliases: ["a"] }], [{ name: "a", aliases: ["a"] }], [{ name: "a", aliases: ["c"] }, { name: "b", aliases: ["c"] }], ["a", { name: "b", askedAs: ["a"] }],
    [{ everyAttributeOf: "" }], [{ everyAttributeOf: "P" }, { everyAttributeOf: "P" }], [{ everyAttributeOf: "P", name: "a" }]]) {
    wrong(() => device({ attributes }));
  }
  for (const given of [{ polcy: 1 }, { policy: {} }, { ledger: {} }, { clock: 7 }, { source: "x" }, { sleep: 1 }, { origin: 5 }, { origin: "" },
    { origin: {} }, { spread: -1 }, { spread: NaN }, { spread: "5" }, { spread: 30 * 86_400 + 1 }, { spread: null }]) wrong(() => device(given));
  const client = device(), survey = await client.accept(bytes("good_plain")), read = () => assert.fail("the truth was read");
  for (const given of [{ segment: {} }, { rounds: 1 }, { round: NaN }, { round: "0" }, { signal: 1 }, { signal: {} }, null]) {
    await assert.rejects(client.answer(survey, "q1", read, given), refused("ParameterError"));
  }
  for (const given of [{ within: NaN }, { within: -1 }, { within: Infinity }, { within: "1" }, { within: 1_000_001 }, { signal: 1 }, { transport: {} },
    { transport: null }, { attempts: 3 }, { firstWait: 1 }, null, { send: async () => {} }]) {
    await assert.rejects(client.deliver(given), refused("ParameterError"));
  }
  for (const given of [{ now: NaN }, { now: new Date(NaN) }, { time: NOW }]) {
    await assert.rejects(rr.acceptSurvey(bytes("good_plain"), policy(), given), refused("ParameterError"));
  }
  for (const seen of [{ version: NaN, digest: "0" }, { version: "3", digest: "0" }, {}]) { // a damaged memory refuses
    await assert.rejects(rr.acceptSurvey(bytes("good_plain"), policy(), { now: NOW, seen }), refused("RolledBack"));
  }
});

test("texts are said in the wanted language, in its base language, or in the survey's own", async () => {
  const { survey } = await device().accept(bytes("good_languages"));
  const said = (language) => rr.say(survey, survey.title, language);
  assert.deepEqual([said(), said("de"), said("de-CH"), said("de-AT"), said("zh-Hant-TW"), said("fr"), said("constructor")],
    ["Title en", "Title de", "Title de", "Title de-AT", "Title zh-Hant-TW", "Title en", "Title en"]);
  assert.equal(rr.say(survey, survey.thanks, "de"), "");
  assert.deepEqual({ ...rr.segmentValues(survey) }, { sport: ["run", "ski"] });
  const { survey: labelled } = await device().accept(bytes("good_segment_labels"));
  assert.equal(rr.say(labelled, labelled.segments.sport.values[0].label), "Running");
});

// docs/wire-format.md, "Answering": faults are added from the last step to the first, and each hides the others.
// tests/answer/test_client.py does the same with the Python client.
test("of several faults the earliest of the script is told", async () => {
  const drawn = new rr.MemoryLedger(), before = device({ ledger: drawn });
  await before.answer(await rr.acceptSurvey(bytes("good_grid_design"), policy(), { now: NOW }), "q1", true);
  const survey = await rr.acceptSurvey(bytes("good_invite_only"), policy(), { now: NOW });
  const caps = {}, given = { ledger: new rr.MemoryLedger() }, call = { question: "q1", truth: true, invite: INVITES[0] };
  const script = [
    ["BadTruth", () => { call.truth = "perhaps"; }],
    ["BudgetExhausted", () => { caps.lifetimeEpsilon = "1"; }],
    ["AlreadyAnswered", () => { given.ledger = drawn; }],
    ["SurveyWithdrawn", () => { given.ledger.state.withdrawn.push({ survey: survey.digest, publisher: survey.survey.publisher }); }],
    ["ParameterError", () => { call.invite = "mistyped"; }],
    ["ParameterError", () => { call.segments = { sport: "go" }; }],
    ["OverPolicy", () => { caps.maxEpsilon = "1/2"; }],
    ["UnknownAttribute", () => { given.attributes = ["other"]; }],
    ["ParameterError", () => { call.question = "q9"; }],
    ["WrongOrigin", () => { given.origin = "https://page.example.org"; }],
    ["Expired", () => { given.clock = () => new Date("2101-01-01T00:00:00Z"); }],
    ["UntrustedKey", () => { given.policy = new rr.Policy([]); }],
  ];
  for (const [name, add] of script) {
    add();
    const { question, truth, ...more } = call;
    await assert.rejects(device({ policy: policy(caps), ...given }).answer(survey, question, truth, more), refused(name));
  }
  assert.equal(drawn.state.draws.length, 1);
});

test("a design says the same of itself as in Python, and the state holds texts", async () => {
  const client = device(), survey = await client.accept(bytes("good_plain")), { design } = survey.survey.questions[0];
  assert.deepEqual([design.truths, design.width, design.column === design, design.text], [2, 1, true, '{"p00":"3/4","p11":"3/4"}']);
  assert.deepEqual(design.limits, [1n << 62n, 3n << 62n]);
  assert.deepEqual(["0", "1", "", "2", "01", 1, true, null].filter((answer) => design.allows(answer)), ["0", "1"]);
  assert.equal(new rr.Design(rr.parseFraction("2/3"), rr.parseFraction("2/3")).limits, null);
  await client.answer(survey, "q1", true);
  const [draw] = client.ledger.state.draws;
  assert.deepEqual([draw.design, draw.answer, client.ledger.state.schema], [design.text, "1", 1]);
});

/** What stands in the folder of a file ledger, as text. */
const stored = (path) => readFileSync(join(path, readdirSync(path).find((name) => name.startsWith("state."))), "utf8");

/** Another state in the folder of a file ledger, as if the ledger had written it. @param {string} text */
function put(path, text) {
  const now = readdirSync(path).find((name) => name.startsWith("now.")).slice(4), data = `{"before":"${now}","state":${text}}`;
  const next = `${String(Number(now.slice(0, 12)) + 1).padStart(12, "0")}-${createHash("sha256").update(data).digest("hex")}`;
  writeFileSync(join(path, `state.${next}`), data);
  renameSync(join(path, `now.${now}`), join(path, `now.${next}`));
}

test("a state of the schema before is brought forward, and a newer one is refused by name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rr-")), path = join(folder, "ledger");
  const modules = join(folder, "src"), changed = join(modules, "answer/ledger/ledger.mjs");
  cpSync(new URL("../../../rrcollect/web/src", import.meta.url), modules, { recursive: true });
  const source = readFileSync(changed, "utf8");
  const step = "const STEPS = [(state) => { for (const report of state.reports) report.later = ''; }];";
  assert.equal(source.split("const STEPS = [];").length, 2);
  writeFileSync(changed, source.replace("const STEPS = [];", step)); // a schema 2 of this test alone
  try {
    const later = await import(join(modules, "index.mjs")), { FileLedger: LaterLedger } = await import(join(modules, "answer/ledger/file.mjs"));
    const make = (rr_, Ledger) => new rr_.Client({
      ledger: new Ledger(path), attributes: ["doped"], clock: () => NOW,
      policy: new rr_.Policy(vector("good_plain").policy.publishers),
    });
    const old = make(rr, FileLedger), first = await old.answer(await old.accept(bytes("good_plain")), "q1", true);
    const client = make(later, LaterLedger), survey = await client.accept(bytes("good_plain"));
    const again = await client.answer(survey, "q1", () => assert.fail("read"));
    assert.deepEqual(again, { ...first, later: "" });
    const kept = stored(path);
    assert.equal(JSON.parse(kept).state.schema, 2);
    await assert.rejects(old.budget(), (error) => refused("LedgerNewer")(error) && /schema 2.*up to 1/.test(error.message));
    assert.equal(stored(path), kept);
    for (const text of ["{}", "5", "[]", "null", '{"schema":0}', '{"schema":"1"}']) {
      put(path, text);
      await assert.rejects(old.budget(), refused("LedgerCorrupt"));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a version once seen is not rolled back", async () => {
  const client = device();
  client.ledger.state.seen[JSON.stringify(["Example Institute", "clean-sport"])] = { version: 4, digest: "0".repeat(64) };
  await assert.rejects(client.accept(bytes("good_plain")), refused("RolledBack"));
});

test("without random bytes there is no answer and nothing is kept", async () => {
  for (const source of [() => { throw new Error("broken"); }, () => new Uint8Array(7)]) {
    const client = device({ source }), survey = await client.accept(bytes("good_plain"));
    await assert.rejects(client.answer(survey, "q1", true), refused("NoRandomness"));
    assert.equal((await client.budget()).draws.length, 0);
  }
});

test("reports of both answers have the same length", async () => {
  const lengths = new Set(), answers = new Set();
  for (const truth of [true, false]) {
    for (const byte of [0x00, 0xff]) {
      const client = device({ source: (b) => b.fill(byte) });
      const made = await client.answer(await client.accept(bytes("good_plain")), "q1", truth);
      lengths.add(made.body.length);
      answers.add(rr.readReport(new TextEncoder().encode(made.body)).answer);
    }
  }
  assert.equal(lengths.size, 1);
  assert.deepEqual([...answers].sort(), ["0", "1"]);
});

test("the draw follows its law", () => {
  const design = new rr.Design(rr.parseFraction("3/4"), rr.parseFraction("3/4"));
  const n = 20000;
  for (const [truth, p] of [[true, 0.75], [false, 0.25]]) {
    let ones = 0;
    for (let i = 0; i < n; i++) ones += rr.randomise(truth, design);
    assert.ok(Math.abs(ones - n * p) < 5 * Math.sqrt(n * p * (1 - p)), `${ones}`); // false alarm below 1e-6
  }
});

test("a file ledger survives, is exclusive, and is refused when damaged", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rr-")), path = join(folder, "ledger");
  try {
    const make = () => device({ ledger: new FileLedger(path) });
    const first = await make().answer(await make().accept(bytes("good_plain")), "q1", true);
    const reopened = make();
    const again = await reopened.answer(await reopened.accept(bytes("good_plain")), "q1", () => assert.fail("read"));
    assert.deepEqual(again, first);
    const racers = Array.from({ length: 8 }, make);
    const survey = await racers[0].accept(bytes("good_plain"));
    const made = await Promise.all(racers.map((client) => client.answer(survey, "q1", true)));
    assert.equal(new Set(made.map((m) => m.id)).size, 1);
    for (const name of readdirSync(path)) writeFileSync(join(path, name), "{");
    await assert.rejects(make().budget(), refused("LedgerCorrupt"));
    await assert.rejects(device({ ledger: new FileLedger(join(folder, "none", "x")) }).budget(), refused("LedgerUnavailable"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("two processes that race draw once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rr-")), path = join(folder, "ledger");
  const [module, ledgers] = ["index", "answer/ledger/file"].map((name) => new URL(`../../../rrcollect/web/src/${name}.mjs`, import.meta.url).href);
  const code = `import * as rr from ${JSON.stringify(module)}; import { FileLedger } from ${JSON.stringify(ledgers)};
    const client = new rr.Client({ ledger: new FileLedger(${JSON.stringify(path)}), attributes: ["doped"],
      policy: new rr.Policy(${JSON.stringify(vector("good_plain").policy.publishers)}), clock: () => new Date(${NOW.getTime()}) });
    const survey = await client.accept(Uint8Array.from(Buffer.from(${JSON.stringify(vector("good_plain").envelope)}, "base64")));
    console.log((await client.answer(survey, "q1", true)).id);`;
  try {
    const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", code]);
    const said = await Promise.all(Array.from({ length: 4 }, run));
    assert.equal(new Set(said.map(({ stdout }) => stdout.trim())).size, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a browser without Ed25519 is told so", async (t) => {
  t.mock.method(crypto.subtle, "importKey", async () => { throw new DOMException("no", "NotSupportedError"); });
  await assert.rejects(device().accept(bytes("good_plain")), refused("NoEd25519"));
});

test("an older Node is refused by name when the client is imported", async () => {
  const { engines } = JSON.parse(readFileSync(new URL("../../../rrcollect/web/package.json", import.meta.url), "utf8"));
  assert.equal(engines.node, ">=20.16");
  for (const [version, good] of [["18.20.4", false], ["20.15.1", false], ["20.16.0", true], ["22.0.0", true]]) {
    for (const name of ["index.mjs", "answer/ledger/file.mjs"]) {
      const address = JSON.stringify(new URL(`../../../rrcollect/web/src/${name}`, import.meta.url).href);
      const program = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });
        await import(${address}).then(() => console.log("imported"), ({ name, message }) => console.log(name + ": " + message));`;
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
      const wanted = good ? "imported" : `OldNode: rrcollect needs Node 20.16 or newer; this is Node ${version.split(".").slice(0, 2).join(".")}: install a newer one`;
      assert.equal(stdout.trim(), wanted);
    }
  }
});

test("a policy that pins takes no survey of one's own", async () => {
  const mine = signed(document()), theirs = signed(document({ thanks: { en: "Thank you, number 7" } })), { digest } = await rr.acceptSurvey(mine, policy(), { now: NOW });
  const pinned = policy({ digests: [digest] });
  assert.equal((await rr.acceptSurvey(mine, pinned, { now: NOW })).digest, digest);
  await assert.rejects(rr.acceptSurvey(theirs, pinned, { now: NOW }), refused("OverPolicy", /pins/));
  const other = await rr.acceptSurvey(theirs, policy(), { now: NOW });
  await assert.rejects(device({ policy: pinned }).answer(other, "q1", unread), refused("OverPolicy", /pins/));
  for (const digests of ["", digest, [digest.slice(1)], [digest.toUpperCase()], [7], null]) assert.throws(() => policy({ digests }), refused("ParameterError"));
});
