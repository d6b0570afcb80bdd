// @ts-check
/**
 * What <rr-survey> shows around its questions: who asks and why, what happens to answers, and how others' text is kept apart.
 */
import { shortDigest } from "../answer/acceptance.mjs";
import { headlines } from "../answer/explain/headline.mjs";
import { say } from "../publish/texts.mjs";
import { drawing } from "./drawings.mjs";
import { make } from "./entries.mjs";

/**
 * @import { RRSurvey } from "../rr-survey.mjs"
 * @import { Explanation } from "./explanation.mjs"
 * @import { AcceptedSurvey, Budget, Client, Question, Texts, Words } from "../index.mjs"
 */

/** @type {Promise<typeof import("./explanation.mjs")> | null} */
let loaded = null;

/** What few need, loaded when it is first wanted; without a network it is tried again. */
export function later() {
  loaded ??= import("./explanation.mjs");
  loaded.catch(() => { loaded = null; });
  return loaded;
}

/** A survey on the screen, without its questions. */
export class Frame {
  /** @param {RRSurvey} host @param {Client} client @param {AcceptedSurvey} accepted @param {Words} words */
  constructor(host, client, accepted, words) {
    this.host = host;
    this.client = client;
    this.words = words;
    this.accepted = accepted;
    this.survey = accepted.survey;
    this.level = host.hasAttribute("page") ? 1 : 2;
    const wanted = host.languages, has = (/** @type {string} */ one) => [one, one.split("-")[0]].some((each) => Object.hasOwn(this.survey.title, each));
    this.language = wanted.find(has) ?? wanted[0];
    this.spent = make("p", { class: "small quiet", id: "spent" });
    /** @type {Promise<Explanation> | null} what is folded, from when it is first wanted */
    this.explained = null;
    /** @type {Budget | null} of the last delivery */
    this.budget = null;
    this.headlines = headlines(this.survey, { words, page: true });
  }

  /** A text of the survey in the person's language, or in the survey's own. @param {Texts} texts */
  said(texts) {
    return say(this.survey, texts, this.language);
  }

  /** An element of the survey's own words. @param {string} tag @param {Texts | string} texts @param {Record<string, any>} [attributes] */
  foreign(tag, texts, attributes = {}) {
    const wanted = [this.language, this.language.split("-")[0], this.survey.language], plain = typeof texts === "string";
    const lang = plain ? null : wanted.find((one) => Object.hasOwn(texts, one)) ?? null;
    const kind = `foreign ${attributes.class ?? ""}`.trim();
    return make(tag, { dir: "auto", lang, part: "foreign", ...attributes, class: kind }, plain ? texts : this.said(texts));
  }

  /** The survey's texts of these names, those that are given. @param {("introduction" | "consent")[]} names */
  passages(...names) {
    return names.filter((name) => this.said(this.survey[name])).map((name) => this.foreign("p", this.survey[name], { "data-text": name }));
  }

  /** A heading so many levels below the survey's. @param {number} below @param {Record<string, any>} attributes @param {(Node | string)[]} children */
  heading(below, attributes, ...children) {
    return make(`h${this.level + below}`, { tabindex: "-1", ...attributes, class: `h${below} ${attributes.class ?? ""}`.trim() }, ...children);
  }

  /** A sentence of ours as a paragraph. @param {string} key @param {Record<string, any>} [attributes] @param {Record<string, any>} [places] */
  line(key, attributes = {}, places = {}) {
    return make("p", attributes, this.words.say(key, places));
  }

  /** @param {string} key @param {() => void} onclick @param {string} [kind] */
  button(key, onclick, kind = "plain") {
    return make("button", { type: "button", class: kind, part: kind, onclick }, this.words.say(key));
  }

  /** Who asks, and why. */
  head() {
    const { title, publisher, pilot, look } = this.survey, name = this.foreign("span", publisher);
    const logo = look.logo === null ? [] : [make("figure", { class: "logo" },
      make("img", { src: look.logo, alt: "", part: "logo", onerror: (/** @type {Event} */ event) => /** @type {Element} */ (event.target).parentElement?.remove() }),
      make("figcaption", { class: "small quiet" }, this.words.say("logo")))];
    const type = make("span", { class: "foreign" }, this.words.say("this_type"));
    if (this.level === 1) document.title = this.said(title);
    return [
      make("header", { part: "header" }, ...logo, this.heading(0, { part: "title" }, this.foreign("span", title)), make("p", { class: "quiet" }, ...this.words.parts("asked_by", { publisher: name }))),
      make("p", { class: "small quiet" }, ...this.words.parts("type", { type })),
      ...(this.words.notice === null ? [] : [make("p", { class: "notice", id: "supplied", lang: "en", dir: "ltr" }, this.words.notice)]),
      ...(pilot ? [this.line("pilot", { class: "notice", id: "pilot" })] : []),
      ...(this.client.ancestors.every((one) => one === this.client.origin) ? [] : [this.line("framed", { class: "notice", id: "framed" })]),
      ...this.passages("introduction", "consent"),
    ];
  }

  /** Whom to ask, and where to read on. */
  foot() {
    const { contact, privacy } = this.survey, link = this.said(privacy), text = (/** @type {"contact" | "privacy"} */ name, /** @type {Node} */ inside) =>
      make("p", { "data-text": name }, ...this.words.parts(name, { [name]: inside }));
    const to = () => make("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, this.foreign("span", privacy));
    const short = make("bdi", { class: "digest" }, shortDigest(this.accepted.digest)), mark = make("p", { class: "small quiet", "data-text": "digest" }, ...this.words.parts("digest", { digest: short }));
    const { state } = this.accepted, told = state ? [this.words.say("logged"), ...(state.witnesses ? [this.words.say("witnessed", { count: String(state.witnesses) })] : [])] : [];
    return [...told.map((line) => make("p", { class: "small quiet" }, line)), ...(this.said(contact) ? [text("contact", this.foreign("span", contact))] : []), ...(link ? [text("privacy", to())] : []), mark];
  }

  /** What a person should know, in a few words with a drawing; all of it one tap away. @param {Question[]} asked */
  promise(asked) {
    const more = this.details("how", "protection", (told) => {
      const rest = told.about.map(({ text, foreign }) => (foreign ? this.foreign("p", text) : make("p", {}, text)));
      this.tellSpent(told);
      return [told.simulation(asked[0]), this.heading(1, {}, told.words.say("what_leaves")), ...rest, make("p", {}, told.words.say("private")), this.spent];
    });
    return make("section", { class: "card promise", part: "promise", "aria-label": this.words.say("how") }, ...this.inShort(this.headlines.survey, this.alike ? asked[0] : null), more);
  }

  /** The first sentences, with a drawing. @param {string[]} sentences @param {Question | null} question */
  inShort(sentences, question) {
    return [make("p", { class: "short" }, sentences.join(" ")), ...(question ? [drawing(question, this.words)] : [])];
  }

  /** Whether one text says what happens to all answers. */
  get alike() {
    const { survey, questions } = this.headlines;
    return Object.values(questions).every((one) => one.join() === survey.join());
  }

  /** What is folded until somebody wants it; what `tell` makes is loaded then.
   * @param {string} key @param {string} name @param {(told: Explanation) => Node[]} tell @param {Node[]} children */
  details(key, name, tell, ...children) {
    const place = make("div");
    let told = false;
    const ontoggle = async () => {
      if (told || !made.hasAttribute("open")) return;
      told = true;
      place.replaceChildren(...await this.explanation().then(tell, () => {
        told = false; // without a network: folded and opened again, it is tried again
        return [this.line("failed")];
      }));
    };
    const made = make("details", { part: "details", class: name, ontoggle }, make("summary", {}, this.words.say(key)), ...children, place);
    return made;
  }

  /** All that there is to tell, loaded when it is first wanted. */
  explanation() {
    this.explained ??= later().then(({ explanation }) => explanation(this.survey, this.words, this.language));
    this.explained.catch(() => { this.explained = null; });
    return this.explained;
  }

  /** All that was drawn, and the limit. @param {Explanation} told */
  tellSpent(told) {
    this.spent.textContent = this.budget ? told.spent(this.budget) : "";
  }
}
