// @ts-check
/**
 * What <rr-survey> reads from the address of its page: the invite, which is taken out of it, and the round.
 */

/** The invite of the page's address, which is taken out of it; kept for every element of the page. @type {string | null} */
export let linked = null;

/** What stands behind the # of the page's address. */
export function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)), invite = given.get("invite");
  given.delete("invite");
  if (invite !== null) {
    linked = invite;
    history.replaceState(history.state, "", `${location.pathname}${location.search}${String(given) ? `#${given}` : ""}`);
  }
  return { round: Math.max(1, Math.trunc(Number(given.get("round") ?? 1)) || 1) - 1 }; // people count from 1
}
