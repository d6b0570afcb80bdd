// @ts-check
/**
 * A transport by the relay of a survey: the relay sees who sends, the gateway what is sent.  It is loaded where a survey names one.
 */
import { refuse, shown } from "../errors.mjs";
import { needRelay } from "../publish/relay.mjs";
import { packed, unpacked } from "./bhttp.mjs";
import { LONGEST, REPLY_TYPE, REQUEST_TYPE, openReply, sealRequest, wholeUnits } from "./encapsulation.mjs";
import { HttpTransport, judge } from "./transport.mjs";

const PATIENCE = 90, ROUND = 256; // seconds: a relay may hold a request for a minute; bytes of method, address and headers

/** POST each report through its survey's relay, if the survey names one; whatever goes wrong on the way, it waits. */
export class OhttpTransport extends HttpTransport {
  /** @param {string} destination @param {Uint8Array} body @param {AbortSignal} [signal] @returns {Promise<void>} */
  async send(destination, body, signal) {
    if (!destination.startsWith("{")) return super.send(destination, body, signal);
    const read = JSON.parse(destination), relay = needRelay(read.relay, "relay"), now = new Date(), { protocol, host, pathname } = new URL(read.collector);
    const key = relay.keys.find((/** @type {{ opens: Date, closes: Date }} */ { opens, closes }) => opens <= now && now < closes);
    if (!key) return refuse("TransportFailed", "the survey has no key of its gateway for this moment; the report waits");
    const asked = packed({ control: ["POST", protocol.slice(0, -1), host, pathname], headers: [["content-type", "application/json"]], content: body },
      wholeUnits(body.length + read.collector.length + ROUND));
    const sealed = await sealRequest(key.id, Uint8Array.from(atob(key.key), (c) => c.charCodeAt(0)), asked);
    const { status, said } = await this.exchange(relay.address, sealed.data, { "Content-Type": REQUEST_TYPE, Accept: REPLY_TYPE }, LONGEST, PATIENCE, signal);
    if (status !== 200) refuse("TransportFailed", `the relay of ${shown(relay.operator)} says ${status}; the report waits`);
    const { control, content } = unpacked(await openReply(sealed, said));
    judge(read.collector, Number(control[0]), new TextDecoder().decode(content));
  }
}
