// The service worker of the survey pages, with a cache, a network and an origin of the test's own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const SOURCE = readFileSync(new URL("../../../server_agg/collect/static/offline.mjs", import.meta.url), "utf8");
const HERE = "https://survey.example.org/rr/", DIGEST = "0123456789abcdef".repeat(4), PAGE = `${HERE}s/${DIGEST}`;
const FILES = ["page.css", "rr-survey.mjs", "words/en.json", "words/fr.json", "words/de.json"];

/** A worker that is installed while these pages of its origin are open. */
function worker(open, online = () => true) {
  const handlers = {}, kept = new Map(), loaded = [];
  const self = { registration: { scope: `${HERE}s/` }, skipWaiting() {}, addEventListener: (name, what) => { handlers[name] = what; },
    clients: { claim: async () => {}, matchAll: async () => open.map((url) => ({ url })) } };
  const cache = { put: async (request, reply) => void kept.set(String(request.url ?? request), reply), match: async (request) => kept.get(String(request.url ?? request)) };
  const fetch = async (request, given = {}) => {
    const { url, credentials, redirect } = new Request(request.url ?? request, { credentials: request.credentials, redirect: request.redirect, ...given });
    loaded.push([url, credentials, redirect]);
    if (!online()) throw new TypeError("no network");
    return new Response("there");
  };
  new Function("self", "caches", "fetch", "navigator", `const ASSETS = ${JSON.stringify(FILES)};\n${SOURCE}`)(self, { open: async () => cache }, fetch, { languages: ["fr"] });
  const activated = async () => { let done; handlers.activate({ waitUntil: (what) => { done = what; } }); await done; };
  const asked = async (url, given = {}) => {
    let reply = null;
    handlers.fetch({ request: { method: "GET", credentials: "include", redirect: "manual", url, ...given }, respondWith: (what) => { reply = what; } });
    return reply && (await reply).text();
  };
  return { activated, asked, kept, loaded };
}

const OTHERS = ["https://survey.example.org/", "https://survey.example.org/mail/inbox", "https://survey.example.org/rr/owner", "https://survey.example.org/rr/s/",
  `https://survey.example.org/${DIGEST}`, `https://survey.example.org/mail/s/${DIGEST}`, `https://survey.example.org/rr/sites/${DIGEST}`, `${PAGE}/more`, `${PAGE}?person=7`,
  `https://other.example.org/rr/s/${DIGEST}`, `${HERE}assets/owner.mjs`, `${HERE}assets/../mail`, `${HERE}surveys/mine`, `${HERE}reports`];

test("pages of other applications on the origin are neither loaded nor kept", async () => {
  const made = worker([`${PAGE}#invite=abc`, ...OTHERS]);
  await made.activated();
  const wanted = [...["page.css", "rr-survey.mjs", "words/en.json", "words/fr.json"].map((name) => `${HERE}assets/${name}`), PAGE, `${HERE}surveys/${DIGEST}`];
  assert.deepEqual([...made.kept.keys()].sort(), wanted.sort());
  assert.deepEqual(made.loaded.map(([url]) => url).sort(), wanted.sort());
  for (const url of OTHERS) assert.equal(await made.asked(url), null, url);
  for (const url of wanted) assert.equal(await made.asked(url, { method: "POST" }), null, url);
});

test("what is kept was loaded without credentials, and serves when the network fails", async () => {
  let online = true;
  const made = worker([], () => online);
  for (const url of [PAGE, `${PAGE}#round=2`, `${HERE}surveys/${DIGEST}`, `${HERE}assets/words/de.json`]) assert.equal(await made.asked(url), "there");
  assert.deepEqual(new Set(made.loaded.map(([, credentials]) => credentials)), new Set(["omit"]));
  assert.equal(made.kept.size, 3);
  online = false;
  assert.equal(await made.asked(`${PAGE}#round=3`), "there");
  await assert.rejects(made.asked(`${HERE}surveys/${"f".repeat(64)}`), TypeError);
});
