// @ts-check
/**
 * One survey on the screen, and its questions as they are asked.  What follows an answer is in after.mjs.
 */
import { checkInvite } from "../publish/tickets.mjs";
import { linked } from "./address.mjs";
import { Choice, NumberEntry, Several, make } from "./entries.mjs";
import { Frame, later } from "./frame.mjs";

/**
 * @import { RRSurvey } from "../rr-survey.mjs"
 * @import { AcceptedSurvey, Budget, Client, Question, Texts, Words } from "../index.mjs"
 */

/** What follows an answer: loaded when the first question is shown; without a network it is tried again. @type {Promise<typeof import("./after.mjs")> | null} */
let loaded = null;
function afterwards() {
  loaded ??= import("./after.mjs");
  loaded.catch(() => { loaded = null; });
  return loaded;
}

/** @type {Record<string, (view: View, labelledBy: string, kind: any) => Choice | NumberEntry>} */
const ENTRIES = {
  yes_no: ({ words }, labelledBy) =>
    new Choice(labelledBy, [{ truth: true, label: words.say("yes_button") }, { truth: false, label: words.say("no_button") }], words.say("choose_yes_no"), words),
  choice: (view, labelledBy, { options }) =>
    new Choice(labelledBy, options.map((/** @type {Texts} */ texts, /** @type {number} */ truth) => ({ truth, label: view.foreign("span", texts) })), view.words.say("choose_option"), view.words),
  several: (view, labelledBy, { options }) => new Several(labelledBy, options.map((/** @type {Texts} */ texts) => view.foreign("span", texts)), view.words),
  number: (view, labelledBy, kind) => new NumberEntry(labelledBy, kind, view.said(kind.unit), view.words),
};

/** A survey with its questions, from the first look to the last delivery. */
export class View extends Frame {
  /** @param {RRSurvey} host @param {Client} client @param {AcceptedSurvey} accepted @param {Words} words @param {number} round */
  constructor(host, client, accepted, words, round) {
    super(host, client, accepted, words);
    this.round = round;
    /** @type {string | null} */
    this.invite = null;
    /** @type {HTMLInputElement | null} where an invite is typed */
    this.typed = null;
    this.status = make("p", { id: "status", role: "status" });
    this.share = make("p", { class: "small quiet", id: "share" });
    this.bar = make("div", { class: "bar", part: "progress", "aria-hidden": "true" }, make("div"));
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
    /** @type {ReturnType<typeof setTimeout> | undefined} the next delivery */
    this.later = undefined;
    /** @type {HTMLElement[]} */
    this.steps = [];
    this.online = () => { afterwards().then(({ deliver }) => deliver(this), () => {}); };
    addEventListener("online", this.online);
  }

  /** Forget what was entered, and stop. */
  close() {
    for (const entry of this.entries) entry.close();
    removeEventListener("online", this.online);
    clearTimeout(this.later);
    this.closed = true;
  }

  async start() {
    await this.places();
    const budget = await this.client.budget(), now = new Date(), { survey } = this, all = survey.questions.length;
    const asked = survey.questions.filter(({ id }) => this.rounds.has(id));
    const reasons = new Map(asked.map((question) => [question.id, this.shut(question, now)]));
    const shut = [...reasons.values()].every((reason) => reason !== null) && [...new Set(reasons.values())].join(" ");
    if (shut) return this.host.show(...this.head(), make("p", { class: "notice", id: "closed" }, shut), ...this.foot());
    if (linked !== null && survey.inviteOnly) this.invite = await checkInvite(linked).catch(() => null);
    const open = asked.filter(({ id, panel, rounds }) => panel || Number(this.rounds.get(id)) < rounds);
    const first = survey.inviteOnly || Object.keys(survey.segments).length > 0; // what is not protected is asked first
    const earlier = first || open.some((question) => this.reportOf(budget, question) || this.declined(budget, question)) ? await afterwards() : null;
    const about = first && earlier ? [earlier.about(this)] : [];
    for (const question of open) this.cards.set(question.id, this.card(earlier, question, budget, reasons.get(question.id) ?? null));
    this.end = make("section", { class: "card end", part: "end", id: "end", hidden: true }, this.heading(1, { id: "end-text" }, this.words.say("finished")));
    const { thanks } = survey;
    if (this.said(thanks)) this.end.append(this.foreign("p", thanks, { id: "thanks" }));
    this.end.append(this.status, this.share);
    this.steps = [...about, ...this.cards.values(), this.end];
    this.host.show(
      ...this.head(), this.promise(asked), ...(asked.length < all ? [this.line("drew_one", { id: "one" }, { count: all })] : []),
      ...(this.cards.size > 1 ? [this.bar] : []), ...this.steps, ...this.foot(),
    );
    if (this.host.hasAttribute("steps")) this.go(0, false);
    this.arrange();
    import("../deliver/outbox.mjs").catch(() => {}); // what sends is there before the network may be gone
    const { deliver } = await afterwards().catch(() => ({ deliver: null }));
    if (budget.reports.length) await deliver?.(this); // what an earlier visit could not send
  }

  /** Which questions this device answers, each in its round: that of the address, or for a panel the one that was drawn. */
  async places() {
    const drawn = await this.client.drawnQuestion(this.accepted);
    for (const { id, panel } of this.survey.questions.filter((one) => drawn === null || one.id === drawn)) {
      this.rounds.set(id, panel ? await this.client.panelRound(this.accepted, id) : this.round);
    }
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

  /** @param {Budget} budget @param {Question} question */
  declined(budget, { id }) {
    return budget.declined.includes(`${this.accepted.digest}/${id}`);
  }

  /** A question: asked, answered, declined or shut. @param {Awaited<typeof loaded>} earlier what tells of an earlier visit
   * @param {Question} question @param {Budget} budget @param {string | null} reason */
  card(earlier, question, budget, reason) {
    const card = make("section", { class: "card", part: "card", "data-question": question.id }), done = this.reportOf(budget, question);
    this.cards.set(question.id, card);
    if (done && done.state !== "cancelled") earlier?.showDone(this, question, done);
    else if (reason) {
      this.fill(question, make("p", { class: "notice" }, reason));
      this.settled.add(question.id);
    } else if (this.declined(budget, question)) earlier?.showDeclined(this, question);
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
    const fault = make("p", { class: "bad small", role: "alert" }), entry = ENTRIES[question.kind.kind](this, `text-${question.id}`, question.kind);
    this.entries.add(entry);
    /** @param {"answer" | "decline"} what */
    const settle = async (what) => {
      button.toggleAttribute("disabled", true);
      try {
        await (await afterwards())[what](this, question, entry);
      } catch (error) {
        const { words } = this, { name } = /** @type {Error} */ (error), failed = () => words.say(Object.hasOwn(words.table, name) ? name : "failed");
        fault.textContent = await later().then(({ inWords }) => inWords(/** @type {Error} */ (error), words)).catch(failed);
        button.toggleAttribute("disabled", false);
      }
    };
    const send = () => {
      fault.textContent = entry.fault ?? "";
      if (entry.fault) entry.focus();
      else settle("answer");
    };
    const button = this.button("send", send, "send"), decline = this.button("decline_button", () => settle("decline"), "plain decline");
    const help = this.said(question.help) ? [this.foreign("p", question.help)] : [];
    this.settled.delete(question.id);
    const form = make("div", { class: "ask" }, entry.element, fault, make("div", { class: "actions" }, button, decline));
    this.fill(question, ...help, ...(this.alike ? [] : this.inShort(this.headlines.questions[question.id], question)), form, this.odds(question));
    if (focus) this.focus(question.id);
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
}
