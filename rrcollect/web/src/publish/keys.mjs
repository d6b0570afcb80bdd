// @ts-check
/**
 * Keys, digests and signatures, by WebCrypto.
 */
import { refuse } from "../errors.mjs";

/** @param {Uint8Array} bytes */
export function hex(bytes) {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** @param {string} text */
export function unhex(text) {
  if (!/^[0-9a-f]{64}$/.test(text)) refuse("ParameterError", "a public key is 64 hexadecimal digits");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function subtle() {
  const found = globalThis.crypto?.subtle;
  return found ?? refuse("NoEd25519", "this browser does not offer WebCrypto here; open the page over https");
}

/** @param {Uint8Array} data */
export async function sha256(data) {
  return hex(new Uint8Array(await subtle().digest("SHA-256", /** @type {any} */ (data))));
}

/** @param {Uint8Array} raw @param {Uint8Array} signature @param {Uint8Array} message */
export async function verifies(raw, signature, message) {
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
