// @ts-check
/**
 * <rr-survey src="…" publisher="…">: a signed survey in any page, verified, explained, asked, changed at random and sent here.
 *
 * Rules
 * 1. Text of the survey enters as text, never as markup, and stands in elements of its own (part "foreign"), which look
 *    different, by their type and by dots below, and are announced so: it cannot imitate what this element says.  Its logo is an image, its colour is one that was checked.
 * 2. The truth is in an entry of element/entries.mjs until it is sent, and nowhere else: no control, address, title, event,
 *    storage or history.  An event names a question, and nothing else.
 * 3. What was drawn is shown when it has left: who declined on seeing it would bias the estimate.
 * 4. An invite comes after the # of the address, which is not sent to the server, and is taken out of the address bar.
 * 5. Nothing is inline: styles are constructed sheets, so that the strictest content security policy is kept.
 *
 * Attributes: `src`, the address of the signed survey; `publisher`, the public keys that are trusted to sign it, with spaces
 * between them; `publisher-name`, whose keys they are (else what the signed survey says); `threshold`, how many of them must
 * have signed (else 1); `steps`, one question at a time; `lang`, the language (else the browser's).  `page` is for a page that is
 * this survey: it gives that page its title; `worker` the service worker that keeps such a page for use without a network.
 * The property `words` takes words in further languages, in the form of words/en.json; set it before the element is in the page.
 * Events: `answered` and `declined`, with the question's id as `detail.question`, and `finished`.
 */
import { acceptSurvey } from "./answer/acceptance.mjs";
import { Client } from "./answer/client.mjs";
import { loadWords } from "./answer/explain/words.mjs";
import { IndexedDBLedger } from "./answer/ledger/indexed_db.mjs";
import { wrongPlace } from "./answer/place.mjs";
import { Policy } from "./answer/policy.mjs";
import { fromAddress } from "./element/address.mjs";
import { make } from "./element/entries.mjs";
import { later } from "./element/frame.mjs";
import { StateError } from "./element/states.mjs";
import { STYLE } from "./element/style.mjs";
import { View } from "./element/view.mjs";
import { verifyEnvelope } from "./publish/envelope.mjs";
import { readSurvey } from "./publish/survey.mjs";

/** @import { AcceptedSurvey } from "./index.mjs" */

/** States of a survey that was rightly signed and is over. */
const OVER = ["Expired", "SurveyWithdrawn"];

export class RRSurvey extends HTMLElement {
  static observedAttributes = ["src", "publisher", "publisher-name", "threshold", "steps", "lang"];
  #run = 0; // of the last start: what an earlier one still waits for comes to nothing
  /** @type {View | null} */
  #view = null;
  /** @type {ShadowRoot} */
  #root;
  /** @type {HTMLElement} */
  #inside;
  /** Words in further languages, which the page supplies; they are marked as such. @type {Record<string, import("./index.mjs").Table>} */
  words = {};

  constructor() {
    super();
    this.#root = this.attachShadow({ mode: "open" });
    this.#inside = make("div", { part: "survey", class: "survey", lang: "en", dir: "ltr" });
    this.#root.adoptedStyleSheets = [STYLE];
    this.#root.append(this.#inside);
  }

  connectedCallback() {
    this.#restart();
  }

  disconnectedCallback() {
    this.#run++;
    this.#view?.close();
    this.#view = null;
    this.#inside.replaceChildren();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#restart();
  }

  /** Say something to the page around: at most which question it is about. @param {"answered" | "declined" | "finished"} what @param {string} [question] */
  tell(what, question) {
    const detail = question === undefined ? {} : { question };
    this.dispatchEvent(new CustomEvent(what, { bubbles: true, composed: true, detail }));
  }

  /** @param {(Node | string)[]} children */
  show(...children) {
    this.#inside.replaceChildren(...children);
    this.#inside.setAttribute("aria-busy", "false");
  }

  /** One start for all attributes that change at once. */
  #restart() {
    const run = ++this.#run;
    this.#inside.setAttribute("aria-busy", "true");
    queueMicrotask(() => run === this.#run && this.#start(run));
  }

  /** @param {number} run */
  async #start(run) {
    this.#view?.close();
    this.#view = null;
    const { round } = fromAddress(), worker = this.getAttribute("worker");
    try {
      const words = await this.#words(), accepted = await this.#accepted();
      if (run !== this.#run) return;
      if (worker !== null) navigator.serviceWorker?.register(new URL(worker, document.baseURI), { scope: "./" }).catch(() => {});
      const { survey: { survey }, client: { origin, ancestors } } = accepted, { look, origins } = survey, wrong = wrongPlace(survey, origin, ancestors);
      const { colour } = look, own = colour === null ? [] : await later().then(({ coloured }) => [coloured(colour)], () => []);
      if (run !== this.#run) return;
      this.#root.adoptedStyleSheets = [STYLE, ...own];
      if (wrong !== null) throw new StateError(wrong, origins);
      this.#view = new View(this, accepted.client, accepted.survey, words, round);
      await this.#view.start();
    } catch (error) {
      if (run === this.#run) await this.#failed(run, /** @type {StateError} */ (error));
    }
  }

  /** The survey, if its signature, this page's keys and this device's rules allow it. */
  async #accepted() {
    const src = this.getAttribute("src"), keys = (this.getAttribute("publisher") ?? "").split(/\s+/).filter(Boolean), options = /** @type {const} */ ({ credentials: "omit", cache: "no-store" });
    if (!src || !keys.length) throw new StateError("Unset");
    const address = new URL(src, document.baseURI), digest = /\/([0-9a-f]{64})$/.exec(address.pathname)?.[1];
    const got = await fetch(address, options).catch(() => { throw new StateError("Offline"); });
    if (!got.ok) throw new StateError(got.status === 404 ? "Missing" : "Unavailable");
    const envelope = new Uint8Array(await got.arrayBuffer());
    const name = this.getAttribute("publisher-name") ?? readSurvey((await verifyEnvelope(envelope, keys)).payload).publisher;
    const policy = new Policy([{ name, keys, threshold: Number(this.getAttribute("threshold") ?? 1) }]);
    const client = new Client({ ledger: new IndexedDBLedger(), attributes: [{ everyAttributeOf: name, rounds: 1000 }], policy });
    const same = (/** @type {AcceptedSurvey} */ found) => {
      if (digest && found.digest !== digest) throw new StateError("Another");
      return found;
    };
    const over = digest ? await fetch(`${address.href}/withdrawal`, options).catch(() => null) : null;
    if (over?.status === 200) await client.withdraw(new Uint8Array(await over.arrayBuffer())).catch(() => null); // unsigned, it means nothing
    const survey = await client.accept(envelope).catch(async (error) => {
      if (OVER.includes(error.name)) error.over = { client, survey: same(await acceptSurvey(envelope, policy, { now: new Date(0) })) };
      throw error;
    });
    return { client, survey: same(survey) };
  }

  /** The person's languages, the best first. */
  get languages() {
    return this.lang ? [this.lang] : navigator.languages;
  }

  /** Our words in the person's language; the element, and a page that is the survey, are marked with it. */
  async #words() {
    const words = await loadWords(this.languages, this.words);
    for (const one of [this.#inside, ...(this.hasAttribute("page") ? [document.documentElement] : [])]) {
      one.lang = words.language;
      one.dir = words.direction;
    }
    return words;
  }

  /** A page for what went wrong, in a person's words; if those cannot be loaded, in fewer. @param {number} run @param {StateError} error */
  async #failed(run, error) {
    const words = await this.#words().catch(() => loadWords(this.languages)), offline = error.name === "Offline"; // if a page's own words failed, ours
    const again = make("div", { class: "actions" }, make("button", { type: "button", onclick: () => this.#restart() }, words.say("retry")));
    const line = (/** @type {string} */ key) => make("p", {}, words.say(key));
    const few = () => [make("section", { class: "card", part: "card failure", role: "alert", "data-state": error.name },
      make(this.hasAttribute("page") ? "h1" : "h2", { class: "h0" }, words.say("cannot_show")), line(offline ? "offline" : "failed"), line("nothing_asked"), again, ...(offline ? [] : [make("p", { class: "small quiet" }, words.say("technical", { detail: error.name }))]))];
    const { over } = error, view = over ? new View(this, over.client, over.survey, words, 0) : null; // of a survey that is over, its title and whom to ask
    view?.close();
    const shown = await (offline ? Promise.reject() : later().then(({ failure }) => failure(this, error, words, again, view))).catch(few);
    if (run !== this.#run) return;
    this.show(...shown);
    if (this.hasAttribute("page")) document.title = this.#inside.querySelector("section .h0, section .h1")?.textContent ?? "";
    if (offline) addEventListener("online", () => this.isConnected && this.#restart(), { once: true });
  }
}

customElements.define("rr-survey", RRSurvey);
