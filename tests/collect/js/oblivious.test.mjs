// Oblivious HTTP: the vectors of RFC 9292 and RFC 9458, byte for byte; and a way by relay and gateway, if one is given.

import assert from "node:assert/strict";
import test from "node:test";
import { packed, unpacked } from "../../../rrcollect/web/src/deliver/bhttp.mjs";
import { UNIT, openReply, sealRequest, wholeUnits } from "../../../rrcollect/web/src/deliver/encapsulation.mjs";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { refused } from "./device.mjs";

const raw = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16)), hex = (bytes) => Buffer.from(bytes).toString("hex");
const none = new Uint8Array();
const RFC_9292 = "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d690000";
const KEY = "31e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e798155", REQUEST = "00034745540568747470730b6578616d706c652e636f6d012f";
const SEALED = "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525";
const REPLY = "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd";

/** The ephemeral key of RFC 9458, appendix A. */
async function ephemeral() {
  const d = Buffer.from("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73", "hex").toString("base64url");
  const x = Buffer.from("4b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472", "hex").toString("base64url");
  const made = (part, uses) => crypto.subtle.importKey("jwk", { kty: "OKP", crv: "X25519", x, ...part }, { name: "X25519" }, true, uses);
  return { privateKey: await made({ d }, ["deriveBits"]), publicKey: await made({}, []) };
}

test("the request of RFC 9292 is written and read", () => {
  const headers = [["user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"], ["host", "www.example.com"], ["accept-language", "en, mi"]];
  const message = { control: ["GET", "https", "", "/hello.txt"], headers, content: none };
  assert.equal(hex(packed(message, RFC_9292.length / 2)), RFC_9292);
  assert.deepEqual(unpacked(raw(`${RFC_9292}0000`)), message);
  for (const bad of ["", "02", "014064", "0005474554", "00ffffffffffffffff", `${REQUEST}00000001`]) assert.throws(() => unpacked(raw(bad)), refused("TransportFailed"));
});

test("the example of RFC 9458 is made byte for byte", async () => {
  assert.equal(hex(packed({ control: ["GET", "https", "example.com", "/"], headers: [], content: none }, 25)), REQUEST);
  const sealed = await sealRequest(1, raw(KEY), raw(REQUEST), await ephemeral());
  assert.equal(hex(sealed.data), SEALED);
  assert.equal(hex(sealed.secret), "62d87a6ba569ee81014c2641f52bea36");
  const reply = await openReply(sealed, raw(REPLY));
  assert.equal(hex(reply), "0140c8");
  assert.deepEqual(unpacked(reply), { control: ["200"], headers: [], content: none });
  for (const bad of [none, raw(REPLY).slice(0, 20), raw(REPLY).with(0, 1), raw(REPLY).with(30, 1)]) await assert.rejects(openReply(sealed, bad), refused("TransportFailed"));
  const other = await sealRequest(1, raw(KEY), raw(REQUEST));
  assert.notEqual(hex(other.enc), hex(sealed.enc));
  await assert.rejects(openReply(other, raw(REPLY)), refused("TransportFailed"));
  for (const bad of [new Uint8Array(32), new Uint8Array(31)]) await assert.rejects(sealRequest(1, bad, none), refused("TransportFailed"));
});

test("lengths tell nothing", async () => {
  const sizes = new Set();
  for (const size of [0, 1, 300, 8000]) {
    const message = packed({ control: ["POST", "https", "a.example", "/reports"], headers: [], content: new Uint8Array(size).fill(7) }, wholeUnits(size + 300));
    assert.deepEqual(unpacked(message).content.length, size);
    sizes.add((await sealRequest(0, raw(KEY), message)).data.length);
  }
  assert.deepEqual([...sizes], [7 + 32 + UNIT + 16]);
});

test("a survey that names a relay is never sent another way", async () => {
  const asked = [], fetch = async (address) => (asked.push(address), new Response("", { status: 201 }));
  const key = { id: 0, key: btoa(String.fromCharCode(...raw(KEY))), opens: "2020-01-01T00:00:00Z", closes: "2099-01-01T00:00:00Z" };
  const relay = { address: "https://relay.example.net/relay", operator: "Somebody Else", keys: [key] }, collector = "https://collect.example.org/reports";
  const to = (changes) => JSON.stringify({ collector, relay: { ...relay, ...changes } });
  await assert.rejects(new rr.HttpTransport({ fetch }).send(to({}), none), refused("WrongAddress"));
  assert.deepEqual(asked, []);
  const late = { keys: [{ ...key, closes: "2021-01-01T00:00:00Z" }] };
  await assert.rejects(new rr.OhttpTransport({ fetch }).send(to(late), none), refused("TransportFailed"));
  assert.deepEqual(asked, []);
  await assert.rejects(new rr.OhttpTransport({ fetch }).send(to({}), none), refused("TransportFailed")); // 201, and nothing that opens
  await assert.rejects(new rr.OhttpTransport({ fetch: async (address) => (asked.push(address), new Response("x".repeat(99))) }).send(to({}), none), refused("TransportFailed"));
  assert.deepEqual(asked, [relay.address, relay.address]);
});

const given = process.env.RELAYED && JSON.parse(process.env.RELAYED);
if (given) test("by relay and gateway to a collector", async () => {
  const policy = new rr.Policy([given.publisher]), client = new rr.Client({ ledger: new rr.MemoryLedger(), attributes: ["doped"], policy, spread: 0 });
  await client.answer(await client.accept(Uint8Array.from(Buffer.from(given.envelope, "base64"))), "q1", true);
  assert.equal((await client.deliver()).delivered, 1);
});
