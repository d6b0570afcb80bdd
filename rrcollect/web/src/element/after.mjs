// @ts-check
/**
 * What follows an answer in <rr-survey>: it is sent or declined, and its card tells what became of it.
 *
 * Rules
 * 1. It is loaded when the first question is shown, whatever is answered; before, if there was an earlier visit, or if the survey
 *    asks for an invite or segments.
 * 2. What is not protected is asked first, and says so.
 */
import { checkInvite } from "../publish/tickets.mjs";
import { linked } from "./address.mjs";
import { make } from "./entries.mjs";
import { StateError } from "./states.mjs";

/**
 * @import { AnyDesign, Outgoing, Question, Texts } from "../index.mjs"
 * @import { Choice, NumberEntry } from "./entries.mjs"
 * @import { View } from "./view.mjs"
 */

const WITHIN = 10; // seconds in which a report is sent: the client spreads them over 5

/** What was sent, in a sentence. @param {View} view @param {string} key @param {Node | string} sent */
const sentence = ({ words }, key, sent) => make("p", {}, ...words.parts(key, { sent: make("strong", { class: "sent" }, sent) }));

/** What was sent, by the question's kind. @type {Record<string, (view: View, kind: any, answer: string, design: AnyDesign) => Node[]>} */
const SENT = {
  yes_no: (view, kind, answer) => [sentence(view, "sent_answer", view.words.say(answer === "1" ? "yes" : "no"))],
  choice: (view, { options }, answer) => {
    const labels = options.filter((/** @type {Texts} */ _, /** @type {number} */ i) => answer[i] === "1").map((/** @type {Texts} */ texts) => view.foreign("span", texts));
    if (labels.length === 1) return [sentence(view, "sent_answer", labels[0])];
    const list = make("ul", { class: "sent" }, ...labels.map((/** @type {Node} */ label) => make("li", {}, label)));
    return [make("p", {}, view.words.say("sent_options", { size: labels.length, options: options.length })), list];
  },
  several: (view, { options }, answer) => {
    const option = make("strong", { class: "sent" }, view.foreign("span", options[Math.floor(Number(answer) / 2)])), sent = view.words.say(Number(answer) % 2 ? "yes" : "no");
    return [make("p", {}, ...view.words.parts("sent_one_of", { option, sent: make("strong", { class: "sent" }, sent) }))];
  },
  number: (view, { bins }, answer, { width }) => {
    if (!bins) return [sentence(view, "sent_number", view.words.say(answer === "1" ? "high" : "low"))];
    const size = answer.replaceAll("0", "").length;
    return [make("p", {}, width === bins ? view.words.say("sent_places", { size, options: bins }) : view.words.say("sent_place"))];
  },
};

/** @param {View} view @param {Question} question @param {Choice | NumberEntry} entry */
export async function answer(view, question, entry) {
  const chosen = [...view.fields].filter(([, { value }]) => value !== "");
  const segments = Object.fromEntries(chosen.map(([name, { value }]) => [name, view.survey.segments[name].values[Number(value)].value]));
  const options = { round: view.rounds.get(question.id), segments, invite: await invited(view) };
  navigator.storage?.persist?.().catch(() => {}); // ask the browser not to forget the ledger
  const report = await view.client.answer(view.accepted, question.id, () => /** @type {any} */ (entry.truth), options);
  forget(view, entry);
  showDone(view, question, report, true);
  view.host.tell("answered", question.id);
  view.arrange();
  await deliver(view);
}

/** @param {View} view @param {Choice | NumberEntry} entry */
function forget(view, entry) {
  entry.close();
  view.entries.delete(entry);
}

/** The invite of the link, or the one that was typed; null in a survey that is open to everybody. @param {View} view */
async function invited(view) {
  const { typed } = view;
  if (!view.survey.inviteOnly || view.invite !== null || !typed) return view.invite;
  try {
    view.invite = await checkInvite(typed.value);
  } catch {
    if (view.host.hasAttribute("steps")) view.go(0);
    typed.focus();
    throw new StateError(typed.value.trim() ? "invite_mistyped" : "invite_first");
  }
  typed.value = "";
  typed.closest("label")?.replaceWith(view.line("invite_read", { id: "invited" }));
  return view.invite;
}

/** The invite and the segments: what is not protected is asked first, and says so. @param {View} view */
export function about(view) {
  const { segments, inviteOnly } = view.survey, names = Object.keys(segments);
  const card = make("section", { class: "card", part: "card", "aria-labelledby": "about" }, view.heading(1, { id: "about" }, view.words.say("about_you")));
  if (inviteOnly && view.invite !== null) card.append(view.line("invite_linked", { id: "invited" }));
  if (inviteOnly && view.invite === null) {
    view.typed = /** @type {HTMLInputElement} */ (make("input", { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", required: true }));
    card.append(make("label", { class: "field" }, view.words.say("invite_code"), view.typed));
    if (linked !== null) card.append(view.line("invite_cut", { class: "bad small" }));
  }
  if (names.length) card.append(view.line("not_protected", { class: "notice", id: "unprotected" }));
  for (const name of names) {
    const field = /** @type {HTMLSelectElement} */ (make("select", { autocomplete: "off" }, make("option", { value: "" }, view.words.say("not_said"))));
    const { values, label, help } = segments[name];
    values.forEach((one, i) => field.append(make("option", { value: i }, view.said(one.label) || one.value)));
    view.fields.set(name, field);
    card.append(make("label", { class: "field" }, view.foreign("span", view.said(label) ? label : name), field));
    if (view.said(help)) card.append(view.foreign("p", help, { class: "small quiet" }));
  }
  if (view.host.hasAttribute("steps")) card.append(make("div", { class: "actions" }, ...view.next()));
  return card;
}

/** @param {View} view @param {Question} question @param {Choice | NumberEntry} [entry] */
export async function decline(view, question, entry) {
  if (entry) forget(view, entry);
  const { left } = await view.client.decline(view.accepted, question.id);
  showDeclined(view, question, left, true);
  view.host.tell("declined", question.id);
  view.arrange();
}

/** @param {View} view @param {Question} question @param {number} [left] @param {boolean} [focus] */
export function showDeclined(view, question, left = 0, focus = false) {
  const again = view.button("again", () => { view.ask(question, true); view.arrange(); });
  const card = view.fill(question, view.line(left ? "declined_late" : "declined"), make("div", { class: "actions" }, again, ...view.next()));
  view.settled.add(question.id);
  delete card.dataset.report;
  if (focus) view.focus(question.id);
}

/** @param {View} view @param {Question} question @param {Outgoing} report @param {boolean} [focus] */
export function showDone(view, question, report, focus = false) {
  const open = view.cards.get(question.id)?.querySelector("details")?.open, card = view.fill(question, ...outcome(view, question, report));
  view.settled.add(question.id);
  card.dataset.report = report.id;
  for (const folded of card.querySelectorAll("details")) folded.open = Boolean(open);
  if (focus) view.focus(question.id);
}

/** What became of a report, in words. @param {View} view @param {Question} question @param {Outgoing} report */
function outcome(view, question, report) {
  const left = report.state === "delivered" || report.attempts > 0, again = view.line("repeats", { class: "small quiet" });
  if (!left) {
    const stop = view.button("do_not_send", () => decline(view, question));
    const drawn = make("p", {}, make("span", { class: "good" }, view.words.say("drawn_title")), " ", view.words.say("drawn_text"));
    return [drawn, make("div", { class: "actions" }, stop, ...view.next()), view.odds(question)];
  }
  const sent = SENT[question.kind.kind](view, question.kind, JSON.parse(report.body).answer, question.design);
  const state = view.words.say(report.state === "withdrawn" ? "over" : report.state), how = report.state === "refused" ? "bad" : "good";
  return [
    make("p", {}, make("span", { class: how }, view.words.say("answered")), " ", make("span", { class: "state" }, state)),
    ...(view.next().length ? [make("div", { class: "actions" }, ...view.next())] : []), view.odds(question, ...sent, again),
  ];
}

/** Send what waits, and tell how far it is. @param {View} view */
export async function deliver(view) {
  const failed = (/** @type {Error} */ { message }) => ({ waiting: 1, lastFailure: message, nextMoment: null });
  const { waiting, lastFailure, nextMoment } = await view.client.deliver({ within: WITHIN }).catch(failed);
  clearTimeout(view.later);
  if (view.closed) return;
  if (nextMoment) view.later = setTimeout(() => deliver(view), Math.max(1000, nextMoment.getTime() - Date.now()));
  const budget = await view.client.budget();
  for (const question of view.survey.questions) {
    const report = view.reportOf(budget, question);
    if (report && view.cards.get(question.id)?.dataset.report === report.id) showDone(view, question, report);
  }
  const state = !waiting ? "close_page" : lastFailure === null ? "drawn_text" : navigator.onLine ? "kept" : "kept_offline";
  view.status.textContent = view.words.say(state);
  view.share.textContent = budget.share(view.words);
  view.budget = budget;
  view.explained?.then((told) => view.tellSpent(told), () => {});
}
