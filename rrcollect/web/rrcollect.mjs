// @ts-check
/**
 * rrcollect for browsers and Node >= 20: the Python client's equal, in one module without dependencies.
 * Its sections carry the names of the Python modules they mirror.
 *
 * Rules
 * 1. A survey is accepted if its signed envelope is canonical, signed by trusted keys, keeps its own promises (decided
 *    exactly, in BigInt) and fits this device's policy; otherwise an error whose `name` says why.
 * 2. An answer is one comparison of 64 random bits from crypto.getRandomValues with an exact threshold.
 * 3. One attribute, one draw: answer, report and debit are committed to the ledger in one transaction before anything
 *    is sent; asked again, the device repeats itself.  Budgets are for life.
 * 4. The truth is not stored, logged or put into an error.  A report has the same length for all answers.
 * 5. Answering follows the script of docs/wire-format.md, "Answering", check by check, as the Python client does.
 */

// ---- errors: the names are the Python client's ----------------------------------------------------------------------

/** Base of every error thrown on purpose; `name` is the reason. */
export class RRCollectError extends Error {
  /** @param {string} name @param {string} message @param {number | null} [retryAfter] */
  constructor(name, message, retryAfter = null) {
    super(message);
    this.name = name;
    this.retryAfter = retryAfter;
  }
}

/** @param {string} name @param {string} message @returns {never} */
function refuse(name, message) {
  throw new RRCollectError(name, message);
}

/** @param {unknown} value */
function shown(value) {
  let text = typeof value === "string" ? `'${value}'` : String(value);
  text = text.replace(/[^\P{C}]/gu, "?");
  return text.length <= 80 ? text : text.slice(0, 79) + "…";
}

// ---- publish/canonical: one text per value (RFC 8785, no floats) ----------------------------------------------------

const DEEPEST = 16;
const encoder = new TextEncoder();

/** The canonical bytes of a value. @param {unknown} value @returns {Uint8Array} */
export function canonical(value) {
  return encoder.encode(canonicalText(value));
}

/** @param {any} value @returns {string} */
function canonicalText(value) {
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
function sameBytes(a, b) {
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

// ---- design/parameters and design/exponential: exact numbers --------------------------------------------------------

/** @param {bigint} a @param {bigint} b */
function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

/** A fraction in lowest terms. */
export class Fraction {
  /** @param {bigint} n @param {bigint} [d] */
  constructor(n, d = 1n) {
    if (d === 0n) throw new RangeError("division by zero");
    const g = (gcd(n, d) || 1n) * (d < 0n ? -1n : 1n);
    this.n = n / g;
    this.d = d / g;
  }
  /** @param {Fraction} o */ plus(o) { return new Fraction(this.n * o.d + o.n * this.d, this.d * o.d); }
  /** @param {Fraction} o */ minus(o) { return new Fraction(this.n * o.d - o.n * this.d, this.d * o.d); }
  /** @param {Fraction} o */ times(o) { return new Fraction(this.n * o.n, this.d * o.d); }
  /** @param {Fraction} o */ over(o) { return new Fraction(this.n * o.d, this.d * o.n); }
  /** @param {Fraction} o */
  compare(o) {
    const difference = this.n * o.d - o.n * this.d;
    return difference > 0n ? 1 : difference < 0n ? -1 : 0;
  }
  sign() { return this.n > 0n ? 1 : this.n < 0n ? -1 : 0; }
  toString() { return this.d === 1n ? String(this.n) : `${this.n}/${this.d}`; }
  /** The nearest double, for reading only. */
  toNumber() {
    const bits = bitLength(this.d) - bitLength(this.n < 0n ? -this.n : this.n) + 64;
    const shift = BigInt(Math.max(0, bits)), back = Math.max(0, bits);
    const quotient = Number((this.n << shift) / this.d);
    return back > 1000 ? (quotient / 2 ** 1000) / 2 ** (back - 1000) : quotient / 2 ** back;
  }
}

const ZERO = new Fraction(0n), ONE = new Fraction(1n);

/** @param {bigint} n */
function bitLength(n) {
  return n === 0n ? 0 : n.toString(2).length;
}

const LONGEST_TEXT = 20000, MOST_DIGITS = 4300, LARGEST_EXPONENT = 5000;
const QUOTIENT = /^([+-]?[0-9]+) ?\/ ?([0-9]+)$/;
const DECIMAL = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,6}))?$/;

/** The number a text is written as, exactly; null if it is not one. @param {string} text @returns {Fraction | null} */
export function parseFraction(text) {
  const stripped = text.trim();
  if (stripped.length > LONGEST_TEXT) return null;
  const quotient = QUOTIENT.exec(stripped);
  if (quotient) {
    if (quotient[1].replace(/^[+-]/, "").length > MOST_DIGITS || quotient[2].length > MOST_DIGITS) return null;
    const under = BigInt(quotient[2]);
    return under === 0n ? null : new Fraction(BigInt(quotient[1].replace(/^\+/, "")), under);
  }
  const decimal = DECIMAL.exec(stripped);
  if (!decimal) return null;
  const whole = decimal[2] ?? "", part = decimal[3] ?? decimal[4] ?? "", exponent = Number(decimal[5] ?? 0);
  if (Math.abs(exponent) > LARGEST_EXPONENT || whole.length > MOST_DIGITS || part.length > MOST_DIGITS) return null;
  const digits = BigInt((decimal[1] === "-" ? "-" : "") + (whole + part || "0"));
  const power = exponent - part.length;
  return power >= 0 ? new Fraction(digits * 10n ** BigInt(power)) : new Fraction(digits, 10n ** BigInt(-power));
}

/** Integers low, high, w with low/2^w <= e^(n/d) <= high/2^w, for n/d > 0: Taylor at x/2^k, then k squarings outward.
 * @param {bigint} n @param {bigint} d @param {number} bits @returns {[bigint, bigint, bigint]} */
function scaledExp(n, d, bits) {
  const k = BigInt(bitLength(n / d + 1n) + 8), w = BigInt(bits) + k + 16n, divisor = d << k;
  let low = 1n << w, term = low, terms = 0n;
  while (term) {
    terms++;
    term = (term * n) / (divisor * terms);
    low += term;
  }
  let high = low + 2n * terms + 2n;
  for (let i = 0n; i < k; i++) {
    low = (low * low) >> w;
    high = ((high * high) >> w) + 1n;
  }
  return [low, high, w];
}

/** The sign of a + b·e^r, exactly: e^r is transcendental for r != 0, so refining ends (Lindemann).
 * @param {Fraction} a @param {Fraction} b @param {Fraction} r @returns {number} */
export function signAtExp(a, b, r) {
  if (b.sign() === 0) return a.sign();
  if (r.sign() === 0) return a.plus(b).sign();
  if (a.sign() === 0) return b.sign();
  if (r.sign() < 0) return signAtExp(b, a, ZERO.minus(r));
  const ia = a.n * b.d, ib = b.n * a.d; // both times the common denominator
  const abs = (/** @type {bigint} */ x) => (x < 0n ? -x : x);
  const bound = BigInt(bitLength(abs(ia) / abs(ib) + 2n)); // e^r > 2^r: beyond it b decides, however huge r is
  if (r.n >= bound * r.d) return b.sign();
  for (let bits = 64; ; bits *= 2) {
    const [low, high, w] = scaledExp(r.n, r.d, bits);
    const least = (ia << w) + ib * (ib > 0n ? low : high), most = (ia << w) + ib * (ib > 0n ? high : low);
    if (least > 0n) return 1;
    if (most < 0n) return -1;
  }
}

const LOGARITHM = /^ln(?:\s*\(([^()]*)\)|\s+([^\s()/]+))$/;

/** A privacy loss ε = rational + ln factor >= 0, exactly. */
export class Epsilon {
  /** @param {Fraction} rational @param {Fraction} factor */
  constructor(rational, factor) {
    this.rational = rational;
    this.factor = factor;
  }
  /** @param {string} text @returns {Epsilon | null} */
  static parse(text) {
    let rational = ZERO, factor = ONE;
    if (text.length > LONGEST_TEXT) return null;
    for (const term of text.split(" + ")) {
      const logarithm = LOGARITHM.exec(term.trim());
      const number = parseFraction(logarithm ? (logarithm[1] || logarithm[2] || "") : term);
      if (number === null) return null;
      if (logarithm) factor = factor.times(number);
      else rational = rational.plus(number);
    }
    if (factor.sign() <= 0 || signAtExp(new Fraction(-1n), factor, rational) < 0) return null;
    return new Epsilon(rational, factor);
  }
  /** @param {Epsilon} o */
  plus(o) { return new Epsilon(this.rational.plus(o.rational), this.factor.times(o.factor)); }
  /** @param {Epsilon} o */
  compare(o) { return signAtExp(ZERO.minus(o.factor), this.factor, this.rational.minus(o.rational)); }
  toString() {
    if (this.factor.compare(ONE) === 0) return String(this.rational);
    return this.rational.sign() === 0 ? `ln(${this.factor})` : `${this.rational} + ln(${this.factor})`;
  }
  toNumber() {
    const log = (/** @type {bigint} */ x) => {
      const drop = Math.max(0, bitLength(x) - 64);
      return Math.log(Number(x >> BigInt(drop))) + drop * Math.LN2;
    };
    return this.rational.toNumber() + log(this.factor.n) - log(this.factor.d);
  }
}

/** @param {string} name @param {string | number} value */
function epsilonOf(name, value) {
  return Epsilon.parse(String(value)) ?? refuse("ParameterError", `${name} is ${shown(value)}; allowed: an ε such as 'ln 3'`);
}

/** @param {string} name @param {string | number} value */
function fractionOf(name, value) {
  return parseFraction(String(value)) ?? refuse("ParameterError", `${name} is ${shown(value)}; allowed: a number such as '1/3'`);
}

// ---- design/yes_no: the published matrix; design/mechanism: its one spelling ----------------------------------------

const GRID = 1n << 64n;

/** The published matrix by its diagonal (p00, p11), exactly: two truths, an answer of one bit. */
export class Design {
  /** @param {Fraction} p00 @param {Fraction} p11 */
  constructor(p00, p11) {
    this.p00 = p00;
    this.p11 = p11;
    this.truths = 2;
    this.width = 1;
    const applied = this.c.sign() > 0 && this.onGrid;
    /** (T0, T1): 64 random bits below T[truth] say 1; null if no device applies this design.
     * @type {[bigint, bigint] | null} */
    this.limits = applied ? [GRID - (p00.n * GRID) / p00.d, (p11.n * GRID) / p11.d] : null;
  }
  get c() { return this.p00.plus(this.p11).minus(ONE); }
  get onGrid() { return GRID % this.p00.d === 0n && GRID % this.p11.d === 0n; }
  /** P(answer | the truth it speaks for), P(answer | the other): the larger first. @param {number} answer */
  says(answer) {
    const given = answer ? [ONE.minus(this.p00), this.p11] : [this.p00, ONE.minus(this.p11)];
    return given[0].compare(given[1]) >= 0 ? given : given.reverse();
  }
  /** How much an answer can change the odds; null if it proves the truth. @param {number} answer */
  likelihoodRatio(answer) {
    const [most, least] = this.says(answer);
    return least.sign() ? most.over(least) : null;
  }
  /** The larger ratio of the two answers; null if an answer is a proof. @returns {Fraction | null} */
  get worstRatio() {
    const [no, yes] = [this.likelihoodRatio(0), this.likelihoodRatio(1)];
    if (no === null || yes === null) return null;
    return no.compare(yes) >= 0 ? no : yes;
  }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies(promise) {
    return [0, 1].every((answer) => {
      const [most, least] = this.says(answer);
      const { epsilon, delta } = promise;
      return signAtExp(delta.minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
    });
  }
  /** Whether this text is an answer: "0" or "1". @param {unknown} answer */
  allows(answer) { return answer === "0" || answer === "1"; }
  /** The one bit of the answer seen alone: the design itself. @returns {Design} */
  get column() { return this; }
  /** Fractions in lowest terms. */
  toWire() { return { p00: String(this.p00), p11: String(this.p11) }; }
  /** The canonical JSON text. */
  get text() { return canonicalText(this.toWire()); }
  /** The limits, or why there are none. @returns {[bigint, bigint]} */
  thresholds() {
    if (this.c.sign() <= 0) refuse("NotOriented", "p00 + p11 <= 1: its answers would mean their opposite");
    return this.limits ?? refuse("OffGridMatrix", "the matrix is off the grid of 1/2^64");
  }
}

/** @typedef {{epsilon: Epsilon, delta: Fraction}} Promised */

// ---- answer/draw: one answer, 64 bits, one comparison ---------------------------------------------------------------

/** @typedef {(bytes: Uint8Array) => Uint8Array} Source */

/** @type {Source} */
const systemSource = (bytes) => globalThis.crypto.getRandomValues(bytes);

/** 1 with probability exactly T/2^64, T the threshold of the truth's row; the same statements run for both truths, and
 * the truth enters by one "and" with whether the comparisons differ: no index, which a processor would predict.
 * @param {boolean} truth @param {Design} design @param {Source} [source] @returns {0 | 1} */
export function randomise(truth, design, source = systemSource) {
  const limits = design.thresholds();
  if (typeof truth !== "boolean") refuse("BadTruth", "the truth must be true or false; what was given is not shown");
  let drawn = 0n;
  for (const byte of randomBytes(8, source)) drawn = (drawn << 8n) | BigInt(byte);
  const no = Number(drawn < limits[0]), yes = Number(drawn < limits[1]);
  return /** @type {0 | 1} */ (no ^ ((no ^ yes) & Number(truth)));
}

/** @param {number} n @param {Source} source */
function randomBytes(n, source) {
  let bytes;
  try {
    bytes = source(new Uint8Array(n));
  } catch {
    return refuse("NoRandomness", "the secure generator failed; no answer was made");
  }
  if (!(bytes instanceof Uint8Array) || bytes.length !== n) refuse("NoRandomness", "the secure generator gave too few bytes");
  return bytes;
}

// ---- publish/keys and publish/envelope: signatures ------------------------------------------------------------------

const SURVEY_TYPE = "application/vnd.rrcollect.survey.v1+json";
const LARGEST_ENVELOPE = 256 * 1024, MOST_SIGNATURES = 16;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** @param {unknown} value @param {string} what @param {string[]} names @returns {Record<string, any>} */
function exactFields(value, what, names) {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject || Object.keys(value).sort().join() !== [...names].sort().join()) {
    refuse("MalformedDocument", `the ${what} must have exactly ${names.join(", ")}`);
  }
  return /** @type {Record<string, any>} */ (value);
}

/** @param {unknown} value @param {string} what @returns {string} */
function textField(value, what) {
  return typeof value === "string" ? value : refuse("MalformedDocument", `${what} must be a string`);
}

/** @param {unknown} value @param {string} what @returns {Uint8Array} */
function base64Field(value, what) {
  const text = textField(value, what);
  if (!BASE64.test(text)) refuse("MalformedDocument", `${what} is not base64`);
  const binary = atob(text);
  if (btoa(binary) !== text) refuse("NotCanonical", `${what} is base64 with stray bits at its end`);
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** @param {string} text */
function unhex(text) {
  if (!/^[0-9a-f]{64}$/.test(text)) refuse("ParameterError", "a public key is 64 hexadecimal digits");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function subtle() {
  const found = globalThis.crypto?.subtle;
  return found ?? refuse("NoEd25519", "this browser does not offer WebCrypto here; open the page over https");
}

/** @param {Uint8Array} data */
async function sha256(data) {
  return hex(new Uint8Array(await subtle().digest("SHA-256", /** @type {any} */ (data))));
}

/** @param {Uint8Array} raw @param {Uint8Array} signature @param {Uint8Array} message */
async function verifies(raw, signature, message) {
  let key;
  try {
    key = await subtle().importKey("raw", /** @type {any} */ (raw), { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "DataError") return false;
    return refuse("NoEd25519", "this browser cannot check Ed25519 signatures; update it, or use another one");
  }
  try {
    return await subtle().verify({ name: "Ed25519" }, key, /** @type {any} */ (signature), /** @type {any} */ (message));
  } catch {
    return false;
  }
}

/** The payload of an envelope and the trusted keys that signed exactly these bytes.
 * @param {Uint8Array} envelope @param {Iterable<string>} trusted public keys, in hexadecimal */
export async function verifyEnvelope(envelope, trusted) {
  const parts = exactFields(readCanonical(envelope, LARGEST_ENVELOPE), "envelope", ["payload", "payloadType", "signatures"]);
  if (!Array.isArray(parts.signatures) || parts.signatures.length > MOST_SIGNATURES) {
    refuse("MalformedDocument", `signatures must be a list of at most ${MOST_SIGNATURES}`);
  }
  const signatures = parts.signatures.map((/** @type {unknown} */ item) => {
    const part = exactFields(item, "signature", ["keyid", "sig"]);
    return { id: textField(part.keyid, "keyid"), sig: base64Field(part.sig, "sig") };
  });
  const payload = base64Field(parts.payload, "payload"), kind = textField(parts.payloadType, "payloadType");
  if (kind !== SURVEY_TYPE) refuse("MalformedDocument", `the envelope holds ${shown(kind)}, not a survey`);
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
  return { payload, signers };
}

// ---- publish/survey: the document -----------------------------------------------------------------------------------

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const MOST_ROUNDS = 1000, MOST_QUESTIONS = 200;

/** @param {boolean} good @param {string} place @param {string} words */
function need(good, place, words) {
  if (!good) refuse("MalformedDocument", `${place}: ${words}`);
}

/** @param {Record<string, any>} object @param {string} place @param {string[]} required @param {string[]} optional */
function needFields(object, place, required, optional) {
  need(typeof object === "object" && object !== null && !Array.isArray(object), place, "must be an object");
  for (const name of required) need(name in object, `${place}.${name}`, "is missing");
  for (const name of Object.keys(object)) {
    need(required.includes(name) || optional.includes(name), place, `unknown field ${shown(name)}`);
  }
}

/** @param {any} value @param {string} place */
function needName(value, place) {
  need(typeof value === "string" && NAME.test(value), place, "must be a short lower-case name");
}

/** @param {any} value @param {string} place @param {number} most @param {string} [also] characters allowed as well */
function needWords(value, place, most, also = "") {
  need(typeof value === "string", place, "must be a string");
  const length = [...value].length;
  need(length >= 1 && length <= most, place, `must have 1 to ${most} characters`);
  const hidden = (value.match(UNREADABLE) ?? []).filter((/** @type {string} */ c) => !also.includes(c));
  need(hidden.length === 0, place, "holds a character that cannot be shown to a person");
  need(value === value.trim(), place, "begins or ends with white space");
}

/** @param {any} value @param {string} place @param {number} least @param {number} most */
function needInteger(value, place, least, most) {
  need(typeof value === "number" && value >= least && value <= most, place, `must be an integer from ${least} to ${most}`);
}

/** @param {any} value @param {string} place */
function needProbability(value, place) {
  need(typeof value === "string", place, "must be a string such as '3/4'");
  const found = parseFraction(value);
  if (found === null || found.sign() < 0 || found.compare(ONE) > 0) return need(false, place, "must be from 0 to 1"), ZERO;
  return found;
}

/** @param {any} value @param {string} place @returns {Design} */
function needDesign(value, place) {
  needFields(value, place, ["p00", "p11"], []);
  const design = new Design(needProbability(value.p00, `${place}.p00`), needProbability(value.p11, `${place}.p11`));
  if (design.c.sign() === 0) refuse("NotOriented", `${place}: p00 + p11 = 1, so nothing can be learned`);
  return design;
}

/** @param {any} value @param {string} place @returns {Promised} */
function needPromise(value, place) {
  needFields(value, place, ["epsilon", "delta"], []);
  need(typeof value.epsilon === "string", place, "epsilon must be a string");
  const epsilon = Epsilon.parse(value.epsilon);
  if (epsilon === null) return refuse("MalformedDocument", `${place}: epsilon must be a number from 0`);
  return { epsilon, delta: needProbability(value.delta, `${place}.delta`) };
}

/** @param {any} value @param {string} place @returns {Date} */
function needMoment(value, place) {
  const found = typeof value === "string" && /^(\d{4})-(\d{1,2})-(\d{1,2})[tT](\d{1,2}):(\d{1,2}):(\d{1,2})[zZ]$/.exec(value);
  if (!found) return refuse("MalformedDocument", `${place}: must look like 2027-01-31T00:00:00Z`);
  const [year, month, day, hour, minute, second] = found.slice(1).map(Number);
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  moment.setUTCHours(hour, minute, second);
  const exact = moment.getUTCFullYear() === year && moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day;
  need(exact && year >= 2000 && year <= 9000 && hour < 24 && minute < 60 && second < 60, place, "is not a moment of the calendar");
  return moment;
}

/** @param {any} value @param {number} number */
function needQuestion(value, number) {
  const place = `questions.${number}`;
  needFields(value, place, ["id", "attribute", "text", "design", "promise"], ["rounds", "disclosure"]);
  needName(value.id, `${place}.id`);
  needName(value.attribute, `${place}.attribute`);
  needWords(value.text, `${place}.text`, 2000, "\n\u200d");
  const design = needDesign(value.design, `${place}.design`), promise = needPromise(value.promise, `${place}.promise`);
  const rounds = "rounds" in value ? value.rounds : 1;
  needInteger(rounds, `${place}.rounds`, 1, MOST_ROUNDS);
  const disclosure = "disclosure" in value ? value.disclosure : null;
  if (disclosure !== null) {
    needFields(disclosure, `${place}.disclosure`, ["exposed", "respondents"], []);
    needInteger(disclosure.exposed, `${place}.disclosure.exposed`, 0, 1e9);
    needInteger(disclosure.respondents, `${place}.disclosure.respondents`, 1, 1e9);
  }
  return { id: value.id, attribute: value.attribute, text: value.text, design, promise, rounds, disclosure };
}

/** @typedef {ReturnType<typeof needQuestion>} Question */

/** The survey of canonical bytes; every other spelling is refused. @param {Uint8Array} payload */
export function readSurvey(payload) {
  const value = readCanonical(payload, LARGEST_ENVELOPE);
  const required = ["name", "version", "title", "publisher", "expires", "questions"];
  needFields(value, "survey", required, ["segments", "invite_only"]);
  needName(value.name, "name");
  needInteger(value.version, "version", 1, 2 ** 31);
  needWords(value.title, "title", 200);
  needWords(value.publisher, "publisher", 200);
  const expires = needMoment(value.expires, "expires");
  const listed = value.questions;
  need(Array.isArray(listed) && listed.length >= 1 && listed.length <= MOST_QUESTIONS, "questions", "must be a list of 1 to 200");
  const questions = /** @type {Question[]} */ (listed.map(needQuestion));
  const segments = "segments" in value ? value.segments : {};
  need(typeof segments === "object" && segments !== null && !Array.isArray(segments), "segments", "must be an object");
  need(Object.keys(segments).length <= 16, "segments", "are too many");
  for (const [name, values] of Object.entries(segments)) {
    needName(name, "segments");
    need(Array.isArray(values) && values.length >= 1 && values.length <= 200, `segments.${name}`, "must list 1 to 200 values");
    values.forEach((/** @type {any} */ text) => needWords(text, `segments.${name}`, 200));
  }
  const inviteOnly = "invite_only" in value ? value.invite_only : false;
  need(typeof inviteOnly === "boolean", "invite_only", "must be true or false");
  for (const what of /** @type {("id" | "attribute")[]} */ (["id", "attribute"])) {
    need(new Set(questions.map((q) => q[what])).size === questions.length, "questions", `two have the same ${what}`);
  }
  for (const values of Object.values(segments)) need(new Set(values).size === values.length, "segments", "list a value twice");
  const { name, version, title, publisher } = value;
  const survey = { name, version, title, publisher, expires, questions, segments: /** @type {Record<string, string[]>} */ (segments), inviteOnly };
  if (!sameBytes(surveyBytes(survey), payload)) refuse("NotCanonical", "a number or a default is not in its canonical form");
  questions.forEach(checkQuestion);
  return survey;
}

/** The canonical bytes of a survey: what was signed. @param {Survey} survey @returns {Uint8Array} */
function surveyBytes({ expires, questions, inviteOnly, ...rest }) {
  return canonical({
    ...rest, invite_only: inviteOnly, expires: expires.toISOString().replace(".000Z", "Z"),
    questions: questions.map((q) => ({
      ...q, design: q.design.toWire(), promise: { epsilon: String(q.promise.epsilon), delta: String(q.promise.delta) },
    })),
  });
}

/** @typedef {ReturnType<typeof readSurvey>} Survey */

/** An answer that changes the odds by this factor is as good as a proof. */
const PRACTICAL_PROOF = new Fraction(1000n);

/** @param {Question} question */
function checkQuestion(question) {
  const where = `question '${question.id}'`, { design, promise, disclosure } = question;
  if (design.c.sign() <= 0) refuse("NotOriented", `${where}: p00 + p11 must be above 1`);
  if (!design.onGrid) refuse("OffGridMatrix", `${where}: the matrix is off the grid of 1/2^64`);
  if (!design.satisfies(promise)) refuse("ClaimTooSmall", `${where} promises more than its matrix keeps`);
  if (disclosure !== null) {
    const chances = [design.p00, design.p11]; // of each answer, at its likeliest (p00 + p11 > 1 here)
    const proves = (/** @type {0 | 1} */ answer) => {
      const ratio = design.likelihoodRatio(answer);
      return ratio === null || ratio.compare(PRACTICAL_PROOF) >= 0;
    };
    const proving = /** @type {const} */ ([0, 1]).filter(proves).map((answer) => chances[answer]);
    const larger = design.p00.compare(design.p11) >= 0 ? design.p00 : design.p11;
    let most = proving.length === 0 ? larger : proving.reduce((a, b) => a.plus(b), ZERO);
    if (most.compare(ONE) > 0) most = ONE;
    if (new Fraction(BigInt(disclosure.exposed)).compare(most.times(new Fraction(BigInt(disclosure.respondents)))) > 0) {
      refuse("MalformedDocument", `${where}: fewer people can be exposed than it says`);
    }
    if (proving.length > 0 && disclosure.exposed === 0) refuse("MalformedDocument", `${where}: somebody will be exposed`);
  }
}

// ---- answer/policy: the device's own rules --------------------------------------------------------------------------

/** @typedef {{name: string, keys: string[], threshold?: number}} TrustedPublisher keys in hexadecimal */

/** Caps on what this device gives away; the defaults are the Python client's. */
export class Policy {
  /** @param {TrustedPublisher[]} [publishers] @param {Record<string, any>} [caps] */
  constructor(publishers = [], caps = {}) {
    const given = {
      maxEpsilon: "ln 9", maxRatio: "20", attributeEpsilon: "ln 81", attributeDelta: "1/100",
      lifetimeEpsilon: "ln 59049", lifetimeDelta: "1/100", allowDisclosure: false, ...caps,
    };
    this.publishers = publishers.map((p) => ({ name: p.name, keys: [...p.keys], threshold: p.threshold ?? 1 }));
    for (const { name, keys, threshold } of this.publishers) {
      if (!keys.length || threshold < 1 || threshold > keys.length) refuse("ParameterError", `the keys of ${shown(name)} do not fit its threshold`);
    }
    this.maxEpsilon = epsilonOf("maxEpsilon", given.maxEpsilon);
    this.maxRatio = fractionOf("maxRatio", given.maxRatio);
    this.attributeEpsilon = epsilonOf("attributeEpsilon", given.attributeEpsilon);
    this.attributeDelta = fractionOf("attributeDelta", given.attributeDelta);
    this.lifetimeEpsilon = epsilonOf("lifetimeEpsilon", given.lifetimeEpsilon);
    this.lifetimeDelta = fractionOf("lifetimeDelta", given.lifetimeDelta);
    this.allowDisclosure = given.allowDisclosure === true;
  }
  get keys() {
    return new Set(this.publishers.flatMap((p) => p.keys));
  }
  /** What one answer is charged; an error if this policy does not allow the question. @param {Question} question @returns {Promised} */
  cost(question) {
    const { design, id, disclosure } = question, ratio = design.worstRatio;
    const none = new Epsilon(ZERO, ONE);
    if (ratio === null || ratio.compare(this.maxRatio) > 0) {
      const start = `question '${id}': an answer could be a proof, or nearly one`;
      if (disclosure === null) refuse("CertainDisclosure", `${start}, and the publisher has not signed that this is meant`);
      if (!this.allowDisclosure) refuse("CertainDisclosure", `${start}; this device does not allow that`);
      return { epsilon: none, delta: design.c };
    }
    const epsilon = new Epsilon(ZERO, ratio);
    if (epsilon.compare(this.maxEpsilon) > 0) refuse("OverPolicy", `question '${id}' costs more than this device allows`);
    return { epsilon, delta: ZERO };
  }
}

// ---- answer/acceptance: from bytes to a survey this device is willing to answer -------------------------------------

/** @typedef {{version: number, digest: string}} SeenVersion the newest version of a survey accepted before */

/** The survey of a signed envelope, or the error that says why not.
 * @param {Uint8Array} envelope @param {Policy} policy
 * @param {{now?: Date, seen?: SeenVersion | ((survey: Survey) => SeenVersion | undefined)}} [given] */
export async function acceptSurvey(envelope, policy, { now = new Date(), seen } = {}) {
  if (!(envelope instanceof Uint8Array)) refuse("ParameterError", "an envelope is a Uint8Array");
  const { payload, signers } = await verifyEnvelope(envelope, policy.keys);
  const survey = readSurvey(payload), digest = await sha256(payload);
  await checkTrust({ survey, digest, signers }, policy);
  checkExpiry(survey, now);
  checkVersion(survey, digest, typeof seen === "function" ? seen(survey) : seen);
  /** @type {Record<string, Promised>} */
  const costs = {};
  for (const question of survey.questions) costs[question.id] = policy.cost(question);
  return { survey, digest, signers, costs };
}

/** Enough of the publisher's own keys have signed exactly this survey.
 * @param {{survey: Survey, digest: string, signers: Set<string>}} accepted @param {Policy} policy */
async function checkTrust({ survey, digest, signers }, policy) {
  const publisher = policy.publishers.find((p) => p.name === survey.publisher);
  if (!publisher) return refuse("UntrustedKey", `the publisher ${shown(survey.publisher)} is not one this policy trusts`);
  const signed = new Set(publisher.keys.filter((key) => signers.has(key))).size;
  if (signed < publisher.threshold) refuse("UntrustedKey", `${signed} of ${publisher.threshold} needed keys have signed`);
  if ((await sha256(surveyBytes(survey))) !== digest) refuse("BadSignature", "the survey was changed after it was accepted");
}

/** @param {Survey} survey @param {Date} now */
function checkExpiry(survey, now) {
  if (!(now.getTime() < survey.expires.getTime())) refuse("Expired", `the survey expired at ${survey.expires.toISOString()}`);
}

/** Not older than, and not different from, what was seen before.
 * @param {Survey} survey @param {string} digest @param {SeenVersion | undefined} known */
function checkVersion(survey, digest, known) {
  if (known && survey.version <= known.version && digest !== known.digest) {
    refuse("RolledBack", `version ${survey.version} of '${survey.name}' is older than one seen before, or differs from it`);
  }
}

/** @typedef {Awaited<ReturnType<typeof acceptSurvey>>} AcceptedSurvey */

// ---- publish/report: all that ever leaves the device ----------------------------------------------------------------

const LARGEST_REPORT = 8192, LONGEST_TICKET = 128;
const REPORT_FIELDS = ["answer", "design", "id", "question", "round", "segments", "survey", "ticket"];

/** The bytes of a report: canonical, and of the same length for all answers; what cannot be sent is refused.
 * @param {Record<string, any>} report */
export function reportBytes(report) {
  return asReport(() => {
    const data = canonical(Object.fromEntries(REPORT_FIELDS.map((name) => [name, report[name]])));
    if (data.length > LARGEST_REPORT) refuse("Oversize", `a report has at most ${LARGEST_REPORT} bytes`);
    checkReport(report);
    return data;
  });
}

/** The report of canonical bytes; every other spelling is refused. @param {Uint8Array} data @returns {Record<string, any>} */
export function readReport(data) {
  return asReport(() => {
    const value = exactFields(readCanonical(data, LARGEST_REPORT), "report", REPORT_FIELDS);
    checkReport(value);
    return value;
  });
}

/** What `work` returns; what it refuses is not a report. @template T @param {() => T} work @returns {T} */
function asReport(work) {
  try {
    return work();
  } catch (error) {
    return refuse("MalformedReport", /** @type {Error} */ (error).message);
  }
}

/** @param {Record<string, any>} report */
function checkReport({ answer, design, id, question, round, segments, survey, ticket }) {
  need(typeof survey === "string" && /^[0-9a-f]{64}$/.test(survey), "survey", "must be a digest");
  need(typeof id === "string" && /^[0-9a-f]{32}$/.test(id), "id", "must be 32 hexadecimal digits");
  need(typeof question === "string" && question !== "" && [...question].length <= 64, "question", "must be a question's id");
  const exact = needDesign(design, "design"), wire = exact.toWire();
  need(wire.p00 === design.p00 && wire.p11 === design.p11, "design", "must be in lowest terms");
  need(exact.allows(answer), "answer", "must be text of 0 and 1 that the design can give");
  needInteger(round, "round", 0, MOST_ROUNDS - 1);
  const short = typeof ticket === "string" && ticket !== "" && [...ticket].length <= LONGEST_TICKET;
  need(ticket === null || short, "ticket", `must be null or a string of at most ${LONGEST_TICKET} characters`);
  need(typeof segments === "object" && segments !== null && !Array.isArray(segments), "segments", "must be an object");
  need(Object.values(segments).every((text) => typeof text === "string"), "segments", "must hold strings");
}

/** The body of a report around another answer: these characters alone change. @param {string} body @param {string} answer */
function withAnswer(body, answer) {
  const start = '{"answer":"'; // the first field
  return start + answer + body.slice(start.length + answer.length);
}

// ---- answer/ledger_file: one state, changed in one transaction; the steps of its schema -----------------------------

/**
 * @typedef {{attribute: string, round: number, design: string, answer: string, epsilon: string, delta: string}} Draw
 * @typedef {{id: string, survey: string, question: string, round: number, attribute: string, words: string, body: string,
 *   state: "waiting" | "delivered" | "refused", reason: string | null}} Outgoing
 * @typedef {{schema: number, draws: Draw[], reports: Outgoing[], seen: Record<string, SeenVersion>, declined: string[]}} State
 * @typedef {{transact<T>(change: (state: State) => T): Promise<T>}} Ledger
 * A ledger calls `change` with the whole state, makes what it did durable, and only then resolves; if `change` throws,
 * nothing is kept.  Where another program was first, it calls it again with the newer state, and the first try is forgotten.
 */

/** What brings a state forward: the first step turns schema 1 into schema 2, and so on. @type {((state: any) => void)[]} */
const STEPS = [];

/** @returns {State} */
function emptyState() {
  return { schema: 1 + STEPS.length, draws: [], reports: [], seen: {}, declined: [] };
}

/** A stored state in today's schema; what was never stored is empty. @param {any} state @returns {State} */
function broughtForward(state) {
  if (state === undefined) return emptyState();
  if (!Number.isInteger(state?.schema) || state.schema < 1) return refuse("LedgerCorrupt", "the ledger is damaged or is not one");
  if (state.schema > 1 + STEPS.length) {
    refuse("LedgerNewer", `the ledger has schema ${state.schema}; this program knows schemas up to ${1 + STEPS.length}: a newer version wrote it`);
  }
  for (const step of STEPS.slice(state.schema - 1)) step(state);
  return Object.assign(state, { schema: 1 + STEPS.length });
}

/** A ledger for tests, which forgets. @implements {Ledger} */
export class MemoryLedger {
  constructor() {
    this.state = emptyState();
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const copy = structuredClone(this.state);
    const result = change(copy);
    this.state = copy;
    return result;
  }
}

/** The ledger of a web page: one IndexedDB transaction, durable before it resolves, one at a time over all tabs.
 * @implements {Ledger} */
export class IndexedDBLedger {
  /** @param {string} [name] */
  constructor(name = "rrcollect") {
    this.name = name;
    /** @type {Promise<IDBDatabase> | null} */
    this.opened = null;
  }
  open() {
    this.opened ??= new Promise((resolve, reject) => {
      const fail = () => reject(new RRCollectError("LedgerUnavailable", "this browser keeps no data for this page; nothing was drawn"));
      let request;
      try {
        request = indexedDB.open(this.name, 1);
      } catch {
        return fail();
      }
      request.onupgradeneeded = () => request.result.createObjectStore("ledger");
      request.onsuccess = () => {
        request.result.onclose = () => { this.opened = null; }; // the browser was told to forget; the next one opens anew
        resolve(request.result);
      };
      request.onerror = request.onblocked = fail;
    });
    this.opened.catch(() => { this.opened = null; });
    return this.opened;
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      const unwritten = () => new RRCollectError("LedgerUnavailable", "the ledger could not be written; nothing was sent");
      let transaction;
      try {
        transaction = database.transaction("ledger", "readwrite", { durability: "strict" });
      } catch { // it is closed
        this.opened = null;
        return reject(unwritten());
      }
      const store = transaction.objectStore("ledger"), got = store.get("state");
      /** @type {T} */
      let result;
      /** @type {unknown} */
      let fault = null;
      got.onsuccess = () => {
        try {
          const state = broughtForward(got.result);
          result = change(state);
          store.put(state, "state");
        } catch (error) {
          fault = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(fault ?? unwritten());
    });
  }
}

const PATIENCE = 30_000; // milliseconds to begin again for, while other programs are first
/** The number and digest of a state; no state has those of the empty ledger. */
const EDITION = /^\d{12}-[0-9a-f]{64}$/;
const EMPTY = `${"0".repeat(12)}-${"0".repeat(64)}`;

/** The ledger of a Node program: a folder, and a rollback guard beside it.
 *
 * 1. The folder is found when the object is made, symbolic links resolved; `chdir` and other names change nothing.
 * 2. In it an empty file `now.N-digest` names the file `state.N-digest` that is the ledger.  A transaction writes the next
 *    state whole, flushes it, reads it back, and renames `now` from the state it began with to the new one.  Of all who
 *    rename from one name the first succeeds; the others begin again with its state, and what they made is thrown away.
 *    No name comes twice: a state holds fresh random bytes.
 * 3. Nothing is held meanwhile: a program killed at any moment leaves a whole ledger, and nobody has to wait for it.
 * 4. Before a state is followed by another, or anything of it is handed out, its folder is flushed and its number and digest
 *    are added to the file `<folder>.guard`, which is older than the folder.  A ledger that is older than the last state in it,
 *    or does not follow one that is in it, is refused: LedgerRestored.
 * @implements {Ledger} */
export class FileLedger {
  /** @param {string} path of its folder, which is made if its parent is there */
  constructor(path) {
    this.place = LedgerFolder.at(path);
    this.place.catch(() => {}); // told when it is used
  }
  /** @template T @param {(state: State) => T} change @returns {Promise<T>} */
  async transact(change) {
    const folder = await this.place;
    for (const end = Date.now() + PATIENCE; ; ) {
      const done = folder.once(change);
      if (done) return done.result;
      if (Date.now() > end) refuse("LedgerUnavailable", "other programs change the ledger all the time; nothing was answered");
      await new Promise((resolve) => setTimeout(resolve, randomBytes(1, systemSource)[0] / 16));
    }
  }
}

/** The files of a ledger; every method ends in one go, without waiting. */
class LedgerFolder {
  /** @param {any} fs @param {(data: Uint8Array) => string} digest @param {string} parent @param {string} name */
  constructor(fs, digest, parent, name) {
    this.fs = fs;
    this.digest = digest;
    this.parent = parent;
    this.name = name;
    this.path = `${parent}/${name}`;
  }
  /** @param {string} given */
  static async at(given) {
    if (typeof given !== "string" || given === "") refuse("ParameterError", "the path of a ledger is a text");
    try {
      const from = /** @type {any} */ (globalThis).process.cwd(); // before anything is waited for
      const node = (/** @type {string} */ name) => import(/* @vite-ignore */ `node:${name}`);
      const [{ default: fs }, paths, { createHash }] = await Promise.all(["fs", "path", "crypto"].map(node));
      const whole = paths.resolve(from, given), there = fs.lstatSync(whole, { throwIfNoEntry: false });
      const { dir, base } = paths.parse(there ? fs.realpathSync.native(whole) : whole); // to a link to nothing: ENOENT
      if (base === "") refuse("ParameterError", "a ledger has a folder of its own");
      const digest = (/** @type {Uint8Array} */ data) => createHash("sha256").update(data).digest("hex");
      return new LedgerFolder(fs, digest, fs.realpathSync.native(dir), base);
    } catch (error) {
      return unavailable("found", error);
    }
  }
  /** Change the ledger; null if somebody else was first.
   * @template T @param {(state: State) => T} change @returns {{result: T} | null} */
  once(change) {
    let known = this.guarded();
    const found = this.now(), last = known.at(-1) ?? EMPTY; // in this order: the guard is never ahead of the ledger
    if (found === null) {
      if (last !== EMPTY) refuse("LedgerRestored", "the ledger is gone; its rollback guard knows it");
      return this.make();
    }
    const { now, states } = found, stored = this.read(now);
    if (stored === null) return null;
    const follows = () => known.includes(now) || known.includes(stored.before);
    if (!follows()) known = this.guarded(); // read once more: others may have gone on in between
    if (known.length === 0) refuse("LedgerRestored", "the ledger's rollback guard is gone");
    if (!follows() || number(last) > number(now) || (number(last) === number(now) && last !== now)) {
      refuse("LedgerRestored", "the ledger is an old copy, or one of another history: its rollback guard knows a later one");
    }
    if (!known.includes(now)) this.settle(now);
    const was = JSON.stringify(stored.state ?? emptyState()), state = broughtForward(stored.state);
    const result = change(state), next = JSON.stringify(state) === was ? now : this.swap(now, state);
    if (next === null) return null;
    if (next !== now) this.settle(next);
    for (const one of states) if (one !== next && number(one) <= number(next)) this.remove(`${this.path}/state.${one}`);
    return { result };
  }
  /** The state that is the ledger, and all that have files; null if there is no ledger. */
  now() {
    for (let look = 0; look < 100; look++) { // a file renamed while the folder is listed may be seen twice, or not at all
      /** @type {string[]} */
      let names;
      try {
        names = this.fs.readdirSync(this.path);
        const marks = names.filter((name) => name.startsWith("now.") && EDITION.test(name.slice(4)));
        if (names.length === 0) return null;
        if (marks.length !== 1) continue;
        const now = marks[0].slice(4), links = this.fs.lstatSync(`${this.path}/${marks[0]}`).nlink;
        if (links > 1) refuse("LedgerUnavailable", "the ledger has a copy made of hard links: one draw means one ledger");
        const states = names.filter((name) => name.startsWith("state.")).map((name) => name.slice(6));
        return { now, states: states.filter((one) => EDITION.test(one)) };
      } catch (error) {
        const { code } = /** @type {any} */ (error);
        if (code === "ENOTDIR") refuse("LedgerCorrupt", "the ledger's path is not the folder of a ledger");
        if (code !== "ENOENT") return unavailable("read", error);
        if (!this.fs.existsSync(this.path)) return null;
      }
    }
    return refuse("LedgerCorrupt", "the ledger's folder is damaged or is not one");
  }
  /** @param {string} now @returns {{before: string, state: any} | null} null if it is not the ledger any more */
  read(now) {
    if (now === EMPTY) return { before: EMPTY, state: undefined };
    try {
      const data = this.fs.readFileSync(`${this.path}/state.${now}`);
      if (this.digest(data) === now.slice(13)) return JSON.parse(data.toString());
    } catch (error) {
      if (/** @type {any} */ (error).code !== "ENOENT") return unavailable("read", error);
      if (!this.fs.existsSync(`${this.path}/now.${now}`)) return null;
    }
    return refuse("LedgerCorrupt", "the ledger's file is damaged or gone");
  }
  /** From one state to the next; null if somebody else was first. @param {string} now @param {State} state */
  swap(now, state) {
    const data = encoder.encode(JSON.stringify({ before: now, random: hex(randomBytes(16, systemSource)), state }));
    const next = `${String(number(now) + 1).padStart(12, "0")}-${this.digest(data)}`, file = `${this.path}/state.${next}`;
    let named = false; // from then on the file stays: over a network a rename can be done and yet be called failed
    try {
      this.write(file, data);
      this.flush(this.path);
      named = true;
      this.fs.renameSync(`${this.path}/now.${now}`, `${this.path}/now.${next}`);
      return next;
    } catch (error) {
      if (!named) this.remove(file);
      return /** @type {any} */ (error).code === "ENOENT" ? null : unavailable("written", error);
    }
  }
  /** Make an empty ledger, unless somebody else does: a folder is renamed to one that is empty or not there. @returns {null} */
  make() {
    const fresh = `${this.path}.${hex(randomBytes(16, systemSource))}.new`, { fs } = this;
    try {
      this.append(EMPTY, fs.constants.O_CREAT);
      this.flush(this.parent);
      fs.mkdirSync(fresh, 0o700);
      this.write(`${fresh}/now.${EMPTY}`, new Uint8Array());
      this.flush(fresh);
      fs.renameSync(fresh, this.path);
      this.flush(this.parent);
      for (const name of fs.readdirSync(this.parent)) { // what programs killed at this left behind
        const rest = name.startsWith(this.name) && name.slice(this.name.length);
        if (rest && /^\.[0-9a-f]{32}\.new$/.test(rest)) this.remove(`${this.parent}/${name}`);
      }
    } catch (error) {
      this.remove(fresh);
      if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(/** @type {any} */ (error).code)) return unavailable("made", error);
      if (!fs.existsSync(this.path)) return unavailable("made", error);
    }
    return null;
  }
  /** Keep a state for good, before anything is handed out or follows it. @param {string} now */
  settle(now) {
    try {
      if (number(now) === 1) this.flush(this.parent); // whoever made the folder may not have come to it
      this.flush(this.path);
      this.append(now);
    } catch (error) {
      unavailable("flushed", error);
    }
  }
  /** The states that the guard knows, the newest last; none if it is gone, or was never finished. @returns {string[]} */
  guarded() {
    try {
      const lines = this.fs.readFileSync(`${this.path}.guard`, "utf8").split("\n");
      return lines.filter((/** @type {string} */ line) => EDITION.test(line)).sort();
    } catch (error) {
      return /** @type {any} */ (error).code === "ENOENT" ? [] : unavailable("read", error);
    }
  }
  /** A line of its own in the guard, also after one that was cut off. @param {string} now @param {number} [flag] */
  append(now, flag = 0) {
    const { fs } = this, { O_APPEND, O_WRONLY } = fs.constants;
    const file = fs.openSync(`${this.path}.guard`, O_APPEND | O_WRONLY | flag, 0o600), line = encoder.encode(`\n${now}\n`);
    try {
      if (fs.writeSync(file, line) !== line.length) throw Object.assign(new Error("cut off"), { code: "ENOSPC" });
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }
  /** A new file, whole on the disk and read back. @param {string} path @param {Uint8Array} data */
  write(path, data) {
    const { fs } = this, file = fs.openSync(path, "wx", 0o600);
    try {
      for (let at = 0, more = 0; at < data.length; at += more) {
        more = fs.writeSync(file, data, at);
        if (more === 0) throw Object.assign(new Error("cut off"), { code: "ENOSPC" });
      }
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    if (!fs.readFileSync(path).equals(data)) throw Object.assign(new Error("read back otherwise"), { code: "EIO" });
  }
  /** The names in a folder, on the disk. @param {string} path */
  flush(path) {
    if (/** @type {any} */ (globalThis).process.platform === "win32") return; // it opens no folders
    const folder = this.fs.openSync(path, "r");
    try {
      this.fs.fsyncSync(folder);
    } finally {
      this.fs.closeSync(folder);
    }
  }
  /** What cannot be removed now is removed later. @param {string} path */
  remove(path) {
    try {
      this.fs.rmSync(path, { force: true, recursive: true });
    } catch {
      return;
    }
  }
}

/** @param {string} edition */
function number(edition) {
  return Number(edition.slice(0, 12));
}

/** @param {string} what @param {unknown} error @returns {never} */
function unavailable(what, error) {
  if (error instanceof RRCollectError) throw error;
  return refuse("LedgerUnavailable", `the ledger cannot be ${what} (${/** @type {any} */ (error).code ?? error}); nothing was answered`);
}

// ---- answer/ledger: what was spent, for life ------------------------------------------------------------------------

/** @param {Draw[]} draws @returns {Promised} */
function total(draws) {
  let epsilon = new Epsilon(ZERO, ONE), delta = ZERO;
  for (const draw of draws) {
    epsilon = epsilon.plus(epsilonOf("epsilon", draw.epsilon));
    delta = delta.plus(fractionOf("delta", draw.delta));
  }
  return { epsilon, delta: delta.compare(ONE) > 0 ? ONE : delta };
}

/** @param {string} what @param {Draw[]} draws @param {Promised} cost @param {Epsilon} epsilon @param {Fraction} delta */
function within(what, draws, cost, epsilon, delta) {
  const before = total(draws);
  if (before.epsilon.plus(cost.epsilon).compare(epsilon) > 0 || before.delta.plus(cost.delta).compare(delta) > 0) {
    refuse("BudgetExhausted", `the ${what} budget of ε = ${epsilon.toNumber().toPrecision(4)} would be exceeded; ` +
      `ε = ${before.epsilon.toNumber().toPrecision(4)} is spent`);
  }
}

// ---- answer/client: accept, answer, decline, deliver ----------------------------------------------------------------

/** Answers surveys on this device. */
export class Client {
  /** `attributes`: what the app is willing to be asked about: names, {name, rounds, askedAs}, or {everyAttributeOf, rounds}.
   * @param {{ledger: Ledger, attributes: (string | {name: string, rounds?: number, askedAs?: string[]} | {everyAttributeOf: string, rounds?: number})[],
   *   policy: Policy, source?: Source, clock?: () => Date}} given */
  constructor({ ledger, attributes, policy, source = systemSource, clock = () => new Date() }) {
    this.ledger = ledger;
    this.policy = policy;
    this.source = source;
    this.clock = clock;
    /** @type {Map<string, {name: string, rounds: number}>} */
    this.named = new Map();
    /** @type {Map<string, number>} */
    this.publishers = new Map();
    for (const entry of attributes) {
      if (typeof entry === "object" && "everyAttributeOf" in entry) {
        this.publishers.set(entry.everyAttributeOf, entry.rounds ?? 1);
        continue;
      }
      const one = typeof entry === "string" ? { name: entry } : entry;
      for (const name of one.askedAs ?? [one.name]) {
        if (this.named.has(name)) refuse("ParameterError", "each name asked about belongs to one attribute");
        this.named.set(name, { name: one.name, rounds: one.rounds ?? 1 });
      }
    }
  }

  /** The survey of a signed envelope, if this device trusts and allows it. @param {Uint8Array} envelope */
  async accept(envelope) {
    const seen = await this.ledger.transact((state) => state.seen);
    const key = (/** @type {Survey} */ survey) => JSON.stringify([survey.publisher, survey.name]);
    const accepted = await acceptSurvey(envelope, this.policy, { now: this.clock(), seen: (survey) => seen[key(survey)] });
    await this.ledger.transact((state) => {
      const known = state.seen[key(accepted.survey)];
      checkVersion(accepted.survey, accepted.digest, known);
      if (!known || accepted.survey.version > known.version) {
        state.seen[key(accepted.survey)] = { version: accepted.survey.version, digest: accepted.digest };
      }
    });
    return accepted;
  }

  /** The app's own name for what a question asks. @param {Survey} survey @param {Question} question @param {number} round */
  ownName(survey, question, round) {
    const named = this.named.get(question.attribute), rounds = named?.rounds ?? this.publishers.get(survey.publisher);
    if (rounds === undefined) return refuse("UnknownAttribute", `this app does not answer about '${question.attribute}'`);
    if (!Number.isInteger(round) || round < 0 || round >= question.rounds) {
      refuse("ParameterError", `round must be a whole number below ${question.rounds}`);
    }
    if (round >= rounds) refuse("UnknownAttribute", `this app answers about '${question.attribute}' in ${rounds} rounds`);
    return named ? named.name : `${survey.publisher}/${question.attribute}`;
  }

  /** The report that answers a question, committed to the ledger and waiting in the outbox.
   * Asked again it repeats the first answer, and does not read the truth.  Segments and invite are sent as they are, and
   * are fixed by the first call for a question.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {boolean | (() => boolean)} truth
   * @param {{round?: number, segments?: Record<string, string>, invite?: string | null}} [given] */
  async answer(accepted, questionId, truth, { round = 0, segments, invite = null } = {}) {
    const { question, attribute, cost } = await this.asked(accepted, questionId, round);
    const { survey, digest } = accepted, { source, policy } = this, { design } = question, declared = segments ?? {};
    if (typeof declared !== "object" || Array.isArray(declared)) refuse("ParameterError", "segments map names to values");
    for (const [name, value] of Object.entries(declared)) {
      if (!Object.hasOwn(survey.segments, name) || !survey.segments[name].includes(value)) {
        refuse("ParameterError", `the segment '${name}', or the value given for it, is not one the survey lists`);
      }
    }
    if (survey.inviteOnly !== (invite !== null)) {
      refuse("ParameterError", survey.inviteOnly ? "this survey requires an invite" : "this survey asks for no invite");
    }
    const id = hex(randomBytes(16, systemSource)), unanswered = "0".repeat(design.width); // until it is drawn
    const blank = new TextDecoder().decode(reportBytes({
      answer: unanswered, design: design.toWire(), id, question: questionId, round, segments: declared, survey: digest, ticket: invite,
    }));
    const report = await this.ledger.transact((state) => {
      const done = state.reports.find((r) => r.survey === digest && r.question === questionId && r.round === round);
      if (done && done.attribute === attribute) return done;
      if (done) refuse("AlreadyAnswered", "this question was answered before, for another attribute");
      const memo = state.draws.find((d) => d.attribute === attribute && d.round === round);
      if (memo && memo.design !== design.text) {
        refuse("AlreadyAnswered", `'${attribute}' was answered before by another design; no second answer is drawn`);
      }
      const answer = memo ? memo.answer : firstDraw(state);
      /** @type {Outgoing} */
      const made = {
        id, survey: digest, question: questionId, round, attribute, words: question.text,
        body: withAnswer(blank, answer), state: "waiting", reason: null,
      };
      state.reports.push(made);
      state.declined = state.declined.filter((key) => key !== `${digest}/${questionId}`);
      return made;
    });
    const sent = JSON.parse(report.body);
    if (sent.ticket !== invite || (segments && canonicalText(sent.segments) !== canonicalText(segments))) {
      refuse("ParameterError", "segments or invite are not those of the report, which were declared at the first answer");
    }
    return report;

    /** @param {State} state */
    function firstDraw(state) {
      within("lifetime", state.draws, cost, policy.lifetimeEpsilon, policy.lifetimeDelta);
      const own = state.draws.filter((d) => d.attribute === attribute);
      within("attribute", own, cost, policy.attributeEpsilon, policy.attributeDelta);
      const answer = String(randomise(typeof truth === "function" ? truth() : truth, design, source));
      state.draws.push({ attribute, round, design: design.text, answer, epsilon: String(cost.epsilon), delta: String(cost.delta) });
      return answer;
    }
  }

  /** What is asked, after the checks that need neither ledger nor truth.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {number} round */
  async asked(accepted, questionId, round) {
    if (!(accepted?.signers instanceof Set)) refuse("ParameterError", "a survey is what `accept` returned");
    await checkTrust(accepted, this.policy);
    checkExpiry(accepted.survey, this.clock());
    const question = accepted.survey.questions.find((q) => q.id === questionId);
    if (!question) return refuse("ParameterError", `the survey has no question '${questionId}'`);
    const attribute = this.ownName(accepted.survey, question, round);
    return { question, attribute, cost: this.policy.cost(question) };
  }

  /** Remember, on this device only, that the person does not want to answer. @param {AcceptedSurvey} accepted @param {string} question */
  async decline(accepted, question) {
    await this.ledger.transact((state) => {
      const key = `${accepted.digest}/${question}`;
      if (!state.declined.includes(key)) state.declined.push(key);
    });
  }

  /** What was answered, sent and spent. */
  async budget() {
    const state = await this.ledger.transact((s) => s);
    const spent = total(state.draws);
    return {
      spent, lifetime: { epsilon: this.policy.lifetimeEpsilon, delta: this.policy.lifetimeDelta },
      draws: state.draws, reports: state.reports, declined: state.declined,
      /** In words, for the person whose device this is. */
      explain: () => `Spent for life: ε = ${spent.epsilon.toNumber().toPrecision(4)} of ` +
        `${this.policy.lifetimeEpsilon.toNumber().toPrecision(4)}, δ = ${Number(spent.delta.toNumber().toPrecision(4))} of ` +
        `${Number(this.policy.lifetimeDelta.toNumber().toPrecision(4))}.`,
    };
  }

  /** Send what waits, each report in its own request, in shuffled order; safe to repeat.
   * @param {{send(body: Uint8Array): Promise<void>}} transport
   * @param {{attempts?: number, firstWait?: number, longestWait?: number, sleep?: (ms: number) => Promise<void>}} [pace] seconds */
  async deliver(transport, { attempts = 4, firstWait = 0.5, longestWait = 60, sleep } = {}) {
    const waiting = await this.ledger.transact((state) => state.reports.filter((r) => r.state === "waiting"));
    const pause = sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
    const result = { delivered: 0, refused: /** @type {[string, string][]} */ ([]), waiting: 0, lastFailure: /** @type {string | null} */ (null) };
    for (const report of shuffled(waiting)) {
      for (let attempt = 0; ; attempt++) {
        try {
          await transport.send(encoder.encode(report.body));
          await this.mark(report.id, "delivered", null);
          result.delivered++;
          break;
        } catch (error) {
          const { name, message, retryAfter } = /** @type {RRCollectError} */ (error);
          if (name === "ReportRefused") {
            await this.mark(report.id, "refused", message);
            result.refused.push([report.id, message]);
            break;
          }
          if (name !== "TransportFailed") throw error;
          if (attempt + 1 >= attempts) {
            result.waiting++;
            result.lastFailure = message;
            break;
          }
          const ceiling = Math.min(longestWait, firstWait * 2 ** attempt), [share] = crypto.getRandomValues(new Uint32Array(1));
          await pause(1000 * Math.max((ceiling * share) / 2 ** 32, Math.min(retryAfter ?? 0, longestWait)));
        }
      }
    }
    return result;
  }

  /** @param {string} id @param {"delivered" | "refused"} what @param {string | null} reason */
  async mark(id, what, reason) {
    await this.ledger.transact((state) => {
      for (const report of state.reports) if (report.id === id) Object.assign(report, { state: what, reason });
    });
  }
}

// ---- deliver/outbox: the order of sending ---------------------------------------------------------------------------

/** @template T @param {T[]} items @returns {T[]} */
function shuffled(items) {
  const made = [...items];
  for (let i = made.length - 1; i > 0; i--) {
    const limit = 2 ** 32 - (2 ** 32 % (i + 1));
    let drawn;
    do [drawn] = crypto.getRandomValues(new Uint32Array(1)); while (drawn >= limit);
    const j = drawn % (i + 1);
    [made[i], made[j]] = [made[j], made[i]];
  }
  return made;
}

// ---- deliver/transport: how a report leaves the device --------------------------------------------------------------

/** What a collector says of the report itself; every other refusal may pass. */
const FINAL = new Set([400, 403, 404, 409, 410, 413, 415, 422]);

/** POST each report to a collector: no cookies, no referrer, no redirects. */
export class HttpTransport {
  /** @param {string} url @param {{timeout?: number, fetch?: typeof fetch}} [given] seconds */
  constructor(url, { timeout = 10, fetch: via } = {}) {
    this.url = url;
    this.timeout = timeout;
    this.fetch = via ?? globalThis.fetch.bind(globalThis);
  }
  /** @param {Uint8Array} body */
  async send(body) {
    let response, said;
    try {
      response = await this.fetch(this.url, {
        method: "POST", body: /** @type {any} */ (body), credentials: "omit", redirect: "error", cache: "no-store",
        referrerPolicy: "no-referrer", headers: { "Content-Type": "application/json", Accept: "application/json" },
        signal: AbortSignal.timeout(this.timeout * 1000),
      });
      said = (await response.text()).slice(0, 300);
    } catch {
      throw new RRCollectError("TransportFailed", "the collector could not be reached");
    }
    if (response.ok) return;
    const { status } = response, retry = response.headers.get("Retry-After");
    if (!FINAL.has(status)) { // not the collector's word on the report: it may pass
      const wait = retry && /^[0-9]+$/.test(retry) ? Math.min(Number(retry), 3600) : null;
      throw new RRCollectError("TransportFailed", `the collector answered ${status}`, wait);
    }
    throw new RRCollectError("ReportRefused", `the collector answered ${status}: ${said.replace(/[^\P{C}]/gu, " ").trim()}`);
  }
}
