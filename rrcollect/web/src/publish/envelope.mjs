// @ts-check
/**
 * Signed envelopes (DSSE), and the one that ends a survey early.
 */
import { refuse, shown } from "../errors.mjs";
import { encoder, exactFields, isObject, readCanonical } from "./canonical.mjs";
import { integer, matching, needMoment, needName, needWords } from "./document.mjs";
import { sha256, unhex, verifies } from "./keys.mjs";

/** @import { Need } from "./document.mjs" */

export const SURVEY_TYPE = "application/vnd.rrcollect.survey.v1+json", WITHDRAWAL_TYPE = "application/vnd.rrcollect.withdrawal.v1+json";
export const LARGEST_ENVELOPE = 256 * 1024, LARGEST_WITHDRAWAL = 8192, MOST_SIGNATURES = 16, LONGEST_PROOF = 8192;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** @param {unknown} value @param {string} what @returns {string} */
function textField(value, what) {
  return typeof value === "string" ? value : refuse("MalformedDocument", `${what} must be a string`);
}

/** @param {unknown} value @param {string} what @returns {Uint8Array} */
export function base64Field(value, what) {
  const text = textField(value, what);
  if (!BASE64.test(text)) refuse("MalformedDocument", `${what} is not base64`);
  const binary = atob(text);
  if (btoa(binary) !== text) refuse("NotCanonical", `${what} is base64 with stray bits at its end`);
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/** The payload of an envelope, the trusted keys that signed exactly these bytes as a document of this type, and the proof beside it, unread.
 * @param {Uint8Array} envelope @param {Iterable<string>} trusted public keys, in hexadecimal @param {string} [type] */
export async function verifyEnvelope(envelope, trusted, type = SURVEY_TYPE) {
  if (!(envelope instanceof Uint8Array)) refuse("ParameterError", "an envelope is a Uint8Array");
  const value = readCanonical(envelope, LARGEST_ENVELOPE), beside = isObject(value) && "proof" in value ? ["proof"] : []; // of a log
  const parts = exactFields(value, "envelope", ["payload", "payloadType", "signatures", ...beside]);
  const proof = beside.length ? textField(parts.proof, "proof") : null;
  if ([...(proof ?? "")].length > LONGEST_PROOF) refuse("MalformedDocument", `proof has at most ${LONGEST_PROOF} characters`);
  if (!Array.isArray(parts.signatures) || parts.signatures.length > MOST_SIGNATURES) {
    refuse("MalformedDocument", `signatures must be a list of at most ${MOST_SIGNATURES}`);
  }
  const signatures = parts.signatures.map((/** @type {unknown} */ item) => {
    const part = exactFields(item, "signature", ["keyid", "sig"]);
    return { id: textField(part.keyid, "keyid"), sig: base64Field(part.sig, "sig") };
  });
  const payload = base64Field(parts.payload, "payload"), kind = textField(parts.payloadType, "payloadType");
  if (kind !== type) refuse("MalformedDocument", `the envelope holds ${shown(kind)}, not ${type}`);
  if (!signatures.length) refuse("MissingSignature", "the envelope carries no signature");
  if (new Set(signatures.map((s) => s.id)).size !== signatures.length) {
    refuse("KeyCountedTwice", "one key signed this envelope twice");
  }
  const known = new Map();
  for (const key of trusted) known.set(await sha256(unhex(key)), key);
  const head = encoder.encode(`DSSEv1 ${encoder.encode(kind).length} ${kind} ${payload.length} `);
  const message = new Uint8Array(head.length + payload.length);
  message.set(head);
  message.set(payload, head.length);
  const signers = new Set();
  for (const { id, sig } of signatures) {
    if (!known.has(id)) continue;
    if (!(await verifies(unhex(known.get(id)), sig, message))) {
      refuse("BadSignature", `the signature under the trusted key ${id.slice(0, 16)}… does not fit the document`);
    }
    signers.add(known.get(id));
  }
  if (!signers.size) refuse("UntrustedKey", "no signature of this envelope is by a key this policy trusts");
  return { payload, signers, proof };
}

/** @type {Record<string, Need>} */
export const WITHDRAWAL = {
  survey: matching(/^[0-9a-f]{64}$/, "must be a digest"), publisher: needWords, name: needName, version: integer(1, 2 ** 31), moment: needMoment,
};

/** @typedef {Readonly<{survey: string, publisher: string, name: string, version: number, moment: Date}>} Withdrawal */
