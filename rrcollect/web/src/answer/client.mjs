// @ts-check
/**
 * The client an app embeds: accept a survey, answer its questions, decline, deliver the reports.
 *
 * Rules
 * 1. An answer is drawn once: answer, report and debit are committed to the ledger in one transaction before anything is sent.
 * 2. The truth is not stored, logged or put into an error.
 * 3. Answering follows the script of docs/wire-format.md, "Answering", check by check, as the Python client does.
 */
import { HOURS, LONGEST_SPREAD, SECONDS, schedule, systemSleep } from "../deliver/schedule.mjs";
import { secondsOf } from "../design/parameters.mjs";
import { randomBytes, systemSource } from "../design/sampling.mjs";
import { badSetting, needSettings, refuse, signalOf } from "../errors.mjs";
import { canonicalText, isObject } from "../publish/canonical.mjs";
import { CARRIED } from "../publish/document.mjs";
import { hex } from "../publish/keys.mjs";
import { truthsOf } from "../publish/kinds.mjs";
import { destinationOf } from "../publish/relay.mjs";
import { reportBytes, withAnswer } from "../publish/report.mjs";
import { MOST_REPEATED, bitsOf, questionOf, reportValues } from "../publish/survey.mjs";
import { fingerprints, say } from "../publish/texts.mjs";
import { ticket } from "../publish/tickets.mjs";
import { acceptSurvey, acceptWithdrawal, checkOpen, checkRound, checkTrust, checkVersion, rememberLog } from "./acceptance.mjs";
import { answeredRound, askedOf, notClosed, panelOf, surveyKey, uniform } from "./asking.mjs";
import { Attributes } from "./attributes.mjs";
import { shareInWords } from "./explain/headline.mjs";
import { wordsOf } from "./explain/words.mjs";
import { allNames, checkWithdrawn, isWithdrawn, rememberNames, total, within } from "./ledger/rules.mjs";
import { ancestorsHere, checkPlace } from "./place.mjs";
import { Policy } from "./policy.mjs";

/**
 * @import { Outgoing, Transport } from "../deliver/outbox.mjs"
 * @import { NumberLike } from "../design/parameters.mjs"
 * @import { Source } from "../design/sampling.mjs"
 * @import { Fetch } from "../publish/log.mjs"
 * @import { Survey } from "../publish/survey.mjs"
 * @import { AcceptedSurvey } from "./acceptance.mjs"
 * @import { Words } from "./explain/words.mjs"
 * @import { Ledger, State } from "./ledger/ledger.mjs"
 */

/** The ledger of one person: what this device answers, and sends, on their behalf. */
export class Client {
  /** `attributes`: what the app is willing to be asked about: names, {name, rounds, askedAs, aliases}, or
   * {everyAttributeOf, rounds}; `aliases` are names that the attribute had in this ledger before.  `origin`: of the page that
   * asks, null for a program; `ancestors`: of the pages around it, the nearest first, null where it is not known.  `spread`: the seconds over which reports are sent: 5 on a page, where a person looks on, and
   * 6 hours in a program.  `sleep` waits so many seconds, or until its signal is aborted.
   * @param {{ledger: Ledger, attributes: (string | {name: string, rounds?: number, askedAs?: string[], aliases?: string[]} |
   *   {everyAttributeOf: string, rounds?: number})[], policy: Policy, source?: Source, clock?: () => Date,
   *   sleep?: (seconds: number, signal?: AbortSignal) => Promise<void>, origin?: string | null, ancestors?: readonly (string | null)[], spread?: number}} given */
  constructor(given) {
    needSettings("the client", given, ["ledger", "attributes", "policy", "source", "clock", "sleep", "origin", "ancestors", "spread"]);
    const { ledger, attributes, policy, source = systemSource, clock = () => new Date(), sleep = systemSleep } = given;
    const { origin = globalThis.location?.origin ?? null, spread = origin === null ? HOURS : SECONDS } = given;
    if (typeof ledger?.transact !== "function") badSetting("ledger", typeof ledger, "a ledger");
    if (!(policy instanceof Policy)) badSetting("policy", typeof policy, "a Policy");
    if (![source, clock, sleep].every((one) => typeof one === "function")) refuse("ParameterError", "source, clock and sleep are functions");
    if (origin !== null && (typeof origin !== "string" || !origin)) badSetting("origin", origin, "the origin of a page, or null");
    const ancestors = given.ancestors ?? (origin === null ? [] : ancestorsHere());
    if (!Array.isArray(ancestors)) badSetting("ancestors", ancestors, "a list of origins");
    this.attributes = new Attributes(attributes);
    this.ledger = ledger;
    this.policy = policy;
    this.source = source;
    this.clock = clock;
    this.sleep = sleep;
    this.origin = origin;
    this.ancestors = Object.freeze([...ancestors]);
    /** Reports that a pass is about to send: another pass at the same time leaves them to it. @type {Set<string>} */
    this.followed = new Set();
    this.spread = secondsOf("spread", spread, LONGEST_SPREAD);
  }

  /** By the device's clock, in seconds since 1970. */
  now() {
    const now = this.clock();
    return now instanceof Date && !Number.isNaN(now.getTime()) ? now.getTime() / 1000 : refuse("ParameterError", "the clock tells a Date");
  }

  /** The survey of a signed envelope, if this device trusts and allows it.  Where the policy names a log, its state must go on from
   * the last one that this device accepted: `log` reads the bytes at an address below the log's own, when it has grown since.
   * @param {Uint8Array} envelope @param {{log?: Fetch | null}} [given] */
  async accept(envelope, given = {}) {
    needSettings("accept", given, ["log"]);
    const seen = await this.ledger.transact((state) => state.seen), now = this.clock();
    const accepted = await acceptSurvey(envelope, this.policy, { now, seen: (survey) => seen[surveyKey(survey)] });
    const { survey, digest, state: shown } = accepted, { version } = survey, key = surveyKey(survey);
    if (shown) await rememberLog(this.ledger, shown, given.log ?? null);
    await this.ledger.transact((state) => {
      const known = state.seen[key];
      checkVersion(survey, digest, known);
      checkWithdrawn(state, accepted);
      if (!known || version > known.version) state.seen[key] = { version, digest };
      this.drawPlaces(state, survey, now);
    });
    return accepted;
  }

  /** Which question this device asks, and its rounds of panels: drawn once, before any truth is known.
   * @param {State} state @param {Survey} survey @param {Date} now */
  drawPlaces(state, survey, now) {
    const { questions, ask } = survey, { source } = this;
    if (ask === "one" && askedOf(state, survey) === null) state.asked[surveyKey(survey)] = questions[uniform(questions.length, source)].attribute;
    const asked = askedOf(state, survey);
    for (const question of questions.filter(({ id, panel }) => panel && (asked ?? id) === id)) {
      const attribute = this.attributes.find(survey, question), rounds = notClosed(survey, question, now);
      if (!attribute || !rounds.length) continue;
      rememberNames(state, [attribute.name, ...attribute.aliases]);
      if (panelOf(state, attribute) !== null) continue;
      state.panels.push({ attribute: attribute.name, round: rounds[uniform(rounds.length, source)] });
    }
  }

  /** The round in which this device answers a panel's question; null if none was drawn, or it is not a panel.
   * @param {AcceptedSurvey} accepted @param {string} question its id @returns {Promise<number | null>} */
  async panelRound(accepted, question) {
    needAccepted(accepted);
    const asked = questionOf(accepted.survey, question), found = this.attributes.find(accepted.survey, asked);
    return asked.panel && found ? this.ledger.transact((state) => panelOf(state, found)) : null;
  }

  /** The id of the one question that this device answers in a survey that asks one; null for a survey that asks all.
   * @param {AcceptedSurvey} accepted @returns {Promise<string | null>} */
  async drawnQuestion(accepted) {
    needAccepted(accepted);
    return this.ledger.transact((state) => askedOf(state, accepted.survey));
  }

  /** Remember for good that its publisher ended a survey: it is neither accepted nor answered any more, and what waits
   * does not leave. @param {Uint8Array} envelope */
  async withdraw(envelope) {
    const withdrawal = await acceptWithdrawal(envelope, this.policy), { survey, publisher } = withdrawal;
    await this.ledger.transact((state) => {
      if (!isWithdrawn(state, survey, publisher)) state.withdrawn.push({ survey, publisher });
      for (const report of state.reports) {
        if (report.survey === survey && report.publisher === publisher && report.state === "waiting") report.state = "withdrawn";
      }
    });
    return withdrawal;
  }

  /** The report that answers a question, committed to the ledger and waiting in the outbox.
   * Asked again it repeats the first answer, and does not read the truth; a report that was cancelled waits again.  Segments
   * are sent as they are, of the invite a ticket; once a report may have been taken, both stay as they are.  If `signal` is
   * aborted, nothing of this answer leaves: what was drawn is kept, and is repeated if the question is answered later.
   * The truth is true or false, the number of an option from 0 on, a list of such numbers, or a number, as the question's kind asks.  Without a round
   * it is the one that was drawn, for a panel, and otherwise the first.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {Truth | (() => Truth)} truth
   * @param {{round?: number | null, segments?: Record<string, string>, invite?: string | null, signal?: AbortSignal | null}} [given] */
  async answer(accepted, questionId, truth, given = {}) {
    needSettings("answer", given, ["round", "segments", "invite", "signal"]);
    const { segments, invite = null } = given, signal = signalOf(given.signal ?? null);
    signal?.throwIfAborted();
    const { survey, digest, question, attribute: { name: attribute, aliases, rounds }, round, cost } = await this.asked(accepted, questionId, given.round ?? null);
    const { source, policy } = this, { design } = question, own = { name: attribute, aliases, rounds }, truths = await truthsOf(question.kind), declared = segments ?? {};
    const values = reportValues(survey, question);
    let names = [attribute]; // all of them, when the ledger has said which were ever one with it
    if (!isObject(declared)) refuse("ParameterError", "segments map names to values");
    for (const [name, value] of Object.entries(declared)) {
      if (!Object.hasOwn(survey.segments, name) || !survey.segments[name].values.some((one) => one.value === value)) {
        refuse("ParameterError", `the segment '${name}', or the value given for it, is not one the survey lists`);
      }
    }
    if (survey.inviteOnly !== (invite !== null)) {
      refuse("ParameterError", survey.inviteOnly ? "this survey requires an invite" : "this survey asks for no invite");
    }
    const spent = invite === null ? null : await ticket(invite, digest, questionId, round);
    const prints = await fingerprints(question.text, question.help);
    const id = hex(randomBytes(16, systemSource)), start = this.now();
    /** The report, complete but for its answer. @param {Record<string, string>} said segments */
    const spelled = (said) => new TextDecoder().decode(reportBytes({
      answer: design.blank, design: design.toWire(), id, question: questionId, round, segments: said, survey: digest, ticket: spent,
    }));
    const blank = spelled(declared), carried = survey.collector === CARRIED;
    /** How a report waits from now on. @returns {Pick<Outgoing, "state" | "reason" | "times">} */
    const waits = () => ({ state: carried ? "carried" : "waiting", reason: null, times: carried ? [] : schedule(start, this.spread) });
    signal?.throwIfAborted();
    /** What was made for nobody does not leave. @param {string} kept */
    const cancel = (kept) => this.change(kept, (report) => {
      if (report.state === "waiting" || (report.state === "carried" && kept === id)) report.state = "cancelled";
    });
    const report = await this.ledger.transact((state) => {
      checkWithdrawn(state, { survey, digest });
      names = allNames(state, own);
      const done = state.reports.find((r) => r.survey === digest && r.question === questionId && r.round === round);
      const before = [done?.attribute, ...prints.map((print) => state.words[print])];
      const other = before.find((name) => name !== undefined && !names.includes(name));
      if (other !== undefined) {
        refuse("AlreadyAnswered", `the same question, or its words, were answered before for the attribute '${other}'; if '${attribute}' is ` +
          `the same thing, register {name: '${attribute}', aliases: ['${other}']}, and that answer is repeated`);
      }
      const made = done ? again(done) : first(state);
      for (const print of prints) state.words[print] ??= attribute;
      rememberNames(state, names);
      const key = `${digest}/${questionId}`;
      if (state.declined.includes(key)) state.declined = state.declined.filter((one) => one !== key);
      return made;
    }).catch(async (error) => {
      await cancel(id).catch(() => {}); // it may be there, although the ledger failed
      throw error;
    });
    if (signal?.aborted) await cancel(report.id);
    signal?.throwIfAborted();
    return report;

    /** The report there is, or one that takes its place if the collector never took it. @param {Outgoing} done */
    function again(done) {
      const sent = JSON.parse(done.body), restated = segments !== undefined && canonicalText(sent.segments) !== canonicalText(declared);
      if (sent.ticket === spent && !restated) return done.state === "cancelled" ? Object.assign(done, waits()) : done;
      const neverTaken = done.state === "refused" || (["waiting", "cancelled"].includes(done.state) && done.attempts === done.earlierAttempts);
      if (!neverTaken || (values > MOST_REPEATED && done.attempts > 0)) {
        refuse("ParameterError", "segments or invite are not those of the report, which may have been taken with those of the first answer");
      }
      const body = withAnswer(segments === undefined ? spelled(sent.segments) : blank, sent.answer);
      return Object.assign(done, waits(), { id, body, earlierAttempts: done.attempts });
    }

    /** The first report for this question: around the attribute's answer, if it was drawn before. @param {State} state */
    function first(state) {
      const memo = state.draws.find((d) => names.includes(d.attribute) && d.round === round);
      if (memo && values > MOST_REPEATED) {
        refuse("AlreadyAnswered", `'${memo.attribute}' was answered before in this round, by another survey, version or question; a report of ` +
          `${bitsOf(values)} bits would mark this person if it were repeated, and no second one is drawn`);
      }
      if (memo && (memo.design !== design.text || memo.kind !== truths)) {
        refuse("AlreadyAnswered", `'${memo.attribute}' was answered before by another design, or as ${memo.kind}; no second answer is drawn`);
      }
      const answer = memo ? memo.answer : firstDraw(state);
      /** @type {Outgoing} */
      const made = {
        id, survey: digest, publisher: survey.publisher, question: questionId, round, attribute: memo?.attribute ?? attribute, words: say(survey, question.text),
        body: withAnswer(blank, answer), destination: destinationOf(survey), attempts: 0, earlierAttempts: 0, ...waits(),
      };
      state.reports.push(made);
      return made;
    }

    /** @param {State} state */
    function firstDraw(state) {
      const own = state.draws.filter((d) => names.includes(d.attribute)), collected = new Set(own.map((d) => d.round)).size;
      if (collected >= rounds) {
        refuse("AlreadyAnswered", `'${attribute}' was answered in ${collected} of ${rounds} rounds in which this app answers about it; no further answer is drawn`);
      }
      within("lifetime", state.draws, cost, policy.lifetimeEpsilon, policy.lifetimeDelta);
      within("attribute", own, cost, policy.attributeEpsilon, policy.attributeDelta);
      const answer = question.design.draw(typeof truth === "function" ? truth() : truth, question.kind, source);
      state.draws.push({ attribute, round, kind: truths, design: design.text, answer, epsilon: String(cost.epsilon), delta: String(cost.delta) });
      return answer;
    }
  }

  /** What is asked, after the checks that need neither ledger nor truth.
   * @param {AcceptedSurvey} accepted @param {string} questionId @param {number | null} given the round */
  async asked(accepted, questionId, given) {
    needAccepted(accepted);
    const { digest } = accepted, survey = await checkTrust(accepted, this.policy), now = this.clock();
    checkOpen(survey, now);
    checkPlace(survey, this.origin, this.ancestors);
    const question = questionOf(survey, questionId), kept = { ...accepted, survey };
    if (survey.ask === "one") {
      const drawn = await this.drawnQuestion(kept);
      if (drawn === null) refuse("NotDrawn", "this device has not drawn the question it answers: accept the survey by this client first");
      if (drawn !== questionId) refuse("NotDrawn", `this device answers question '${drawn}' of this survey only`);
    }
    const { attribute: about, panel } = question, attribute = this.attributes.find(survey, question);
    if (!attribute) return refuse("UnknownAttribute", `this app does not answer about '${about}'`);
    const round = answeredRound(survey, question, given, panel ? await this.panelRound(kept, questionId) : null, now);
    if (!panel && round >= attribute.rounds) refuse("UnknownAttribute", `this app answers about '${about}' in ${attribute.rounds} rounds`);
    checkRound(survey, round, now);
    return { survey, digest, question, attribute, round, cost: this.policy.cost(question) };
  }

  /** The person does not want to answer, or does not any more: nothing of this question leaves from now on.  `stopped`
   * reports have not left, and will not; `left` ones may have left before.
   * @param {AcceptedSurvey} accepted @param {string} question */
  async decline(accepted, question) {
    needAccepted(accepted);
    const { digest, survey } = accepted, key = `${digest}/${questionOf(survey, question).id}`;
    return this.ledger.transact((state) => {
      const result = { stopped: 0, left: 0 };
      if (!state.declined.includes(key)) state.declined.push(key);
      for (const report of state.reports.filter((r) => r.survey === digest && r.question === question)) {
        if (report.attempts > 0 || ["delivered", "carried"].includes(report.state)) result.left++;
        else if (report.state === "waiting") result.stopped++;
        if (report.state === "waiting") report.state = "cancelled";
      }
      return result;
    });
  }

  /** What was answered, sent and spent; `explainBudget` tells it in words. */
  async budget() {
    const { draws, reports, declined } = await this.ledger.transact((state) => state), spent = total(draws), { policy } = this;
    return {
      spent, lifetime: { epsilon: policy.lifetimeEpsilon, delta: policy.lifetimeDelta }, policy, draws, reports, declined,
      /** The name that an attribute has today, under which its draw may have been reported. @param {string} name */
      later: (name) => this.attributes.earlier.get(name)?.name ?? name,
      /** What was drawn so far as a share of all that this device gives away for life. @param {Words} words */
      share: (words) => shareInWords(spent, policy, wordsOf("share", words), "spent"),
    };
  }

  /** Send every waiting report whose moment has come, or comes within so many seconds, at its moment, in a request of its
   * own; safe to repeat.  What a collector or a network does is told in the result; only an address that can never work is an
   * error (WrongAddress).  If `signal` is aborted, no further attempt begins, and what is under way is hung up.
   * @param {{transport?: Transport, within?: number, signal?: AbortSignal | null}} [given] */
  async deliver(given = {}) {
    const { deliver } = await import("../deliver/outbox.mjs"); // what sends is loaded when something is to be sent
    return deliver(this, given);
  }

  /** Change a report of the ledger, if it is there. @template T @param {string} id @param {(report: Outgoing) => T} what */
  change(id, what) {
    return this.ledger.transact((state) => {
      const found = state.reports.find((report) => report.id === id);
      return found === undefined ? null : what(found);
    });
  }
}

/** @typedef {boolean | NumberLike | readonly number[]} Truth */

/** @param {unknown} accepted */
function needAccepted(accepted) {
  const good = isObject(accepted) && isObject(accepted.survey) && accepted.signers instanceof Set;
  if (!good) refuse("ParameterError", "a survey is what `accept` returned");
}
