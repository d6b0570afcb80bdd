// The survey page: verify, explain, ask, change at random here, send.
//
// Rules
// 1. Text of the survey enters as text, never as markup, and stands in elements of its own (class "foreign"), which look
//    different: it cannot imitate what this page says.
// 2. The truth is in a `Choice` or `NumberEntry` until it is sent, and nowhere else: no control, address, title, storage or
//    history.
// 3. What was drawn is shown when it has left: who declined on seeing it would bias the estimate.
// 4. An invite comes after the # of the address, which is not sent to the server, and is taken out of the address bar.
import { Choice, NumberEntry } from "./choice.mjs";
import { Client, IndexedDBLedger, Policy, checkInvite, loadWords, say, segmentValues, surveyLines } from "./rrcollect.mjs";

const main = document.querySelector("main"), words = await loadWords("en"); // what else this page says is English too
const { digest, publisher, keys } = main.dataset;
const given = new URLSearchParams(location.hash.slice(1)); // after the #: it stays on this device
const linked = given.get("invite"), WITHIN = 10; // seconds in which a report is sent: the client spreads them over 5
given.delete("invite");
if (linked !== null) history.replaceState(null, "", `${location.pathname}${String(given) ? `#${given}` : ""}`);
const round = Math.max(1, Math.trunc(Number(given.get("round") ?? 1)) || 1) - 1; // people count from 1

/** @param {string} tag @param {Record<string, any>} [attributes] @param {(Node | string)[]} children */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** What is asked for, by the question's kind: how it is entered, and what a report of it says. */
const KINDS = {
  yes_no: {
    entry: (page, labelledBy) => new Choice(labelledBy, [[true, "Yes"], [false, "No"]], "Choose yes or no first, or decline."),
    sent: (page, question, answer) => [quoted(answer === "1" ? "yes" : "no"), ", which may or may not be what you chose."],
  },
  choice: {
    entry: (page, labelledBy, { options }) => new Choice(labelledBy, options.map((texts, i) => [i, foreign("span", page.said(texts))]), "Choose an option first, or decline."),
    sent: (page, { kind: { options } }, answer) => {
      const labels = options.filter((_, i) => answer[i] === "1").map((texts) => foreign("span", page.said(texts)));
      if (labels.length === 1) return [make("strong", { class: "sent" }, ...labels), ", which may or may not be what you chose."];
      const list = make("ul", { class: "sent" }, ...labels.map((label) => make("li", {}, label)));
      return [`${labels.length} of the ${options.length} options. What you chose may or may not be among them.`, make("details", {}, make("summary", {}, "Which ones"), list)];
    },
  },
  number: {
    entry: (page, labelledBy, kind) => new NumberEntry(labelledBy, kind, page.said(kind.unit)),
    sent: (page, question, answer) => [quoted(answer === "1" ? "high" : "low"), ", drawn by chance. Your number was not sent."],
  },
};
const quoted = (word) => make("strong", { class: "sent" }, `“${word}”`);

/** An element of the survey's own words. */
const foreign = (tag, text, attributes = {}) => make(tag, { dir: "auto", ...attributes, class: `foreign ${attributes.class ?? ""}`.trim() }, text);
const moment = (date) => date.toLocaleString([], { dateStyle: "long", timeStyle: "short" });

function show(...children) {
  main.replaceChildren(...children);
  main.setAttribute("aria-busy", "false");
}

function failed(title, reason) {
  const card = make("section", { class: "card", role: "alert" });
  card.append(make("h1", {}, title), make("p", { class: "bad" }, reason), make("p", {}, "Nothing was asked and nothing was sent."));
  show(card);
}

class Page {
  constructor(client, accepted) {
    this.client = client;
    this.accepted = accepted;
    this.survey = accepted.survey;
    this.invite = null;
    this.status = make("p", { id: "status", role: "status", "aria-live": "polite" });
    this.spent = make("p", { class: "small quiet", id: "spent" });
    this.thanks = foreign("p", this.said(this.survey.thanks), { id: "thanks", hidden: true });
    this.told = surveyLines(this.survey, { words, language: navigator.language, page: true });
    this.cards = new Map();
    this.fields = new Map();
    this.rounds = new Map(); // of each question that this device answers
  }

  /** Which questions this device answers, each in its round: that of the address, or for a panel the one that was drawn. */
  async places() {
    const drawn = await this.client.drawnQuestion(this.accepted);
    for (const { id, panel } of this.survey.questions.filter((one) => drawn === null || one.id === drawn)) {
      this.rounds.set(id, panel ? await this.client.panelRound(this.accepted, id) : round);
    }
  }

  /** A text of the survey in this browser's language, or in the survey's own. */
  said(texts) {
    return say(this.survey, texts, navigator.language);
  }

  /** The survey's texts of these names, those that are given. */
  passages(...names) {
    return names.filter((name) => this.said(this.survey[name])).map((name) => foreign("p", this.said(this.survey[name]), { "data-text": name }));
  }

  async start() {
    document.title = this.said(this.survey.title);
    await this.places();
    const budget = await this.client.budget(), now = new Date(), asked = this.survey.questions.filter(({ id }) => this.rounds.has(id));
    const reasons = new Map(asked.map((question) => [question.id, this.closed(question, now)]));
    const closed = [...reasons.values()].every((reason) => reason !== null) && [...new Set(reasons.values())].join(" ");
    const children = [
      make("header", {}, foreign("h1", document.title), make("p", { class: "quiet" }, "Asked by ", foreign("span", this.survey.publisher))),
      make("p", { class: "small quiet" }, "Words in ", make("span", { class: "foreign" }, "this type"), " are the publisher’s. All others are this page’s own."),
    ];
    if (this.survey.pilot) children.push(make("p", { class: "notice", id: "pilot" }, "This is a trial."));
    children.push(...this.passages("introduction", "consent"));
    if (closed) return show(...children, make("p", { class: "notice", id: "closed" }, closed), ...this.passages("contact", "privacy"));
    await this.readInvite();
    const declared = this.declared(), all = this.survey.questions.length;
    if (declared) children.push(declared);
    if (asked.length < all) children.push(make("p", { id: "one" }, `This survey has ${all} questions. This device drew one of them by chance, and asks you that one only.`));
    for (const question of asked.filter(({ id, panel, rounds }) => panel || this.rounds.get(id) < rounds)) {
      const card = make("section", { class: "card", "data-question": question.id });
      this.cards.set(question.id, card);
      const done = this.reportOf(budget, question);
      const reason = reasons.get(question.id);
      if (done && done.state !== "cancelled") this.showDone(question, done);
      else if (reason) card.append(this.heading(question), make("p", { class: "notice" }, reason));
      else if (budget.declined.includes(`${this.accepted.digest}/${question.id}`)) this.showDeclined(question);
      else this.ask(question);
      children.push(card);
    }
    children.push(this.promises(), this.thanks, this.status, this.spent, ...this.passages("contact", "privacy"));
    show(...children);
    if (budget.reports.length) await this.deliver(); // what an earlier visit could not send
  }

  /** What this device says of a question, in its own words. */
  promise(question) {
    const told = this.told.filter((line) => line.question === question.id && !line.foreign).slice(1); // after "Question 1 of 2:"
    return make("div", { class: "promise" }, ...told.map((line) => make("p", {}, line.text)));
  }

  /** What this device says of the whole survey; what others wrote stands in marked elements. */
  promises() {
    const card = make("section", { class: "card small", "aria-labelledby": "promises" }, make("h2", { id: "promises" }, "What leaves this device"));
    const first = this.told.findIndex((line) => line.question !== null), last = this.told.findLastIndex((line) => line.question !== null);
    const before = this.told.slice(0, first).filter((line) => !line.foreign).slice(2); // after the mark and "Asked by:", which a page shows otherwise
    for (const { text, foreign: theirs } of [...before, ...this.told.slice(last + 1)]) card.append(theirs ? foreign("p", text) : make("p", {}, text));
    return card;
  }

  /** Why a question cannot be answered at this moment; null if it can. */
  closed({ id, panel, rounds }, now) {
    const { opens } = this.survey, mine = this.rounds.get(id), times = this.survey.rounds[mine];
    if (opens && now < opens) return `This survey is not open yet. It opens on ${moment(opens)}.`;
    if (mine === null) return "Every round of it was closed when this device first saw it.";
    if (mine >= rounds) return panel ? "It is not asked in the round that this device drew." : `This survey has no round ${mine + 1}.`;
    const drawn = panel ? `This device answers in round ${mine + 1}, which it drew by chance. ` : "";
    if (panel && !times && mine !== round) return `${drawn}Please come back with the link of that round.`;
    if (times && now < times.opens) return `${drawn}Round ${mine + 1} is not open yet. It opens on ${moment(times.opens)}.`;
    if (times && now >= times.closes) return `${drawn}Round ${mine + 1} closed on ${moment(times.closes)}.`;
    return null;
  }

  reportOf(budget, question) {
    return budget.reports.find((r) => r.survey === this.accepted.digest && r.question === question.id && r.round === this.rounds.get(question.id));
  }

  /** The invite of the address, if it is one. */
  async readInvite() {
    if (linked !== null && this.survey.inviteOnly) this.invite = await checkInvite(linked).catch(() => null);
  }

  declared() {
    const names = Object.keys(this.survey.segments);
    if (!names.length && !this.survey.inviteOnly) return null;
    const card = make("section", { class: "card", "aria-labelledby": "about" }, make("h2", { id: "about" }, "About you"));
    if (this.survey.inviteOnly) {
      if (this.invite !== null) card.append(make("p", { id: "invited" }, "Your invitation was read from the link."));
      else {
        this.typed = make("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", required: true });
        card.append(make("label", { class: "field" }, "Your invitation code", this.typed));
        if (linked !== null) card.append(make("p", { class: "bad small" }, "The code in the link is mistyped or cut off."));
      }
    }
    if (names.length) card.append(make("p", { class: "small quiet" }, "These are sent as you choose them; leave them open if you prefer."));
    for (const name of names) {
      const field = make("select", { autocomplete: "off" }, make("option", { value: "" }, "I prefer not to say"));
      const { values, label, help } = this.survey.segments[name];
      values.forEach((one, i) => field.append(make("option", { value: String(i) }, this.said(one.label) || one.value)));
      this.fields.set(name, field);
      card.append(make("label", { class: "field" }, foreign("span", this.said(label) || name), field));
      if (this.said(help)) card.append(foreign("p", this.said(help), { class: "small quiet" }));
    }
    return card;
  }

  heading(question) {
    return foreign("h2", this.said(question.text), { id: `text-${question.id}`, tabindex: "-1" });
  }

  ask(question, focus = false) {
    const card = this.cards.get(question.id), said = make("p", { class: "bad small", role: "alert" });
    const entry = KINDS[question.kind.kind].entry(this, `text-${question.id}`, question.kind);
    const send = make("button", {
      type: "button",
      class: "send",
      onclick: async () => {
        said.textContent = entry.fault ?? "";
        if (entry.fault) return entry.focus();
        send.disabled = true;
        try {
          await this.answer(question, entry);
        } catch (error) {
          said.textContent = error.message;
          send.disabled = false;
        }
      },
    }, "Change at random and send");
    const decline = make("button", { type: "button", class: "plain", onclick: () => { entry.close(); this.decline(question); } }, "I prefer not to answer");
    const form = make("div", { class: "ask" }, entry.element, said, make("div", { class: "actions" }, send, decline));
    const help = this.said(question.help);
    card.replaceChildren(this.heading(question), ...(help ? [foreign("p", help)] : []), this.promise(question), form);
    if (focus) card.querySelector("h2").focus();
  }

  async answer(question, entry) {
    const segments = {}, values = segmentValues(this.survey);
    for (const [name, field] of this.fields) {
      if (field.value !== "") segments[name] = values[name][Number(field.value)];
    }
    const options = { round: this.rounds.get(question.id), segments, invite: await this.invited() };
    navigator.storage?.persist?.().catch(() => {}); // ask the browser not to forget the ledger
    const report = await this.client.answer(this.accepted, question.id, () => entry.truth, options);
    entry.close();
    this.showDone(question, report, true);
    await this.deliver();
  }

  /** The invite of the link, or the one that was typed; null in a survey that is open to everybody. */
  async invited() {
    if (!this.survey.inviteOnly || this.invite !== null) return this.invite;
    try {
      this.invite = await checkInvite(this.typed.value);
    } catch {
      this.typed.focus();
      throw new Error(this.typed.value.trim() ? "The invitation code is mistyped." : "Enter your invitation code first.");
    }
    this.typed.value = "";
    this.typed.closest("label").replaceWith(make("p", { id: "invited" }, "Your invitation was read."));
    return this.invite;
  }

  async decline(question) {
    const { left } = await this.client.decline(this.accepted, question.id);
    this.showDeclined(question, left, true);
  }

  showDeclined(question, left = 0, focus = false) {
    const card = this.cards.get(question.id);
    const again = make("button", { type: "button", class: "plain", onclick: () => this.ask(question, true) }, "Answer after all");
    const said = left ? "You declined. Your randomised answer may have left before." : "You declined. Nothing was sent.";
    delete card.dataset.report;
    card.replaceChildren(this.heading(question), make("p", {}, said), make("div", { class: "actions" }, again));
    if (focus) card.querySelector("h2").focus();
  }

  showDone(question, report, focus = false) {
    const card = this.cards.get(question.id);
    card.dataset.report = report.id;
    card.replaceChildren(this.heading(question), ...this.outcome(question, report));
    this.thanks.hidden = !this.thanks.textContent;
    if (focus) card.querySelector("h2").focus();
  }

  /** What became of a report, in words. */
  outcome(question, report) {
    const again = make("p", { class: "small quiet" }, "Asked again, this device repeats the same answer: asking twice tells nobody more.");
    const left = report.state === "delivered" || report.attempts > 0;
    if (!left) {
      const stop = make("button", { type: "button", class: "plain", onclick: () => this.decline(question) }, "Do not send it");
      return [
        make("p", {}, make("span", { class: "good" }, "Drawn, not sent yet. "), "It is sent within seconds; keep this page open."),
        make("div", { class: "actions" }, stop), again,
      ];
    }
    const sent = KINDS[question.kind.kind].sent(this, question, JSON.parse(report.body).answer), state = {
      delivered: "Received by the collector.", refused: `Not taken: ${report.reason}`,
      waiting: "It is not known whether it arrived. It is sent again, now or when you open this page again.",
      withdrawn: "The survey was withdrawn; it is not sent again.",
    }[report.state];
    return [
      make("div", {}, make("span", { class: "good" }, "Answered. "), "This device sent ", ...sent),
      make("p", { class: "small quiet state" }, state), again,
    ];
  }

  async deliver() {
    const { waiting = 1, lastFailure, nextMoment } = await this.client.deliver({ within: WITHIN }).catch((error) => ({ lastFailure: error.message }));
    clearTimeout(this.later);
    if (nextMoment) this.later = setTimeout(() => this.deliver(), Math.max(1000, nextMoment - Date.now()));
    const budget = await this.client.budget();
    for (const question of this.survey.questions) {
      const report = this.reportOf(budget, question);
      if (report && this.cards.get(question.id)?.dataset.report === report.id) this.showDone(question, report);
    }
    this.status.textContent = waiting && lastFailure ? "The collector cannot be reached. Your answer is kept here and is sent later." : "";
    this.spent.textContent = budget.lines(words).slice(0, 2).map((line) => line.text).join(" "); // all that was drawn, and the limit
  }
}

async function start() {
  try {
    const got = await fetch(new URL(`../surveys/${digest}`, import.meta.url), { credentials: "omit", cache: "no-store" });
    if (!got.ok) return failed("This survey cannot be shown", "The collector did not hand it out.");
    const policy = new Policy([{ name: publisher, keys: keys.split(" ") }]);
    const client = new Client({ ledger: new IndexedDBLedger(), attributes: [{ everyAttributeOf: publisher, rounds: 1000 }], policy });
    const over = await fetch(new URL(`../surveys/${digest}/withdrawal`, import.meta.url), { credentials: "omit", cache: "no-store" });
    if (over.status === 200) await client.withdraw(new Uint8Array(await over.arrayBuffer())).catch(() => null); // unsigned, it means nothing
    const accepted = await client.accept(new Uint8Array(await got.arrayBuffer()));
    if (accepted.digest !== digest) return failed("This survey is not the one you asked for", "Its digest differs from the address.");
    if (!accepted.survey.origins.includes(location.origin)) return failed("This survey is not answered here", "Its publisher lists other addresses.");
    await new Page(client, accepted).start();
  } catch (error) {
    const known = {
      BadSignature: "Its signature does not fit: somebody may have changed it.",
      UntrustedKey: "It is not signed by its publisher's key.",
      Expired: "It has ended.",
      SurveyWithdrawn: "Its publisher has withdrawn it.",
      WrongOrigin: "It is not answered at this address.",
      NoEd25519: error.message,
      LedgerUnavailable: error.message,
    };
    failed("This survey was refused", `${known[error.name] ?? error.message} (${error.name})`);
  }
}

main.setAttribute("aria-busy", "true");
start();
