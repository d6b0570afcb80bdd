// A device for tests: surveys signed by a key of the vectors, a clock that stands still, and time that passes on demand.

import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import * as rr from "../../../rrcollect/web/src/index.mjs";

export const NOW = new Date("2026-11-01T00:00:00Z");
const lines = readFileSync(new URL("../../vectors/surveys.jsonl", import.meta.url), "utf8").trim().split("\n");
export const vector = (name) => JSON.parse(lines.find((line) => JSON.parse(line).name === name));
export const bytes = (name) => Uint8Array.from(Buffer.from(vector(name).envelope, "base64"));
export const policy = (caps = {}) => new rr.Policy(vector("good_plain").policy.publishers, caps);
export const device = (given = {}) => new rr.Client({
  ledger: new rr.MemoryLedger(), attributes: ["doped"], policy: policy(), clock: () => NOW, source: (b) => b.fill(0), spread: 0, ...given,
});
export const refused = (name, words = /./) => (error) => error instanceof rr.RRCollectError && error.name === name && words.test(error.message);
export const unread = () => { throw new Error("the truth was read"); };
export const INVITES = JSON.parse(readFileSync(new URL("../../vectors/tickets.json", import.meta.url), "utf8")).tickets
  .map(({ invite }) => invite).filter((one, i, all) => all.indexOf(one) === i);

const SURVEY = "application/vnd.rrcollect.survey.v1+json", WITHDRAWAL = "application/vnd.rrcollect.withdrawal.v1+json";
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const digest = (data) => createHash("sha256").update(data);

/** An envelope around a document, signed by the keys of these labels: "alice" is trusted, "mallory" is not. */
export function signed(document, { type = SURVEY, by = ["alice"] } = {}) {
  const payload = Buffer.from(rr.canonical(document)), head = Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `);
  const signatures = by.map((label) => {
    const key = createPrivateKey({ key: Buffer.concat([PKCS8, digest(label).digest()]), format: "der", type: "pkcs8" });
    const { x } = key.export({ format: "jwk" });
    const keyid = digest(Buffer.from(x, "base64url")).digest("hex");
    return { keyid, sig: sign(null, Buffer.concat([head, payload]), key).toString("base64") };
  });
  return rr.canonical({ payload: payload.toString("base64"), payloadType: type, signatures });
}

/** The document of a vector, with fields of the survey and of its question replaced. */
export function document(changes = {}, question = {}) {
  const whole = JSON.parse(Buffer.from(JSON.parse(Buffer.from(vector("good_plain").envelope, "base64")).payload, "base64"));
  return { ...whole, questions: [{ ...whole.questions[0], ...question }], ...changes };
}

export const envelope = (changes, question) => signed(document(changes, question));
export const accepted = (changes, question, given = {}) => rr.acceptSurvey(envelope(changes, question), policy(), { now: NOW, ...given });
export const withdrawal = ({ digest: survey, survey: { publisher, name, version } }, changes = {}, given = {}) =>
  signed({ survey, publisher, name, version, moment: "2026-10-31T12:00:00Z", ...changes }, { type: WITHDRAWAL, ...given });

/** A clock that moves when everybody sleeps: `clock` and `sleep` of a client, in virtual time. */
export class World {
  constructor(start = NOW.getTime() / 1000) {
    this.now = start;
    this.sleepers = [];
    this.clock = () => new Date(this.now * 1000);
    this.sleep = (seconds, signal) => new Promise((resolve) => {
      this.sleepers.push({ at: this.now + seconds, resolve });
      signal?.addEventListener("abort", resolve);
      this.wake();
    });
  }
  wake() { // after all that can run without time passing has run
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const next = this.sleepers.sort((a, b) => b.at - a.at).pop();
      if (!next) return;
      this.now = Math.max(this.now, next.at);
      next.resolve();
      this.wake();
    }, 3);
  }
}

/** A collector that says what it is told to: "taken", an error's name, or something to do with (destination, body, signal). */
export class Collector {
  constructor(...script) {
    this.script = script;
    this.sent = [];
  }
  async send(destination, body, signal) {
    this.sent.push([destination, JSON.parse(new TextDecoder().decode(body))]);
    const said = this.script.length > 1 ? this.script.shift() : this.script[0] ?? "taken";
    if (typeof said === "function") return said(destination, body, signal);
    if (said !== "taken") throw new rr.RRCollectError(said, said);
  }
}
