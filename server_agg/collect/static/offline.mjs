// The service worker of the survey pages: a page that was loaded once opens again without a network.
//
// Rules
// 1. The network comes first: what is kept is shown only if the network fails.
// 2. Kept are survey pages (our path and a digest), the signed survey of each, and the files that they load (ASSETS).  Other
//    pages of the same origin belong to other applications: they are neither loaded nor kept.  Reports are not touched,
//    and what stands behind the # of an address (an invite) or behind its ? is not part of any address here.
// 3. Everything is loaded without cookies: what is kept is what everybody gets.
// 4. The first line of what is served is made by the server: ASSETS, the names of all that the survey pages load.
const KEPT = "rrcollect", SCOPE = new URL(self.registration.scope), ROOT = new URL("..", SCOPE);
const DIGEST = /^[0-9a-f]{64}$/, WORDS = /^words\/([a-z]+)\.json$/;

/** Whether this person's browser needs it: it may be wanted without a network. @param {string} name */
function needed(name) {
  const [, language = "en"] = WORDS.exec(name) ?? [];
  return !name.endsWith(".map") && (language === "en" || navigator.languages.some((wanted) => wanted.startsWith(language)));
}

/** The name behind an address of ours, which begins like that; null for any other. @param {string} address @param {URL | string} start */
function nameIn(address, start) {
  return address.startsWith(String(start)) ? address.slice(String(start).length) : null;
}

/** Whether this is a survey page, a signed survey, or a file that the pages load. @param {string} address */
function ours(address) {
  const digests = [SCOPE, new URL("surveys/", ROOT)].map((start) => nameIn(address, start) ?? "");
  return digests.some((digest) => DIGEST.test(digest)) || ASSETS.includes(nameIn(address, new URL("assets/", ROOT)));
}

/** Load it and keep it; what was kept, if the network fails. @param {string} address @param {RequestRedirect} [redirect] */
async function answered(address, redirect = "error") {
  const cache = await caches.open(KEPT);
  try {
    const reply = await fetch(address, { credentials: "omit", redirect });
    if (reply.status === 200) await cache.put(address, reply.clone());
    return reply;
  } catch (error) {
    const kept = await cache.match(address);
    if (kept) return kept;
    throw error;
  }
}

/** What the pages need that are open already: they were loaded before there was a worker. */
async function keepOpen() {
  const pages = (await self.clients.matchAll({ includeUncontrolled: true, type: "window" })).map(({ url }) => url.split("#")[0]).filter((url) => nameIn(url, SCOPE) !== null && ours(url));
  const surveys = pages.map((page) => new URL(`surveys/${nameIn(page, SCOPE)}`, ROOT).href);
  const all = [...ASSETS.filter(needed).map((name) => new URL(`assets/${name}`, ROOT).href), ...pages, ...surveys];
  await Promise.all(all.map((address) => answered(address).catch(() => null)));
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim().then(keepOpen)));
self.addEventListener("fetch", (event) => {
  const { method, url, redirect } = event.request, address = url.split("#")[0];
  if (method === "GET" && ours(address)) event.respondWith(answered(address, redirect));
});
