// @ts-check
/**
 * What people are told, before it is said in their language: keys, places, and numbers rounded to the safe side.
 *
 * Rules
 * 1. What is called "at most" is rounded up and what is called "at least" is rounded down, decided exactly.
 * 2. How often an answer is switched is said from the exact chance: 1/n (and up to `EXACT` above it) is "one in n"; any other is
 *    "about k of 100", rounded down, or below 1/50 the next 1/n that is not above it.  So protection is never overstated.
 * 3. "Proves nothing" is said if an answer changes the odds between any two things about a person by a factor of at most
 *    `PROVES_NOTHING`.  Above it the factor is said, rounded up; a proof is said to be one.
 */
import { Fraction, ONE } from "./fraction.mjs";

/** A sentence or a word: its key in the words of a language, and what stands in its places.  A text stands as it is, a number is
 * spelled out where the language does, another one is said in its place.
 * @typedef {{key: string, places?: Record<string, string | number | Said>}} Said */

/** What people read about a mechanism before they answer: what happens to the answer, in one sentence; what is drawn instead of
 * the truth, exactly; answers that are proofs, or as good as proofs; what a single other answer proves.
 * @typedef {{happens: Said, drawn: Said, proofs: Said[], proves: Said[]}} Sentences */

/** A likelihood ratio; null if the answer is a proof. @typedef {Fraction | null} Ratio */

/** An answer that changes the odds by this factor is as good as a proof. */
const PRACTICAL_PROOF = new Fraction(1000n);
export const PROVES_NOTHING = new Fraction(4n);
const EXACT = new Fraction(1n, 1n << 60n), FINE = 50n, RARE = new Fraction(1n, 10000n), HUNDRED = new Fraction(100n);
export const MOST_COUNTED = 1000n;

/** Whether an answer with this ratio is a proof, or as good as one. @param {Ratio} ratio */
export function tells(ratio) {
  return ratio === null || ratio.compare(PRACTICAL_PROOF) >= 0;
}

/** How often, at least, an answer is changed. @param {Fraction} chance @returns {Said} */
function often(chance) {
  if (!chance.sign()) return { key: "never" };
  return chance.compare(RARE) >= 0 ? { key: "share", places: { number: atLeast(chance.times(HUNDRED)) } } : { key: "rarely" };
}

/** A chance in words, never above what it is (rule 2). @param {string} key @param {Fraction} chance @returns {Said} */
function inWords(key, chance) {
  if (!chance.sign()) return { key: "never" };
  const whole = (chance.d + chance.n - 1n) / chance.n;
  if (whole > MOST_COUNTED) return { key: `${key}_few` };
  if (whole > FINE || (whole > 1n && chance.minus(new Fraction(1n, whole)).compare(EXACT) <= 0)) {
    return { key: `${key}_one`, places: { count: String(whole), number: Number(whole) } };
  }
  return { key: `${key}_about`, places: { number: String((100n * chance.n) / chance.d) } };
}

// ---- numbers --------------------------------------------------------------------------------------------------------

/** @param {bigint} n @param {Fraction} unit */
function times(n, unit) {
  return unit.times(new Fraction(n));
}

/** The least number of three digits that covers what is above 0. @param {(number: Fraction) => boolean} covers */
export function leastCovering(covers) {
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

/** The number rounded up to three digits, as text. @param {Fraction} value */
export function atMost(value) {
  return leastCovering((number) => value.compare(number) <= 0);
}

/** In percent, rounded up. @param {Fraction} chance */
export function percentAtMost(chance) {
  return atMost(chance.times(HUNDRED));
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

// ---- yes and no, and "low" and "high" for a number ------------------------------------------------------------------

/** The words of the answers 0 and 1, if not "no" and "yes". @type {Record<string, string[]>} */
const ANSWERS = { number: ["low", "high"] };

/** @param {number} answer @param {string} kind @returns {Said} */
function wordOf(answer, kind) {
  return { key: (ANSWERS[kind] ?? ["no", "yes"])[answer] };
}

/** @param {string} start @param {Ratio} ratio of an answer that tells */
function proofKey(start, ratio) {
  return `${start}${ratio === null ? "" : "nearly_"}proof`;
}

/** Of a 2×2 design: `kept` are p00 and p11, `ratios` those of the answers 0 and 1.
 * @param {[Fraction, Fraction]} kept @param {[Ratio, Ratio]} ratios @param {[Fraction, Fraction]} telling @param {string} kind @returns {Sentences} */
export function yesNoSentences(kept, ratios, [quiet, telling], kind) {
  const [no, yes] = kept.map((chance) => ONE.minus(chance)), number = kind === "number";
  const proofs = [1, 0].filter((answer) => tells(ratios[answer]))
    .map((answer) => ({ key: proofKey(number ? "number_" : "", ratios[answer]), places: { word: wordOf(answer, kind) } }));
  if (number) {
    const drawn = { key: "number", places: { low: atLeast(no.times(HUNDRED)), high: percentAtMost(kept[1]) } };
    return { happens: { key: "number_drawn" }, drawn, proofs, proves: telling.sign() ? [] : [proved(quiet, "number_proves_nothing", "still_number")] };
  }
  const same = !no.compare(yes), [said, other] = [often(no), often(yes)];
  const plain = no.sign() ? inWords("switched", no) : { key: "unchanged" };
  const happens = same ? plain : { key: "switched_unequally", places: { no: inWords("case", no), yes: inWords("case", yes) } };
  const alike = no.sign() ? { key: "changed", places: { share: said } } : { key: "unchanged" };
  const drawn = JSON.stringify(said) === JSON.stringify(other) ? alike : { key: "changed_unequally", places: { no: said, yes: other } };
  return { happens, drawn, proofs, proves: yesAndNo(ratios, same) };
}

/** What an answer with this ratio proves that is no proof. @param {Fraction} ratio @param {string} nothing @param {string} still @returns {Said} */
function proved(ratio, nothing, still) {
  return ratio.compare(PROVES_NOTHING) <= 0 ? { key: nothing } : { key: still, places: { ratio: atMost(ratio) } };
}

/** What a single "yes" or "no" proves that is not a proof by itself. @param {[Ratio, Ratio]} ratios @param {boolean} same @returns {Said[]} */
function yesAndNo(ratios, same) {
  const others = [1, 0].flatMap((answer) => {
    const ratio = ratios[answer];
    return ratio === null || tells(ratio) ? [] : [{ answer, ratio }];
  });
  const strong = others.filter(({ ratio }) => ratio.compare(PROVES_NOTHING) > 0);
  if (others.length === 2 && !strong.length) return [{ key: same ? "proves_nothing" : "neither_proves" }];
  if (strong.length && same) return [{ key: "still_sent", places: { ratio: atMost(strong[0].ratio) } }];
  return strong.map(({ answer, ratio }) => ({ key: "still", places: { word: wordOf(answer, ""), ratio: atMost(ratio) } }));
}

/** What was sent, and what it can tell, of the answer 0 or 1 with this ratio. @param {number} answer @param {Ratio} ratio @param {string} kind @returns {[Said, Said]} */
export function yesNoTold(answer, ratio, kind) {
  const start = kind === "number" ? "means_number" : "means";
  return [{ key: "sent", places: { word: wordOf(answer, kind) } }, meaning(ratio, `${start}_`, start)];
}

/** @param {Ratio} ratio @param {string} start of the key of a proof @param {string} plain @returns {Said} */
function meaning(ratio, start, plain) {
  return ratio === null || tells(ratio) ? { key: proofKey(start, ratio) } : { key: plain, places: { ratio: atMost(ratio) } };
}

// ---- sets of options ------------------------------------------------------------------------------------------------

/** Of sets of so many options, or parts of a range; `out` is the chance that the truth is not among them.
 * @param {number} options @param {number} size @param {Fraction} out @param {Ratio} ratio @param {string} [kind] @returns {Sentences} */
export function setSentences(options, size, out, ratio, kind) {
  const sizes = { size: String(size), options: String(options) }, one = size === 1;
  if (kind === "number") {
    const happens = { key: "parts_drawn", places: { share: inWords("case", out), ...sizes } }, drawn = { key: "parts_sent", places: { share: often(out), ...sizes } };
    return { happens, drawn, ...ofANumber(ratio, "parts_") };
  }
  const always = one ? { key: "unchanged" } : { key: "choice_set_always", places: sizes };
  const happens = !out.sign() ? always : { key: one ? "replaced" : "set_drawn", places: { share: inWords("case", out), ...sizes } };
  const drawn = !out.sign() ? always : { key: one ? "choice_one" : "choice_set", places: { share: often(out), ...sizes } };
  if (ratio === null || tells(ratio)) return { happens, drawn, proofs: [{ key: proofKey("set_", ratio) }], proves: [] };
  return { happens, drawn, proofs: [], proves: [proved(ratio, one ? "option_proves_nothing" : "set_proves_nothing", "still_option")] };
}

/** What was sent, and what it can tell, of one set. @param {string} answer @param {number} size @param {Ratio} ratio @param {string} [kind] @returns {[Said, Said]} */
export function setTold(answer, size, ratio, kind) {
  const list = [...answer].flatMap((bit, i) => (bit === "1" ? [i + 1] : [])).join(", ");
  if (kind === "number") return [{ key: "sent_parts", places: { list } }, meaning(ratio, "means_bin_", "means_number")];
  return [{ key: size === 1 ? "sent_option" : "sent_set", places: { list } }, meaning(ratio, "means_set_", "means_option")];
}

/** What an answer about a number proves: a proof, or nothing certain. @param {Ratio} ratio @param {string} start of the key of a proof
 * @returns {{proofs: Said[], proves: Said[]}} */
function ofANumber(ratio, start) {
  if (ratio === null || tells(ratio)) return { proofs: [{ key: proofKey(start, ratio) }], proves: [] };
  return { proofs: [], proves: [proved(ratio, "bin_proves_nothing", "still_number")] };
}

// ---- drawn questions ------------------------------------------------------------------------------------------------

/** Of one of so many options, asked as a yes/no of which these are the sentences. @param {number} options @param {Sentences} ofOne @returns {Sentences} */
export function severalSentences(options, ofOne) {
  const asked = (/** @type {string} */ key, /** @type {Said} */ then) => ({ key, places: { options: String(options), then } });
  return { ...ofOne, happens: asked("one_drawn", ofOne.happens), drawn: asked("one_asked", ofOne.drawn) };
}

/** What was sent, and what it can tell, of the answer about an option, by its number from 1. @param {number} option @param {[Said, Said]} ofOne
 * @returns {[Said, Said]} */
export function severalTold(option, [sent, means]) {
  return [{ key: "sent_about", places: { list: String(option), ...sent.places } }, means];
}

/** Of one question about where a number lies, a yes/no of which these are the sentences. @param {Sentences} ofOne @param {Ratio} ratio @returns {Sentences} */
export function binSentences(ofOne, ratio) {
  return { happens: { key: "bin_drawn", places: { then: ofOne.happens } }, drawn: { key: "bin_asked", places: { then: ofOne.drawn } }, ...ofANumber(ratio, "bin_") };
}

/** What was sent, and what it can tell, of an answer about where a number lies. @param {Ratio} ratio @returns {[Said, Said]} */
export function binTold(ratio) {
  return [{ key: "sent_bin" }, meaning(ratio, "means_bin_", "means_number")];
}

// ---- blocks of a space ----------------------------------------------------------------------------------------------

/** Of groups of so many of so many options, fixed beforehand; `out` is the chance that the truth is not in it.
 * @param {number} options @param {number} size @param {Fraction} out @param {Ratio} ratio @returns {Sentences} */
export function blockSentences(options, size, out, ratio) {
  const sizes = { size: String(size), options: String(options) }, ofSets = setSentences(options, size, out, ratio);
  const always = { key: "choice_block_always", places: sizes };
  if (!out.sign()) return { ...ofSets, happens: always, drawn: always };
  const happens = { key: "block_drawn", places: { share: inWords("case", out), ...sizes } };
  return { ...ofSets, happens, drawn: { key: "choice_block", places: { share: often(out), ...sizes } } };
}

/** What was sent, and what it can tell, of one block. @param {string} answer @param {Ratio} ratio @returns {[Said, Said]} */
export function blockTold(answer, ratio) {
  return [{ key: "sent_block", places: { number: answer } }, setTold("", 2, ratio)[1]];
}
