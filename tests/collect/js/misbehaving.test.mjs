// Collectors that misbehave: none holds a device up, fills its memory, or makes it believe something.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import test from "node:test";
import { gzipSync } from "node:zlib";
import * as rr from "../../../rrcollect/web/src/index.mjs";
import { refused } from "./device.mjs";

const TAKEN = '{"new":1,"known":0}';

/** What a device makes of a server that says `head`, and then `piece` without end, every `pause` milliseconds. */
async function told(head, piece = "", pause = 0, timeout = 0.3) {
  let poured = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => {
      socket.write(head);
      const pour = () => {
        if (socket.destroyed || !piece) return;
        poured += piece.length;
        if (socket.write(piece)) setTimeout(pour, pause);
        else socket.once("drain", pour);
      };
      pour();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const start = Date.now(), kept = process.memoryUsage().rss;
  try {
    await assert.rejects(new rr.HttpTransport({ timeout }).send(`http://127.0.0.1:${server.address().port}/r`, new Uint8Array(2)), refused("TransportFailed"));
  } finally {
    server.close();
  }
  assert.ok(Date.now() - start < 5000, "it took too long");
  return { poured, grown: process.memoryUsage().rss - kept };
}

test("a reply without an end is cut short", async () => {
  const space = " ".repeat(65536);
  for (const [head, piece] of [
    ["HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", space],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", `10000\r\n${space}\r\n`],
    ["HTTP/1.1 200 ", "O".repeat(65536)],
    ["HTTP/1.1 200 OK\r\n", "a: b\r\n".repeat(1000)],
    ["HTTP/1.1 200 OK\r\na: ", "b".repeat(65536)],
    ["", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)],
  ]) {
    const { poured, grown } = await told(head, piece);
    assert.ok(head === "" || poured < 50_000_000, `${head}: ${poured} bytes`);
    assert.ok(grown < 100_000_000, `${head}: ${grown} bytes of memory`);
  }
});

test("a reply in drops ends with the timeout", async () => {
  for (const [head, drop] of [["HTTP/1.1 200 OK\r\n", "a: b\r\n"], ["HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n", " "], ["", "HTTP/1.1 100 Continue\r\n\r\n"]]) {
    await told(head, drop, 50);
  }
});

test("of a compressed reply no more is unpacked than a collector says", async () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, 32)), head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
  const { grown } = await told(Buffer.concat([Buffer.from(head), bomb]), "", 0, 3);
  assert.ok(grown < 60_000_000, `${grown} bytes of memory`);
});

test("a redirect is not followed", async () => {
  let asked = 0;
  const elsewhere = createServer(() => asked++);
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  for (const status of [301, 302, 303, 307, 308]) {
    const where = `http://127.0.0.1:${elsewhere.address().port}/r`;
    await told(`HTTP/1.1 ${status} Found\r\nLocation: ${where}\r\nContent-Length: ${TAKEN.length}\r\n\r\n${TAKEN}`);
  }
  elsewhere.close();
  assert.equal(asked, 0);
});
