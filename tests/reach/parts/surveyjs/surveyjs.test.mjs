// What SurveyJS gets to know: everything its model says and keeps is the same, whatever the truth, if the draw is.
//
// Two people whose truths differ, and whose reports happen to be the same, must leave the same transcript: every event of
// the model and the question with its options, and every value that can be reached from them.  The source of chance is
// chosen so that such pairs come about; ids of reports and SurveyJS's own counters are masked.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as rr from "../../../../rrcollect/web/src/index.mjs";
import { NOW, device, envelope, unread, vector } from "../../../collect/js/device.mjs";

const here = (path) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), project = mkdtempSync(join(tmpdir(), "rr-"));
mkdirSync(join(project, "node_modules")); // a project that has the npm package, and the example
symlinkSync(here("rrcollect/web"), join(project, "node_modules/rrcollect"));
cpSync(here("examples/surveyjs.mjs"), join(project, "surveyjs.mjs"));
const { addRandomised } = await import(pathToFileURL(join(project, "surveyjs.mjs")));
test.after(() => rmSync(project, { recursive: true }));
const installed = (name) => join(process.env.REACH_NODE, "node_modules", name);
const core = await import(pathToFileURL(join(installed("survey-core"), "fesm", "survey-core.mjs")));
const choice = vector("good_choice"), FILLS = [0x00, 0x3f, 0x7f, 0xbf, 0xff], HELD = 40_000;
const masked = (text) => text.replace(/(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g, "ID").replace(/\b(sp|sq)_\d+/g, "N").replace(/(uniqueId\w*|\.id|\.key)=\d+/g, "$1");
const SHARED = /^(cssValue|classMetaData|creator|customWidgetValue)$/; // the same objects for all models, which grow from test to test
/** The lines in which two transcripts differ. */
const differences = (one, other) => {
  const [left, right] = [one, other].map((text) => text.split("\n"));
  return left.length === right.length ? left.filter((line, i) => line !== right[i]) : ["their lengths"];
};

/** Every primitive that can be reached from a value, with its path. */
function reached(start) {
  const seen = new Set(), found = [], todo = [["", start]];
  while (todo.length) {
    const [path, value] = todo.shift();
    if (value === null || (typeof value !== "object" && typeof value !== "function")) found.push(`${path}=${String(value)}`);
    else if (!seen.has(value) && path.length < 200 && !(value instanceof rr.Client)) {
      seen.add(value);
      for (const [name, { value: inner }] of Object.entries(Object.getOwnPropertyDescriptors(value))) if (inner !== undefined && !SHARED.test(name)) todo.push([`${path}.${name}`, inner]);
    }
  }
  return found;
}

/** All that a model says and keeps while `answer` is given to it. */
async function transcript(model, answer) {
  const log = [], options = (given) => JSON.stringify(given, (name, value) => (value?.getType ? `<${value.getType()}>` : value));
  let events = 0;
  for (const [name, one] of [["model", model], ["question", model.getAllQuestions()[0]]]) {
    for (let level = one; level; level = Object.getPrototypeOf(level)) {
      for (const key of Object.getOwnPropertyNames(level).filter((key) => key.startsWith("on"))) {
        const event = one[key];
        if (typeof event?.add !== "function" || typeof event.fire !== "function") continue;
        events += 1;
        event.add((_, given) => { log.push(`${name}.${key} ${options(given)}`); });
      }
    }
  }
  assert.ok(events > 100, `only ${events} events are listened to`);
  await answer(model);
  log.push(`data ${JSON.stringify(model.data)}`);
  model.doComplete();
  log.push(`data ${JSON.stringify(model.data)}`, `document ${JSON.stringify(model.toJSON())}`, ...reached(model));
  return masked(log.join("\n"));
}

/** By answer, the transcripts of all truths that gave it. */
async function transcripts(signed, truths, build) {
  const found = new Map();
  for (const truth of truths) {
    for (const fill of FILLS) {
      const attributes = [{ everyAttributeOf: "Example Institute" }], client = device({ source: (bytes) => bytes.fill(fill), attributes });
      const accepted = await client.accept(signed), [asked] = accepted.survey.questions;
      const { model, answer } = build(client, accepted, asked, truth), said = await transcript(model, answer);
      const drawn = JSON.parse(Object.values(model.data)[0]).answer, before = found.get(drawn) ?? new Map();
      found.set(drawn, before.set(truth, said));
    }
  }
  return found;
}

const ours = (client, accepted, asked, truth) => {
  addRandomised(core, client, accepted);
  const model = new core.Model({ elements: [{ type: "randomised", name: "rr", question: asked.id }, { type: "text", name: "age" }] });
  return { model, answer: () => model.getQuestionByName("rr").randomise(() => truth) };
};

/** The planted bug: an ordinary question, whose truth is randomised when the survey is completed. */
const naive = (client, accepted, asked, truth) => {
  const model = new core.Model({ elements: [{ type: typeof truth === "boolean" ? "boolean" : "text", name: "rr" }] });
  return {
    model,
    answer: async () => {
      model.setValue("rr", truth);
      const { body } = await client.answer(accepted, asked.id, truth);
      model.onCompleting.add(() => { model.setValue("rr", body); });
    },
  };
};

const carried = { collector: "carried" };
const CHOICE = JSON.parse(Buffer.from(JSON.parse(Buffer.from(choice.envelope, "base64")).payload, "base64")).questions[0];
const SURVEYS = [["yes or no", envelope(carried), [true, false]], ["a choice", envelope({ ...carried, questions: [CHOICE] }), CHOICE.kind.options.map((_, i) => i)]];

for (const [name, signed, truths] of SURVEYS) {
  test(`${name}: SurveyJS learns the report and nothing else`, async () => {
    let compared = 0;
    for (const [, said] of await transcripts(signed, truths, ours)) {
      for (const other of said.values()) assert.deepEqual(differences(other, [...said.values()][0]), []);
      compared += said.size - 1;
    }
    assert.ok(compared >= truths.length - 1, `only ${compared} pairs`);
  });

  test(`${name}: the check sees a truth that was in the model for a moment`, async () => {
    const differing = [];
    for (const [, said] of await transcripts(signed, truths, naive)) {
      for (const other of said.values()) differing.push(...differences(other, [...said.values()][0]));
    }
    assert.ok(differing.some((line) => line.startsWith("model.onValueChanged ")), differing.join("\n"));
  });
}

test("the transcript holds what it is to hold: the change of the value, and the value", async () => {
  const [found] = await transcripts(envelope(carried), [true], ours), [, said] = found, [text] = said.values();
  for (const wanted of ["model.onValueChanged ", "model.onValueChanging ", "model.onComplete ", 'data {"rr":"{\\"answer\\":']) assert.ok(text.includes(wanted), wanted);
  assert.ok(text.length > HELD);
});

test("asked again the same report is the value, and the truth is not read", async () => {
  const client = device(), accepted = await client.accept(envelope(carried)), { model } = ours(client, accepted, { id: "q1" }, true), question = model.getQuestionByName("rr");
  await question.randomise(true);
  const first = question.value;
  question.clearValue();
  await question.randomise(unread);
  assert.equal(question.value, first);
  assert.equal((await client.budget()).reports[0].state, "carried");
});

test("a no leaves nothing in the results", async () => {
  const client = device(), accepted = await client.accept(envelope(carried)), { model } = ours(client, accepted, { id: "q1" }, true), question = model.getQuestionByName("rr");
  await question.randomise(true);
  await question.decline();
  assert.deepEqual(model.data, {});
});

test("what is refused leaves the question empty", async () => {
  const client = device({ clock: () => new Date(NOW.getTime() - 1e12) }), accepted = await client.accept(envelope({ ...carried, opens: "2026-10-01T00:00:00Z" }));
  const { model } = ours(client, accepted, { id: "q1" }, true), question = model.getQuestionByName("rr");
  await assert.rejects(question.randomise(unread), { name: "NotOpen" });
  assert.deepEqual(model.data, {});
});

test("a survey that sends its reports itself is refused, and so is a question that it does not have", async () => {
  const client = device(), accepted = await client.accept(envelope());
  assert.throws(() => addRandomised(core, client, accepted), /sends its reports itself/);
  const { model } = ours(client, await client.accept(envelope({ ...carried, name: "other" })), { id: "q9" }, true);
  await assert.rejects(model.getQuestionByName("rr").randomise(unread), /has no question 'q9'/);
});

test("the module does not import SurveyJS", () => {
  const text = readFileSync(here("examples/surveyjs.mjs"), "utf8");
  assert.deepEqual([...text.matchAll(/^import .* from "(.+)";$/gm)].map(([, from]) => from), ["rrcollect/entries", "rrcollect"]);
});
