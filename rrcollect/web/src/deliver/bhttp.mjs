// @ts-check
/**
 * Binary HTTP (RFC 9292): a request or a reply as bytes, of known length, padded.
 */
import { refuse } from "../errors.mjs";

/** @typedef {{control: string[], headers: [string, string][], content: Uint8Array}} Message `control` of a request is method,
 * scheme, authority and path, of a reply its status */

const encoder = new TextEncoder();

/** @param {number} value @returns {number[]} */
function number(value) {
  const size = value < 64 ? 0 : value < 16384 ? 1 : 2, bytes = Array.from({ length: 1 << size }, (_, i) => Math.floor(value / 256 ** ((1 << size) - 1 - i)) % 256);
  bytes[0] |= size << 6;
  return bytes;
}

/** @param {Uint8Array | number[]} data @returns {number[]} */
const counted = (data) => [...number(data.length), ...data];

/** Exactly so many bytes. @param {Message} message @param {number} length */
export function packed({ control, headers, content }, length) {
  const lines = headers.flatMap((pair) => pair.flatMap((text) => counted(encoder.encode(text)))), parts = [counted(lines), counted(content)];
  while (parts.length && parts[parts.length - 1].length === 1) parts.pop(); // zeros say the same
  const begin = control.length > 1 ? [0, ...control.flatMap((text) => counted(encoder.encode(text)))] : [1, ...number(Number(control[0]))];
  const whole = [...begin, ...parts.flat()];
  if (whole.length > length) refuse("TransportFailed", `a message of ${whole.length} bytes does not fit into ${length}`);
  const made = new Uint8Array(length);
  made.set(whole);
  return made;
}

/** @param {Uint8Array} data @returns {Message} */
export function unpacked(data) {
  const reader = new Reader(data), kind = reader.number(), text = () => new TextDecoder("latin1").decode(reader.counted());
  if (kind !== 0 && kind !== 1) refuse("TransportFailed", "this is not a message of known length");
  const status = kind === 1 ? reader.number() : 200, control = kind === 0 ? [text(), text(), text(), text()] : [String(status)];
  if (status < 200 || status > 599) refuse("TransportFailed", "the status of a reply is 200 to 599");
  const lines = new Reader(reader.left ? reader.counted() : new Uint8Array()), part = () => new TextDecoder("latin1").decode(lines.counted());
  /** @type {[string, string][]} */
  const headers = [];
  while (lines.left) headers.push([part(), part()]);
  const content = reader.left ? reader.counted() : new Uint8Array(), trailers = reader.left ? reader.counted() : new Uint8Array();
  if (trailers.length || data.slice(reader.at).some((byte) => byte)) refuse("TransportFailed", "a message ends with zeros");
  return { control, headers, content };
}

class Reader {
  /** @param {Uint8Array} data */
  constructor(data) {
    this.data = data;
    this.at = 0;
  }
  get left() {
    return this.data.length - this.at;
  }
  number() {
    const size = this.left ? 1 << (this.data[this.at] >> 6) : 1;
    if (this.left < size) refuse("TransportFailed", "a message is cut off");
    const value = this.data.slice(this.at, this.at + size).reduce((sum, byte, i) => sum * 256 + (i ? byte : byte & 63), 0);
    this.at += size;
    return value;
  }
  counted() {
    const size = this.number();
    if (this.left < size) refuse("TransportFailed", "a message is cut off");
    this.at += size;
    return this.data.slice(this.at - size, this.at);
  }
}
