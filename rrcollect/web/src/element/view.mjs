// @ts-check
/**
 * One survey on the screen: its questions, asked, answered, declined and sent.
 */
import { segmentValues } from "../publish/survey.mjs";
import { checkInvite } from "../publish/tickets.mjs";
import { linked } from "./address.mjs";
import { Choice, NumberEntry, make } from "./entries.mjs";
import { Frame, later } from "./frame.mjs";
import { StateError } from "./states.mjs";

/**
 * @import { RRSurvey } from "../rr-survey.mjs"
 * @import { AcceptedSurvey, Budget, Client, Outgoing, Question, Texts, Words } from "../index.mjs"
 */

const WITHIN = 10; // seconds in which a report is sent: the client spreads them over 5

/** What was sent, in a sentence. @param {Words} words @param {string} key @param {Node | string} sent */
const sentence = (words, key, sent) => make("p", {}, ...words.parts(key, { sent: make("strong", { class: "sent" }, sent) }));

/** @type {Record<string, {entry: (view: View, labelledBy: string, kind: any) => Choice | NumberEntry, sent: (view: View, kind: any, answer: string) => Node[]}>} */
const KINDS = {
  yes_no: {
    entry: ({ words }, labelledBy) =>
      new Choice(labelledBy, [{ truth: true, label: words.say("yes_button") }, { truth: false, label: words.say("no_button") }], words.say("choose_yes_no"), words),
    sent: ({ words }, kind, answer) => [sentence(words, "sent_answer", words.say(answer === "1" ? "yes" : "no"))],
  },
  choice: {
    entry: (view, labelledBy, { options }) =>
      new Choice(labelledBy, options.map((/** @type {Texts} */ texts, /** @type {number} */ truth) => ({ truth, label: view.foreign("span", texts) })), view.words.say("choose_option"), view.words),
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

/** A survey with its questions, from the first look to the last delivery. */
export class View extends Frame {
  /** @param {RRSurvey} host @param {Client} client @param {AcceptedSurvey} accepted @param {Words} words @param {number} round */
  constructor(host, client, accepted, words, round) {
    super(host, client, accepted, words);
    this.round = round;
    /** @type {string | null} */
    this.invite = null;
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
    import("../deliver/outbox.mjs").catch(() => {}); // what sends is there before the network may be gone
    if (budget.reports.length) await this.deliver(); // what an earlier visit could not send
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
