// The survey page: verify, explain, ask, change at random here, send.  Text of the survey enters as text, never as markup.
import { Client, HttpTransport, IndexedDBLedger, Policy, say, segmentValues } from "./rrcollect.mjs";

const main = document.querySelector("main");
const { digest, publisher, keys } = main.dataset;
const given = new URLSearchParams(location.hash.slice(1)); // after the #: it stays on this device
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

const percent = (share) => {
  const value = 100 * share, rounded = Math.round(value);
  return `${Math.abs(value - rounded) < 0.05 ? rounded : value.toFixed(1)} %`;
};

function show(...children) {
  main.replaceChildren(...children);
  main.setAttribute("aria-busy", "false");
}

function failed(title, reason) {
  const card = make("section", { class: "card", role: "alert" });
  card.append(make("h1", {}, title), make("p", { class: "bad" }, reason), make("p", {}, "Nothing was asked and nothing was sent."));
  show(card);
}

function promiseOf(question) {
  const { p00, p11 } = question.design, no = 1 - p00.toNumber(), yes = 1 - p11.toNumber(), ratio = question.design.worstRatio;
  const chance = Math.abs(no - yes) < 5e-4
    ? `Your answer is changed at random with chance ${percent(no)}, on this device, before it is sent.`
    : `Before it is sent, a “no” is changed at random with chance ${percent(no)} and a “yes” with chance ${percent(yes)}, on this device.`;
  const meaning = ratio === null
    ? "Careful: one of the two answers would prove what is true about you."
    : `Nobody can tell your true answer from what is sent: it changes the odds about you by a factor of at most ${Number(ratio.toNumber().toPrecision(3))}.`;
  return make("div", { class: "promise" }, make("p", {}, make("strong", {}, chance)), make("p", {}, meaning));
}

class Page {
  constructor(client, accepted) {
    this.client = client;
    this.accepted = accepted;
    this.survey = accepted.survey;
    this.transport = new HttpTransport("/reports");
    this.status = make("p", { id: "status", role: "status", "aria-live": "polite" });
    this.spent = make("p", { class: "small quiet", id: "spent" });
    this.thanks = make("p", { class: "text", id: "thanks", hidden: true }, this.said(this.survey.thanks));
    this.cards = new Map();
    this.fields = new Map();
  }

  /** A text of the survey in this browser's language, or in the survey's own. */
  said(texts) {
    return say(this.survey, texts, navigator.language);
  }

  /** The survey's texts of these names, those that are given. */
  passages(...names) {
    return names.filter((name) => this.said(this.survey[name])).map((name) => make("p", { class: "text", "data-text": name }, this.said(this.survey[name])));
  }

  async start() {
    document.title = this.said(this.survey.title);
    const budget = await this.client.budget();
    const children = [
      make("header", {}, make("h1", { class: "text" }, document.title), make("p", { class: "quiet text" }, `Asked by ${this.survey.publisher}`)),
      ...this.passages("introduction", "consent"),
    ];
    const declared = this.declared();
    if (declared) children.push(declared);
    for (const question of this.survey.questions) {
      const card = make("section", { class: "card", "data-question": question.id });
      this.cards.set(question.id, card);
      const done = budget.reports.find((r) => r.survey === this.accepted.digest && r.question === question.id && r.round === round);
      if (done) this.showDone(question, done);
      else if (budget.declined.includes(`${this.accepted.digest}/${question.id}`)) this.showDeclined(question);
      else this.ask(question);
      children.push(card);
    }
    children.push(this.thanks, this.status, this.spent, ...this.passages("contact", "privacy"));
    show(...children);
    if (budget.reports.length) await this.deliver(); // what an earlier visit could not send
  }

  declared() {
    const names = Object.keys(this.survey.segments);
    if (!names.length && !this.survey.inviteOnly) return null;
    const card = make("section", { class: "card", "aria-labelledby": "about" }, make("h2", { id: "about" }, "About you"));
    if (this.survey.inviteOnly) {
      const field = make("input", { type: "text", name: "invite", autocomplete: "off", required: true });
      field.value = given.get("invite") ?? "";
      this.invite = field;
      card.append(make("label", { class: "field" }, "Your invitation code", field));
    }
    if (names.length) card.append(make("p", { class: "small quiet" }, "These are sent as you choose them; leave them open if you prefer."));
    for (const name of names) {
      const field = make("select", { name }, make("option", { value: "" }, "I prefer not to say"));
      const { values, label, help } = this.survey.segments[name];
      values.forEach((one, i) => field.append(make("option", { value: String(i) }, this.said(one.label) || one.value)));
      this.fields.set(name, field);
      card.append(make("label", { class: "field" }, this.said(label) || name, field));
      if (this.said(help)) card.append(make("p", { class: "small quiet text" }, this.said(help)));
    }
    return card;
  }

  heading(question) {
    return make("h2", { class: "text", id: `text-${question.id}`, tabindex: "-1" }, this.said(question.text));
  }

  ask(question, focus = false) {
    const card = this.cards.get(question.id), said = make("p", { class: "bad small", role: "alert" });
    const choice = (value, word) =>
      make("label", { class: "choice" }, make("input", { type: "radio", name: `answer-${question.id}`, value }), word);
    const send = make("button", { type: "submit" }, "Change at random and send");
    const form = make("form", {
      novalidate: true,
      onsubmit: async (event) => {
        event.preventDefault();
        const chosen = form.querySelector("input[type=radio]:checked");
        if (!chosen) {
          said.textContent = "Choose yes or no first, or decline.";
          form.querySelector("input[type=radio]").focus();
          return;
        }
        send.disabled = true;
        said.textContent = "";
        try {
          await this.answer(question, chosen.value === "yes");
        } catch (error) {
          said.textContent = error.message;
          send.disabled = false;
        }
      },
    });
    form.append(
      make("fieldset", { "aria-labelledby": `text-${question.id}` }, make("div", { class: "choices" }, choice("yes", "Yes"), choice("no", "No"))),
      said,
      make("div", { class: "actions" }, send, make("button", { type: "button", class: "plain", onclick: () => this.decline(question) }, "I prefer not to answer")),
    );
    const help = this.said(question.help);
    card.replaceChildren(this.heading(question), ...(help ? [make("p", { class: "text" }, help)] : []), promiseOf(question), form);
    if (focus) card.querySelector("h2").focus();
  }

  async answer(question, truth) {
    const segments = {}, values = segmentValues(this.survey);
    for (const [name, field] of this.fields) {
      if (field.value !== "") segments[name] = values[name][Number(field.value)];
    }
    const invite = this.survey.inviteOnly ? this.invite.value.trim() || null : null;
    if (this.survey.inviteOnly && invite === null) {
      this.invite.focus();
      throw new Error("Enter your invitation code first.");
    }
    navigator.storage?.persist?.().catch(() => {}); // ask the browser not to forget the ledger
    const report = await this.client.answer(this.accepted, question.id, truth, { round, segments, invite });
    this.showDone(question, report, true);
    await this.deliver();
  }

  async decline(question) {
    await this.client.decline(this.accepted, question.id);
    this.showDeclined(question, true);
  }

  showDeclined(question, focus = false) {
    const again = make("button", { type: "button", class: "plain", onclick: () => this.ask(question, true) }, "Answer after all");
    this.cards.get(question.id).replaceChildren(
      this.heading(question), make("p", {}, "You declined. Nothing was sent."), make("div", { class: "actions" }, again),
    );
    if (focus) this.cards.get(question.id).querySelector("h2").focus();
  }

  showDone(question, report, focus = false) {
    const sent = JSON.parse(report.body).answer === "1" ? "yes" : "no";
    this.cards.get(question.id).replaceChildren(
      this.heading(question),
      make("p", {}, make("span", { class: "good" }, "Answered. "), "This device sends ", make("strong", { class: "sent" }, `“${sent}”`), ", which may or may not be what you chose."),
      make("p", { class: "small quiet state" }, report.state === "delivered" ? "Received by the collector." : "Waiting to be sent."),
      make("p", { class: "small quiet" }, "Asked again, this device repeats the same answer: asking twice tells nobody more."),
    );
    this.cards.get(question.id).dataset.report = report.id;
    this.thanks.hidden = !this.thanks.textContent;
    if (focus) this.cards.get(question.id).querySelector("h2").focus();
  }

  async deliver() {
    const result = await this.client.deliver(this.transport, { attempts: 3 });
    const budget = await this.client.budget();
    for (const question of this.survey.questions) {
      const report = budget.reports.find((r) => r.survey === this.accepted.digest && r.question === question.id && r.round === round);
      const line = this.cards.get(question.id).querySelector(".state");
      if (report && line) {
        line.textContent = { delivered: "Received by the collector.", refused: `Not taken: ${report.reason}`, waiting: "Not sent yet; it will be sent when you open this page again." }[report.state];
      }
    }
    this.status.textContent = result.waiting ? "The collector cannot be reached. Your answer is kept here and is sent later." : "";
    this.spent.textContent = `${budget.explain()} The budget is for life and never refills.`;
  }
}

async function start() {
  try {
    const got = await fetch(`/surveys/${digest}`, { credentials: "omit", cache: "no-store" });
    if (!got.ok) return failed("This survey cannot be shown", "The collector did not hand it out.");
    const policy = new Policy([{ name: publisher, keys: keys.split(" ") }]);
    const client = new Client({ ledger: new IndexedDBLedger(), attributes: [{ everyAttributeOf: publisher, rounds: 1000 }], policy });
    const accepted = await client.accept(new Uint8Array(await got.arrayBuffer()));
    if (accepted.digest !== digest) return failed("This survey is not the one you asked for", "Its digest differs from the address.");
    await new Page(client, accepted).start();
  } catch (error) {
    const known = {
      BadSignature: "Its signature does not fit: somebody may have changed it.",
      UntrustedKey: "It is not signed by its publisher's key.",
      Expired: "It has ended.",
      NoEd25519: error.message,
      LedgerUnavailable: error.message,
    };
    failed("This survey was refused", `${known[error.name] ?? error.message} (${error.name})`);
  }
}

main.setAttribute("aria-busy", "true");
start();
