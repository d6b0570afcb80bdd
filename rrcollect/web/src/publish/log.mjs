// @ts-check
/**
 * The log of published surveys: signed states of a tree that anybody can check and compare.  It is loaded where a policy names one.
 */
import { badSetting, refuse } from "../errors.mjs";
import { canonical, encoder } from "./canonical.mjs";
import { base64Field } from "./envelope.mjs";
import { hex, sha256, verifies } from "./keys.mjs";
import { DEEPEST, Tree, WIDTH, checkConsistency, checkInclusion, leafHash, tileName } from "./tree.mjs";

const LARGEST_NOTE = 4096, MOST_NOTE_SIGNATURES = 17, FIRST_LINE = "c2sp.org/tlog-proof@v1";
const LOG = 1, WITNESS = 4;
const NUMBER = /^(0|[1-9][0-9]{0,14})$/, KEY = /^([!-*,-~]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{44})$/;

/**
 * @typedef {{name: string, key: Uint8Array, kind: number, id: string}} LogKey
 * @typedef {{origin: string, size: number, root: string}} Checkpoint the state of a log; the root in hexadecimal
 * @typedef {(address: string) => Promise<Uint8Array>} Fetch the bytes at an address below the log's own
 * @typedef {Readonly<{log: string, witnesses: readonly string[], needed: number}>} LogRule
 */

/** The key in a text `name+id+base64`. @param {string} text @param {number} kind @returns {Promise<LogKey>} */
async function readKey(text, kind) {
  const parts = KEY.exec(text) ?? badSetting("key of a log or witness", text, "a text as the log prints it, NAME+ID+KEY");
  const raw = bytesOf(parts[3]), name = encoder.encode(`${parts[1]}\n`);
  const id = (await sha256(Uint8Array.from([...name, ...raw]))).slice(0, 8);
  if (raw.length !== 33 || raw[0] !== kind || id !== parts[2]) badSetting("key of a log or witness", text, "a text as the log prints it, NAME+ID+KEY");
  return { name: parts[1], key: raw.slice(1), kind, id };
}

/** @param {string} text */
function bytesOf(text) {
  try {
    return base64Field(text, "a part of it");
  } catch (error) {
    return refuse("NotLogged", /** @type {Error} */ (error).message);
  }
}

/** The checkpoint in a note that the log signed, and which of the witnesses signed it too.
 * @param {string} note @param {LogKey} log @param {readonly LogKey[]} witnesses */
async function readCheckpoint(note, log, witnesses) {
  const at = note.length <= LARGEST_NOTE ? note.indexOf("\n\n") : -1, lines = note.slice(0, Math.max(at, 0)).split("\n");
  const tail = note.slice(at + 2), signed = tail.replace(/\n$/, "").split("\n");
  if (at < 0 || lines.length !== 3 || !tail.endsWith("\n") || signed.length > MOST_NOTE_SIGNATURES) refuse("NotLogged", "this is not a signed checkpoint");
  const [origin, size, root] = lines, raw = bytesOf(root), text = `${origin}\n${size}\n${root}\n`;
  if (origin !== log.name || !NUMBER.test(size) || raw.length !== 32) refuse("NotLogged", `this is not a checkpoint of the log '${log.name}'`);
  const known = new Map([log, ...witnesses].map((one) => [`${one.name} ${one.id}`, one])), good = new Set();
  for (const line of signed) {
    const [dash, name, data = "", ...more] = line.split(" "), part = bytesOf(data), by = known.get(`${name} ${hex(part.slice(0, 4))}`);
    if (dash !== "—" || part.length < 5 || more.length) refuse("NotLogged", "a line of signatures is not one");
    if (!by) continue;
    const begin = by.kind === WITNESS ? 12 : 4;
    const moment = by.kind === WITNESS && part.length > 12 ? new DataView(part.buffer, part.byteOffset).getBigUint64(4) : 0n;
    const said = by.kind === WITNESS ? `cosignature/v1\ntime ${moment}\n${text}` : text;
    if (good.has(by) || !(await verifies(by.key, part.slice(begin), encoder.encode(said)))) {
      refuse("NotLogged", `the signature of '${name}' does not fit the checkpoint, or is there twice`);
    }
    good.add(by);
  }
  if (!good.delete(log)) refuse("NotLogged", `the log '${log.name}' has not signed this checkpoint`);
  return { state: { origin, size: Number(size), root: hex(raw) }, seen: good };
}

/** What travels with an envelope. @param {string} text */
function readProof(text) {
  const at = text.indexOf("\n\n"), lines = text.slice(0, Math.max(at, 0)).split("\n", DEEPEST + 4), [first, extra = "", index = "", ...path] = lines;
  const key = bytesOf(extra.slice(6)), number = index.slice(6), hashes = path.map((one) => bytesOf(one));
  const good = at >= 0 && first === FIRST_LINE && extra.startsWith("extra ") && index.startsWith("index ") && NUMBER.test(number);
  if (!good || key.length !== 32 || hashes.length > DEEPEST || hashes.some((one) => one.length !== 32)) refuse("NotLogged", "this is not a proof of a log");
  return { key: hex(key), index: Number(number), path: hashes.map(hex), note: text.slice(at + 2) };
}

/** The state of the log in which a survey by one of its signers is; NotLogged if the proof does not show it.
 * @param {LogRule} rule @param {string | null} proof @param {Set<string>} signers @param {string} name @param {number} version @param {string} digest
 * @returns {Promise<Checkpoint & {witnesses: number}>} and how many of the witnesses signed it */
export async function checkLogged(rule, proof, signers, name, version, digest) {
  const log = await readKey(rule.log, LOG), witnesses = await Promise.all(rule.witnesses.map((one) => readKey(one, WITNESS)));
  if (proof === null) return refuse("NotLogged", "this policy takes surveys of a log only, and this envelope has no proof that it is there");
  const { key, index, path, note } = readProof(proof);
  if (!signers.has(key)) refuse("NotLogged", "the log names a key that has not signed this survey, or that this policy does not trust");
  const { state, seen } = await readCheckpoint(note, log, witnesses);
  if (seen.size < rule.needed) refuse("NotLogged", `${seen.size} of ${rule.needed} needed witnesses have signed this state of the log`);
  await checkInclusion(await leafHash(canonical({ digest, key, name, version })), index, state.size, state.root, path);
  return { ...state, witnesses: seen.size };
}

/** Returns if one of two signed states goes on from the other; SplitLog if the log showed two histories.
 * @param {Checkpoint} first @param {Checkpoint} second @param {Fetch | null} fetch */
export async function checkGrown(first, second, fetch) {
  const [old, grown] = first.size <= second.size ? [first, second] : [second, first];
  if (old.size !== grown.size && fetch === null) {
    refuse("NotLogged", "the log is not as this device saw it last; give accept(…, {log}) what reads the log");
  }
  /** @type {Map<string, Promise<Uint8Array>>} */
  const tiles = new Map();
  const tree = new Tree(grown.size, async (level, from, count) => {
    const number = Math.floor(from / WIDTH), there = Math.floor(grown.size / WIDTH ** level), width = Math.min(WIDTH, there - number * WIDTH);
    const address = tileName(level, number, width), read = /** @type {Fetch} */ (fetch);
    if (!tiles.has(address)) tiles.set(address, read(address));
    const tile = await tiles.get(address);
    if (!(tile instanceof Uint8Array) || tile.length !== width * 32) return refuse("SplitLog", `the log has no tile ${address}`);
    return Array.from({ length: count }, (_, i) => hex(tile.slice((from % WIDTH + i) * 32, (from % WIDTH + i + 1) * 32)));
  });
  await checkConsistency(old.size, old.root, grown.size, grown.root, await tree.consistency(old.size));
}
