// @ts-check
/**
 * Invites, and the tickets that reports of an invited survey carry.
 */
import { refuse } from "../errors.mjs";
import { encoder } from "./canonical.mjs";
import { hex, sha256, subtle } from "./keys.mjs";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz", SIGNS = 26; // 130 random bits, and two signs that check them
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
  return refuse("ParameterError", "the invite is mistyped (it is not shown): type the 28 letters and digits that were issued");
}

/** What stands for an invite in the report about a question and round: no two reports of one invite have it in common.
 * @param {string} invite @param {string} survey its digest @param {string} question @param {number} round */
export async function ticket(invite, survey, question, round) {
  const secret = encoder.encode(await checkInvite(invite));
  const key = await subtle().importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = encoder.encode(`rrcollect ticket\n${survey}\n${question}\n${round}`);
  return hex(new Uint8Array(await subtle().sign("HMAC", key, message))).slice(0, 32);
}
