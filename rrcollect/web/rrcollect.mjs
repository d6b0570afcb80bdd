// @ts-check
/**
 * rrcollect for browsers and Node >= 20: the Python client's equal, in one module without dependencies.  The ledger of a Node
 * program is beside it, in file-ledger.mjs.
 * Its sections carry the names of the Python modules they mirror.
 *
 * Rules
 * 1. A survey is accepted if its signed envelope is canonical, signed by trusted keys, keeps its own promises (decided
 *    exactly, in BigInt) and fits this device's policy; otherwise an error whose `name` says why.
 * 2. An answer is one comparison of 64 random bits from crypto.getRandomValues with an exact threshold.
 * 3. One attribute, one draw: answer, report and debit are committed to the ledger in one transaction before anything
 *    is sent; asked again, by whatever name in the same words, the device repeats itself or refuses.  Budgets are for life.
 * 4. The truth is not stored, logged or put into an error.  A report has the same length for all answers.
 * 5. Answering follows the script of docs/wire-format.md, "Answering", check by check, as the Python client does.
 * 6. A report goes to the survey's collector and nowhere else, at moments drawn with it, which no reply changes; after a
 *    decline, a cancel or a withdrawal it does not go at all.
 */

/** Whether this is part of the built element (build.mjs sets it): sentences for developers are left out there, and our words
 * are in two files for each language. @type {boolean} */
const BUILT = false;

// ---- errors: the names are the Python client's ----------------------------------------------------------------------

/** Base of every error thrown on purpose; `name` is the reason. */
export class RRCollectError extends Error {
  /** @param {string} name @param {string} message */
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

/** @param {string} name @param {string} message */
function fault(name, message) {
  return new RRCollectError(name, BUILT ? "explained by rrcollect.mjs" : message);
}

/** @param {string} name @param {string} message @returns {never} */
function refuse(name, message) {
  throw fault(name, message);
}

/** @param {unknown} value */
function shown(value) {
  let text = "an object"; // as documents have them: without a text of its own, and so is a list that holds one
  try {
    text = typeof value === "string" ? `'${value}'` : String(value);
  } catch {}
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
  return refuse("ParameterError", `${name} is ${shown(value)}; expected ${allowed}`);
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

/** @param {string} name @param {unknown} value @param {number} most @returns {number} */
function secondsOf(name, value, most) {
  const good = typeof value === "number" && value >= 0 && value <= most;
  return good ? value : badSetting(name, value, `seconds, 0 to ${most}`);
}

/** @param {unknown} signal @returns {AbortSignal | null} */
function signalOf(signal) {
  const good = signal === null || (isObject(signal) && typeof signal.throwIfAborted === "function");
  return good ? /** @type {AbortSignal | null} */ (signal) : badSetting("signal", typeof signal, "an AbortSignal");
}

/** Settings that mean nothing are an error, as in Python. @param {string} what @param {unknown} given @param {string[]} names */
function needSettings(what, given, names) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) badSetting(what, given, "an object of settings");
  for (const name of Object.keys(/** @type {object} */ (given))) {
    if (!names.includes(name)) refuse("ParameterError", `${what}: ${shown(name)} means nothing; known are ${names.join(", ")}`);
  }
  for (const name of names) { // what is inherited would be ignored here and taken there
    if (name in /** @type {object} */ (given) && !Object.hasOwn(/** @type {object} */ (given), name)) badSetting(`${what}: ${name}`, "inherited", "settings of the object's own");
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
  /** An answer, until one is drawn. */
  get blank() { return "0"; }
  /** Whether questions of this kind can be asked with it: yes or no, or a number. @param {Kind} kind */
  fits(kind) { return kind.kind !== "choice"; }
  /** The answer to send instead of a truth of this kind. @param {any} truth @param {Kind} kind @param {Source} [source] */
  draw(truth, kind, source = systemSource) {
    return String(kind.kind === "number" ? randomiseNumber(truth, this, kind, source) : randomise(truth, this, source));
  }
  /** The greatest ratio of an answer that does not tell by itself, and the chance of one that does. @returns {[Fraction, Fraction]} */
  telling() {
    const telling = tellingAnswers(this), others = /** @type {const} */ ([0, 1]).filter((answer) => !telling.includes(answer));
    const ratios = others.map((answer) => /** @type {Fraction} */ (this.likelihoodRatio(answer)));
    const rows = [[this.p00, ONE.minus(this.p00)], [ONE.minus(this.p11), this.p11]];
    const told = rows.map((row) => telling.reduce((sum, answer) => sum.plus(row[answer]), ZERO));
    return [ratios.reduce(larger, ONE), larger(told[0], told[1])];
  }
  /** The largest share of respondents that answers can expose. */
  mostExposed() {
    const chances = [this.p00, this.p11], telling = tellingAnswers(this); // of each answer, at its likeliest
    const most = telling.length ? telling.reduce((sum, answer) => sum.plus(chances[answer]), ZERO) : larger(this.p00, this.p11);
    return most.compare(ONE) > 0 ? ONE : most;
  }
  /** What happens to an answer, in one sentence. @param {string} kind @param {Words} words */
  happens(kind, words) {
    const no = ONE.minus(this.p00), yes = ONE.minus(this.p11);
    if (kind === "number") return words.say("number_drawn");
    if (no.compare(yes)) return words.say("switched_unequally", { no: chanceOf("case", no, words), yes: chanceOf("case", yes, words) });
    return no.sign() ? chanceOf("switched", no, words) : words.say("unchanged");
  }
  /** Which answers are proofs, or as good as proofs. @param {string} kind @param {Words} words */
  proofSentences(kind, words) {
    const [answers, start] = kind === "number" ? [NUMBER_ANSWERS, "number_"] : [ANSWERS, ""];
    return tellingAnswers(this).map((answer) => words.say(start + proofKey(this.likelihoodRatio(answer)), { word: words.say(answers[answer]) }));
  }
  /** What a single other answer proves. @param {string} kind @param {Words} words */
  provesSentences(kind, words) {
    if (kind !== "number") return yesAndNo(this, words);
    return singleSentence(this, "number_proves_nothing", "still_number", words);
  }
  /** The one bit of the answer seen alone: the design itself. @returns {Design} */
  get column() { return this; }
  /** Fractions in lowest terms. */
  toWire() { return { p00: String(this.p00), p11: String(this.p11) }; }
  /** The canonical JSON text. */
  get text() { return canonicalText(this.toWire()); }
  /** The limits, or why there are none. @returns {[bigint, bigint]} */
  thresholds() {
    if (this.c.sign() <= 0) refuse("NotOriented", "p00 + p11 <= 1: its answers would mean their opposite");
    return this.limits ?? refuse("OffGridDesign", "the matrix is off the grid of 1/2^64");
  }
}

/** @param {number} n */
const whole = (n) => new Fraction(BigInt(n));

/** A set of `size` of `options`, the truth among them with chance p, exactly; an answer has one bit for each option. */
export class SetDesign {
  /** @param {number} options @param {number} size @param {Fraction} p */
  constructor(options, size, p) {
    this.options = options;
    this.size = size;
    this.p = p;
    this.truths = options;
    this.width = options;
    const scaled = (size === 1 ? ONE.minus(p).over(whole(options - 1)) : p).times(new Fraction(GRID));
    /** R (the chance of each other option, for one) or P (of the truth, for several) on 2^64; null off the grid.
     * @type {bigint | null} */
    this.limit = scaled.d === 1n ? scaled.n : null;
    Object.freeze(this);
  }
  /** The chance of an option that is not the truth. */
  get q() { return whole(this.size).minus(this.p).over(whole(this.options - 1)); }
  get c() { return this.p.minus(this.q); }
  get onGrid() { return this.limit !== null; }
  /** P(a set | a truth in it), P(the set | one outside), both times the same number. */
  says() { return [this.p.times(whole(this.options - this.size)), ONE.minus(this.p).times(whole(this.size))]; }
  /** How much every answer can change the odds; null if it excludes an option. @returns {Fraction | null} */
  get worstRatio() {
    const [most, least] = this.says();
    return least.sign() ? most.over(least) : null;
  }
  /** Whether every respondent has (ε, δ)-differential privacy, decided exactly. @param {Promised} promise */
  satisfies({ epsilon, delta }) {
    const [most, least] = this.says();
    return signAtExp(delta.times(whole(this.options - 1)).minus(most), least.times(epsilon.factor), epsilon.rational) >= 0;
  }
  /** Whether this text is an answer: one character per option, as many 1 as the set has options. @param {unknown} answer */
  allows(answer) {
    return typeof answer === "string" && /^[01]*$/.test(answer) && answer.length === this.options && answer.replaceAll("0", "").length === this.size;
  }
  /** An answer, until one is drawn. */
  get blank() { return "1".repeat(this.size).padEnd(this.options, "0"); }
  /** Whether questions of this kind can be asked with it: a choice of as many options. @param {Kind} kind */
  fits(kind) { return kind.kind === "choice" && kind.options.length === this.options; }
  /** The answer to send instead of the number of an option. @param {any} truth @param {Kind} _ @param {Source} [source] */
  draw(truth, _, source = systemSource) { return randomiseChoice(truth, this, source); }
  /** All sets are alike: each of them tells, or none. @returns {[Fraction, Fraction]} */
  telling() {
    const ratio = this.worstRatio;
    return ratio === null || tells(ratio) ? [ONE, ONE] : [ratio, ZERO];
  }
  /** Each set exposes, or none. */
  mostExposed() { return ONE; }
  /** What happens to an answer, in one sentence. @param {string} _ @param {Words} words */
  happens(_, words) { return setInWords(this, "replaced", "set_drawn", chanceOf("case", ONE.minus(this.p), words), words); }
  /** Whether a set is a proof, or as good as one. @param {string} _ @param {Words} words */
  proofSentences(_, words) { return tells(this.worstRatio) ? [words.say(`set_${proofKey(this.worstRatio)}`)] : []; }
  /** What a single set proves. @param {string} _ @param {Words} words */
  provesSentences(_, words) {
    return singleSentence(this, this.size === 1 ? "option_proves_nothing" : "set_proves_nothing", "still_option", words);
  }
  /** One option seen alone, for estimates: the promise is never read off it. @returns {Design} */
  get column() { return new Design(ONE.minus(this.q), this.p); }
  /** p in lowest terms. */
  toWire() { return { options: this.options, p: String(this.p), size: this.size }; }
  /** The canonical JSON text. */
  get text() { return canonicalText(this.toWire()); }
}

/** @typedef {Design | SetDesign} AnyDesign */

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
  const drawn = wholeNumberOf(randomBytes(8, source));
  const no = Number(drawn < limits[0]), yes = Number(drawn < limits[1]);
  return /** @type {0 | 1} */ (no ^ ((no ^ yes) & Number(truth)));
}

/** The set to send instead of the truth (the number of an option), one character per option; drawn for the first option
 * and turned by the truth.  The mapping from draws to sets is that of design/sampling.py.
 * @param {number} truth @param {SetDesign} design @param {Source} [source] @returns {string} */
export function randomiseChoice(truth, design, source = systemSource) {
  const { options, size } = design, limit = design.limit ?? refuse("OffGridDesign", "the design is off the grid of 1/2^64");
  if (!Number.isInteger(truth) || truth < 0 || truth >= options) {
    refuse("BadTruth", `the truth must be the number of an option, 0 to ${options - 1}; what was given is not shown`);
  }
  const said = size === 1 ? oneOption(limit, options, source) : severalOptions(limit, options, size, source);
  const all = (1n << BigInt(options)) - 1n, turned = ((said << BigInt(truth)) | (said >> BigInt(options - truth))) & all;
  return [...turned.toString(2).padStart(options, "0")].reverse().join("");
}

/** The bit to send instead of a number in [low, high]: 1 with chance exactly τ/2^64, by the mapping of design/sampling.py.
 * A number is taken as the binary fraction it is, a text such as "38.5" as it is written.  What lies outside is refused, or
 * brought to the nearer end if the survey says `clip`.
 * @param {NumberLike} truth @param {Design} design @param {{low: NumberLike, high: NumberLike, clip?: boolean}} kind
 * @param {Source} [source] @returns {0 | 1} */
export function randomiseNumber(truth, design, { low, high, clip = false }, source = systemSource) {
  const [none, all] = design.thresholds(), [least, most] = [fractionOf("low", low), fractionOf("high", high)];
  if (least.compare(most) >= 0) badSetting("low", low, "below high");
  const [upper, lower] = ratioOf(truth) ?? refuse("BadTruth", "the truth must be a finite number, or its text; what was given is not shown");
  const above = (upper * least.d - least.n * lower) * most.d, width = (most.n * least.d - least.n * most.d) * lower; // x = above/width
  const inside = above < 0n ? 0n : above > width ? width : above;
  if (inside !== above && !clip) {
    refuse("BadTruth", `the truth must lie from ${least} to ${most} (the survey does not say 'clip'); what was given is not shown`);
  }
  const limit = none + (((all - none) * ((inside * GRID) / width)) >> 64n);
  return /** @type {0 | 1} */ (Number(wholeNumberOf(randomBytes(8, source)) < limit));
}

/** A number as whole numbers, one over the other, exactly; the same statements for all doubles. @param {unknown} given @returns {Pair | null} */
function ratioOf(given) {
  if (typeof given === "bigint") return [given, 1n];
  const exact = typeof given === "string" ? parseFraction(given) : given;
  if (exact instanceof Fraction) return [exact.n, exact.d];
  if (typeof given !== "number" || !Number.isFinite(given)) return null;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, given);
  const bits = view.getBigUint64(0), power = (bits >> 52n) & 2047n, normal = BigInt(power > 0n), sign = 1n - 2n * (bits >> 63n);
  const digits = (bits & ((1n << 52n) - 1n)) | (normal << 52n); // of 53 bits, and fewer below 2^-1022
  return [(sign * digits) << (power - normal), 1n << 1074n];
}

/** @param {Uint8Array} bytes */
function wholeNumberOf(bytes) {
  return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

/** @param {bigint} each @param {number} options @param {Source} source */
function oneOption(each, options, source) {
  const drawn = wholeNumberOf(randomBytes(8, source)), last = BigInt(options - 1);
  const step = each && drawn / each < last ? drawn / each : last;
  return 1n << ((last - step) % BigInt(options));
}

/** @param {bigint} limit @param {number} options @param {number} size @param {Source} source */
function severalOptions(limit, options, size, source) {
  let bound = 1n;
  for (let i = 1; i <= size; i++) bound *= BigInt(options - i);
  const length = Math.ceil(bitLength(bound) / 8) + 8, accepted = ((1n << BigInt(8 * length)) / bound) * bound;
  const drawn = randomBytes(8 + length, source), inside = Number(wholeNumberOf(drawn.subarray(0, 8)) < limit);
  let number = wholeNumberOf(drawn.subarray(8));
  while (number >= accepted) number = wholeNumberOf(randomBytes(length, source)); // never a remainder that favours somebody
  return chosenSet(inside, number % bound, options, size);
}

/** Floyd's sampling among the other options; its first element gives way to the truth, option 0, if that is in.
 * @param {number} inside @param {bigint} number @param {number} options @param {number} size */
function chosenSet(inside, number, options, size) {
  const below = (/** @type {number} */ n) => {
    const least = Number(number % BigInt(n));
    number /= BigInt(n);
    return least;
  };
  let said = 1n << BigInt((1 - inside) * (1 + below(options - size)));
  for (let place = options - size; place < options - 1; place++) {
    const other = below(place + 1), taken = Number((said >> BigInt(1 + other)) & 1n);
    said |= 1n << BigInt(1 + other + taken * (place - other));
  }
  return said;
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

const SURVEY_TYPE = "application/vnd.rrcollect.survey.v1+json", WITHDRAWAL_TYPE = "application/vnd.rrcollect.withdrawal.v1+json";
const LARGEST_ENVELOPE = 256 * 1024, LARGEST_WITHDRAWAL = 8192, MOST_SIGNATURES = 16;
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

/** The payload of an envelope and the trusted keys that signed exactly these bytes as a document of this type.
 * @param {Uint8Array} envelope @param {Iterable<string>} trusted public keys, in hexadecimal @param {string} [type] */
export async function verifyEnvelope(envelope, trusted, type = SURVEY_TYPE) {
  if (!(envelope instanceof Uint8Array)) refuse("ParameterError", "an envelope is a Uint8Array");
  const parts = exactFields(readCanonical(envelope, LARGEST_ENVELOPE), "envelope", ["payload", "payloadType", "signatures"]);
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
  return { payload, signers };
}

// ---- publish/texts: text that people read ---------------------------------------------------------------------------

const JOINER = "\u200d", NON_JOINER = "\u200c", LANGUAGE = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$/;

/** Ranges of code points that hide, reorder or fake what a person reads: the same table as in publish/texts.py. */
const HIDDEN = [
  [0x0000, 0x001F], [0x007F, 0x009F], [0x00AD, 0x00AD], [0x034F, 0x034F], [0x0600, 0x0605], [0x061C, 0x061C],
  [0x06DD, 0x06DD], [0x070F, 0x070F], [0x0890, 0x0891], [0x08E2, 0x08E2], [0x115F, 0x1160], [0x17B4, 0x17B5],
  [0x180B, 0x180F], [0x200B, 0x200F], [0x2028, 0x202E], [0x2060, 0x206F], [0x3164, 0x3164], [0xD800, 0xF8FF],
  [0xFDD0, 0xFDEF], [0xFEFF, 0xFEFF], [0xFFA0, 0xFFA0], [0xFFF0, 0xFFFB], [0xFFFE, 0xFFFF], [0x110BD, 0x110BD],
  [0x110CD, 0x110CD], [0x13430, 0x13442], [0x16FE4, 0x16FE4], [0x1BCA0, 0x1BCA3], [0x1D159, 0x1D159],
  [0x1D173, 0x1D17A], [0x1FFFE, 0x1FFFF], [0x2FFFE, 0x2FFFF], [0x3FFFE, 0x3FFFF], [0x4FFFE, 0x4FFFF],
  [0x5FFFE, 0x5FFFF], [0x6FFFE, 0x6FFFF], [0x7FFFE, 0x7FFFF], [0x8FFFE, 0x8FFFF], [0x9FFFE, 0x9FFFF],
  [0xAFFFE, 0xAFFFF], [0xBFFFE, 0xBFFFF], [0xCFFFE, 0xCFFFF], [0xDFFFE, 0xDFFFF], [0xE0000, 0xE0FFF],
  [0xEFFFE, 0x10FFFF],
];
const BLANK = "\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000"; // shows nothing, but takes room
const HIDING = new RegExp(`[${HIDDEN.map(([a, b]) => `\\u{${a.toString(16)}}-\\u{${b.toString(16)}}`).join("")}]`, "gu");
const JOINING = "\\u0620-\\u0dff"; // from Arabic to Sinhala: where a non-joiner changes what is seen
const VISIBLE = new RegExp(`[^${BLANK}\\n${JOINER}${NON_JOINER}\\ufe00-\\ufe0f]`, "u");
const BLANK_END = new RegExp(`^[${BLANK}\\n]|[${BLANK}\\n]$`, "u");
const LOOSE_JOINER = new RegExp(`(?:^|[${BLANK}\\n${JOINER}])${JOINER}|${JOINER}(?:$|[${BLANK}\\n])`, "u");
const LOOSE_NON_JOINER = new RegExp(`(?<![${JOINING}])${NON_JOINER}|${NON_JOINER}(?![${JOINING}])`, "u");
/** More marks on one letter than any writing has: they would cover the lines above and below. */
const PILE = new RegExp("[\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05c7\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u06d6-\\u06ed\\u0e31\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u0eb1-\\u0ebc\\u0ec8-\\u0ecd\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]{5}", "u");

/** A text of a survey in a language, or in its base language, or in the survey's own; "" if there is none.
 * @param {{language: string}} survey @param {Texts} texts @param {string | null} [language] @returns {string} */
export function say(survey, texts, language = null) {
  const wanted = language || survey.language;
  const found = [wanted, wanted.split("-")[0], survey.language].find((one) => Object.hasOwn(texts, one));
  return found === undefined ? "" : texts[found];
}

/** Letters and digits that can be taken for one another: the same table as in publish/texts.py. */
const ALIKE = [
  "a\u0430\u03b1\u0251", "b\u0432\u03b2", "c\u0441", "d\u0501", "e\u0435\u03b5", "g\u0261\u0581",
  "h\u043d\u04bb\u03b7n\u043fv\u03bd\u0570\u0578", "i\u0456\u03b9l\u04cf1\u0269", "j\u0458", "k\u043a\u03ba",
  "m\u043c\u03bc", "o\u043e\u03bf0\u0585\u00f8", "p\u0440\u03c1", "q\u051b", "s\u0455", "t\u0442\u03c4",
  "u\u057d", "w\u051d", "x\u0445\u03c7", "y\u0443\u03c5\u03b3", "z\u03b6",
];
const LOOKS = new Map(ALIKE.flatMap((group) => Array.from(group, (letter) => [letter, group[0]])));

/** A hash that is equal for texts with the same letters and digits, however they are spaced, marked or cased.
 * @param {string} text */
function fingerprint(text) {
  const folded = Array.from(text.normalize("NFKD"), (c) => c.toUpperCase().toLowerCase()).join("");
  const plain = (folded.match(/[\p{L}\p{N}]/gu) ?? []).map((c) => LOOKS.get(c) ?? c).join("");
  return sha256(encoder.encode(plain || text));
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
    need(!LOOSE_JOINER.test(value) && !LOOSE_NON_JOINER.test(value), place, "has a joiner where it joins nothing");
    need(!PILE.test(value), place, "has more than 4 marks on one letter");
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
const needWords = written(200, NON_JOINER), needPassage = written(2000, "\n" + JOINER + NON_JOINER);
const needTexts = byLanguage(needWords), needPassages = byLanguage(needPassage);

// ---- publish/kinds: what may be true, and how it is asked -----------------------------------------------------------

/** @type {Need} */
function needExact(value, place) {
  const exact = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  need(exact !== null && String(exact) === value, place, "must be a number in lowest terms, such as '40' or '1/2'");
  return value;
}

const MOST_OPTIONS = 200;

/** @type {Record<string, Record<string, Need>>} the fields of each kind, beside its name */
const KINDS = {
  yes_no: {},
  choice: { options: (value, place) => needList(value, place, 2, MOST_OPTIONS, byLanguage(needWords, 1)) },
  number: { low: needExact, high: needExact, unit: needTexts, clip: needBoolean },
};

/** @typedef {Readonly<{kind: "yes_no"}> | Readonly<{kind: "choice", options: readonly Texts[]}> |
 *   Readonly<{kind: "number", low: string, high: string, unit: Texts, clip: boolean}>} Kind */

/** @type {Need} */
function needKind(value, place) {
  need(isObject(value) && typeof value.kind === "string" && Object.hasOwn(KINDS, value.kind), place, "must be of a known kind");
  const kind = needFields(value, place, { kind: (name) => name, ...KINDS[value.kind] });
  if (kind.kind === "choice") {
    const labels = kind.options.flatMap((/** @type {Texts} */ option) => Object.entries(option).map(([language, label]) => `${language} ${label}`));
    need(new Set(labels).size === labels.length, place, "two options have the same label");
  }
  if (kind.kind === "number") {
    const [low, high] = [kind.low, kind.high].map((text) => /** @type {Fraction} */ (parseFraction(text)));
    need(low.compare(high) < 0, place, "low must be below high");
  }
  return kind;
}

/** What may be true, as ledgers write it: an answer to other truths does not stand for one to these. @param {Kind} kind */
function truthsOf(kind) {
  return kind.kind === "number" ? `number from ${kind.low} to ${kind.high}` : kind.kind;
}

// ---- publish/question: what is asked, with which design, under which promise ----------------------------------------

const MOST_ROUNDS = 1000, MOST_QUESTIONS = 200;

/** @type {Need} */
function needProbability(value, place) {
  const found = typeof value === "string" ? parseFraction(value, SIGNED) : null;
  if (!found || found.sign() < 0 || found.compare(ONE) > 0) return refuse("MalformedDocument", `${place}: must be text such as '3/4', from 0 to 1`);
  return found;
}

/** @param {any} value @param {string} place @returns {AnyDesign} */
function needDesign(value, place) {
  if (isObject(value) && "options" in value) {
    const { options, size, p } = needFields(value, place, { options: integer(2, MOST_OPTIONS), size: integer(1, typeof value.options === "number" ? value.options - 1 : 0), p: needProbability });
    const made = new SetDesign(options, size, p);
    if (made.c.sign() <= 0) refuse("NotOriented", `${place}: p is not above ${size}/${options}, so nothing can be learned`);
    if (String(p) !== value.p) refuse("NotCanonical", `${place}: a probability is not in lowest terms`);
    return made;
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

/** @typedef {Readonly<{id: string, attribute: string, kind: Kind, text: Texts, help: Texts, design: AnyDesign, promise: Promised,
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
  survey.questions.forEach(checkQuestion);
  READ.add(survey);
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
  if (!design.fits(kind)) {
    const many = kind.kind === "choice" ? `${kind.options.length} options` : "";
    refuse("MalformedDocument", `${where}: a ${many ? `choice of ${many}` : `${kind.kind} question`} goes with a design ${many ? `for ${many}` : "of p00 and p11"}`);
  }
  if (question.panel && question.rounds === 1) refuse("MalformedDocument", `${where}: a panel needs two rounds or more`);
  if (design.c.sign() <= 0) refuse("NotOriented", `${where}: p00 + p11 must be above 1`);
  if (!design.onGrid) refuse("OffGridDesign", `${where}: the matrix is off the grid of 1/2^64`);
  if (!design.satisfies(promise)) refuse("ClaimTooSmall", `${where} promises more than its matrix keeps`);
  if (disclosure !== null) {
    if (whole(disclosure.exposed).compare(design.mostExposed().times(whole(disclosure.respondents))) > 0) {
      refuse("MalformedDocument", `${where}: fewer people can be exposed than it says`);
    }
    if (tells(design.worstRatio) && disclosure.exposed === 0) refuse("MalformedDocument", `${where}: somebody will be exposed`);
  }
}

/** Whether an answer with this ratio is a proof, or as good as one. @param {Fraction | null} ratio */
function tells(ratio) {
  return ratio === null || ratio.compare(PRACTICAL_PROOF) >= 0;
}

/** @param {Fraction | null} ratio */
function proofKey(ratio) {
  return ratio === null ? "proof" : "nearly_proof";
}

/** @param {Fraction} one @param {Fraction} other */
function larger(one, other) {
  return one.compare(other) >= 0 ? one : other;
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
  checkSigners(survey.publisher, signers, policy);
  const known = VERIFIED.get(survey);
  if (known?.digest === digest && moments(known.survey) === moments(survey)) return known.survey;
  /** @type {Uint8Array} */
  let bytes = new Uint8Array();
  try {
    bytes = surveyBytes(survey);
  } catch { /* a field of another type than it had */ }
  if ((await sha256(bytes)) !== digest) refuse("BadSignature", "the survey was changed after it was accepted");
  const signed = readSurvey(bytes);
  if (READ.has(survey)) VERIFIED.set(survey, { digest, survey: signed });
  return signed;
}

/** Surveys that `readSurvey` made: frozen, all but their moments. @type {WeakSet<Survey>} */
const READ = new WeakSet();
/** Those whose digest was computed, with a copy of each that nobody else has. @type {WeakMap<Survey, {digest: string, survey: Survey}>} */
const VERIFIED = new WeakMap();

/** A Date is the only part of a survey that JavaScript cannot freeze. @param {Survey} survey */
function moments({ opens, expires, rounds }) {
  return String([opens, expires, ...rounds.flatMap((times) => [times.opens, times.closes])].map((date) => date && Date.prototype.getTime.call(date)));
}

/** @param {string} name of the publisher @param {Set<string>} signers @param {Policy} policy */
function checkSigners(name, signers, policy) {
  const publisher = policy.publishers.find((p) => p.name === name);
  if (!publisher) return refuse("UntrustedKey", `the publisher ${shown(name)} is not one this policy trusts`);
  const signed = new Set(publisher.keys.filter((key) => signers.has(key))).size;
  if (signed < publisher.threshold) refuse("UntrustedKey", `${signed} of ${publisher.threshold} needed keys have signed`);
}

/** @param {Survey} survey @param {Date} now */
function checkExpiry(survey, now) {
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) refuse("ParameterError", "now is a Date");
  if (!(now < survey.expires)) refuse("Expired", `the survey expired at ${writtenMoment(survey.expires)}`);
}

/** Whether it may be answered now. @param {Survey} survey @param {Date} now */
function checkOpen(survey, now) {
  checkExpiry(survey, now);
  if (survey.opens && !(now >= survey.opens)) refuse("NotOpen", `the survey opens at ${writtenMoment(survey.opens)}`);
}

/** @param {Survey} survey @param {number} round @param {Date} now */
function checkRound({ rounds }, round, now) {
  if (!rounds.length) return;
  const { opens, closes } = rounds[round];
  if (!(now >= opens && now < closes)) {
    refuse("RoundClosed", `round ${round} is open from ${writtenMoment(opens)} to ${writtenMoment(closes)}`);
  }
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

// ---- design/rounding: numbers for people, rounded to the safe side -------------------------------------------------

/** @param {bigint} n @param {Fraction} unit */
function times(n, unit) {
  return unit.times(new Fraction(n));
}

/** The least number of three digits that covers what is above 0. @param {(number: Fraction) => boolean} covers */
function atMost(covers) {
  const ten = new Fraction(10n);
  let unit = ONE, low = 100n, high = 1000n; // low·unit does not cover it, high·unit does
  while (!covers(times(high, unit))) unit = unit.times(ten);
  while (covers(times(low, unit))) unit = unit.over(ten);
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (covers(times(middle, unit))) high = middle;
    else low = middle;
  }
  return decimal(times(high, unit));
}

/** The largest number of three digits that is not above this one, which is 0 or more. @param {Fraction} value */
function atLeast(value) {
  const ten = new Fraction(10n);
  if (!value.sign()) return "0";
  let unit = ONE;
  while (value.compare(times(1000n, unit)) >= 0) unit = unit.times(ten);
  while (value.compare(times(100n, unit)) < 0) unit = unit.over(ten);
  const { n, d } = value.over(unit);
  return decimal(times(n / d, unit));
}

/** A number of finitely many decimal digits, written with all of them. @param {Fraction} value */
function decimal(value) {
  let places = 0;
  for (; value.d !== 1n; places++) value = times(10n, value);
  const digits = String(value.n).padStart(places + 1, "0");
  return places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
}

// ---- answer/explain/bound: how much all that is sent can tell ------------------------------------------------------

const MOST_SHOWN = new Fraction(1000000n), EXACT_BITS = 1024, FINE = 1n << 256n;

/** @typedef {readonly [bigint, bigint]} Pair a number over another, not reduced: that would take longer than everything else */

/** The answers that are proofs, or as good as proofs. @param {Design} design @returns {(0 | 1)[]} */
function tellingAnswers(design) {
  return /** @type {(0 | 1)[]} */ ([1, 0]).filter((answer) => tells(design.likelihoodRatio(answer)));
}

/** Over so many draws by each design: how much all answers that do not tell by themselves can change the odds (null: too
 * much to be shown), and the chance, at most, of one that does. @param {[AnyDesign, number][]} draws */
function boundOf(draws) {
  /** @type {Pair} */
  let ratio = [1n, 1n];
  /** @type {Pair} */
  let quiet = [1n, 1n]; // the chance that no answer tells
  for (const [design, count] of draws) {
    const [greatest, likeliest] = design.telling();
    ratio = upward(product(ratio, power(greatest, count, upward)));
    quiet = downward(product(quiet, power(ONE.minus(likeliest), count, downward)));
  }
  return { ratio: hidden(ratio) ? null : new Fraction(...ratio), telling: ONE.minus(new Fraction(...quiet)) };
}

/** The bound of whichever one of several things is sent. @param {ReturnType<typeof boundOf>[]} bounds */
function greatest(bounds) {
  return bounds.reduce((a, b) => ({ ratio: a.ratio && b.ratio && larger(a.ratio, b.ratio), telling: larger(a.telling, b.telling) }));
}

/** @param {Fraction} number @param {number} count @param {(number: Pair) => Pair} rounded @returns {Pair} */
function power(number, count, rounded) {
  /** @type {Pair} */
  let made = [1n, 1n], base = /** @type {Pair} */ ([number.n, number.d]);
  for (let left = count; left > 0; ) {
    if (left % 2) made = rounded(product(made, base));
    left = Math.floor(left / 2);
    if (left) base = rounded(product(base, base));
  }
  return made;
}

/** @param {Pair} one @param {Pair} other @returns {Pair} */
function product(one, other) {
  return [one[0] * other[0], one[1] * other[1]];
}

/** @param {Pair} ratio */
function hidden([over, under]) {
  return over > MOST_SHOWN.n * under;
}

/** @param {Pair} ratio @returns {Pair} */
function upward(ratio) {
  if (hidden(ratio)) return [MOST_SHOWN.n + 1n, 1n]; // however large it is
  return bitLength(ratio[1]) <= EXACT_BITS ? ratio : [(ratio[0] * FINE + ratio[1] - 1n) / ratio[1], FINE];
}

/** @param {Pair} chance @returns {Pair} */
function downward(chance) {
  return bitLength(chance[1]) <= EXACT_BITS ? chance : [(chance[0] * FINE) / chance[1], FINE];
}

// ---- answer/explain/words: every sentence a person is told by this device, and how others' text is kept apart ------

const OURS = ["en", "de", "fr", "es", "ar"], RIGHT_TO_LEFT = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"];
const FORMS = ["zero", "one", "two", "few", "many", "other"];
const MARK = "> ", COLUMNS = 76, WIDE = 0x1100;

/** @typedef {string | Record<string, string>} Said a sentence, or its forms by the plural categories of Unicode */
/** @typedef {Record<string, Said>} Table key to sentence, as in words/en.mjs */

/** The direction in which a language is written, for `dir`. @param {string} language @returns {"ltr" | "rtl"} */
export function direction(language) {
  const parts = language.split("-");
  return RIGHT_TO_LEFT.includes(parts[0]) || parts.includes("Arab") || parts.includes("Hebr") ? "rtl" : "ltr";
}

/** The form that so many things take; other languages than ours are given that of English. @param {string} language @param {number} count */
function plural(language, count) {
  if (language === "ar") return count < 3 ? FORMS[count] : count % 100 >= 3 && count % 100 <= 10 ? "few" : count % 100 > 10 ? "many" : "other";
  return count === 1 || (language === "fr" && count === 0) ? "one" : "other";
}

/** The sentences of one language; made by `loadWords` only. */
export class Words {
  /** @param {string} language @param {Table} table @param {string | null} [notice] our sentence that somebody else supplied it */
  constructor(language, table, notice = null) {
    this.language = language;
    this.table = table;
    this.notice = notice;
    this.direction = direction(language);
    Object.freeze(this);
  }
  /** The sentence with its places filled; `count` chooses its form. @param {string} key @param {Record<string, string | number>} [places] */
  say(key, places = {}) {
    return this.parts(key, places).join("");
  }
  /** The sentence in parts, for places that are not text, such as elements of a page.
   * @template T @param {string} key @param {Record<string, T>} places @returns {(T | string)[]} */
  parts(key, places) {
    const said = this.table[key];
    if (said === undefined) refuse("ParameterError", `there are no words ${shown(key)}`);
    const text = typeof said === "string" ? said : said[plural(this.language, Number(places.count))] ?? said.other;
    return text.split(/\{([a-z]+)\}/).map((part, i) => (i % 2 ? this.number(places[part] ?? refuse("ParameterError", `${key} needs ${part}`)) : part));
  }
  /** A number with the decimal sign of this language, and its minus where it is read; anything else as it is. @template T @param {T} value */
  number(value) {
    if (typeof value === "object") return value;
    const text = String(value).replace(/^(-?[0-9]+)\.([0-9]+)$/, (_, whole, rest) => `${whole}${this.table.decimal}${rest}`);
    return this.direction === "rtl" && /^-[0-9]/.test(text) ? `\u200e${text}` : text;
  }
  /** A small number as a word, as the sentences with "one in four" need it. @param {number} number */
  counted(number) {
    return String(this.table.numbers).split(" ")[number - 2] ?? String(number);
  }
  /** A day and a time of it, in UTC or where this device is. @param {Date} date @param {{local?: boolean}} [given] */
  moment(date, { local = false } = {}) {
    const at = new Date(local ? date.getTime() - date.getTimezoneOffset() * 60_000 : date).toISOString();
    const month = String(this.table.months).split(" ")[Number(at.slice(5, 7)) - 1];
    return this.say("moment", { count: Number(at.slice(8, 10)), month, year: Number(at.slice(0, 4)), time: at.slice(11, 16) });
  }
}

/** The words of the first of these languages that there are words for, else English.  `own`: further languages, supplied by
 * whoever asks or made the page, each whole and in the form of words/en.mjs; they are marked as such.
 * @param {string | readonly string[]} [languages] such as navigator.languages @param {Record<string, Table>} [own] @returns {Promise<Words>} */
export async function loadWords(languages = [], own = {}) {
  const base = (/** @type {string} */ language) => language.split("-")[0].toLowerCase();
  for (const language of Object.keys(own)) {
    if (!LANGUAGE.test(language) || OURS.includes(base(language))) badSetting("words", language, `a language such as 'it' that is not ours (${OURS.join(", ")})`);
  }
  for (const wanted of [languages].flat()) {
    const found = [wanted, base(wanted)].find((one) => Object.hasOwn(own, one));
    if (found !== undefined) {
      const english = await wholeTable("en");
      checkTable(found, own[found], english);
      return new Words(found, own[found], new Words("en", english).say("supplied"));
    }
    if (OURS.includes(base(wanted))) return new Words(base(wanted), await ourTable(base(wanted)));
  }
  return new Words("en", await ourTable("en"));
}

/** @param {string} language @param {string} [part] @returns {Promise<Table>} */
async function ourTable(language, part = "") {
  return (await import(`./words/${language}${part}.mjs`)).default;
}

/** @param {string} language */
async function wholeTable(language) {
  return BUILT ? { ...(await ourTable(language)), ...(await ourTable(language, ".more")) } : ourTable(language);
}

/** These words, with all that explanations say: the built element has a file of its own for that. @param {Words} words */
export async function wholeWords(words) {
  return BUILT && words.notice === null ? new Words(words.language, await wholeTable(words.language)) : words;
}

/** Refuse a table that lacks a sentence or a place, or has one too many, or hides something.
 * @param {string} language @param {Table} table @param {Table} english */
function checkTable(language, table, english) {
  const formsOf = (/** @type {Said} */ said) => (isObject(said) ? said : { other: said }), needText = written(2000, NON_JOINER);
  const placesOf = (/** @type {string} */ text) => [...text.matchAll(/\{([a-z]+)\}/g)].map((found) => found[1]);
  for (const key of new Set([...Object.keys(english), ...Object.keys(table)])) {
    const places = Object.values(formsOf(english[key] ?? "")).flatMap(placesOf), forms = formsOf(table[key]);
    try {
      for (const text of Object.values(forms)) need(placesOf(needText(text, key)).every((place) => [...places, "count"].includes(place)), key, "");
      need(Object.hasOwn(english, key) && "other" in forms && Object.keys(forms).every((form) => FORMS.includes(form)), key, "");
      need(places.every((place) => placesOf(forms.other).includes(place)), key, "");
    } catch {
      badSetting(`words.${language}.${key}`, table[key], `as in words/en.mjs, with the places ${places.join(", ")}`);
    }
  }
}

/** @param {string} what @param {unknown} words @returns {Words} */
function wordsOf(what, words) {
  return words instanceof Words ? words : badSetting(`${what}: words`, words, "what loadWords(language) gave");
}

/** @typedef {Readonly<{text: string, foreign: boolean, question: string | null}>} Line
 * some text, whether somebody else wrote it (then it may have several lines), and the question it belongs to */

/** @param {string} text @param {string | null} [question] @returns {Line} */
const ours = (text, question = null) => ({ text, foreign: false, question });
/** @param {string} text @param {string | null} [question] @returns {Line[]} */
const theirs = (text, question = null) => (text ? [{ text, foreign: true, question }] : []);

/** The whole text: ours as it is, every line of theirs with its mark. @param {Line[]} lines */
function shownLines(lines) {
  return lines.flatMap(({ text, foreign }) => (foreign ? marked(text) : [text])).join("\n");
}

/** @param {string} text */
function marked(text) {
  return text.split("\n").flatMap(broken).map((part) => MARK + part);
}

/** The line in parts that fit, broken at spaces where there are some. @param {string} line */
function broken(line) {
  const parts = [];
  let left = [...line];
  for (let cut = fitting(left); cut < left.length; cut = fitting(left)) {
    const space = left.lastIndexOf(" ", cut), at = space > 0 ? space : cut;
    parts.push(left.slice(0, at).join(""));
    left = left.slice(space > 0 ? at + 1 : at);
  }
  return [...parts, left.join("")];
}

/** How many characters fit. @param {string[]} line */
function fitting(line) {
  let columns = 0;
  const cut = line.findIndex((character) => (columns += /** @type {number} */ (character.codePointAt(0)) >= WIDE ? 2 : 1) > COLUMNS);
  return cut < 0 ? line.length : cut;
}

// ---- answer/explain/explanation: what a survey would make this device send -----------------------------------------

const ANSWERS = ["no", "yes"], NUMBER_ANSWERS = ["low", "high"]; // 0 and 1
const RARE = new Fraction(1n, 10000n), UNLIKELY = new Fraction(1n, 1000000n);
const HUNDRED = new Fraction(100n);

/** What would be sent, in words: ours and theirs, line by line, for a page to show each in its own way; the survey's texts
 * in this language, if it has it, ours in the `words` that `loadWords` gave.  `page`: it is answered on its page, where every
 * origin keeps a ledger of its own.
 * @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given @returns {Line[]} */
export function surveyLines(survey, given) {
  needSettings("surveyLines", given, ["words", "language", "page"]);
  const { language = null, page = globalThis.location?.origin !== undefined } = given, words = wordsOf("surveyLines", given.words);
  const { questions, origins, opens } = survey, expires = words.moment(survey.expires), count = questions.length;
  const ledgers = page ? Math.max(1, origins.length) : 1, alone = survey.ask === "one" && questions.length > 1;
  const lines = [
    ...(words.notice === null ? [] : [ours(words.notice)]), ours(words.say("mark")), ...theirs(say(survey, survey.title, language)), ours(words.say("publisher")), ...theirs(survey.publisher),
    ...(survey.pilot ? [ours(words.say("pilot"))] : []),
    ours(opens ? words.say("from_until", { opens: words.moment(opens), expires }) : words.say("until", { expires })),
    ...(alone ? [ours(words.say("ask_one", { count }))] : []),
  ];
  questions.forEach((question, i) => {
    const { id, text, help } = question;
    lines.push(
      ours(words.say("question", { number: i + 1, count }), id),
      ...theirs(say(survey, text, language), id), ...theirs(say(survey, help, language), id),
      ...questionSentences(question, ledgers, words).map((told) => ours(told, id)),
    );
  });
  if (questions.length > 1) {
    const draws = questions.map((q) => drawsOf(q, ledgers)), whole = alone ? greatest(draws.map((one) => boundOf([one]))) : boundOf(draws);
    lines.push(...limitSentences(whole, "survey_", words).map((told) => ours(told)));
  }
  if (ledgers > 1) lines.push(ours(words.say("origins", { count: ledgers })), ...theirs(origins.join("\n")));
  if (survey.collector === CARRIED) lines.push(ours(words.say("carried")));
  else lines.push(ours(words.say("collector")), ...theirs(survey.collector));
  if (Object.keys(survey.segments).length) lines.push(ours(words.say("segments")), ...theirs(segmentsInWords(survey, language).join("\n")));
  if (survey.inviteOnly) lines.push(ours(words.say("invite")));
  return [...lines, ours(words.say("decline")), ours(words.say("device"))];
}

/** The same as one text, for a terminal. @param {Survey} survey @param {{words: Words, language?: string | null, page?: boolean}} given */
export function explainSurvey(survey, given) {
  return shownLines(surveyLines(survey, given));
}

/** @param {Survey} survey @param {string | null} language */
function segmentsInWords(survey, language) {
  const both = (/** @type {Texts} */ label, /** @type {string} */ sent) => {
    const read = say(survey, label, language);
    return read ? `${read} (${sent})` : sent;
  };
  return Object.keys(survey.segments).sort().map((name) => {
    const { label, values } = survey.segments[name];
    return `${both(label, name)}: ${values.map((one) => both(one.label, one.value)).join(", ")}`;
  });
}

/** How often an answer is drawn: for a panel once. @param {Question} question @param {number} ledgers @returns {[AnyDesign, number]} */
function drawsOf({ design, rounds, panel }, ledgers) {
  return [design, (panel ? 1 : rounds) * ledgers];
}

/** @param {Question} question @param {number} ledgers @param {Words} words */
function questionSentences(question, ledgers, words) {
  const { rounds, panel } = question, key = panel ? "panel" : "rounds";
  return [
    ...SPOKEN[question.kind.kind].drawn(question, words), ...(rounds > 1 ? [words.say(key, { count: rounds })] : []), ...question.design.proofSentences(question.kind.kind, words),
    ...limitSentences(boundOf([drawsOf(question, ledgers)]), "", words),
  ];
}

/** @param {Fraction} chance @param {Words} words */
function changedInWords(chance, words) {
  if (chance.sign() === 0) return words.say("never");
  return chance.compare(RARE) >= 0 ? words.say("share", { number: atLeast(chance.times(HUNDRED)) }) : words.say("rarely");
}

/** @param {{ratio: Fraction | null, telling: Fraction}} limits @param {string} prefix @param {Words} words */
function limitSentences({ ratio, telling }, prefix, words) {
  const told = [];
  if (telling.sign()) told.push(words.say(prefix ? `${prefix}proof` : "proof_chance", { chance: chanceInWords(telling, words) }));
  if (ratio === null) told.push(words.say(`${prefix}no_limit`));
  else if (ratio.compare(ONE) > 0 && telling.compare(ONE) < 0) {
    told.push(words.say(telling.sign() ? `${prefix}limit_besides` : `${prefix}limit`, { ratio: ratioInWords(ratio) }));
  }
  return told;
}

/** @param {Fraction} ratio */
function ratioInWords(ratio) {
  return atMost((number) => ratio.compare(number) <= 0);
}

/** @param {Fraction} chance @param {Words} words */
function chanceInWords(chance, words) {
  if (chance.compare(ONE) === 0) return words.say("certain");
  return chance.compare(UNLIKELY) >= 0 ? words.say("chance", { number: ratioInWords(chance.times(HUNDRED)) }) : words.say("never_likely");
}

// ---- answer/explain/headline: the first thing a person reads -------------------------------------------------------

const PROVES_NOTHING = new Fraction(4n), NEXT = new Fraction(1n, 1n << 60n), FINEST = 50n, MOST_COUNTED = 1000n, TINY = 1e-9;

/** What happens to an answer, and what it proves, in one or two sentences: of the whole survey, and of each question by its id.
 * The survey's says where to look, if the questions' differ.
 * @param {Survey} survey @param {{words: Words, page?: boolean}} given @returns {{survey: string[], questions: Record<string, string[]>}} */
export function headlines(survey, given) {
  needSettings("headlines", given, ["words", "page"]);
  const { page = globalThis.location?.origin !== undefined } = given, words = wordsOf("headlines", given.words), ledgers = page ? Math.max(1, survey.origins.length) : 1;
  const told = survey.questions.map((question) => [question.design.happens(question.kind.kind, words), ...proves(question, words, ledgers)]);
  const same = told.every((one) => JSON.stringify(one) === JSON.stringify(told[0]));
  return { survey: same ? told[0] : [words.say("at_each")], questions: Object.fromEntries(survey.questions.map(({ id }, i) => [id, told[i]])) };
}

/** What one answer takes of all that a device gives away for life, in words. @param {Question} question @param {Policy} policy @param {Words} words */
export function shareOfLife(question, policy, words) {
  return shareInWords(policy.cost(question), policy, wordsOf("shareOfLife", words), "life");
}

/** @param {Promised} cost @param {Policy} policy @param {Words} words @param {"life" | "spent"} what */
function shareInWords({ epsilon, delta }, { lifetimeEpsilon, lifetimeDelta }, words, what) {
  let share = epsilon.toNumber() / Math.max(lifetimeEpsilon.toNumber(), TINY);
  if (delta.sign()) share = Math.max(share, lifetimeDelta.sign() ? delta.over(lifetimeDelta).toNumber() : 2);
  if (share < TINY) return "";
  if (share > 1 + TINY && what === "life") return words.say("life_over");
  if (share < 1 / Number(MOST_COUNTED) - TINY) return words.say(`${what}_little`);
  const parts = Math.floor(1 / share + TINY);
  if (parts >= 2 && (share <= 0.1 || Math.abs(parts * share - 1) <= TINY)) return words.say(`${what}_part`, { count: parts, number: words.counted(parts) });
  return words.say(`${what}_percent`, { number: Math.min(100, Math.ceil(100 * share - TINY)) });
}

/** How a set is drawn, by one of two sentences. @param {SetDesign} design @param {string} one @param {string} several @param {string} share @param {Words} words */
function setInWords({ options, size, p }, one, several, share, words) {
  const always = size === 1 ? "unchanged" : "choice_set_always";
  return words.say(ONE.compare(p) ? (size === 1 ? one : several) : always, { size, options, share });
}

/** What a single answer proves that is no proof. @param {AnyDesign} design @param {string} nothing @param {string} still @param {Words} words */
function singleSentence(design, nothing, still, words) {
  const [ratio, telling] = design.telling();
  return telling.sign() ? [] : [words.say(ratio.compare(PROVES_NOTHING) <= 0 ? nothing : still, { ratio: ratioInWords(ratio) })];
}

/** @param {Fraction | null} ratio @param {string} start @param {string} plain @param {Words} words */
function meansInWords(ratio, start, plain, words) {
  return ratio === null || tells(ratio) ? words.say(`${start}_${proofKey(ratio)}`) : words.say(plain, { ratio: ratioInWords(ratio) });
}

/** A chance in words, never above what it is. @param {string} key @param {Fraction} chance @param {Words} words */
function chanceOf(key, chance, words) {
  if (!chance.sign()) return words.say("never");
  const whole = (chance.d + chance.n - 1n) / chance.n;
  if (whole > MOST_COUNTED) return words.say(`${key}_few`);
  if (whole > FINEST || (whole > 1n && chance.minus(new Fraction(1n, whole)).compare(NEXT) <= 0)) {
    return words.say(`${key}_one`, { count: Number(whole), number: words.counted(Number(whole)) });
  }
  return words.say(`${key}_about`, { number: String((100n * chance.n) / chance.d) });
}

/** @param {Question} question @param {Words} words @param {number} ledgers */
function proves(question, words, ledgers) {
  const { design, kind } = question, draws = drawsOf(question, ledgers), limits = boundOf([draws]), told = design.proofSentences(kind.kind, words);
  const nothing = !limits.telling.sign() && limits.ratio !== null && limits.ratio.compare(PROVES_NOTHING) <= 0;
  if (draws[1] > 1) return [...told, ...(nothing ? [words.say("all_proves_nothing")] : limitSentences(limits, "", words))];
  return [...told, ...design.provesSentences(kind.kind, words)];
}

/** What a single "yes" or "no" proves that is not a proof by itself. @param {Design} design @param {Words} words */
function yesAndNo(design, words) {
  const tell = tellingAnswers(design), others = (/** @type {(0 | 1)[]} */ ([1, 0])).filter((answer) => !tell.includes(answer)), same = design.p00.compare(design.p11) === 0;
  const ratioOf = (/** @type {number} */ answer) => /** @type {Fraction} */ (design.likelihoodRatio(answer));
  const strong = others.filter((answer) => ratioOf(answer).compare(PROVES_NOTHING) > 0);
  if (others.length === 2 && !strong.length) return [words.say(same ? "proves_nothing" : "neither_proves")];
  if (strong.length && same) return [words.say("still_sent", { ratio: ratioInWords(ratioOf(1)) })];
  return strong.map((answer) => words.say("still", { word: words.say(ANSWERS[answer]), ratio: ratioInWords(ratioOf(answer)) }));
}

// ---- answer/explain/budget: what was drawn and sent ----------------------------------------------------------------

/** @typedef {Awaited<ReturnType<Client["budget"]>>} Budget */

/** What a device has drawn so far, in words, line by line for a page; what was drawn is shown only after a report around it
 * has left, or may have. @param {Budget} budget @param {Words} given @returns {Line[]} */
export function budgetLines({ draws, reports, policy, later }, given) {
  const words = wordsOf("budgetLines", given), designs = draws.map((draw) => needDesign(JSON.parse(draw.design), "design")), left = reports.filter(hasLeft);
  const lines = [ours(draws.length ? drawnInWords(designs, words) : words.say("nothing_drawn")), ours(capInWords(policy, words))];
  const share = shareInWords(total(draws), policy, words, "spent");
  if (share) lines.push(ours(share));
  if (words.notice !== null) lines.unshift(ours(words.notice));
  draws.forEach((draw, i) => {
    const names = [draw.attribute, later(draw.attribute)];
    const around = left.filter((report) => names.includes(report.attribute) && report.round === draw.round).length;
    lines.push(...theirs(draw.attribute), ours(sentInWords(designs[i], draw, around, words)));
    if (around) lines.push(ours(SPOKEN[kindOf(draw)].means(draw.answer, designs[i], words)));
  });
  return lines;
}

/** The same as one text, for the person whose device this is. @param {Budget} budget @param {Words} words */
export function explainBudget(budget, words) {
  return shownLines(budgetLines(budget, words));
}

/** Whether a report has left this device, or may have. @param {Outgoing} report */
function hasLeft(report) {
  return ["delivered", "refused", CARRIED].includes(report.state) || report.attempts > 0;
}

/** @param {AnyDesign[]} designs @param {Words} words */
function drawnInWords(designs, words) {
  const { ratio, telling } = boundOf(designs.map((design) => [design, 1]));
  if (ratio === null) return words.say("drawn_no_limit");
  return words.say(telling.sign() ? "drawn_besides" : "drawn", { ratio: ratioInWords(ratio) });
}

/** @param {Policy} policy @param {Words} words */
function capInWords({ lifetimeEpsilon: cap, lifetimeDelta, allowDisclosure }, words) {
  const covers = (/** @type {Fraction} */ number) => cap.compare(new Epsilon(ZERO, number)) <= 0;
  if (!covers(MOST_SHOWN)) return words.say("cap_no_limit");
  const ratio = atMost(covers);
  return allowDisclosure ? words.say("cap_besides", { ratio, chance: chanceInWords(lifetimeDelta, words) }) : words.say("cap", { ratio });
}

/** What is sent instead of the truth, what was sent, and what that can tell, by the name of the question's kind.
 * @type {Record<string, {drawn: (question: any, words: Words) => string[], sent: (answer: string, design: any, words: Words) => {key: string, places: object},
 *   means: (answer: string, design: any, words: Words) => string}>} */
const SPOKEN = {
  yes_no: {
    drawn({ design }, words) {
      const no = changedInWords(ONE.minus(design.p00), words), yes = changedInWords(ONE.minus(design.p11), words);
      if (no !== yes) return [words.say("changed_unequally", { no, yes })];
      return [no === words.say("never") ? words.say("unchanged") : words.say("changed", { share: no })];
    },
    sent: (answer, _, words) => ({ key: "sent", places: { word: words.say(ANSWERS[Number(answer)]) } }),
    means: (answer, design, words) => meansInWords(design.likelihoodRatio(Number(answer)), "means", "means", words),
  },
  number: {
    drawn({ design, kind }, words) {
      const told = { low: atLeast(ONE.minus(design.p00).times(HUNDRED)), high: ratioInWords(design.p11.times(HUNDRED)) }, { low, high } = kind;
      return [words.say("number", told), ...(kind.clip ? [words.say("clipped", { low, high })] : [])];
    },
    sent: (answer, _, words) => ({ key: "sent", places: { word: words.say(NUMBER_ANSWERS[Number(answer)]) } }),
    means: (answer, design, words) => meansInWords(design.likelihoodRatio(Number(answer)), "means_number", "means_number", words),
  },
  choice: {
    drawn: ({ design }, words) => [setInWords(design, "choice_one", "choice_set", changedInWords(ONE.minus(design.p), words), words)],
    sent: (answer, design) => ({
      key: design.size === 1 ? "sent_option" : "sent_set", places: { list: [...answer].flatMap((bit, i) => (bit === "1" ? [i + 1] : [])).join(", ") },
    }),
    means: (_, design, words) => meansInWords(design.worstRatio, "means_set", "means_option", words),
  },
};

/** @param {AnyDesign} design @param {Draw} draw @param {number} reports @param {Words} words */
function sentInWords(design, draw, reports, words) {
  const round = String(draw.round + 1), end = draw.round ? "_in_round" : ""; // people count from 1
  if (!reports) return words.say(`not_sent${end}`, { round });
  const { key, places } = SPOKEN[kindOf(draw)].sent(draw.answer, design, words);
  return words.say(key + end, { round, ...places, reports: words.say("reports", { count: reports }) });
}

/** The name of the kind that a draw answered. @param {Draw} draw */
function kindOf({ kind }) {
  return kind.split(" ")[0];
}

// ---- publish/envelope: a survey that ends early -------------------------------------------------------------------

/** @type {Record<string, Need>} */
const WITHDRAWAL = {
  survey: matching(/^[0-9a-f]{64}$/, "must be a digest"), publisher: needWords, name: needName, version: integer(1, 2 ** 31), moment: needMoment,
};

/** @typedef {Readonly<{survey: string, publisher: string, name: string, version: number, moment: Date}>} Withdrawal */

/** The withdrawal of a signed envelope, by as many of the publisher's keys as a survey needs.
 * @param {Uint8Array} envelope @param {Policy} policy @returns {Promise<Withdrawal>} */
export async function acceptWithdrawal(envelope, policy) {
  if (!(policy instanceof Policy)) refuse("ParameterError", "a policy is a Policy");
  const { payload, signers } = await verifyEnvelope(envelope, policy.keys, WITHDRAWAL_TYPE);
  const withdrawal = needFields(readCanonical(payload, LARGEST_WITHDRAWAL), "withdrawal", WITHDRAWAL);
  checkSigners(withdrawal.publisher, signers, policy);
  return withdrawal;
}

// ---- publish/tickets: what a report of an invited survey carries ----------------------------------------------------

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz", SIGNS = 24; // 120 random bits, and two signs that check them
const INVITE = new RegExp(`^[${CROCKFORD}]{${SIGNS + 2}}$`);

/** An invite as it was issued, from what a person typed; one that is mistyped is refused, and is not shown.
 * @param {unknown} typed @returns {Promise<string>} */
export async function checkInvite(typed) {
  const ascii = typeof typed === "string" && /^[\0-\x7f]*$/.test(typed) ? typed.replace(/^[ \t\r\n]+|[ \t\r\n]+$|-/g, "") : "";
  const plain = ascii.toLowerCase().replace(/[il]/g, "1").replace(/o/g, "0");
  if (INVITE.test(plain)) {
    const check = parseInt((await sha256(encoder.encode(plain.slice(0, SIGNS)))).slice(0, 3), 16) >> 2;
    if (plain.slice(SIGNS) === CROCKFORD[check >> 5] + CROCKFORD[check & 31]) return plain;
  }
  return refuse("ParameterError", "the invite is mistyped (it is not shown); expected the 26 letters and digits that were issued");
}

/** What stands for an invite in the report about a question and round: no two reports of one invite have it in common.
 * @param {string} invite @param {string} survey its digest @param {string} question @param {number} round */
export async function ticket(invite, survey, question, round) {
  const secret = encoder.encode(await checkInvite(invite));
  const key = await subtle().importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = encoder.encode(`rrcollect ticket\n${survey}\n${question}\n${round}`);
  return hex(new Uint8Array(await subtle().sign("HMAC", key, message))).slice(0, 32);
}

// ---- publish/report: all that ever leaves the device ----------------------------------------------------------------

const LARGEST_REPORT = 8192, HEX_32 = /^[0-9a-f]{32}$/;
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
  need(typeof id === "string" && HEX_32.test(id), "id", "must be 32 hexadecimal digits");
  need(typeof question === "string" && question !== "" && [...question].length <= 64, "question", "must be a question's id");
  need(needDesign(design, "design").allows(answer), "answer", "must be a text that the design can give");
  integer(0, MOST_ROUNDS - 1)(round, "round");
  need(ticket === null || (typeof ticket === "string" && HEX_32.test(ticket)), "ticket", "must be null or 32 hexadecimal digits");
  need(typeof segments === "object" && segments !== null && !Array.isArray(segments), "segments", "must be an object");
  need(Object.values(segments).every((text) => typeof text === "string"), "segments", "must hold strings");
}

/** The body of a report around another answer: these characters alone change. @param {string} body @param {string} answer */
function withAnswer(body, answer) {
  const start = '{"answer":"'; // the first field
  return start + answer + body.slice(start.length + answer.length);
}

// ---- answer/ledger/file: one state, changed in one transaction; the steps of its schema -----------------------------

/**
 * @typedef {{attribute: string, round: number, kind: string, design: string, answer: string, epsilon: string, delta: string}} Draw
 * @typedef {{id: string, survey: string, publisher: string, question: string, round: number, attribute: string, words: string,
 *   body: string, destination: string, state: "waiting" | "delivered" | "refused" | "cancelled" | "withdrawn" | "carried",
 *   reason: string | null, attempts: number, earlierAttempts: number, times: number[]}} Outgoing
 * `times`: the moments at which it is to be sent, in seconds since 1970; `attempts`: how often it, or a report around the same
 * answer that it replaced (`earlierAttempts`), may have left.
 * @typedef {{schema: number, draws: Draw[], reports: Outgoing[], words: Record<string, string>, seen: Record<string, SeenVersion>,
 *   declined: string[], withdrawn: {survey: string, publisher: string}[], panels: {attribute: string, round: number}[],
 *   asked: Record<string, string>}} State
 * `words`: the attribute that each fingerprint of a question's text was asked about; `panels`: the one round in which an
 * attribute is answered; `asked`: what the one question of a survey that asks one is about.
 * @typedef {{transact<T>(change: (state: State) => T): Promise<T>}} Ledger
 * A ledger calls `change` with the whole state, makes what it did durable, and only then resolves; if `change` throws,
 * nothing is kept.  Where another program was first, it calls it again with the newer state, and the first try is forgotten.
 */

/** What brings a state forward: the first step turns schema 1 into schema 2, and so on. @type {((state: any) => void)[]} */
const STEPS = [];

/** @returns {State} */
function emptyState() {
  return { schema: 1 + STEPS.length, draws: [], reports: [], words: {}, seen: {}, declined: [], withdrawn: [], panels: [], asked: {} };
}

/** A stored state in today's schema, for ledgers; what was never stored is empty. @param {any} state @returns {State} */
export function broughtForward(state) {
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
      const fail = () => reject(fault("LedgerUnavailable", "this browser keeps no data for this page; nothing was drawn"));
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
      const unwritten = () => fault("LedgerUnavailable", "the ledger could not be written; nothing was sent");
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
      let trouble = null;
      got.onsuccess = () => {
        try {
          const state = broughtForward(got.result);
          result = change(state);
          store.put(state, "state");
        } catch (error) {
          trouble = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = transaction.onerror = () => reject(trouble ?? unwritten());
    });
  }
}

// ---- answer/ledger/ledger: what was spent, for life ----------------------------------------------------------------

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

// ---- answer/attributes: what an app is willing to be asked about, under the app's own names -------------------------

/** @typedef {{name: string, rounds: number, aliases: string[]}} Attribute */

/** The registered attributes, and the rule that finds a question's own one. */
class Attributes {
  /** @param {unknown} registered */
  constructor(registered) {
    /** @type {Map<string, Attribute>} by what publishers call it */
    this.asked = new Map();
    /** @type {Map<string, Attribute>} by its own name */
    this.own = new Map();
    /** @type {Map<string, Attribute>} by its earlier names */
    this.earlier = new Map();
    /** @type {Map<string, number>} */
    this.publishers = new Map();
    if (!Array.isArray(registered)) return badSetting("attributes", registered, "a list of names");
    for (const entry of registered) {
      if (isObject(entry) && "everyAttributeOf" in entry) addPublisher(this, entry);
      else if (!BUILT) addAttribute(this, typeof entry === "string" ? { name: entry } : entry); // the element registers none
    }
    for (const alias of this.earlier.keys()) {
      if (this.own.has(alias)) badSetting("aliases", alias, "earlier names, which are not registered any more");
    }
  }
  /** What a question asks about, if it is registered. @param {Survey} survey @param {Question} question @returns {Attribute | undefined} */
  find({ publisher }, { attribute }) {
    const name = `${publisher}/${attribute}`, rounds = this.publishers.get(publisher);
    return this.asked.get(attribute) ?? (rounds === undefined ? rounds : this.earlier.get(name) ?? { name, rounds, aliases: [] });
  }
}

/** @param {Attributes} all @param {any} entry */
function addPublisher(all, entry) {
  needSettings("everyAttributeOf", entry, ["everyAttributeOf", "rounds"]);
  const { everyAttributeOf: publisher, rounds = 1 } = entry;
  if (typeof publisher !== "string" || !publisher) badSetting("publisher", publisher, "its name");
  if (all.publishers.has(publisher)) badSetting("attributes", publisher, "each publisher once");
  all.publishers.set(publisher, wholeNumber("rounds", rounds, 1, MOST_ROUNDS));
}

/** @param {Attributes} all @param {any} entry */
function addAttribute(all, entry) {
  needSettings("an attribute", entry, ["name", "rounds", "askedAs", "aliases"]);
  const { name, rounds = 1, askedAs = [], aliases = [] } = entry;
  if (typeof name !== "string" || !name || name.includes("/")) badSetting("attribute name", name, "a text without '/'");
  for (const [what, list] of [["askedAs", askedAs], ["aliases", aliases]]) {
    const names = Array.isArray(list) && list.every((one) => typeof one === "string" && one !== "");
    if (!names) badSetting(what, list, "a list of names");
  }
  const made = { name, rounds: wholeNumber("rounds", rounds, 1, MOST_ROUNDS), aliases: [...aliases] };
  all.own.set(name, made);
  for (const as of askedAs.length ? askedAs : [name]) {
    if (all.asked.has(as)) badSetting("attributes", as, "each name asked about belongs to one attribute");
    all.asked.set(as, made);
  }
  for (const alias of aliases) {
    if (all.earlier.has(alias)) badSetting("aliases", alias, "each earlier name belongs to one attribute");
    all.earlier.set(alias, made);
  }
}

// ---- answer/asking: which question is asked, and in which round of a panel ------------------------------------------

/** A whole number below `count`, each with the same chance; 8 bytes are drawn for each attempt, for 1 none.
 * @param {number} count @param {Source} source */
export function uniform(count, source) {
  const bound = BigInt(count), accepted = (GRID / bound) * bound;
  let drawn = 0n;
  if (count > 1) do drawn = wholeNumberOf(randomBytes(8, source)); while (drawn >= accepted);
  return Number(drawn % bound);
}

/** @param {Survey} survey */
function surveyKey({ publisher, name }) {
  return JSON.stringify([publisher, name]);
}

/** The id of the one question that was drawn, if the survey asks one and has it still. @param {State} state @param {Survey} survey */
function askedOf(state, survey) {
  const about = survey.ask === "one" ? state.asked[surveyKey(survey)] : undefined;
  return survey.questions.find((question) => question.attribute === about)?.id ?? null;
}

/** The round that was drawn for an attribute, under its name or else its first alias. @param {State} state @param {Attribute} attribute */
function panelOf({ panels }, { name, aliases }) {
  const kept = new Map(panels.map((one) => [one.attribute, one.round]));
  return kept.get([name, ...aliases].find((one) => kept.has(one)) ?? "") ?? null;
}

/** The question's rounds that have not closed; all, if the survey does not say when they are.
 * @param {Survey} survey @param {Question} question @param {Date} now */
function notClosed({ rounds }, question, now) {
  return [...Array(question.rounds).keys()].filter((round) => !rounds.length || now < rounds[round].closes);
}

/** The round to answer in: the one given, or the panel's, or the first; an error if it is not this device's.
 * @param {Survey} survey @param {Question} question @param {number | null} given @param {number | null} drawn @param {Date} now */
function answeredRound(survey, question, given, drawn, now) {
  const where = `question '${question.id}'`, first = "accept the survey by this client first";
  if (given !== null && !(Number.isInteger(given) && given >= 0 && given < question.rounds)) {
    refuse("ParameterError", `round must be a whole number below ${question.rounds}`);
  }
  if (!question.panel) return given ?? 0;
  if (drawn === null) {
    if (!notClosed(survey, question, now).length) refuse("RoundClosed", `every round of ${where} has closed`);
    return refuse("NotDrawn", `this device has not drawn the round it answers in: ${first}`);
  }
  if ((given !== null && given !== drawn) || drawn >= question.rounds) refuse("NotDrawn", `this device answers ${where} in round ${drawn} only`);
  return drawn;
}

// ---- answer/client: accept, answer, decline, deliver ----------------------------------------------------------------

/** @type {(seconds: number, signal?: AbortSignal) => Promise<void>} */
const systemSleep = (seconds, signal) => new Promise((resolve) => {
  if (signal?.aborted) return resolve();
  const end = () => (clearTimeout(timer), signal?.removeEventListener("abort", end), resolve());
  const timer = setTimeout(end, seconds * 1000);
  signal?.addEventListener("abort", end);
});

/** The ledger of one person: what this device answers, and sends, on their behalf. */
export class Client {
  /** `attributes`: what the app is willing to be asked about: names, {name, rounds, askedAs, aliases}, or
   * {everyAttributeOf, rounds}; `aliases` are names that the attribute had in this ledger before.  `origin`: of the page that
   * asks, null for a program.  `spread`: the seconds over which reports are sent: 5 on a page, where a person looks on, and
   * 6 hours in a program.  `sleep` waits so many seconds, or until its signal is aborted.
   * @param {{ledger: Ledger, attributes: (string | {name: string, rounds?: number, askedAs?: string[], aliases?: string[]} |
   *   {everyAttributeOf: string, rounds?: number})[], policy: Policy, source?: Source, clock?: () => Date,
   *   sleep?: (seconds: number, signal?: AbortSignal) => Promise<void>, origin?: string | null, spread?: number}} given */
  constructor(given) {
    needSettings("the client", given, ["ledger", "attributes", "policy", "source", "clock", "sleep", "origin", "spread"]);
    const { ledger, attributes, policy, source = systemSource, clock = () => new Date(), sleep = systemSleep } = given;
    const { origin = globalThis.location?.origin ?? null, spread = origin === null ? HOURS : SECONDS } = given;
    if (typeof ledger?.transact !== "function") badSetting("ledger", typeof ledger, "a ledger");
    if (!(policy instanceof Policy)) badSetting("policy", typeof policy, "a Policy");
    if (![source, clock, sleep].every((one) => typeof one === "function")) refuse("ParameterError", "source, clock and sleep are functions");
    if (origin !== null && (typeof origin !== "string" || !origin)) badSetting("origin", origin, "the origin of a page, or null");
    this.attributes = new Attributes(attributes);
    this.ledger = ledger;
    this.policy = policy;
    this.source = source;
    this.clock = clock;
    this.sleep = sleep;
    this.origin = origin;
    /** Reports that a pass is about to send: another pass at the same time leaves them to it. @type {Set<string>} */
    this.followed = new Set();
    this.spread = secondsOf("spread", spread, LONGEST_SPREAD);
  }

  /** By the device's clock, in seconds since 1970. */
  now() {
    const now = this.clock();
    return now instanceof Date && !Number.isNaN(now.getTime()) ? now.getTime() / 1000 : refuse("ParameterError", "the clock tells a Date");
  }

  /** The survey of a signed envelope, if this device trusts and allows it. @param {Uint8Array} envelope */
  async accept(envelope) {
    const seen = await this.ledger.transact((state) => state.seen), now = this.clock();
    const accepted = await acceptSurvey(envelope, this.policy, { now, seen: (survey) => seen[surveyKey(survey)] });
    const { survey, digest } = accepted, { version } = survey, key = surveyKey(survey);
    await this.ledger.transact((state) => {
      const known = state.seen[key];
      checkVersion(survey, digest, known);
      checkWithdrawn(state, accepted);
      if (!known || version > known.version) state.seen[key] = { version, digest };
      this.drawPlaces(state, survey, now);
    });
    return accepted;
  }

  /** Which question this device asks, and its rounds of panels: drawn once, before any truth is known.
   * @param {State} state @param {Survey} survey @param {Date} now */
  drawPlaces(state, survey, now) {
    const { questions, ask } = survey, { source } = this;
    if (ask === "one" && askedOf(state, survey) === null) state.asked[surveyKey(survey)] = questions[uniform(questions.length, source)].attribute;
    const asked = askedOf(state, survey);
    for (const question of questions.filter(({ id, panel }) => panel && (asked ?? id) === id)) {
      const attribute = this.attributes.find(survey, question), rounds = notClosed(survey, question, now);
      if (!attribute || !rounds.length || panelOf(state, attribute) !== null) continue;
      state.panels.push({ attribute: attribute.name, round: rounds[uniform(rounds.length, source)] });
    }
  }

  /** The round in which this device answers a panel's question; null if none was drawn, or it is not a panel.
   * @param {AcceptedSurvey} accepted @param {string} question its id @returns {Promise<number | null>} */
  async panelRound(accepted, question) {
    needAccepted(accepted);
    const asked = questionOf(accepted.survey, question), found = this.attributes.find(accepted.survey, asked);
    return asked.panel && found ? this.ledger.transact((state) => panelOf(state, found)) : null;
  }

  /** The id of the one question that this device answers in a survey that asks one; null for a survey that asks all.
   * @param {AcceptedSurvey} accepted @returns {Promise<string | null>} */
  async drawnQuestion(accepted) {
    needAccepted(accepted);
    return this.ledger.transact((state) => askedOf(state, accepted.survey));
  }

  /** Remember for good that its publisher ended a survey: it is neither accepted nor answered any more, and what waits
   * does not leave. @param {Uint8Array} envelope */
  async withdraw(envelope) {
    const withdrawal = await acceptWithdrawal(envelope, this.policy), { survey, publisher } = withdrawal;
    await this.ledger.transact((state) => {
      if (!isWithdrawn(state, survey, publisher)) state.withdrawn.push({ survey, publisher });
      for (const report of state.reports) {
        if (report.survey === survey && report.publisher === publisher && report.state === "waiting") report.state = "withdrawn";
      }
    });
    return withdrawal;
  }

  /** The report that answers a question, committed to the ledger and waiting in the outbox.
   * Asked again it repeats the first answer, and does not read the truth; a report that was cancelled waits again.  Segments
   * are sent as they are, of the invite a ticket; once a report may have been taken, both stay as they are.  If `signal` is
   * aborted, nothing of this answer leaves: what was drawn is kept, and is repeated if the question is answered later.
   * The truth is true or false, the number of an option from 0 on, or a number, as the question's kind asks.  Without a round
   * it is the one that was drawn, for a panel, and otherwise the first.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {Truth | (() => Truth)} truth
   * @param {{round?: number | null, segments?: Record<string, string>, invite?: string | null, signal?: AbortSignal | null}} [given] */
  async answer(accepted, questionId, truth, given = {}) {
    needSettings("answer", given, ["round", "segments", "invite", "signal"]);
    const { segments, invite = null } = given, signal = signalOf(given.signal ?? null);
    signal?.throwIfAborted();
    const { survey, digest, question, attribute: { name: attribute, aliases, rounds }, round, cost } = await this.asked(accepted, questionId, given.round ?? null);
    const { source, policy } = this, { design } = question, names = [attribute, ...aliases], truths = truthsOf(question.kind), declared = segments ?? {};
    if (!isObject(declared)) refuse("ParameterError", "segments map names to values");
    for (const [name, value] of Object.entries(declared)) {
      if (!Object.hasOwn(survey.segments, name) || !survey.segments[name].values.some((one) => one.value === value)) {
        refuse("ParameterError", `the segment '${name}', or the value given for it, is not one the survey lists`);
      }
    }
    if (survey.inviteOnly !== (invite !== null)) {
      refuse("ParameterError", survey.inviteOnly ? "this survey requires an invite" : "this survey asks for no invite");
    }
    const spent = invite === null ? null : await ticket(invite, digest, questionId, round);
    const prints = await Promise.all(Object.values(question.text).map(fingerprint));
    const id = hex(randomBytes(16, systemSource)), start = this.now();
    /** The report, complete but for its answer. @param {Record<string, string>} said segments */
    const spelled = (said) => new TextDecoder().decode(reportBytes({
      answer: design.blank, design: design.toWire(), id, question: questionId, round, segments: said, survey: digest, ticket: spent,
    }));
    const blank = spelled(declared), carried = survey.collector === CARRIED;
    /** How a report waits from now on. @returns {Pick<Outgoing, "state" | "reason" | "times">} */
    const waits = () => ({ state: carried ? "carried" : "waiting", reason: null, times: carried ? [] : schedule(start, this.spread) });
    signal?.throwIfAborted();
    /** What was made for nobody does not leave. @param {string} kept */
    const cancel = (kept) => this.change(kept, (report) => {
      if (report.state === "waiting" || (report.state === "carried" && kept === id)) report.state = "cancelled";
    });
    const report = await this.ledger.transact((state) => {
      checkWithdrawn(state, { survey, digest });
      const done = state.reports.find((r) => r.survey === digest && r.question === questionId && r.round === round);
      const before = [done?.attribute, ...prints.map((print) => state.words[print])];
      const other = before.find((name) => name !== undefined && !names.includes(name));
      if (other !== undefined) {
        refuse("AlreadyAnswered", `the same question, or its words, were answered before for the attribute '${other}'; if '${attribute}' is ` +
          `the same thing, register {name: '${attribute}', aliases: ['${other}']}, and that answer is repeated`);
      }
      const made = done ? again(done) : first(state);
      for (const print of prints) state.words[print] ??= attribute;
      const key = `${digest}/${questionId}`;
      if (state.declined.includes(key)) state.declined = state.declined.filter((one) => one !== key);
      return made;
    }).catch(async (error) => {
      await cancel(id).catch(() => {}); // it may be there, although the ledger failed
      throw error;
    });
    if (signal?.aborted) await cancel(report.id);
    signal?.throwIfAborted();
    return report;

    /** The report there is, or one that takes its place if the collector never took it. @param {Outgoing} done */
    function again(done) {
      const sent = JSON.parse(done.body), restated = segments !== undefined && canonicalText(sent.segments) !== canonicalText(declared);
      if (sent.ticket === spent && !restated) return done.state === "cancelled" ? Object.assign(done, waits()) : done;
      if (done.state !== "refused" && (!["waiting", "cancelled"].includes(done.state) || done.attempts > done.earlierAttempts)) {
        refuse("ParameterError", "segments or invite are not those of the report, which may have been taken with those of the first answer");
      }
      const body = withAnswer(segments === undefined ? spelled(sent.segments) : blank, sent.answer);
      return Object.assign(done, waits(), { id, body, earlierAttempts: done.attempts });
    }

    /** The first report for this question: around the attribute's answer, if it was drawn before. @param {State} state */
    function first(state) {
      const memo = state.draws.find((d) => names.includes(d.attribute) && d.round === round);
      if (memo && (memo.design !== design.text || memo.kind !== truths)) {
        refuse("AlreadyAnswered", `'${memo.attribute}' was answered before by another design, or as ${memo.kind}; no second answer is drawn`);
      }
      const answer = memo ? memo.answer : firstDraw(state);
      /** @type {Outgoing} */
      const made = {
        id, survey: digest, publisher: survey.publisher, question: questionId, round, attribute: memo?.attribute ?? attribute, words: say(survey, question.text),
        body: withAnswer(blank, answer), destination: survey.collector, attempts: 0, earlierAttempts: 0, ...waits(),
      };
      state.reports.push(made);
      return made;
    }

    /** @param {State} state */
    function firstDraw(state) {
      const own = state.draws.filter((d) => names.includes(d.attribute)), collected = new Set(own.map((d) => d.round)).size;
      if (collected >= rounds) {
        refuse("AlreadyAnswered", `'${attribute}' was answered in ${collected} of ${rounds} rounds in which this app answers about it; no further answer is drawn`);
      }
      within("lifetime", state.draws, cost, policy.lifetimeEpsilon, policy.lifetimeDelta);
      within("attribute", own, cost, policy.attributeEpsilon, policy.attributeDelta);
      const answer = question.design.draw(typeof truth === "function" ? truth() : truth, question.kind, source);
      state.draws.push({ attribute, round, kind: truths, design: design.text, answer, epsilon: String(cost.epsilon), delta: String(cost.delta) });
      return answer;
    }
  }

  /** What is asked, after the checks that need neither ledger nor truth.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {number | null} given the round */
  async asked(accepted, questionId, given) {
    needAccepted(accepted);
    const { digest } = accepted, survey = await checkTrust(accepted, this.policy), now = this.clock();
    checkOpen(survey, now);
    if (this.origin !== null && !survey.origins.includes(this.origin)) {
      const where = survey.origins.length ? `at ${survey.origins.join(", ")}` : "by apps, and on no page";
      refuse("WrongOrigin", `this survey is answered ${where}; this page is of ${shown(this.origin)}`);
    }
    const question = questionOf(survey, questionId), kept = { ...accepted, survey };
    if (survey.ask === "one") {
      const drawn = await this.drawnQuestion(kept);
      if (drawn === null) refuse("NotDrawn", "this device has not drawn the question it answers: accept the survey by this client first");
      if (drawn !== questionId) refuse("NotDrawn", `this device answers question '${drawn}' of this survey only`);
    }
    const { attribute: about, panel } = question, attribute = this.attributes.find(survey, question);
    if (!attribute) return refuse("UnknownAttribute", `this app does not answer about '${about}'`);
    const round = answeredRound(survey, question, given, panel ? await this.panelRound(kept, questionId) : null, now);
    if (!panel && round >= attribute.rounds) refuse("UnknownAttribute", `this app answers about '${about}' in ${attribute.rounds} rounds`);
    checkRound(survey, round, now);
    return { survey, digest, question, attribute, round, cost: this.policy.cost(question) };
  }

  /** The person does not want to answer, or does not any more: nothing of this question leaves from now on.  `stopped`
   * reports have not left, and will not; `left` ones may have left before.
   * @param {AcceptedSurvey} accepted @param {string} question */
  async decline(accepted, question) {
    needAccepted(accepted);
    const { digest, survey } = accepted, key = `${digest}/${questionOf(survey, question).id}`;
    return this.ledger.transact((state) => {
      const result = { stopped: 0, left: 0 };
      if (!state.declined.includes(key)) state.declined.push(key);
      for (const report of state.reports.filter((r) => r.survey === digest && r.question === question)) {
        if (report.attempts > 0 || ["delivered", "carried"].includes(report.state)) result.left++;
        else if (report.state === "waiting") result.stopped++;
        if (report.state === "waiting") report.state = "cancelled";
      }
      return result;
    });
  }

  /** What was answered, sent and spent; `explainBudget` tells it in words. */
  async budget() {
    const { draws, reports, declined } = await this.ledger.transact((state) => state), spent = total(draws), { policy } = this;
    return {
      spent, lifetime: { epsilon: policy.lifetimeEpsilon, delta: policy.lifetimeDelta }, policy, draws, reports, declined,
      /** The name that an attribute has today, under which its draw may have been reported. @param {string} name */
      later: (name) => this.attributes.earlier.get(name)?.name ?? name,
      /** What was drawn so far as a share of all that this device gives away for life. @param {Words} words */
      share: (words) => shareInWords(spent, policy, wordsOf("share", words), "spent"),
    };
  }

  /** Send every waiting report whose moment has come, or comes within so many seconds, at its moment, in a request of its
   * own; safe to repeat.  What a collector or a network does is told in the result; only an address that can never work is an
   * error (WrongAddress).  If `signal` is aborted, no further attempt begins, and what is under way is hung up.
   * @param {{transport?: Transport, within?: number, signal?: AbortSignal | null}} [given] */
  async deliver(given = {}) {
    needSettings("deliver", given, ["transport", "within", "signal"]);
    const { transport = new HttpTransport(), within = 0 } = given, signal = signalOf(given.signal ?? null);
    if (typeof transport?.send !== "function") badSetting("transport", typeof transport, "a transport, such as HttpTransport");
    secondsOf("within", within, LONGEST_WAIT);
    signal?.throwIfAborted();
    return new Delivery(this, transport).run(within, signal);
  }

  /** Change a report of the ledger, if it is there. @template T @param {string} id @param {(report: Outgoing) => T} what */
  change(id, what) {
    return this.ledger.transact((state) => {
      const found = state.reports.find((report) => report.id === id);
      return found === undefined ? null : what(found);
    });
  }
}

/** @typedef {boolean | NumberLike} Truth */

/** @param {unknown} accepted */
function needAccepted(accepted) {
  const good = isObject(accepted) && isObject(accepted.survey) && accepted.signers instanceof Set;
  if (!good) refuse("ParameterError", "a survey is what `accept` returned");
}

/** @param {Survey} survey @param {string} id @returns {Question} */
function questionOf(survey, id) {
  return survey.questions.find((q) => q.id === id) ?? refuse("ParameterError", `the survey has no question ${shown(id)}`);
}

/** Only its own publisher ends a survey. @param {State} state @param {string} digest @param {string} publisher */
function isWithdrawn(state, digest, publisher) {
  return state.withdrawn.some((one) => one.survey === digest && one.publisher === publisher);
}

/** @param {State} state @param {{survey: Survey, digest: string}} accepted */
function checkWithdrawn(state, { survey, digest }) {
  if (isWithdrawn(state, digest, survey.publisher)) refuse("SurveyWithdrawn", `'${survey.name}' was withdrawn by its publisher`);
}

// ---- deliver/schedule: when a report is sent, drawn beforehand and by nothing else ----------------------------------

const ATTEMPTS = 10, HOURS = 6 * 3600, SECONDS = 5, CATCH_UP = 5, LEAST_GAP = 5, MOST_GAP = 86_400;
const LONGEST_SPREAD = 30 * 86_400, LONGEST_WAIT = 1_000_000; // a timer counts no further than 2^31 milliseconds

/** Uniform on [0, 1), in steps of 2^-32. */
function share() {
  return new DataView(randomBytes(4, systemSource).buffer).getUint32(0) / 2 ** 32;
}

/** The moments of all attempts, in whole seconds since 1970: the first within the spread, then after gaps that double, each
 * cut to a random share between a half and the whole. @param {number} now @param {number} spread @returns {number[]} */
function schedule(now, spread) {
  let moment = now + share() * spread, gap = spread;
  const moments = [Math.floor(moment)];
  while (moments.length < ATTEMPTS) {
    gap = Math.min(Math.max(gap, LEAST_GAP), MOST_GAP);
    moment += gap * (0.5 + share() / 2);
    moments.push(Math.floor(moment));
    gap *= 2;
  }
  return moments;
}

/** The moments after an attempt: those to come, or a fresh schedule. @param {number[]} moments @param {number} now @param {number} spread */
function remaining(moments, now, spread) {
  const later = moments.filter((moment) => moment > now);
  return later.length ? later : schedule(now, spread);
}

/** Whether a report is to be sent as soon as it may: its moment has come, or was drawn by a clock that was wrong.
 * @param {number[]} moments @param {number} now */
function overdue([next], now) {
  return !(next > now && next <= now + LONGEST_SPREAD);
}

// ---- deliver/outbox: each report at moments of its own --------------------------------------------------------------

/** More at once would cost a small device memory and sockets; fewer would let a collector that keeps its replies back hold up
 * the other reports.  Who has to wait does so in the order of moments, at most for a transport's timeout. */
const AT_ONCE = 32;

/** @typedef {{send(destination: string, body: Uint8Array, signal: AbortSignal): Promise<void>}} Transport
 * Resolves when the collector has the report; throws ReportRefused, TransportFailed or WrongAddress otherwise.
 * @typedef {{delivered: number, refused: [string, string][], waiting: number, nextMoment: Date | null, lastFailure: string | null}} Deliveries
 * `nextMoment`: when the next of those that wait is to be sent, and `deliver` is well called again. */

/** One pass over the outbox: one promise for each report, which waits for nobody's reply but its own. */
class Delivery {
  /** @param {Client} client @param {Transport} transport */
  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
    /** @type {Deliveries} */
    this.result = { delivered: 0, refused: [], waiting: 0, nextMoment: null, lastFailure: null };
    this.until = 0;
    this.free = AT_ONCE;
    /** @type {((nothing: null) => void)[]} who is to be let in next */
    this.queue = [];
    /** @type {{stop: AbortController, early: boolean}[]} */
    this.followed = [];
    /** @type {unknown[]} */
    this.troubles = [];
    this.ahead = 0;
    this.latest = -Infinity;
  }
  /** The device's clock for this pass: if somebody sets it back, this one goes on from where it was. */
  now() {
    this.ahead += Math.max(0, this.latest - (this.client.now() + this.ahead));
    return (this.latest = Math.max(this.latest, this.client.now() + this.ahead));
  }
  /** @param {number} within @param {AbortSignal | null} signal @returns {Promise<Deliveries>} */
  async run(within, signal) {
    const { client } = this, start = this.now();
    this.until = start + within;
    const waiting = () => client.ledger.transact((state) => state.reports.filter((r) => r.state === "waiting"));
    const planned = (await waiting()).filter(({ id }) => !client.followed.has(id)).map(({ id, times }) => {
      const due = overdue(times, start); // those that are overdue do not leave together
      return { id, due, moment: due ? this.caughtUp() : times[0] };
    }).filter(({ due, moment }) => due || moment <= this.until).sort((a, b) => a.moment - b.moment);
    const hangUp = () => this.followed.forEach(({ stop }) => stop.abort());
    signal?.addEventListener("abort", hangUp);
    const all = planned.map(({ id, due, moment }) => this.follow(id, due, moment));
    if (signal?.aborted) hangUp();
    await Promise.all(all);
    signal?.removeEventListener("abort", hangUp);
    signal?.throwIfAborted();
    if (this.troubles.length) throw this.troubles[0];
    const left = await waiting(), next = left.reduce((least, { times }) => Math.min(least, times[0] ?? start), Infinity);
    return { ...this.result, waiting: left.length, nextMoment: left.length ? new Date(next * 1000) : null };
  }
  /** The moment, drawn afresh, of a report that is overdue. */
  caughtUp() {
    return this.now() + share() * Math.min(this.client.spread, CATCH_UP);
  }
  /** One report from moment to moment, as long as they fall into this pass.
   * @param {string} id @param {boolean} due @param {number | null} moment */
  async follow(id, due, moment) {
    const { client } = this, me = { stop: new AbortController(), early: !due }, { signal } = me.stop;
    this.followed.push(me);
    client.followed.add(id);
    try {
      while (moment !== null && !signal.aborted) {
        const wait = moment - this.now();
        if (wait > 0) await client.sleep(wait, signal);
        if (this.now() - moment > CATCH_UP) await client.sleep(this.caughtUp() - this.now(), signal); // the device was asleep
        me.early = false;
        moment = await this.inTurn(() => this.attempt(id, signal));
        me.early = true;
      }
    } catch (error) {
      this.troubles.push(error);
      this.until = this.now(); // nothing is waited for that is not due by now
      for (const { stop, early } of this.followed) if (early) stop.abort();
    } finally {
      client.followed.delete(id);
    }
  }
  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async inTurn(work) {
    if (this.free > 0) this.free--;
    else await new Promise((resolve) => this.queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next(null);
      else this.free++;
    }
  }
  /** Send a report once; its next moment, if that falls into this pass. @param {string} id @param {AbortSignal} signal */
  async attempt(id, signal) {
    const { client, result } = this;
    if (signal.aborted) return null;
    const report = await client.change(id, (kept) => { // recorded before the bytes leave: what may have left is known
      if (kept.state !== "waiting") return null;
      kept.attempts++;
      return { destination: kept.destination, body: encoder.encode(kept.body) };
    });
    if (!report || signal.aborted) return null;
    const mark = (/** @type {"delivered" | "refused"} */ state, /** @type {string | null} */ reason) =>
      client.change(id, (kept) => { Object.assign(kept, { state, reason }); });
    try {
      await this.transport.send(report.destination, report.body, signal);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name === "ReportRefused") {
        await mark("refused", message);
        result.refused.push([id, message]);
        return null;
      }
      if (name !== "TransportFailed" && name !== "WrongAddress") throw error;
      result.lastFailure = message;
      const now = this.now(), next = await client.change(id, (kept) => (kept.times = remaining(kept.times, now, client.spread))[0]);
      if (name === "WrongAddress") throw error;
      return next !== null && next <= this.until ? next : null;
    }
    await mark("delivered", null);
    result.delivered++;
    return null;
  }
}

// ---- deliver/transport: what a reply says about a report -----------------------------------------------------------

/** The reasons for which a collector refuses a report for good, with the status of each. @type {Record<string, number>} */
const REASONS = {
  malformed: 400, unknown_survey: 404, unknown_question: 422, wrong_design: 422, unknown_round: 422, bad_answer: 422,
  undeclared_segment: 422, missing_ticket: 403, unexpected_ticket: 422, bad_ticket: 422, bad_id: 422,
  conflicting_id: 409, ticket_reused: 403, unknown_ticket: 403, closed: 410, withdrawn: 410,
};
/** What each means. @type {Record<string, string>} */
const MEANINGS = {
  malformed: "cut off, broken, or with a value of the wrong type",
  unknown_survey: "no survey with this digest is published here",
  unknown_question: "the survey has no question with this id",
  wrong_design: "the recorded design is not the published one in its one spelling: it cannot be counted",
  unknown_round: "not a round of the question: 0 to rounds − 1",
  bad_answer: "not an answer the design can give",
  undeclared_segment: "a segment or value the survey does not declare, or not in canonical JSON",
  missing_ticket: "the survey is by invitation, and the report has no ticket",
  unexpected_ticket: "the survey is open to everybody, and the report has a ticket",
  bad_ticket: "a ticket that is not 32 hexadecimal digits in lower case",
  bad_id: "not 32 hexadecimal digits in lower case",
  conflicting_id: "another report has this id",
  ticket_reused: "another report has this ticket, question and round",
  unknown_ticket: "no invitation of this survey gives this ticket",
  closed: "the survey has expired, and its grace period is over",
  withdrawn: "the survey's publisher has withdrawn it",
};
const LONGEST_REPLY = 4096, NOT_A_COLLECTOR = [404, 405, 501];

/** Returns if the collector has the report; throws what its reply means otherwise.  Only its own JSON is believed.
 * @param {string} destination @param {number} status @param {string} said */
function judge(destination, status, said) {
  /** @type {any} */
  let words = null;
  try {
    words = JSON.parse(said);
  } catch { /* not a collector's */ }
  if (isObject(words)) {
    const counts = [words.new, words.known], { error } = words;
    const one = counts.every((count) => count === 0 || count === 1) && words.new + words.known === 1;
    if ((status === 200 || status === 201) && one && Object.keys(words).length === 2) return;
    if (typeof error === "string" && Object.hasOwn(REASONS, error) && REASONS[error] === status) {
      throw new RRCollectError("ReportRefused", BUILT ? error : `${error}: ${MEANINGS[error]}`); // it is kept with the report
    }
  }
  if (NOT_A_COLLECTOR.includes(status)) wrongAddress(destination, `there is no collector (status ${status})`);
  refuse("TransportFailed", `the reply (status ${status}) is not a collector's word on the report`);
}

/** @param {string} destination @param {string} why @returns {never} */
function wrongAddress(destination, why) {
  return refuse("WrongAddress", `${shown(destination)}: ${why}; the report waits.  The survey's collector must be the whole address, ` +
    "as in https://collect.example.org/reports");
}

// ---- deliver/transport: how a report leaves the device --------------------------------------------------------------

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"], MOST_PATIENT = 3600;

/** @param {string} destination */
function addressOf(destination) {
  try {
    const { protocol, hostname, username, password, hash, href } = new URL(destination);
    const safe = protocol === "https:" || (protocol === "http:" && LOCAL_HOSTS.includes(hostname));
    if (safe && !username && !password && !hash) return href;
  } catch { /* not an address */ }
  return wrongAddress(destination, "not an https address, nor http on this machine");
}

/** The text of a reply; "" if it is longer than a collector's. @param {Response} response */
async function shortText(response) {
  const reader = response.body?.getReader(), decoder = new TextDecoder();
  let text = "", length = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > LONGEST_REPLY) {
      await reader?.cancel();
      return "";
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text;
}

/** POST each report to the collector it was drawn for: https, or http on this machine; no cookies, no referrer, no redirects,
 * in Node a connection of its own.  The collector sees the network address; a relay cannot be named here. */
export class HttpTransport {
  /** @param {{timeout?: number, fetch?: typeof fetch}} [given] seconds */
  constructor(given = {}) {
    if (isObject(given) && "relay" in given) {
      refuse("ParameterError", "relay: a page and Node's fetch cannot go through one by themselves; use the browser's or system's proxy, " +
        "a `fetch` that does, or the Python client");
    }
    needSettings("the transport", given, ["timeout", "fetch"]);
    const { timeout = 10, fetch: via } = given;
    if (!(typeof timeout === "number" && timeout > 0 && timeout <= MOST_PATIENT)) badSetting("timeout", timeout, "seconds, above 0 and at most 3600");
    if (via !== undefined && typeof via !== "function") badSetting("fetch", typeof via, "a function");
    this.timeout = timeout;
    this.fetch = via ?? globalThis.fetch.bind(globalThis);
  }
  /** @param {string} destination @param {Uint8Array} body @param {AbortSignal} [signal] */
  async send(destination, body, signal) {
    const address = addressOf(destination), stop = new AbortController(), hangUp = () => stop.abort();
    const headers = { "Content-Type": "application/json", Accept: "application/json", ...(globalThis.location ? {} : { Connection: "close" }) };
    const timer = setTimeout(hangUp, this.timeout * 1000);
    signal?.addEventListener("abort", hangUp);
    let response, said;
    try {
      if (signal?.aborted) hangUp();
      response = await this.fetch(address, {
        method: "POST", body: /** @type {any} */ (body), credentials: "omit", redirect: "error", cache: "no-store",
        referrerPolicy: "no-referrer", headers, signal: stop.signal,
      });
      said = await shortText(response);
    } catch {
      return refuse("TransportFailed", "the collector could not be reached");
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", hangUp);
    }
    judge(destination, response.status, said);
  }
}
