// @ts-check
/**
 * The relay of a survey, and the keys of the gateway behind it (oblivious HTTP, RFC 9458).
 */
import { canonicalText } from "./canonical.mjs";
import { ADDRESS, LONGEST_ADDRESS, distinct, integer, need, needFields, needList, needMoment, needWords, writtenMoment } from "./document.mjs";

/** @import { Need } from "./document.mjs" */

/**
 * @typedef {Readonly<{id: number, key: string, opens: Date, closes: Date}>} GatewayKey the key is base64
 * @typedef {Readonly<{address: string, operator: string, keys: readonly GatewayKey[]}>} Relay
 */

const MOST_KEYS = 32;

/** @type {Need} */
function needKey(value, place) {
  const good = typeof value === "string" && /^[A-Za-z0-9+/]{43}=$/.test(value), raw = good ? atob(value) : "";
  need(good && btoa(raw) === value && /[^\0]/.test(raw), place, "must be the base64 of an X25519 key, 32 bytes that are not all zero");
  return value;
}

/** @type {Need} */
function needAddress(value, place) {
  need(typeof value === "string" && value.length <= LONGEST_ADDRESS && ADDRESS.test(value), place, "a relay has an address");
  return value;
}

const KEY = { id: integer(0, 255), key: needKey, opens: needMoment, closes: needMoment };

/** @type {Need} */
export function needRelay(value, place) {
  const fields = { address: needAddress, operator: needWords, keys: /** @type {Need} */ ((list, at) => needList(list, at, 1, MOST_KEYS, (item, here) => needFields(item, here, KEY))) };
  /** @type {Relay} */
  const relay = needFields(value, place, fields);
  const { keys } = relay;
  need(distinct(keys.map(({ id }) => String(id))) && distinct(keys.map(({ key }) => key)), place, "two keys of the gateway have the same id or key");
  need(keys.every(({ opens, closes }) => opens < closes), place, "a key of the gateway closes before it opens");
  need(keys.every(({ opens, closes }, i) => i === 0 || (opens <= keys[i - 1].closes && closes > keys[i - 1].closes)), place,
    "the keys of the gateway follow one another without a gap");
  return relay;
}

/** What does not fit the survey around it is refused.
 * @param {{relay: Relay | null, collector: string, opens: Date | null, expires: Date}} survey */
export function needFit({ relay, collector, opens, expires }) {
  if (relay === null) return;
  const host = (/** @type {string} */ address) => address.split("/").slice(0, 3).join("/"), { keys } = relay;
  need(host(collector) !== host(relay.address) && collector.startsWith("http"), "relay", "is another host than the collector, and the reports go to a collector");
  const whole = keys[keys.length - 1].closes >= expires && (opens === null || keys[0].opens <= opens);
  need(whole, "relay", "the keys of the gateway are there from the survey's opening until it expires");
}

/** As it is signed. @param {Relay | null} relay */
export function wireRelay(relay) {
  return relay && { ...relay, keys: relay.keys.map((key) => ({ ...key, opens: writtenMoment(key.opens), closes: writtenMoment(key.closes) })) };
}

/** Where the reports of a survey go; with a relay, an address that only a transport by that relay knows.
 * @param {{relay: Relay | null, collector: string}} survey */
export function destinationOf({ relay, collector }) {
  return relay === null ? collector : canonicalText({ collector, relay: wireRelay(relay) });
}
