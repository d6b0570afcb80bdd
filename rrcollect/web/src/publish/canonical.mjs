// @ts-check
/**
 * One text per value: canonical JSON (RFC 8785) without floats, read strictly.
 */
import { refuse, shown } from "../errors.mjs";

const DEEPEST = 16;
export const encoder = new TextEncoder();

/** The canonical bytes of a value. @param {unknown} value @returns {Uint8Array} */
export function canonical(value) {
  return encoder.encode(canonicalText(value));
}

/** @param {any} value @returns {string} */
export function canonicalText(value) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    if (/\p{Surrogate}/u.test(value)) refuse("MalformedDocument", "a string holds half of a surrogate pair");
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) refuse("FloatInDocument", "numbers are integers or strings");
    return String(value);
  }
  if (Array.isArray(value)) return "[" + value.map(canonicalText).join(",") + "]";
  if (typeof value === "object") {
    const keys = Object.keys(value).sort();
    return "{" + keys.map((key) => canonicalText(key) + ":" + canonicalText(value[key])).join(",") + "}";
  }
  return refuse("MalformedDocument", `a ${typeof value} has no JSON form`);
}

/** The value of JSON bytes: no floats, no duplicate keys, bounded size and depth.
 * @param {Uint8Array} data @param {number} limit @returns {any} */
export function read(data, limit) {
  if (data.length > limit) refuse("Oversize", `the document has ${data.length} bytes; at most ${limit} are read`);
  checkDepth(data);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return refuse("MalformedDocument", "the document is not UTF-8");
  }
  const reader = new Reader(text);
  const value = reader.value();
  reader.space();
  if (reader.at !== text.length) reader.fail();
  return value;
}

/** The value of canonical JSON bytes; any other spelling is refused. @param {Uint8Array} data @param {number} limit */
export function readCanonical(data, limit) {
  const value = read(data, limit);
  if (!sameBytes(canonical(value), data)) refuse("NotCanonical", "the bytes are not in canonical form (RFC 8785)");
  return value;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** @param {Uint8Array} data */
function checkDepth(data) {
  let depth = 0, inString = false, escaped = false;
  for (const byte of data) {
    if (inString) {
      if (escaped) escaped = false;
      else if (byte === 0x5c) escaped = true;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > DEEPEST) refuse("Oversize", `the document is nested deeper than ${DEEPEST} levels`);
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS = /** @type {[string, any][]} */ ([["null", null], ["true", true], ["false", false]]);

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }
  /** @returns {never} */
  fail() {
    return refuse("MalformedDocument", `the document is not JSON: character ${this.at}`);
  }
  space() {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }
  /** @param {RegExp} pattern */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found;
  }
  /** @returns {any} */
  value() {
    this.space();
    const start = this.text[this.at];
    if (start === "{") return this.object();
    if (start === "[") return this.array();
    if (start === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    for (const word of ["NaN", "Infinity", "-Infinity"]) {
      if (this.text.startsWith(word, this.at)) refuse("FloatInDocument", `the number ${word}`);
    }
    const found = this.match(NUMBER);
    if (!found) return this.fail();
    const number = Number(found[0]);
    if (found[1] || found[2] || found[0].length > 17 || !Number.isSafeInteger(number) || found[0] === "-0") {
      refuse("FloatInDocument", `the number ${shown(found[0])}: numbers that matter are strings, or small integers`);
    }
    return number;
  }
  string() {
    const found = this.match(STRING);
    return found ? JSON.parse(found[0]) : this.fail();
  }
  array() {
    /** @type {any[]} */
    const made = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "]") return this.at++, made;
    for (;;) {
      made.push(this.value());
      this.space();
      const next = this.text[this.at++];
      if (next === "]") return made;
      if (next !== ",") return this.at--, this.fail();
    }
  }
  object() {
    /** @type {[string, any][]} */
    const pairs = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "}") return this.at++, Object.create(null);
    for (;;) {
      this.space();
      const key = this.string();
      this.space();
      if (this.text[this.at] !== ":") return this.fail();
      this.at++;
      pairs.push([key, this.value()]);
      this.space();
      const next = this.text[this.at++];
      if (next === "}") break;
      if (next !== ",") return this.at--, this.fail();
    }
    const made = Object.create(null);
    for (const [key, value] of pairs) {
      if (key in made) refuse("DuplicateKey", `the key ${shown(key)} stands twice in one object`);
      made[key] = value;
    }
    return made;
  }
}

/** @param {unknown} value @returns {value is Record<string, any>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @param {string} what @param {string[]} names @returns {Record<string, any>} */
export function exactFields(value, what, names) {
  if (!isObject(value) || Object.keys(value).length !== names.length || !names.every((name) => Object.hasOwn(value, name))) {
    return refuse("MalformedDocument", `${what}: it must have exactly the fields ${names.join(", ")}`);
  }
  return value;
}
