// @ts-check
/**
 * Every error thrown on purpose: its `name` says why, and is the Python client's.  An older Node than 20.16 is refused at once.
 */

/** Base of every error thrown on purpose; `name` is the reason. */
export class RRCollectError extends Error {
  /** @param {string} name @param {string} message */
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

const [major, minor] = String(/** @type {any} */ (globalThis).process?.versions?.node ?? "99.0").split(".").map(Number); // a page has none
if (major < 20 || (major === 20 && minor < 16)) {
  throw new RRCollectError("OldNode", `rrcollect needs Node 20.16 or newer; this is Node ${major}.${minor}: install a newer one`);
}

/** @param {string} name @param {string} message @returns {never} */
export function refuse(name, message) {
  throw new RRCollectError(name, message);
}

/** @param {unknown} value */
export function shown(value) {
  let text = "an object"; // as documents have them: without a text of its own, and so is a list that holds one
  try {
    text = typeof value === "string" ? `'${value}'` : String(value);
  } catch {}
  text = text.replace(/[^\P{C}]/gu, "?");
  return text.length <= 80 ? text : text.slice(0, 79) + "…";
}

/** @param {string} name @param {unknown} value @param {string} allowed @returns {never} */
export function badSetting(name, value, allowed) {
  return refuse("ParameterError", `${name} is ${shown(value)}: use ${allowed}`);
}

/** Settings that mean nothing are an error, as in Python. @param {string} what @param {unknown} given @param {string[]} names */
export function needSettings(what, given, names) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) badSetting(what, given, "an object of settings");
  for (const name of Object.keys(/** @type {object} */ (given))) {
    if (!names.includes(name)) refuse("ParameterError", `${what}: ${shown(name)} means nothing; known are ${names.join(", ")}`);
  }
  for (const name of names) { // what is inherited would be ignored here and taken there
    if (name in /** @type {object} */ (given) && !Object.hasOwn(/** @type {object} */ (given), name)) badSetting(`${what}: ${name}`, "inherited", "settings of the object's own");
  }
}

/** @param {unknown} signal @returns {AbortSignal | null} */
export function signalOf(signal) {
  const good = signal === null || typeof /** @type {any} */ (signal)?.throwIfAborted === "function";
  return good ? /** @type {AbortSignal | null} */ (signal) : badSetting("signal", typeof signal, "an AbortSignal");
}
