// @ts-check
/**
 * A Merkle tree that only grows, and what its tiles prove (RFC 9162, 2.1; C2SP tlog-tiles).  Hashes are in hexadecimal.
 */
import { refuse } from "../errors.mjs";
import { sha256, unhex } from "./keys.mjs";

export const WIDTH = 256, DEEPEST = 64;

/** (level of tile, first, how many): hashes of full subtrees of 256^level entries.
 * @typedef {(level: number, first: number, count: number) => Promise<string[]>} Read */

/** @param {number} mark @param {...Uint8Array} parts */
async function hashed(mark, ...parts) {
  return sha256(Uint8Array.from([mark, ...parts.flatMap((part) => [...part])]));
}

/** @param {Uint8Array} entry */
export function leafHash(entry) {
  return hashed(0, entry);
}

/** @param {string} left @param {string} right */
function nodeHash(left, right) {
  return hashed(1, unhex(left), unhex(right));
}

/** The hash of a tree by those of its full subtrees, all of one size. @param {readonly string[]} hashes @returns {Promise<string>} */
export async function joined(hashes) {
  let level = [...hashes];
  while (level.length > 1) {
    const above = [];
    for (let i = 0; i < level.length; i += 2) above.push(i + 1 < level.length ? await nodeHash(level[i], level[i + 1]) : level[i]);
    level = above;
  }
  return level[0] ?? sha256(new Uint8Array());
}

/** The largest power of two below a size. @param {number} size */
function split(size) {
  let found = 1;
  while (found * 2 < size) found *= 2;
  return found;
}

/** The first `size` entries of a log, by the hashes that its tiles hold. */
export class Tree {
  /** @param {number} size @param {Read} read */
  constructor(size, read) {
    this.size = size;
    this.read = read;
  }
  /** @param {number} [size] */
  root(size = this.size) {
    return this.hash(0, size);
  }
  /** The path of an entry. @param {number} index */
  async inclusion(index) {
    const path = [];
    for (let begin = 0, end = this.size; end - begin > 1; ) {
      const middle = begin + split(end - begin), left = index < middle;
      path.unshift(await (left ? this.hash(middle, end) : this.hash(begin, middle)));
      [begin, end] = left ? [begin, middle] : [middle, end];
    }
    return path;
  }
  /** The proof that the first `old` entries are still the first. @param {number} old */
  async consistency(old) {
    const proof = [];
    if (!(old > 0 && old < this.size)) return [];
    let begin = 0, end = this.size;
    while (old < end) {
      const middle = begin + split(end - begin), left = old <= middle;
      proof.unshift(await (left ? this.hash(middle, end) : this.hash(begin, middle)));
      [begin, end] = left ? [begin, middle] : [middle, end];
    }
    return begin ? [await this.hash(begin, end), ...proof] : proof;
  }
  /** @param {number} begin @param {number} end @returns {Promise<string>} */
  async hash(begin, end) {
    const size = end - begin, below = size > 1 ? split(size) : size;
    if (size > 1 && below * 2 !== size) return nodeHash(await this.hash(begin, begin + below), await this.hash(begin + below, end));
    let level = 0, width = 1;
    while (width * WIDTH <= size) [level, width] = [level + 1, width * WIDTH];
    return joined(size ? await this.read(level, begin / width, size / width) : []);
  }
}

/** Climbs from a place in a tree to its root: calls `left` or `right` for each hash of a path; false if the path is not of this tree.
 * @param {number} place @param {number} last @param {readonly string[]} path @param {(hash: string, before: boolean) => Promise<void>} step */
async function climbed(place, last, path, step) {
  for (const each of path) {
    if (!last) return false;
    const before = place % 2 === 1 || place === last;
    await step(each, before);
    while (before && place % 2 === 0 && place) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return !last;
}

/** Returns if the entry with this hash has this index in the tree with this root.
 * @param {string} leaf @param {number} index @param {number} size @param {string} root @param {readonly string[]} path */
export async function checkInclusion(leaf, index, size, root, path) {
  let found = leaf;
  if (!(index >= 0 && index < size) || path.length > DEEPEST) refuse("NotLogged", "its proof is not of this tree");
  const whole = await climbed(index, size - 1, path, async (each, before) => {
    found = await (before ? nodeHash(each, found) : nodeHash(found, each));
  });
  if (!whole || found !== root) refuse("NotLogged", "its proof does not lead to the signed root");
}

/** Returns if the tree with the second root begins with the tree with the first.
 * @param {number} old @param {string} oldRoot @param {number} size @param {string} root @param {readonly string[]} proof */
export async function checkConsistency(old, oldRoot, size, root, proof) {
  const trouble = () => refuse("SplitLog", `the log shows ${size} entries that do not begin with the ${old} it showed before`);
  const bare = old === 0 || old === size;
  if (!(old >= 0 && old <= size) || proof.length > DEEPEST || (proof.length > 0) === bare) return trouble();
  if (bare) return oldRoot === (old === size ? root : await joined([])) ? undefined : trouble();
  let place = old - 1, last = size - 1;
  while (place % 2) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  const path = place ? [...proof] : [oldRoot, ...proof];
  let first = path[0], second = path[0];
  const whole = await climbed(place, last, path.slice(1), async (each, before) => {
    if (before) first = await nodeHash(each, first);
    second = await (before ? nodeHash(each, second) : nodeHash(second, each));
  });
  if (!whole || first !== oldRoot || second !== root) trouble();
}

/** The address of a tile of hashes, or (level "entries") of the entries themselves.
 * @param {number | string} level @param {number} number @param {number} [width] */
export function tileName(level, number, width = WIDTH) {
  const digits = String(number), whole = digits.padStart(Math.ceil(digits.length / 3) * 3, "0");
  const parts = whole.match(/.../g) ?? [], last = parts.pop();
  return `tile/${level}/${[...parts.map((part) => `x${part}`), last].join("/")}${width === WIDTH ? "" : `.p/${width}`}`;
}
