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
    Object.freeze(this);
  }
  /** The bits of the numerator or the denominator, whichever has more. */
  get bits() { return Math.max(bitLength(this.n < 0n ? -this.n : this.n), bitLength(this.d)); }
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

/** @typedef {{characters: number, bits: number}} Limits how long a number's text may be, and how many bits its parts have */

/** @type {Limits} */
const TYPED = { characters: 20000, bits: 13500 };
/** In a signed document. @type {Limits} */
const SIGNED = { characters: 700, bits: 512 };
const MOST_DIGITS = 4300, LARGEST_EXPONENT = 4000;
const QUOTIENT = /^([+-]?[0-9]+) ?\/ ?([0-9]+)$/;
const DECIMAL = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,6}))?$/;

/** Without white space at its ends. @param {string} text */
function stripped(text) {
  return text.replace(/^[ \t\n\r\f\v]+/, "").replace(/[ \t\n\r\f\v]+$/, "");
}

/** The number a text is written as, exactly; null if it is not one, or too long.
 * @param {string} text @param {Limits} [limits] @returns {Fraction | null} */
export function parseFraction(text, limits = TYPED) {
  if (text.length > limits.characters) return null;
  const exact = fromText(stripped(text));
  return exact && exact.bits <= limits.bits ? exact : null;
}

/** @param {string} text @returns {Fraction | null} */
function fromText(text) {
  const quotient = QUOTIENT.exec(text);
  if (quotient) {
    if (quotient[1].replace(/^[+-]/, "").length > MOST_DIGITS || quotient[2].length > MOST_DIGITS) return null;
    const under = BigInt(quotient[2]);
    return under === 0n ? null : new Fraction(BigInt(quotient[1].replace(/^\+/, "")), under);
  }
  const decimal = DECIMAL.exec(text);
  if (!decimal) return null;
  const whole = decimal[2] ?? "", part = decimal[3] ?? decimal[4] ?? "", exponent = Number(decimal[5] ?? 0);
  if (Math.abs(exponent) > LARGEST_EXPONENT || whole.length > MOST_DIGITS || part.length > MOST_DIGITS) return null;
  const digits = BigInt(whole + part || "0") * (decimal[1] === "-" ? -1n : 1n);
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

const LOGARITHM = /^ln[ \t\n\r\f\v]*(?:\(([^()]*)\)|([^ \t\n\r\f\v()/]+))$/;

/** A privacy loss ε = rational + ln factor >= 0, exactly. */
export class Epsilon {
  /** @param {Fraction} rational @param {Fraction} factor */
  constructor(rational, factor) {
    this.rational = rational;
    this.factor = factor;
    Object.freeze(this);
  }
  /** @param {string} text @param {Limits} [limits] @returns {Epsilon | null} */
  static parse(text, limits = TYPED) {
    let rational = ZERO, factor = ONE;
    if (text.length > limits.characters) return null;
    for (const term of text.split(" + ")) {
      const logarithm = LOGARITHM.exec(stripped(term));
      const number = parseFraction(logarithm ? (logarithm[1] || logarithm[2] || "") : term, limits);
      if (number === null) return null;
      if (logarithm) factor = factor.times(number);
      else rational = rational.plus(number);
      if (rational.bits > limits.bits || factor.bits > limits.bits) return null;
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

/** @typedef {string | number | bigint | Fraction} NumberLike a number as typed; a double means the decimal it prints */

/** @param {string} name @param {unknown} value @param {string} allowed @returns {never} */
function badSetting(name, value, allowed) {
  return refuse("ParameterError", `${name} is ${shown(value)}; allowed: ${allowed}`);
}

/** @param {string} name @param {unknown} value @param {string} [allowed] @returns {Fraction} */
function fractionOf(name, value, allowed = "a number such as '1/3'") {
  const made = value instanceof Fraction ? value
    : typeof value === "bigint" ? new Fraction(value)
    : typeof value === "string" || typeof value === "number" ? parseFraction(String(value)) : null;
  return made && made.bits <= TYPED.bits ? made : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @returns {Fraction} */
function probabilityOf(name, value) {
  const allowed = "a number between 0 and 1", made = fractionOf(name, value, allowed);
  return made.sign() >= 0 && made.compare(ONE) <= 0 ? made : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @returns {Epsilon} */
function epsilonOf(name, value) {
  if (value instanceof Epsilon) return value;
  const allowed = "a finite number, 0 or more, also 'ln 3'";
  if (typeof value === "string") return Epsilon.parse(value) ?? badSetting(name, value, allowed);
  const rational = fractionOf(name, value, allowed);
  return rational.sign() >= 0 ? new Epsilon(rational, ONE) : badSetting(name, value, allowed);
}

/** @param {string} name @param {unknown} value @param {number} least @param {number} most @returns {number} */
function wholeNumber(name, value, least, most) {
  const good = typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most;
  return good ? value : badSetting(name, value, `a whole number from ${least} to ${most}`);
}

/** Settings that mean nothing are an error, as in Python. @param {string} what @param {unknown} given @param {string[]} names */
function needSettings(what, given, names) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) badSetting(what, given, "an object of settings");
  for (const name of Object.keys(/** @type {object} */ (given))) {
    if (!names.includes(name)) refuse("ParameterError", `${what}: ${shown(name)} means nothing; known are ${names.join(", ")}`);
  }
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
    Object.freeze(this.limits);
    Object.freeze(this);
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

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @param {string} what @param {string[]} names @returns {Record<string, any>} */
function exactFields(value, what, names) {
  if (!isObject(value) || Object.keys(value).length !== names.length || !names.every((name) => Object.hasOwn(value, name))) {
    return refuse("MalformedDocument", `${what}: it must have exactly the fields ${names.join(", ")}`);
  }
  return value;
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

// ---- publish/texts: text that people read ---------------------------------------------------------------------------

const JOINER = "\u200d", LANGUAGE = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/;

/** Ranges of code points that hide, reorder or fake what a person reads: the same table as in publish/texts.py. */
const HIDDEN = [
  [0x0000, 0x001F], [0x007F, 0x009F], [0x00AD, 0x00AD], [0x034F, 0x034F], [0x0600, 0x0605], [0x061C, 0x061C],
  [0x06DD, 0x06DD], [0x070F, 0x070F], [0x0890, 0x0891], [0x08E2, 0x08E2], [0x115F, 0x1160], [0x17B4, 0x17B5],
  [0x180B, 0x180F], [0x200B, 0x200F], [0x2028, 0x202E], [0x2060, 0x206F], [0x3164, 0x3164], [0xD800, 0xF8FF],
  [0xFDD0, 0xFDEF], [0xFEFF, 0xFEFF], [0xFFA0, 0xFFA0], [0xFFF0, 0xFFFB], [0xFFFE, 0xFFFF], [0x110BD, 0x110BD],
  [0x110CD, 0x110CD], [0x13430, 0x1343F], [0x1BCA0, 0x1BCA3], [0x1D173, 0x1D17A], [0x1FFFE, 0x1FFFF],
  [0x2FFFE, 0x2FFFF], [0x3FFFE, 0x3FFFF], [0x4FFFE, 0x4FFFF], [0x5FFFE, 0x5FFFF], [0x6FFFE, 0x6FFFF],
  [0x7FFFE, 0x7FFFF], [0x8FFFE, 0x8FFFF], [0x9FFFE, 0x9FFFF], [0xAFFFE, 0xAFFFF], [0xBFFFE, 0xBFFFF],
  [0xCFFFE, 0xCFFFF], [0xDFFFE, 0xDFFFF], [0xE0000, 0xE0FFF], [0xEFFFE, 0x10FFFF],
];
const BLANK = "\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000"; // shows nothing, but takes room
const HIDING = new RegExp(`[${HIDDEN.map(([a, b]) => `\\u{${a.toString(16)}}-\\u{${b.toString(16)}}`).join("")}]`, "gu");
const VISIBLE = new RegExp(`[^${BLANK}\\n${JOINER}\\ufe00-\\ufe0f]`, "u");
const BLANK_END = new RegExp(`^[${BLANK}\\n]|[${BLANK}\\n]$`, "u");
const LOOSE_JOINER = new RegExp(`(?:^|[${BLANK}\\n${JOINER}])${JOINER}|${JOINER}(?:$|[${BLANK}\\n])`, "u");

/** A text of a survey in a language, or in its base language, or in the survey's own; "" if there is none.
 * @param {{language: string}} survey @param {Texts} texts @param {string | null} [language] @returns {string} */
export function say(survey, texts, language = null) {
  const wanted = language || survey.language;
  const found = [wanted, wanted.split("-")[0], survey.language].find((one) => Object.hasOwn(texts, one));
  return found === undefined ? "" : texts[found];
}

// ---- publish/document: exact fields, exact types, the first fault told ----------------------------------------------

/**
 * @typedef {Readonly<Record<string, string>>} Texts a text by language
 * @typedef {(value: any, place: string) => any} Need reads a value, or refuses it
 */

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const MOMENT = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z$/;

/** @param {boolean} good @param {string} place @param {string} words */
function need(good, place, words) {
  if (!good) refuse("MalformedDocument", `${place}: ${words}`);
}

/** @param {any} value @param {string} place @param {Record<string, Need>} fields @returns {any} */
function needFields(value, place, fields) {
  exactFields(value, place, Object.keys(fields));
  return Object.freeze(Object.fromEntries(
    Object.entries(fields).map(([name, needField]) => [name, needField(value[name], `${place}.${name}`)]),
  ));
}

/** @param {any} value @param {string} place @param {number} least @param {number} most @param {Need} needItem */
function needList(value, place, least, most, needItem) {
  need(Array.isArray(value) && value.length >= least && value.length <= most, place, `must be a list of ${least} to ${most}`);
  return Object.freeze(value.map((/** @type {any} */ item, /** @type {number} */ i) => needItem(item, `${place}.${i}`)));
}

/** @param {any} value @param {string} place @param {number} least @param {number} most @param {Need} needKey @param {Need} needItem */
function needMap(value, place, least, most, needKey, needItem) {
  need(isObject(value), place, "must be an object");
  const names = Object.keys(value);
  need(names.length >= least && names.length <= most, place, `must have ${least} to ${most} entries`);
  const made = Object.create(null);
  for (const name of names) made[needKey(name, place)] = needItem(value[name], `${place}.${name}`);
  return Object.freeze(made);
}

/** @param {RegExp} pattern @param {string} words @returns {Need} */
function matching(pattern, words) {
  return (value, place) => (need(typeof value === "string" && pattern.test(value), place, words), value);
}

/** @param {number} least @param {number} most @returns {Need} */
function integer(least, most) {
  return (value, place) => (need(typeof value === "number" && value >= least && value <= most, place, `must be an integer from ${least} to ${most}`), value);
}

/** Text of 1 to `most` characters with nothing hidden in it. @param {number} most @param {string} also allowed inside @returns {Need} */
function written(most, also) {
  return (value, place) => {
    need(typeof value === "string", place, "must be a string");
    const length = [...value].length;
    need(length >= 1 && length <= most, place, `must have 1 to ${most} characters`);
    const hidden = (value.match(HIDING) ?? []).filter((/** @type {string} */ c) => !also.includes(c));
    need(hidden.length === 0, place, "holds a character that cannot be shown to a person");
    need(VISIBLE.test(value), place, "shows nothing");
    need(!BLANK_END.test(value), place, "begins or ends with white space");
    need(!LOOSE_JOINER.test(value), place, "has a joiner where it joins nothing");
    return value;
  };
}

/** A map from language to text. @param {Need} needText @param {number} [least] @returns {Need} */
function byLanguage(needText, least = 0) {
  return (value, place) => needMap(value, place, least, 50, matching(LANGUAGE, "a language looks like 'en' or 'de-AT'"), needText);
}

/** @type {Need} */
function needBoolean(value, place) {
  need(typeof value === "boolean", place, "must be true or false");
  return value;
}

/** @type {Need} */
function needMoment(value, place) {
  const found = typeof value === "string" ? MOMENT.exec(value) : null;
  if (!found) return refuse("MalformedDocument", `${place}: must look like 2027-01-31T00:00:00Z`);
  const moment = new Date(value), year = Number(found[1]);
  const exact = !Number.isNaN(moment.getTime()) && writtenMoment(moment) === value; // the 30th of February is not
  need(exact && year >= 2000 && year <= 9000, place, "is not a moment of the years 2000 to 9000");
  return moment;
}

/** @param {Date} moment */
function writtenMoment(moment) {
  return moment.toISOString().replace(".000Z", "Z");
}

/** @param {Need} needValue @returns {Need} */
function orNull(needValue) {
  return (value, place) => (value === null ? null : needValue(value, place));
}

const needName = matching(NAME, "must be a short lower-case name");
const needWords = written(200, ""), needPassage = written(2000, "\n" + JOINER);
const needTexts = byLanguage(needWords), needPassages = byLanguage(needPassage);

// ---- publish/kinds: what may be true, and how it is asked -----------------------------------------------------------

/** @type {Need} */
function needExact(value, place) {
  const exact = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  need(exact !== null && String(exact) === value, place, "must be a number in lowest terms, such as '40' or '1/2'");
  return value;
}

/** @type {Record<string, Record<string, Need>>} the fields of each kind, beside its name */
const KINDS = {
  yes_no: {},
  choice: { options: (value, place) => needList(value, place, 2, 200, byLanguage(needWords, 1)) },
  number: { low: needExact, high: needExact, unit: needTexts, clip: needBoolean },
};

/** @typedef {Readonly<{kind: "yes_no"}> | Readonly<{kind: "choice", options: readonly Texts[]}> |
 *   Readonly<{kind: "number", low: string, high: string, unit: Texts, clip: boolean}>} Kind */

/** @type {Need} */
function needKind(value, place) {
  need(isObject(value) && typeof value.kind === "string" && Object.hasOwn(KINDS, value.kind), place, "must be of a known kind");
  const kind = needFields(value, place, { kind: (name) => name, ...KINDS[value.kind] });
  if (kind.kind === "number") {
    const [low, high] = [kind.low, kind.high].map((text) => /** @type {Fraction} */ (parseFraction(text)));
    need(low.compare(high) < 0, place, "low must be below high");
  }
  return kind;
}

// ---- publish/question: what is asked, with which design, under which promise ----------------------------------------

const MOST_ROUNDS = 1000, MOST_QUESTIONS = 200;

/** @type {Need} */
function needProbability(value, place) {
  const found = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  if (!found || found.sign() < 0 || found.compare(ONE) > 0) return refuse("MalformedDocument", `${place}: must be text such as '3/4', from 0 to 1`);
  return found;
}

/** @param {any} value @param {string} place @returns {Design} */
function needDesign(value, place) {
  if (isObject(value) && Object.keys(value).sort().join(" ") === "options p size") {
    refuse("NotServed", `${place}: a design for one of several options is not served by this version`);
  }
  const { p00, p11 } = needFields(value, place, { p00: needProbability, p11: needProbability }), design = new Design(p00, p11);
  if (design.c.sign() === 0) refuse("NotOriented", `${place}: p00 + p11 = 1, so nothing can be learned`);
  if (String(p00) !== value.p00 || String(p11) !== value.p11) refuse("NotCanonical", `${place}: a probability is not in lowest terms`);
  return design;
}

/** @type {Need} */
function needEpsilon(value, place) {
  const epsilon = typeof value === "string" ? Epsilon.parse(value, SIGNED) : null;
  return epsilon ?? refuse("MalformedDocument", `${place}: must be text such as 'ln(3)', 0 or more`);
}

/** @type {Need} */
const needPromise = (value, place) => needFields(value, place, { epsilon: needEpsilon, delta: needProbability });
/** @type {Need} */
const needDisclosure = (value, place) => needFields(value, place, { exposed: integer(0, 1e9), respondents: integer(1, 1e9) });

/** @type {Record<string, Need>} in the order in which faults are told, here and below */
const QUESTION = {
  id: needName, attribute: needName, kind: needKind, text: byLanguage(needPassage, 1), help: needPassages,
  design: needDesign, promise: needPromise, rounds: integer(1, MOST_ROUNDS), panel: needBoolean, disclosure: orNull(needDisclosure),
};

/** @typedef {Readonly<{id: string, attribute: string, kind: Kind, text: Texts, help: Texts, design: Design, promise: Promised,
 *   rounds: number, panel: boolean, disclosure: Readonly<{exposed: number, respondents: number}> | null}>} Question */

// ---- publish/survey: the document -----------------------------------------------------------------------------------

const ORIGIN = "(?:https://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\]))(?::[1-9][0-9]{0,4})?";
const ADDRESS = new RegExp(`^${ORIGIN}(?:/[A-Za-z0-9._~-]+)+$`), LONGEST_ADDRESS = 500, CARRIED = "carried";
const LOGO = /^data:image\/(?:png|jpeg|svg\+xml);base64,(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const LARGEST_LOGO = 64 * 1024;
const TEXTS = /** @type {const} */ (["title", "introduction", "consent", "contact", "privacy", "thanks"]);

/** @type {Need} */
function needCollector(value, place) {
  const address = typeof value === "string" && value.length <= LONGEST_ADDRESS && ADDRESS.test(value);
  need(address || value === CARRIED, place, `must look like https://collect.example.org/reports, or be '${CARRIED}'`);
  return value;
}

/** @type {Need} */
function needLogo(value, place) {
  need(typeof value === "string" && value.length <= LARGEST_LOGO && LOGO.test(value), place, "must be a data: address of an image");
  return value;
}

/** @type {Record<string, Need>} */
const LOOK = { colour: orNull(matching(/^#[0-9a-f]{6}$/, "must look like #336699")), logo: orNull(needLogo) };
/** @type {Record<string, Need>} */
const SEGMENT = {
  values: (value, place) => needList(value, place, 1, 200, (item, at) => needFields(item, at, { value: needWords, label: needTexts })),
  label: needTexts, help: needPassages,
};
/** @type {Record<string, Need>} */
const SURVEY = {
  name: needName, version: integer(1, 2 ** 31), publisher: needWords, pilot: needBoolean,
  language: matching(LANGUAGE, "a language looks like 'en' or 'de-AT'"), title: byLanguage(needWords, 1),
  introduction: needPassages, consent: needPassages, contact: needPassages,
  privacy: byLanguage(matching(/^https:\/\/[!-~]{3,1990}$/, "a link begins with https://")), thanks: needPassages,
  look: (value, place) => needFields(value, place, LOOK), collector: needCollector,
  origins: (value, place) => needList(value, place, 0, 16, matching(new RegExp(`^${ORIGIN}$`), "an origin looks like https://survey.example.org")),
  opens: orNull(needMoment), expires: needMoment,
  rounds: (value, place) => needList(value, place, 0, MOST_ROUNDS, (item, at) => needFields(item, at, { opens: needMoment, closes: needMoment })),
  ask: matching(/^(all|one)$/, "must be 'all' or 'one'"), minimum: integer(2, 1e9), invite_only: needBoolean,
  segments: (value, place) => needMap(value, place, 0, 16, needName, (item, at) => needFields(item, at, SEGMENT)),
  questions: (value, place) => needList(value, place, 1, MOST_QUESTIONS, (item, at) => needFields(item, at, QUESTION)),
};

/**
 * @typedef {Readonly<{values: readonly Readonly<{value: string, label: Texts}>[], label: Texts, help: Texts}>} Segment
 * @typedef {Readonly<{name: string, version: number, publisher: string, pilot: boolean, language: string, title: Texts,
 *   introduction: Texts, consent: Texts, contact: Texts, privacy: Texts, thanks: Texts,
 *   look: Readonly<{colour: string | null, logo: string | null}>, collector: string, origins: readonly string[],
 *   opens: Date | null, expires: Date, rounds: readonly Readonly<{opens: Date, closes: Date}>[], ask: "all" | "one",
 *   minimum: number, inviteOnly: boolean, segments: Readonly<Record<string, Segment>>, questions: readonly Question[]}>} Survey
 */

/** The survey of canonical bytes; every other spelling is refused. @param {Uint8Array} payload @returns {Survey} */
export function readSurvey(payload) {
  const value = readCanonical(payload, LARGEST_ENVELOPE);
  const { invite_only: inviteOnly, ...rest } = needFields(value, "survey", SURVEY);
  /** @type {Survey} */
  const survey = Object.freeze({ ...rest, inviteOnly });
  needConsistent(survey);
  if (!sameBytes(surveyBytes(survey), payload)) refuse("NotCanonical", "a number is not written in its one canonical form");
  if (survey.ask !== "all") refuse("NotServed", "ask: only 'all' is served by this version");
  if (survey.look.colour !== null || survey.look.logo !== null) refuse("NotServed", "look: a colour or logo is not served by this version");
  survey.questions.forEach(checkQuestion);
  return survey;
}

/** What fields say of each other. @param {Survey} survey */
function needConsistent(survey) {
  const { questions, segments, rounds, expires, opens, origins } = survey;
  for (const what of /** @type {("id" | "attribute")[]} */ (["id", "attribute"])) {
    need(distinct(questions.map((q) => q[what])), "questions", `two have the same ${what}`);
  }
  for (const [name, { values }] of Object.entries(segments)) {
    need(distinct(values.map((one) => one.value)), `segments.${name}`, "lists a value twice");
  }
  for (const texts of allTexts(survey)) {
    const empty = Object.keys(texts).length === 0;
    need(empty || Object.hasOwn(texts, survey.language), "survey", "a text is not there in the survey's own language");
  }
  need(opens === null || opens < expires, "opens", "the survey opens after it expires");
  const moments = rounds.flatMap((times) => [times.opens, times.closes]);
  const ordered = moments.every((moment, i) => i === 0 || moment >= moments[i - 1]) && rounds.every((times) => times.opens < times.closes);
  need(ordered, "rounds", "open and close one after the other");
  need(rounds.length === 0 || moments[moments.length - 1] <= expires, "rounds", "the last closes after the survey expires");
  need(rounds.length === 0 || questions.every((q) => q.rounds <= rounds.length), "rounds", "a question has more than open and close");
  need(distinct(origins), "origins", "one is listed twice");
}

/** @param {readonly string[]} items */
function distinct(items) {
  return new Set(items).size === items.length;
}

/** Every text for people. @param {Survey} survey @returns {Texts[]} */
function allTexts(survey) {
  const segments = Object.values(survey.segments).flatMap((s) => [s.label, s.help, ...s.values.map((one) => one.label)]);
  const kinds = (/** @type {Kind} */ kind) => (kind.kind === "choice" ? kind.options : kind.kind === "number" ? [kind.unit] : []);
  return [...TEXTS.map((name) => survey[name]), ...segments, ...survey.questions.flatMap((q) => [q.text, q.help, ...kinds(q.kind)])];
}

/** The values that may be declared for each segment. @param {Survey} survey @returns {Record<string, string[]>} */
export function segmentValues(survey) {
  const named = Object.entries(survey.segments).map(([name, segment]) => [name, segment.values.map((one) => one.value)]);
  return Object.assign(Object.create(null), Object.fromEntries(named));
}

/** The canonical bytes of a survey: what was signed. @param {Survey} survey @returns {Uint8Array} */
function surveyBytes({ opens, expires, rounds, questions, inviteOnly, ...rest }) {
  return canonical({
    ...rest, invite_only: inviteOnly, opens: opens && writtenMoment(opens), expires: writtenMoment(expires),
    rounds: rounds.map((times) => ({ opens: writtenMoment(times.opens), closes: writtenMoment(times.closes) })),
    questions: questions.map((q) => ({
      ...q, design: q.design.toWire(), promise: { epsilon: String(q.promise.epsilon), delta: String(q.promise.delta) },
    })),
  });
}

/** An answer that changes the odds by this factor is as good as a proof. */
const PRACTICAL_PROOF = new Fraction(1000n);

/** @param {Question} question */
function checkQuestion(question) {
  const where = `question '${question.id}'`, { design, promise, disclosure, kind } = question;
  if (kind.kind !== "yes_no") refuse("NotServed", `${where}: questions of the kind '${kind.kind}' are not served by this version`);
  if (question.panel) refuse("NotServed", `${where}: a panel is not served by this version`);
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

/** @typedef {{maxEpsilon?: NumberLike | Epsilon, maxRatio?: NumberLike, attributeEpsilon?: NumberLike | Epsilon,
 *   attributeDelta?: NumberLike, lifetimeEpsilon?: NumberLike | Epsilon, lifetimeDelta?: NumberLike, allowDisclosure?: boolean}} Caps */

/** @param {unknown} given @returns {Readonly<{name: string, keys: readonly string[], threshold: number}>} */
function trustedPublisher(given) {
  needSettings("a trusted publisher", given, ["name", "keys", "threshold"]);
  const { name, keys, threshold = 1 } = /** @type {TrustedPublisher} */ (given);
  if (typeof name !== "string" || !name) badSetting("publisher", name, "its name");
  if (!Array.isArray(keys) || !keys.length) badSetting("keys", keys, "a list of one public key or more");
  keys.forEach(unhex);
  const distinct = Object.freeze([...new Set(keys)]);
  return Object.freeze({ name, keys: distinct, threshold: wholeNumber("threshold", threshold, 1, distinct.length) });
}

/** Caps on what this device gives away; the defaults, and what is refused, are the Python client's. */
export class Policy {
  /** @param {TrustedPublisher[]} [publishers] @param {Caps} [caps] */
  constructor(publishers = [], caps = {}) {
    const defaults = {
      maxEpsilon: "ln 9", maxRatio: "20", attributeEpsilon: "ln 81", attributeDelta: "1/100",
      lifetimeEpsilon: "ln 59049", lifetimeDelta: "1/100", allowDisclosure: false,
    };
    needSettings("the policy", caps, Object.keys(defaults));
    const given = { ...defaults, ...caps };
    if (!Array.isArray(publishers)) badSetting("publishers", publishers, "a list of trusted publishers");
    this.publishers = Object.freeze(publishers.map(trustedPublisher));
    if (new Set(this.publishers.map((p) => p.name)).size !== this.publishers.length) {
      refuse("ParameterError", "publishers: each stands here once, with all its keys");
    }
    this.maxRatio = fractionOf("maxRatio", given.maxRatio);
    if (this.maxRatio.compare(ONE) <= 0) badSetting("maxRatio", given.maxRatio, "a number above 1");
    if (typeof given.allowDisclosure !== "boolean") badSetting("allowDisclosure", given.allowDisclosure, "true or false");
    this.maxEpsilon = epsilonOf("maxEpsilon", given.maxEpsilon);
    this.attributeEpsilon = epsilonOf("attributeEpsilon", given.attributeEpsilon);
    this.attributeDelta = probabilityOf("attributeDelta", given.attributeDelta);
    this.lifetimeEpsilon = epsilonOf("lifetimeEpsilon", given.lifetimeEpsilon);
    this.lifetimeDelta = probabilityOf("lifetimeDelta", given.lifetimeDelta);
    this.allowDisclosure = given.allowDisclosure;
    Object.freeze(this);
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
export async function acceptSurvey(envelope, policy, given = {}) {
  needSettings("acceptSurvey", given, ["now", "seen"]);
  const { now = new Date(), seen } = given;
  if (!(envelope instanceof Uint8Array)) refuse("ParameterError", "an envelope is a Uint8Array");
  if (!(policy instanceof Policy)) refuse("ParameterError", "a policy is a Policy");
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

/** Enough of the publisher's own keys have signed exactly this survey, which is returned as its signed bytes say it.
 * @param {{survey: Survey, digest: string, signers: Set<string>}} accepted @param {Policy} policy @returns {Promise<Survey>} */
async function checkTrust({ survey, digest, signers }, policy) {
  const publisher = policy.publishers.find((p) => p.name === survey.publisher);
  if (!publisher) return refuse("UntrustedKey", `the publisher ${shown(survey.publisher)} is not one this policy trusts`);
  const signed = new Set(publisher.keys.filter((key) => signers.has(key))).size;
  if (signed < publisher.threshold) refuse("UntrustedKey", `${signed} of ${publisher.threshold} needed keys have signed`);
  /** @type {Uint8Array} */
  let bytes = new Uint8Array();
  try {
    bytes = surveyBytes(survey);
  } catch { /* a field of another type than it had */ }
  if ((await sha256(bytes)) !== digest) refuse("BadSignature", "the survey was changed after it was accepted");
  return readSurvey(bytes);
}

/** @param {Survey} survey @param {Date} now */
function checkExpiry(survey, now) {
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) refuse("ParameterError", "now is a Date");
  if (!(now.getTime() < survey.expires.getTime())) refuse("Expired", `the survey expired at ${survey.expires.toISOString()}`);
}

/** Not older than, and not different from, what was seen before.
 * @param {Survey} survey @param {string} digest @param {SeenVersion | undefined} known */
function checkVersion(survey, digest, known) {
  const same = known?.version === survey.version && known.digest === digest;
  if (known !== undefined && !(survey.version > known.version) && !same) {
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
    const value = exactFields(readCanonical(data, LARGEST_REPORT), "a report", REPORT_FIELDS);
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
  need(needDesign(design, "design").allows(answer), "answer", "must be text of 0 and 1 that the design can give");
  integer(0, MOST_ROUNDS - 1)(round, "round");
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
  constructor(given) {
    needSettings("the client", given, ["ledger", "attributes", "policy", "source", "clock"]);
    const { ledger, attributes, policy, source = systemSource, clock = () => new Date() } = given;
    if (typeof ledger?.transact !== "function") badSetting("ledger", typeof ledger, "a ledger");
    if (!(policy instanceof Policy)) badSetting("policy", typeof policy, "a Policy");
    if (typeof source !== "function" || typeof clock !== "function") refuse("ParameterError", "source and clock are functions");
    if (!Array.isArray(attributes)) badSetting("attributes", attributes, "a list of names");
    this.ledger = ledger;
    this.policy = policy;
    this.source = source;
    this.clock = clock;
    /** @type {Map<string, {name: string, rounds: number}>} */
    this.named = new Map();
    /** @type {Map<string, number>} */
    this.publishers = new Map();
    for (const entry of attributes) {
      if (isObject(entry) && "everyAttributeOf" in entry) {
        needSettings("everyAttributeOf", entry, ["everyAttributeOf", "rounds"]);
        const { everyAttributeOf: publisher, rounds = 1 } = entry;
        if (typeof publisher !== "string" || !publisher) badSetting("publisher", publisher, "its name");
        if (this.publishers.has(publisher)) badSetting("attributes", publisher, "each publisher once");
        this.publishers.set(publisher, wholeNumber("rounds", rounds, 1, MOST_ROUNDS));
        continue;
      }
      const one = typeof entry === "string" ? { name: entry } : entry;
      needSettings("an attribute", one, ["name", "rounds", "askedAs"]);
      const { name, rounds = 1, askedAs = [] } = one;
      if (typeof name !== "string" || !name || name.includes("/")) badSetting("attribute name", name, "a text without '/'");
      if (!Array.isArray(askedAs) || !askedAs.every((as) => typeof as === "string")) badSetting("askedAs", askedAs, "a list of names");
      wholeNumber("rounds", rounds, 1, MOST_ROUNDS);
      for (const as of askedAs.length ? askedAs : [name]) {
        if (this.named.has(as)) badSetting("attributes", as, "each name asked about belongs to one attribute");
        this.named.set(as, { name, rounds });
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
  async answer(accepted, questionId, truth, given = {}) {
    needSettings("answer", given, ["round", "segments", "invite"]);
    const { round = 0, segments, invite = null } = given;
    const { survey, digest, question, attribute, cost } = await this.asked(accepted, questionId, round);
    const { source, policy } = this, { design } = question, declared = segments ?? {};
    if (!isObject(declared)) refuse("ParameterError", "segments map names to values");
    for (const [name, value] of Object.entries(declared)) {
      if (!Object.hasOwn(survey.segments, name) || !survey.segments[name].values.some((one) => one.value === value)) {
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
        id, survey: digest, question: questionId, round, attribute, words: say(survey, question.text),
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
    if (!isObject(accepted) || !isObject(accepted.survey) || !(accepted.signers instanceof Set)) refuse("ParameterError", "a survey is what `accept` returned");
    const { digest } = accepted, survey = await checkTrust(accepted, this.policy);
    checkExpiry(survey, this.clock());
    const question = survey.questions.find((q) => q.id === questionId);
    if (!question) return refuse("ParameterError", `the survey has no question '${questionId}'`);
    const attribute = this.ownName(survey, question, round);
    return { survey, digest, question, attribute, cost: this.policy.cost(question) };
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
   * @param {{attempts?: number, firstWait?: number, longestWait?: number, sleep?: (ms: number) => Promise<void>}} [given] seconds */
  async deliver(transport, given = {}) {
    needSettings("deliver", given, ["attempts", "firstWait", "longestWait", "sleep"]);
    const { attempts = 4, firstWait = 0.5, longestWait = 60, sleep } = given;
    if (typeof transport?.send !== "function") badSetting("transport", typeof transport, "a transport, such as HttpTransport");
    wholeNumber("attempts", attempts, 1, Number.MAX_SAFE_INTEGER);
    const waits = [0, firstWait, longestWait].every((wait) => typeof wait === "number") && 0 <= firstWait && firstWait <= longestWait;
    if (!waits || !Number.isFinite(longestWait)) refuse("ParameterError", "waits: allowed: 0 <= firstWait <= longestWait, in seconds");
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

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"], MOST_PATIENT = 3600;

/** @param {string} url */
function addressOf(url) {
  try {
    const parts = new URL(url, globalThis.location?.href);
    if (["http:", "https:"].includes(parts.protocol) && !parts.username && !parts.password && !parts.hash) return parts;
  } catch { /* not an address */ }
  return badSetting("url", url, "an address such as https://collect.example.org/reports");
}

/** POST each report to a collector: https, or http on this machine; no cookies, no referrer, no redirects. */
export class HttpTransport {
  /** `url`: an address such as https://collect.example.org/reports; on a page, also one relative to the page.
   * @param {string} url @param {{timeout?: number, allowHttp?: boolean, fetch?: typeof fetch}} [given] seconds */
  constructor(url, given = {}) {
    needSettings("the transport", given, ["timeout", "allowHttp", "fetch"]);
    const { timeout = 10, allowHttp = false, fetch: via } = given;
    if (typeof allowHttp !== "boolean") badSetting("allowHttp", allowHttp, "true or false");
    if (!(typeof timeout === "number" && timeout > 0 && timeout <= MOST_PATIENT)) badSetting("timeout", timeout, "seconds, above 0 and at most 3600");
    const parts = addressOf(url);
    if (parts.protocol === "http:" && !LOCAL_HOSTS.includes(parts.hostname) && !allowHttp) badSetting("url", url, "https, or http on this machine");
    this.url = parts.href;
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
