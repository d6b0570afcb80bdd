// The service worker of the survey pages: a page that was loaded once opens again without a network.
//
// Rules
// 1. The network comes first: what is kept is shown only if the network fails.
// 2. Kept are replies to GET below our own path: pages, what they load, and signed surveys.  Reports are not touched, and
//    what stands behind the # of an address (an invite) is not part of any address here.
// 3. The first line of what is served is made by the server: ASSETS, the names of all that the survey pages load.
const KEPT = "rrcollect", SCOPE = new URL(self.registration.scope), ROOT = new URL("..", SCOPE);
const WORDS = /^words\/([a-z]+)\.json$/;

/** Whether this person's browser needs it: it may be wanted without a network. @param {string} name */
function needed(name) {
  const [, language = "en"] = WORDS.exec(name) ?? [];
  return !name.endsWith(".map") && (language === "en" || navigator.languages.some((wanted) => wanted.startsWith(language)));
}

/** Load it and keep it; what was kept, if the network fails. @param {Request} request */
async function answered(request) {
  const cache = await caches.open(KEPT);
  try {
    const reply = await fetch(request);
    if (reply.ok && reply.status === 200) await cache.put(request, reply.clone());
    return reply;
  } catch (error) {
    const kept = await cache.match(request);
    if (kept) return kept;
    throw error;
  }
}

/** What the pages need that are open already: they were loaded before there was a worker. */
async function keepOpen() {
  const pages = (await self.clients.matchAll({ includeUncontrolled: true, type: "window" })).map(({ url }) => url.split("#")[0]);
  const surveys = pages.map((page) => new URL(`surveys/${page.split("/").pop()}`, ROOT).href);
  const all = [...ASSETS.filter(needed).map((name) => new URL(`assets/${name}`, ROOT).href), ...pages, ...surveys];
  await Promise.all(all.map((address) => answered(new Request(address)).catch(() => null)));
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim().then(keepOpen)));
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request, ours = ["s/", "assets/", "surveys/"].some((below) => url.startsWith(ROOT.href + below));
  if (method === "GET" && ours) event.respondWith(answered(event.request));
});
