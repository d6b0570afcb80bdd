// @ts-check
/**
 * The encapsulation of oblivious HTTP (RFC 9458): a request that only the gateway reads, and a reply only its sender.
 *
 * Rules
 * 1. Curve, hash and cipher are WebCrypto's (X25519, HMAC-SHA-256, AES-128-GCM); here are the labels of HPKE's base mode for this one
 *    suite (RFC 9180, 4.1 and 5.1).  The example of RFC 9458 comes out byte for byte.
 * 2. Every message is padded to a whole number of `UNIT` bytes.
 */
import { refuse } from "../errors.mjs";
import { subtle } from "../publish/keys.mjs";

export const UNIT = 10_240, MOST_UNITS = 16, REQUEST_TYPE = "message/ohttp-req", REPLY_TYPE = "message/ohttp-res";
const encoder = new TextEncoder(), SUITE = [0, 0x20, 0, 1, 0, 1], EMPTY = new Uint8Array(), ENC = 32, NONCE = 16;
const KEM = [..."KEM"].map((c) => c.charCodeAt(0)).concat([0, 0x20]), HPKE = [..."HPKE"].map((c) => c.charCodeAt(0)).concat(SUITE);

/** @typedef {{data: Uint8Array, enc: Uint8Array, secret: Uint8Array}} Sealed an encapsulated request, and what opens its reply */

/** @param {...(Uint8Array | number[] | string)} parts */
function joined(...parts) {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : [...part])));
}

/** The padded length of a message of so many bytes. @param {number} size */
export function wholeUnits(size) {
  return Math.ceil(size / UNIT) * UNIT;
}

/** @param {Uint8Array} key @param {Uint8Array} message */
async function hmac(key, message) {
  const made = await subtle().importKey("raw", /** @type {any} */ (key.length ? key : new Uint8Array(32)), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", made, /** @type {any} */ (message)));
}

/** @param {number[]} suite @param {Uint8Array} salt @param {string} label @param {Uint8Array} data */
const extract = (suite, salt, label, data) => hmac(salt, joined("HPKE-v1", suite, label, data));

/** At most one block. @param {number[]} suite @param {Uint8Array} secret @param {string} label @param {Uint8Array} context @param {number} size */
async function expand(suite, secret, label, context, size) {
  return (await hmac(secret, joined([0, size], "HPKE-v1", suite, label, context, [1]))).slice(0, size);
}

/** @param {"encrypt" | "decrypt"} how @param {Uint8Array} key @param {Uint8Array} iv @param {Uint8Array} data */
async function gcm(how, key, iv, data) {
  const made = await subtle().importKey("raw", /** @type {any} */ (key), "AES-GCM", false, [how]);
  return new Uint8Array(await subtle()[how]({ name: "AES-GCM", iv: /** @type {any} */ (iv) }, made, /** @type {any} */ (data)));
}

/** The message for the gateway with this key.  `ephemeral` is for tests: by default a fresh key is drawn.
 * @param {number} id @param {Uint8Array} key @param {Uint8Array} message @param {CryptoKeyPair} [ephemeral] @returns {Promise<Sealed>} */
export async function sealRequest(id, key, message, ephemeral) {
  const curve = { name: "X25519" };
  let own, enc, shared;
  try {
    own = ephemeral ?? /** @type {CryptoKeyPair} */ (await subtle().generateKey(curve, false, ["deriveBits"]));
    enc = new Uint8Array(await subtle().exportKey("raw", own.publicKey));
    const theirs = await subtle().importKey("raw", /** @type {any} */ (key), curve, true, []);
    shared = new Uint8Array(await subtle().deriveBits(/** @type {any} */ ({ ...curve, public: theirs }), own.privateKey, 256));
  } catch {
    return refuse("TransportFailed", "the gateway's key is not one, or this browser cannot seal for it (X25519); the report waits");
  }
  if (shared.every((byte) => byte === 0)) refuse("TransportFailed", "the gateway's key is not one");
  const header = joined([id], SUITE), info = joined("message/bhttp request", [0], header);
  const secret = await expand(KEM, await extract(KEM, EMPTY, "eae_prk", shared), "shared_secret", joined(enc, key), 32);
  const context = joined([0], await extract(HPKE, EMPTY, "psk_id_hash", EMPTY), await extract(HPKE, EMPTY, "info_hash", info));
  const main = await extract(HPKE, secret, "secret", EMPTY), exporter = await expand(HPKE, main, "exp", context, 32);
  const sealed = await gcm("encrypt", await expand(HPKE, main, "key", context, 16), await expand(HPKE, main, "base_nonce", context, 12), message);
  return { data: joined(header, enc, sealed), enc, secret: await expand(HPKE, exporter, "sec", encoder.encode("message/bhttp response"), 16) };
}

/** The message in the reply to a request. @param {Sealed} request @param {Uint8Array} data */
export async function openReply({ enc, secret }, data) {
  const made = await hmac(joined(enc, data.slice(0, NONCE)), secret);
  const key = (await hmac(made, joined("key", [1]))).slice(0, 16), iv = (await hmac(made, joined("nonce", [1]))).slice(0, 12);
  try {
    return await gcm("decrypt", key, iv, data.slice(NONCE));
  } catch {
    return refuse("TransportFailed", "the gateway's reply does not open: it was changed, or is another's");
  }
}

export const LONGEST = MOST_UNITS * UNIT + ENC;
