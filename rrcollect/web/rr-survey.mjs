// @ts-check
/**
 * <rr-survey src="…" publisher="…">: a signed survey in any page, verified, explained, asked, changed at random and sent here.
 *
 * Rules
 * 1. Text of the survey enters as text, never as markup, and stands in elements of its own (part "foreign"), which look
 *    different, by their type and by dots below, and are announced so: it cannot imitate what this element says.  Its logo is an image, its colour is one that was checked.
 * 2. The truth is in an entry of rr-entries.mjs until it is sent, and nowhere else: no control, address, title, event,
 *    storage or history.  An event names a question, and nothing else.
 * 3. What was drawn is shown when it has left: who declined on seeing it would bias the estimate.
 * 4. An invite comes after the # of the address, which is not sent to the server, and is taken out of the address bar.
 * 5. Nothing is inline: styles are constructed sheets, so that the strictest content security policy is kept.
 *
 * Attributes: `src`, the address of the signed survey; `publisher`, the public keys that are trusted to sign it, with spaces
 * between them; `publisher-name`, whose keys they are (else what the signed survey says); `threshold`, how many of them must
 * have signed (else 1); `steps`, one question at a time; `lang`, the language (else the browser's).  `page` is for a page that is
 * this survey: it gives that page its title; `worker` the service worker that keeps such a page for use without a network.
 * The property `words` takes words in further languages, in the form of words/en.mjs; set it before the element is in the page.
 * Events: `answered` and `declined`, with the question's id as `detail.question`, and `finished`.
 */
import { drawing, sheet } from "./rr-drawings.mjs";
import { Choice, NumberEntry, make } from "./rr-entries.mjs";
import {
  Client, IndexedDBLedger, Policy, acceptSurvey, checkInvite, headlines, loadWords, readSurvey, say, segmentValues, verifyEnvelope,
} from "./rrcollect.mjs";

/** @typedef {import("./rrcollect.mjs").Survey} Survey @typedef {import("./rrcollect.mjs").Question} Question
 * @typedef {import("./rrcollect.mjs").Texts} Texts @typedef {import("./rrcollect.mjs").AcceptedSurvey} AcceptedSurvey
 * @typedef {import("./rrcollect.mjs").Outgoing} Outgoing @typedef {import("./rrcollect.mjs").Words} Words
 * @typedef {import("./rrcollect.mjs").Budget} Budget @typedef {import("./rr-explanation.mjs").Explanation} Explanation */

const WITHIN = 10; // seconds in which a report is sent: the client spreads them over 5

// ---- kinds: how each is entered, and what a report of it says -------------------------------------------------------

/** What was sent, in a sentence. @param {Words} words @param {string} key @param {Node | string} sent */
const sentence = (words, key, sent) => make("p", {}, ...words.parts(key, { sent: make("strong", { class: "sent" }, sent) }));

/** @type {Record<string, {entry: (view: View, labelledBy: string, kind: any) => Choice | NumberEntry, sent: (view: View, kind: any, answer: string) => Node[]}>} */
const KINDS = {
  yes_no: {
    entry: ({ words }, labelledBy) =>
      new Choice(labelledBy, [[true, words.say("yes_button")], [false, words.say("no_button")]], words.say("choose_yes_no"), words),
    sent: ({ words }, kind, answer) => [sentence(words, "sent_answer", words.say(answer === "1" ? "yes" : "no"))],
  },
  choice: {
    entry: (view, labelledBy, { options }) =>
      new Choice(labelledBy, options.map((/** @type {Texts} */ texts, /** @type {number} */ i) => [i, view.foreign("span", texts)]), view.words.say("choose_option"), view.words),
    sent: (view, { options }, answer) => {
      const labels = options.filter((/** @type {Texts} */ _, /** @type {number} */ i) => answer[i] === "1").map((/** @type {Texts} */ texts) => view.foreign("span", texts));
      if (labels.length === 1) return [sentence(view.words, "sent_answer", labels[0])];
      const list = make("ul", { class: "sent" }, ...labels.map((/** @type {Node} */ label) => make("li", {}, label)));
      return [make("p", {}, view.words.say("sent_options", { size: labels.length, options: options.length })), list];
    },
  },
  number: {
    entry: (view, labelledBy, kind) => new NumberEntry(labelledBy, kind, view.said(kind.unit), view.words),
    sent: ({ words }, kind, answer) => [sentence(words, "sent_number", words.say(answer === "1" ? "high" : "low"))],
  },
};

// ---- one survey on the screen ---------------------------------------------------------------------------------------

/** The invite of the page's address, which is taken out of it; kept for every element of the page. @type {string | null} */
let linked = null;

/** @type {Promise<typeof import("./rr-explanation.mjs")> | null} */
let loaded = null;

/** What few need, loaded when it is first wanted; without a network it is tried again. */
function later() {
  loaded ??= import("./rr-explanation.mjs");
  loaded.catch(() => { loaded = null; });
  return loaded;
}

/** What stands behind the # of the page's address. */
function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)), invite = given.get("invite");
  given.delete("invite");
  if (invite !== null) {
    linked = invite;
    history.replaceState(history.state, "", `${location.pathname}${location.search}${String(given) ? `#${given}` : ""}`);
  }
  return { round: Math.max(1, Math.trunc(Number(given.get("round") ?? 1)) || 1) - 1 }; // people count from 1
}

class View {
  /** @param {RRSurvey} host @param {Client} client @param {AcceptedSurvey} accepted @param {Words} words @param {number} round */
  constructor(host, client, accepted, words, round) {
    this.host = host;
    this.client = client;
    this.words = words;
    this.accepted = accepted;
    this.survey = accepted.survey;
    this.round = round;
    this.level = host.hasAttribute("page") ? 1 : 2;
    const wanted = host.languages, has = (/** @type {string} */ one) => [one, one.split("-")[0]].some((each) => Object.hasOwn(this.survey.title, each));
    this.language = wanted.find(has) ?? wanted[0];
    /** @type {string | null} */
    this.invite = null;
    this.status = make("p", { id: "status", role: "status" });
    this.spent = make("p", { class: "small quiet", id: "spent" });
    this.share = make("p", { class: "small quiet", id: "share" });
    this.bar = make("div", { class: "bar", part: "progress", "aria-hidden": "true" }, make("div"));
    /** @type {Promise<Explanation> | null} what is folded, from when it is first wanted */
    this.explained = null;
    /** @type {Budget | null} of the last delivery */
    this.budget = null;
    this.headlines = headlines(this.survey, { words, page: true });
    /** @type {Map<string, HTMLElement>} */
    this.cards = new Map();
    /** @type {Map<string, HTMLSelectElement>} */
    this.fields = new Map();
    /** @type {Map<string, number | null>} the round of each question that this device answers */
    this.rounds = new Map();
    /** @type {Set<Choice | NumberEntry>} */
    this.entries = new Set();
    /** @type {Set<string>} questions that were answered or declined */
    this.settled = new Set();
    this.step = 0;
    /** @type {HTMLElement[]} */
    this.steps = [];
    this.online = () => { this.deliver(); };
    addEventListener("online", this.online);
  }

  /** Forget what was entered, and stop. */
  close() {
    for (const entry of this.entries) entry.close();
    removeEventListener("online", this.online);
    clearTimeout(this.later);
    this.closed = true;
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

  async start() {
    await this.places();
    const budget = await this.client.budget(), now = new Date(), { survey } = this, all = survey.questions.length;
    const asked = survey.questions.filter(({ id }) => this.rounds.has(id));
    const reasons = new Map(asked.map((question) => [question.id, this.shut(question, now)]));
    const shut = [...reasons.values()].every((reason) => reason !== null) && [...new Set(reasons.values())].join(" ");
    if (shut) return this.host.show(...this.head(), make("p", { class: "notice", id: "closed" }, shut), ...this.foot());
    if (linked !== null && survey.inviteOnly) this.invite = await checkInvite(linked).catch(() => null);
    const about = this.about(), open = asked.filter(({ id, panel, rounds }) => panel || Number(this.rounds.get(id)) < rounds);
    for (const question of open) this.cards.set(question.id, this.card(question, budget, reasons.get(question.id) ?? null));
    this.end = make("section", { class: "card end", part: "end", id: "end", hidden: true }, this.heading(1, { id: "end-text" }, this.words.say("finished")));
    const { thanks } = survey;
    if (this.said(thanks)) this.end.append(this.foreign("p", thanks, { id: "thanks" }));
    this.end.append(this.status, this.share);
    this.steps = [...(about ? [about] : []), ...this.cards.values(), this.end];
    this.host.show(
      ...this.head(), this.promise(asked), ...(asked.length < all ? [this.line("drew_one", { id: "one" }, { count: all })] : []),
      ...(this.cards.size > 1 ? [this.bar] : []), ...this.steps, ...this.foot(),
    );
    if (this.host.hasAttribute("steps")) this.go(0, false);
    this.arrange();
    if (budget.reports.length) await this.deliver(); // what an earlier visit could not send
  }

  /** Which questions this device answers, each in its round: that of the address, or for a panel the one that was drawn. */
  async places() {
    const drawn = await this.client.drawnQuestion(this.accepted);
    for (const { id, panel } of this.survey.questions.filter((one) => drawn === null || one.id === drawn)) {
      this.rounds.set(id, panel ? await this.client.panelRound(this.accepted, id) : this.round);
    }
  }

  /** Who asks, and why. */
  head() {
    const { title, publisher, pilot, look } = this.survey, name = this.foreign("span", publisher);
    const logo = look.logo === null ? [] : [make("img", { src: look.logo, alt: "", part: "logo", class: "logo", onerror: (/** @type {Event} */ event) => /** @type {Element} */ (event.target).remove() })];
    const type = make("span", { class: "foreign" }, this.words.say("this_type"));
    if (this.level === 1) document.title = this.said(title);
    return [
      make("header", { part: "header" }, ...logo, this.heading(0, { part: "title" }, this.foreign("span", title)), make("p", { class: "quiet" }, ...this.words.parts("asked_by", { publisher: name }))),
      make("p", { class: "small quiet" }, ...this.words.parts("type", { type })),
      ...(this.words.notice === null ? [] : [make("p", { class: "notice", id: "supplied", lang: "en", dir: "ltr" }, this.words.notice)]),
      ...(pilot ? [this.line("pilot", { class: "notice", id: "pilot" })] : []),
      ...(globalThis.top === globalThis.self ? [] : [this.line("framed", { class: "notice", id: "framed" })]),
      ...this.passages("introduction", "consent"),
    ];
  }

  /** Whom to ask, and where to read on. */
  foot() {
    const { contact, privacy } = this.survey, link = this.said(privacy), text = (/** @type {"contact" | "privacy"} */ name, /** @type {Node} */ inside) =>
      make("p", { "data-text": name }, ...this.words.parts(name, { [name]: inside }));
    const to = () => make("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, this.foreign("span", privacy));
    return [...(this.said(contact) ? [text("contact", this.foreign("span", contact))] : []), ...(link ? [text("privacy", to())] : [])];
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

  /** A sentence of ours as a paragraph. @param {string} key @param {Record<string, any>} [attributes] @param {Record<string, any>} [places] */
  line(key, attributes = {}, places = {}) {
    return make("p", attributes, this.words.say(key, places));
  }

  /** @param {string} key @param {() => void} onclick @param {string} [kind] */
  button(key, onclick, kind = "plain") {
    return make("button", { type: "button", class: kind, part: kind, onclick }, this.words.say(key));
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

  /** Why a question cannot be answered at this moment; null if it can. @param {Question} question @param {Date} now @returns {string | null} */
  shut({ id, panel, rounds }, now) {
    const { opens } = this.survey, { words } = this, mine = this.rounds.get(id) ?? null, moment = (/** @type {Date} */ date) => words.moment(date, { local: true });
    if (opens && now < opens) return words.say("not_open", { moment: moment(opens) });
    if (mine === null) return words.say("rounds_over");
    const times = this.survey.rounds[mine], round = mine + 1, drawn = panel ? `${words.say("my_round", { round })} ` : "";
    if (mine >= rounds) return words.say(panel ? "not_in_round" : "no_round", { round });
    if (panel && !times && mine !== this.round) return drawn + words.say("come_back");
    if (times && now < times.opens) return drawn + words.say("round_not_open", { round, moment: moment(times.opens) });
    if (times && now >= times.closes) return drawn + words.say("round_over", { round, moment: moment(times.closes) });
    return null;
  }

  /** @param {Budget} budget @param {Question} question */
  reportOf(budget, { id }) {
    return budget.reports.find((one) => one.survey === this.accepted.digest && one.question === id && one.round === this.rounds.get(id));
  }

  /** The invite and the segments: what is not protected is asked first, and says so. */
  about() {
    const { segments, inviteOnly } = this.survey, names = Object.keys(segments);
    if (!names.length && !inviteOnly) return null;
    const card = make("section", { class: "card", part: "card", "aria-labelledby": "about" }, this.heading(1, { id: "about" }, this.words.say("about_you")));
    if (inviteOnly && this.invite !== null) card.append(this.line("invite_linked", { id: "invited" }));
    if (inviteOnly && this.invite === null) {
      this.typed = /** @type {HTMLInputElement} */ (make("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", required: true }));
      card.append(make("label", { class: "field" }, this.words.say("invite_code"), this.typed));
      if (linked !== null) card.append(this.line("invite_cut", { class: "bad small" }));
    }
    if (names.length) card.append(this.line("not_protected", { class: "notice", id: "unprotected" }));
    for (const name of names) {
      const field = /** @type {HTMLSelectElement} */ (make("select", { autocomplete: "off" }, make("option", { value: "" }, this.words.say("not_said"))));
      const { values, label, help } = segments[name];
      values.forEach((one, i) => field.append(make("option", { value: i }, this.said(one.label) || one.value)));
      this.fields.set(name, field);
      card.append(make("label", { class: "field" }, this.foreign("span", this.said(label) ? label : name), field));
      if (this.said(help)) card.append(this.foreign("p", help, { class: "small quiet" }));
    }
    if (this.host.hasAttribute("steps")) card.append(make("div", { class: "actions" }, ...this.next()));
    return card;
  }

  /** A question: asked, answered, declined or shut. @param {Question} question @param {Budget} budget @param {string | null} reason */
  card(question, budget, reason) {
    const card = make("section", { class: "card", part: "card", "data-question": question.id }), done = this.reportOf(budget, question);
    this.cards.set(question.id, card);
    if (done && done.state !== "cancelled") this.showDone(question, done);
    else if (reason) {
      this.fill(question, make("p", { class: "notice" }, reason));
      this.settled.add(question.id);
    } else if (budget.declined.includes(`${this.accepted.digest}/${question.id}`)) this.showDeclined(question);
    else this.ask(question);
    return card;
  }

  /** Put something below the question. @param {Question} question @param {Node[]} children */
  fill(question, ...children) {
    const card = /** @type {HTMLElement} */ (this.cards.get(question.id)), number = [...this.cards.keys()].indexOf(question.id) + 1;
    const place = this.rounds.size > 1 ? [this.line("progress", { class: "small quiet" }, { number, count: this.rounds.size })] : [];
    card.replaceChildren(...place, this.heading(1, { id: `text-${question.id}`, part: "question" }, this.foreign("span", question.text)), ...children);
    return card;
  }

  /** The odds of a question, and what was sent for it. @param {Question} question @param {Node[]} sent */
  odds(question, ...sent) {
    const { epsilon, delta } = this.accepted.costs[question.id], number = Math.ceil(epsilon.toNumber() * 1000 - 1e-6) / 1000;
    const exactly = `ε = ${this.words.number(number)}, δ = ${this.words.number(delta.toNumber())}`;
    return this.details("details", "odds", (told) => [...told.of(question), exactly].map((text) => make("p", {}, text)), ...sent);
  }

  /** @param {Question} question @param {boolean} [focus] */
  ask(question, focus = false) {
    const fault = make("p", { class: "bad small", role: "alert" }), entry = KINDS[question.kind.kind].entry(this, `text-${question.id}`, question.kind);
    this.entries.add(entry);
    const send = async () => {
      fault.textContent = entry.fault ?? "";
      if (entry.fault) return entry.focus();
      button.toggleAttribute("disabled", true);
      try {
        await this.answer(question, entry);
      } catch (error) {
        const { words } = this, { name } = /** @type {Error} */ (error), failed = () => words.say(Object.hasOwn(words.table, name) ? name : "failed");
        fault.textContent = await later().then(({ inWords }) => inWords(/** @type {Error} */ (error), words)).catch(failed);
        button.toggleAttribute("disabled", false);
      }
    };
    const button = this.button("send", send, "send"), decline = this.button("decline_button", () => this.decline(question, entry), "plain decline");
    const help = this.said(question.help) ? [this.foreign("p", question.help)] : [];
    this.settled.delete(question.id);
    const form = make("div", { class: "ask" }, entry.element, fault, make("div", { class: "actions" }, button, decline));
    this.fill(question, ...help, ...(this.alike ? [] : this.inShort(this.headlines.questions[question.id], question)), form, this.odds(question));
    if (focus) this.focus(question.id);
  }

  /** @param {Question} question @param {Choice | NumberEntry} entry */
  async answer(question, entry) {
    /** @type {Record<string, string>} */
    const segments = {}, values = segmentValues(this.survey);
    for (const [name, field] of this.fields) if (field.value !== "") segments[name] = values[name][Number(field.value)];
    const options = { round: this.rounds.get(question.id), segments, invite: await this.invited() };
    navigator.storage?.persist?.().catch(() => {}); // ask the browser not to forget the ledger
    const report = await this.client.answer(this.accepted, question.id, () => /** @type {any} */ (entry.truth), options);
    this.forget(entry);
    this.showDone(question, report, true);
    this.host.tell("answered", question.id);
    this.arrange();
    await this.deliver();
  }

  /** @param {Choice | NumberEntry} entry */
  forget(entry) {
    entry.close();
    this.entries.delete(entry);
  }

  /** The invite of the link, or the one that was typed; null in a survey that is open to everybody. */
  async invited() {
    if (!this.survey.inviteOnly || this.invite !== null || !this.typed) return this.invite;
    try {
      this.invite = await checkInvite(this.typed.value);
    } catch {
      if (this.host.hasAttribute("steps")) this.go(0);
      this.typed.focus();
      throw new StateError(this.typed.value.trim() ? "invite_mistyped" : "invite_first");
    }
    this.typed.value = "";
    this.typed.closest("label")?.replaceWith(this.line("invite_read", { id: "invited" }));
    return this.invite;
  }

  /** @param {Question} question @param {Choice | NumberEntry} [entry] */
  async decline(question, entry) {
    if (entry) this.forget(entry);
    const { left } = await this.client.decline(this.accepted, question.id);
    this.showDeclined(question, left, true);
    this.host.tell("declined", question.id);
    this.arrange();
  }

  /** @param {Question} question @param {number} [left] @param {boolean} [focus] */
  showDeclined(question, left = 0, focus = false) {
    const again = this.button("again", () => { this.ask(question, true); this.arrange(); });
    const card = this.fill(question, this.line(left ? "declined_late" : "declined"), make("div", { class: "actions" }, again, ...this.next()));
    this.settled.add(question.id);
    delete card.dataset.report;
    if (focus) this.focus(question.id);
  }

  /** @param {Question} question @param {Outgoing} report @param {boolean} [focus] */
  showDone(question, report, focus = false) {
    const open = this.cards.get(question.id)?.querySelector("details")?.open, card = this.fill(question, ...this.outcome(question, report));
    this.settled.add(question.id);
    card.dataset.report = report.id;
    for (const folded of card.querySelectorAll("details")) folded.open = Boolean(open);
    if (focus) this.focus(question.id);
  }

  /** What became of a report, in words. @param {Question} question @param {Outgoing} report */
  outcome(question, report) {
    const left = report.state === "delivered" || report.attempts > 0, again = this.line("repeats", { class: "small quiet" });
    if (!left) {
      const stop = this.button("do_not_send", () => this.decline(question));
      const drawn = make("p", {}, make("span", { class: "good" }, this.words.say("drawn_title")), " ", this.words.say("drawn_text"));
      return [drawn, make("div", { class: "actions" }, stop, ...this.next()), this.odds(question)];
    }
    const sent = KINDS[question.kind.kind].sent(this, question.kind, JSON.parse(report.body).answer);
    const state = this.words.say(report.state === "withdrawn" ? "over" : report.state), how = report.state === "refused" ? "bad" : "good";
    return [
      make("p", {}, make("span", { class: how }, this.words.say("answered")), " ", make("span", { class: "state" }, state)),
      ...(this.next().length ? [make("div", { class: "actions" }, ...this.next())] : []), this.odds(question, ...sent, again),
    ];
  }

  /** The button that leads on, one question at a time. */
  next() {
    return this.host.hasAttribute("steps") ? [this.button("next", () => this.go(this.step + 1), "next")] : [];
  }

  /** Show one step alone. @param {number} step @param {boolean} [focus] */
  go(step, focus = true) {
    this.step = Math.max(0, Math.min(step, this.steps.length - 1));
    this.steps.forEach((one, i) => { one.hidden = i !== this.step; });
    if (focus) /** @type {HTMLElement | null} */ (this.steps[this.step].querySelector(".h1"))?.focus();
  }

  /** @param {string} id of a question */
  focus(id) {
    /** @type {HTMLElement | null | undefined} */ (this.cards.get(id)?.querySelector(".h1"))?.focus();
  }

  /** How far it is; at the end, say so. */
  arrange() {
    const count = this.cards.size, done = this.settled.size;
    /** @type {HTMLElement} */ (this.bar.firstElementChild).style.inlineSize = `${(100 * done) / count}%`;
    if (this.end && !this.host.hasAttribute("steps")) this.end.hidden = done < count;
    if (done === count && !this.finished) this.host.tell("finished");
    this.finished = done === count;
  }

  async deliver() {
    const failed = (/** @type {Error} */ { message }) => ({ waiting: 1, lastFailure: message, nextMoment: null });
    const { waiting, lastFailure, nextMoment } = await this.client.deliver({ within: WITHIN }).catch(failed);
    clearTimeout(this.later);
    if (this.closed) return;
    if (nextMoment) this.later = setTimeout(() => this.deliver(), Math.max(1000, nextMoment.getTime() - Date.now()));
    const budget = await this.client.budget();
    for (const question of this.survey.questions) {
      const report = this.reportOf(budget, question);
      if (report && this.cards.get(question.id)?.dataset.report === report.id) this.showDone(question, report);
    }
    const state = !waiting ? "close_page" : lastFailure === null ? "drawn_text" : navigator.onLine ? "kept" : "kept_offline";
    this.status.textContent = this.words.say(state);
    this.share.textContent = budget.share(this.words);
    this.budget = budget;
    this.explained?.then((told) => this.tellSpent(told), () => {});
  }
}

// ---- the element ----------------------------------------------------------------------------------------------------

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
  /** Words in further languages, which the page supplies; they are marked as such. @type {Record<string, import("./rrcollect.mjs").Table>} */
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
      const { look, origins } = accepted.survey.survey;
      const { colour } = look, own = colour === null ? [] : await later().then(({ coloured }) => [coloured(colour)], () => []);
      if (run !== this.#run) return;
      this.#root.adoptedStyleSheets = [STYLE, ...own];
      if (!origins.includes(location.origin)) throw new StateError("WrongOrigin", origins);
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

/** A state of this element that no error of the client stands for. */
class StateError extends Error {
  /** @param {string} name @param {readonly string[]} [places] where it is answered */
  constructor(name, places = []) {
    super(name);
    this.name = name;
    this.places = places;
    /** @type {{client: Client, survey: AcceptedSurvey} | null} */
    this.over = null;
  }
}

// ---- style: the page around sets --rr-… and ::part(…) ---------------------------------------------------------------

const STYLE = sheet([
  `:host { display: block; --ink: var(--rr-ink, light-dark(#16202c, #e8edf2)); --quiet: var(--rr-quiet, light-dark(#51606f, #a9b6c3)); --card: var(--rr-card, light-dark(#ffffff, #1b222b)); --line: var(--rr-line, light-dark(#d7dde4, #323d49)); --accent: var(--rr-accent, light-dark(#0067a1, #7cc4ee)); --accent-ink: var(--rr-accent-ink, light-dark(#ffffff, #0b1c28)); --warn: var(--rr-warn, light-dark(#8a4b00, #ffcf8f)); --warn-paper: var(--rr-warn-paper, light-dark(#fff4e3, #33260f)); --bad: var(--rr-bad, light-dark(#a3202b, #ff9aa2)); --good: var(--rr-good, light-dark(#1c6b3c, #8fdcae)); --radius: var(--rr-radius, 14px); }`,
  `:host([hidden]), [hidden] { display: none !important; }`,
  `*, ::before { box-sizing: border-box; }`,
  `.survey { font: max(16px, 1.0625rem)/1.55 var(--rr-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif); color: var(--ink); }`,
  `.h0 { font-size: 1.6em; line-height: 1.2; margin: 0 0 .25rem; }`,
  `.h1 { font-size: 1.22em; line-height: 1.35; margin: 0 0 .25rem; }`,
  `.h2 { font-size: 1.05em; margin: 1.2rem 0 .4rem; }`,
  `.h0:focus, .h1:focus { outline: none; }`,
  `p, ul { margin: .4rem 0; }`,
  `a { color: var(--accent); }`,
  `.quiet { color: var(--quiet); }`,
  `.small { font-size: .88em; }`,
  `.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: 1.2rem 1.35rem; margin: 1.1rem 0; }`,
  `.logo { display: block; max-width: min(100%, 14rem); max-height: 4.5rem; margin-block-end: .8rem; }`,
  `.foreign { font-family: var(--rr-foreign-font, Georgia, "Liberation Serif", "Noto Serif", serif); unicode-bidi: isolate; white-space: pre-line; overflow-wrap: anywhere; text-decoration-line: underline; text-decoration-style: dotted; text-decoration-color: var(--quiet); text-decoration-thickness: 1px; text-underline-offset: .25em; }`,
  `p.foreign { border-inline-start: 3px solid var(--line); padding-inline-start: .8rem; }`,
  `.promise { border-inline-start: 4px solid var(--accent); }`,
  `.short { margin: .6rem 0 .3rem; } .promise .short { font-size: 1.06em; font-weight: 600; }`,
  `.notice { background: var(--warn-paper); color: var(--warn); border-radius: 10px; padding: .6rem .9rem; }`,
  `.bad { color: var(--bad); font-weight: 600; }`,
  `.good { color: var(--good); font-weight: 600; }`,
  `details { margin-block-start: .9rem; }`,
  `summary { cursor: pointer; color: var(--accent); font-weight: 600; min-height: 1.75rem; }`,
  `.dots, .slope { display: block; width: 100%; max-width: 22rem; margin: .3rem 0 .6rem; }`,
  `.full { fill: var(--accent); } .hollow { fill: none; stroke: var(--quiet); stroke-width: 1.6; }`,
  `.slope path { fill: none; stroke: var(--quiet); } .slope .line { stroke: var(--accent); stroke-width: 3; } [dir=rtl] .slope { transform: scaleX(-1); }`,
  `.bar { height: 6px; border-radius: 3px; background: var(--line); overflow: hidden; margin: 1.2rem 0 .3rem; } .bar div { height: 100%; background: var(--accent); }`,
  `.choices { display: grid; grid-template-columns: 1fr 1fr; gap: .7rem; margin: .9rem 0 .6rem; }`,
  `.choices.many { grid-template-columns: 1fr; gap: .5rem; max-height: min(62vh, 24.5rem); overflow-y: auto; padding: 5px; margin-inline: -5px; }`,
  `button { font: inherit; font-weight: 600; border-radius: 12px; border: 2px solid var(--accent); padding: .6rem 1.2rem; min-height: 2.9rem; cursor: pointer; background: var(--accent); color: var(--accent-ink); }`,
  `button.plain { background: transparent; color: var(--accent); }`,
  `details button { margin-block: .4rem .8rem; }`,
  `button:disabled { opacity: .55; cursor: default; }`,
  `button.choice { display: flex; align-items: center; gap: .6rem; border-color: var(--line); padding: .8rem 1rem; min-height: 3.2rem; background: transparent; color: inherit; text-align: start; }`,
  `.many button.choice { font-weight: 400; }`,
  `button.choice::before { content: ""; flex: none; width: 1.2rem; height: 1.2rem; border: 2px solid var(--quiet); border-radius: 50%; }`,
  `button.choice[aria-checked="true"] { border-color: var(--accent); background: color-mix(in srgb, var(--accent) 9%, var(--card)); }`,
  `button.choice[aria-checked="true"]::before { border: .38rem solid var(--accent); }`,
  `.number { max-width: 22rem; margin: .9rem 0 .6rem; }`,
  `.number .row { display: flex; gap: .5rem; }`,
  `.dial { flex: 1; display: flex; align-items: baseline; gap: .5rem; overflow: hidden; border: 2px solid var(--quiet); border-radius: 12px; padding: .5rem 1rem; min-height: 3.2rem; font-size: 1.3em; font-variant-numeric: tabular-nums; }`,
  `.digits { overflow-wrap: anywhere; } .empty .digits::before { content: "–"; color: var(--quiet); }`,
  `.unit { font-size: .75em; color: var(--quiet); }`,
  `.keypad { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem; }`,
  `button.key { border-color: var(--line); background: transparent; color: inherit; font-size: 1.15em; min-width: 3.2rem; padding: .3rem; touch-action: manipulation; }`,
  `label.field { display: block; margin: .7rem 0; font-weight: 600; }`,
  `select, input { display: block; width: 100%; font: inherit; font-weight: 400; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 10px; padding: .6rem .7rem; padding-inline-end: 1.5rem; margin-block-start: .25rem; min-height: 2.9rem; }`,
  `.actions { display: flex; flex-wrap: wrap; gap: .7rem; margin-block-start: 1rem; }`,
  `:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }`,
  `@media (max-width: 34rem) { .card { padding: 1rem; } .actions button { flex: 100%; } }`,
  `@media print { .actions, .ask, .bar { display: none; } .card { break-inside: avoid; } }`,
].join("\n"));

customElements.define("rr-survey", RRSurvey);
