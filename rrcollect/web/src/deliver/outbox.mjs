// @ts-check
/**
 * Each report is sent at moments of its own.
 */
import { secondsOf } from "../design/parameters.mjs";
import { badSetting, needSettings, signalOf } from "../errors.mjs";
import { encoder } from "../publish/canonical.mjs";
import { CATCH_UP, LONGEST_WAIT, overdue, remaining, share } from "./schedule.mjs";
import { HttpTransport } from "./transport.mjs";

/** More at once would cost a small device memory and sockets; fewer would let a collector that keeps its replies back hold up
 * the other reports.  Who has to wait does so in the order of moments, at most for a transport's timeout. */
const AT_ONCE = 32;

/** @typedef {{send(destination: string, body: Uint8Array, signal: AbortSignal): Promise<void>}} Transport
 * Resolves when the collector has the report; throws ReportRefused, TransportFailed or WrongAddress otherwise.
 * @typedef {{delivered: number, refused: [string, string][], waiting: number, nextMoment: Date | null, lastFailure: string | null}} Deliveries
 * `nextMoment`: when the next of those that wait is to be sent, and `deliver` is well called again. */

/**
 * @typedef {{id: string, survey: string, publisher: string, question: string, round: number, attribute: string, words: string,
 *   body: string, destination: string, state: "waiting" | "delivered" | "refused" | "cancelled" | "withdrawn" | "carried",
 *   reason: string | null, attempts: number, earlierAttempts: number, times: number[]}} Outgoing
 * `times`: the moments at which it is to be sent, in seconds since 1970; `attempts`: how often it, or a report around the same
 * answer that it replaced (`earlierAttempts`), may have left.
 */

/** A client, as far as deliveries need it.
 * @typedef {{ledger: {transact<T>(change: (state: {reports: Outgoing[]}) => T): Promise<T>}, spread: number, followed: Set<string>, now(): number,
 *   sleep(seconds: number, signal?: AbortSignal): Promise<void>, change<T>(id: string, what: (report: Outgoing) => T): Promise<T | null>}} Sender */

/** What sends if nothing else is given: what goes by a relay is loaded when a report does. @returns {Transport} */
function usual() {
  const plain = new HttpTransport(), byRelay = async () => new (await import("./oblivious.mjs")).OhttpTransport();
  return { send: async (destination, body, signal) => (destination.startsWith("{") ? await byRelay() : plain).send(destination, body, signal) };
}

/** One pass over the outbox of a client, after its settings were checked.
 * @param {Sender} client @param {{transport?: Transport, within?: number, signal?: AbortSignal | null}} given @returns {Promise<Deliveries>} */
export async function deliver(client, given) {
  needSettings("deliver", given, ["transport", "within", "signal"]);
  const { transport = usual(), within = 0 } = given, signal = signalOf(given.signal ?? null);
  if (typeof transport?.send !== "function") badSetting("transport", typeof transport, "a transport, such as HttpTransport");
  secondsOf("within", within, LONGEST_WAIT);
  signal?.throwIfAborted();
  return new Delivery(client, transport).run(within, signal);
}

/** One pass over the outbox: one promise for each report, which waits for nobody's reply but its own. */
class Delivery {
  /** @param {Sender} client @param {Transport} transport */
  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
    /** @type {Deliveries} */
    this.result = { delivered: 0, refused: [], waiting: 0, nextMoment: null, lastFailure: null };
    this.until = 0;
    this.free = AT_ONCE;
    /** @type {((nothing: null) => void)[]} who is to be let in next */
    this.queue = [];
    /** @type {{stop: AbortController, early: boolean}[]} */
    this.followed = [];
    /** @type {unknown[]} */
    this.troubles = [];
    this.ahead = 0;
    this.latest = -Infinity;
  }
  /** The device's clock for this pass: if somebody sets it back, this one goes on from where it was. */
  now() {
    this.ahead += Math.max(0, this.latest - (this.client.now() + this.ahead));
    return (this.latest = Math.max(this.latest, this.client.now() + this.ahead));
  }
  /** @param {number} within @param {AbortSignal | null} signal @returns {Promise<Deliveries>} */
  async run(within, signal) {
    const { client } = this, start = this.now();
    this.until = start + within;
    const waiting = () => client.ledger.transact((state) => state.reports.filter((r) => r.state === "waiting"));
    const planned = (await waiting()).filter(({ id }) => !client.followed.has(id)).map(({ id, times }) => {
      const due = overdue(times, start); // those that are overdue do not leave together
      return { id, due, moment: due ? this.caughtUp() : times[0] };
    }).filter(({ due, moment }) => due || moment <= this.until).sort((a, b) => a.moment - b.moment);
    const hangUp = () => this.followed.forEach(({ stop }) => stop.abort());
    signal?.addEventListener("abort", hangUp);
    const all = planned.map(({ id, due, moment }) => this.follow(id, due, moment));
    if (signal?.aborted) hangUp();
    await Promise.all(all);
    signal?.removeEventListener("abort", hangUp);
    signal?.throwIfAborted();
    if (this.troubles.length) throw this.troubles[0];
    const left = await waiting(), next = left.reduce((least, { times }) => Math.min(least, times[0] ?? start), Infinity);
    return { ...this.result, waiting: left.length, nextMoment: left.length ? new Date(Math.ceil(next * 1000)) : null };
  }
  /** The moment, drawn afresh, of a report that is overdue. */
  caughtUp() {
    return this.now() + share() * Math.min(this.client.spread, CATCH_UP);
  }
  /** One report from moment to moment, as long as they fall into this pass.
   * @param {string} id @param {boolean} due @param {number | null} moment */
  async follow(id, due, moment) {
    const { client } = this, me = { stop: new AbortController(), early: !due }, { signal } = me.stop;
    this.followed.push(me);
    client.followed.add(id);
    try {
      while (moment !== null && !signal.aborted) {
        for (let wait; (wait = moment - this.now()) > 0 && !signal.aborted;) await client.sleep(wait, signal); // timers may be early
        if (this.now() - moment > CATCH_UP) await client.sleep(this.caughtUp() - this.now(), signal); // the device was asleep
        me.early = false;
        moment = await this.inTurn(() => this.attempt(id, signal));
        me.early = true;
      }
    } catch (error) {
      this.troubles.push(error);
      this.until = this.now(); // nothing is waited for that is not due by now
      for (const { stop, early } of this.followed) if (early) stop.abort();
    } finally {
      client.followed.delete(id);
    }
  }
  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async inTurn(work) {
    if (this.free > 0) this.free--;
    else await new Promise((resolve) => this.queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next(null);
      else this.free++;
    }
  }
  /** Send a report once; its next moment, if that falls into this pass. @param {string} id @param {AbortSignal} signal */
  async attempt(id, signal) {
    const { client, result } = this;
    if (signal.aborted) return null;
    const report = await client.change(id, (kept) => { // recorded before the bytes leave: what may have left is known
      if (kept.state !== "waiting") return null;
      kept.attempts++;
      return { destination: kept.destination, body: encoder.encode(kept.body) };
    });
    if (!report || signal.aborted) return null;
    const mark = (/** @type {"delivered" | "refused"} */ state, /** @type {string | null} */ reason) =>
      client.change(id, (kept) => { Object.assign(kept, { state, reason }); });
    try {
      await this.transport.send(report.destination, report.body, signal);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name === "ReportRefused") {
        await mark("refused", message);
        result.refused.push([id, message]);
        return null;
      }
      if (name !== "TransportFailed" && name !== "WrongAddress") throw error;
      result.lastFailure = message;
      const now = this.now(), next = await client.change(id, (kept) => (kept.times = remaining(kept.times, now, client.spread))[0]);
      if (name === "WrongAddress") throw error;
      return next !== null && next <= this.until ? next : null;
    }
    await mark("delivered", null);
    result.delivered++;
    return null;
  }
}
