"""A transport by the relay of a survey: the relay sees who sends, the gateway what is sent, and neither sees both.

Rules
1. Relay and keys are those of the signed survey, kept with the report since it was drawn (`publish.relay`).  Nobody is
   asked for them.  The key is the one of this moment; without one the report waits.
2. What the gateway reads is a POST with the headers `INNER` and nothing else, padded (`encapsulation`).  What the relay
   reads has the headers `OUTER`.  Every attempt is sealed afresh.
3. Whatever goes wrong on the way, the report waits: it is never sent another way.  Only what the collector itself says,
   in a reply that opens, is believed (`transport`).
4. A report of a survey without a relay goes as ever.
"""

from __future__ import annotations

import json
import time
from urllib.parse import urlsplit

from rrcollect.deliver.bhttp import Message
from rrcollect.deliver.encapsulation import (
    MOST_UNITS,
    NONCE,
    REPLY_TYPE,
    REQUEST_TYPE,
    TAG,
    UNIT,
    open_reply,
    seal_request,
    whole_units,
)
from rrcollect.deliver.transport import HttpTransport, judge, judged_by_issuer
from rrcollect.errors import TransportFailed
from rrcollect.publish.relay import Relay

INNER = ((b"content-type", b"application/json"),)
OUTER = {"Content-Type": REQUEST_TYPE, "Accept": REPLY_TYPE, "User-Agent": "rrcollect"}
LONGEST = MOST_UNITS * UNIT + NONCE + TAG
PATIENCE = 90.0  # seconds: a relay may hold a request for a minute
ROUND = 256  # bytes for method, address and headers


class OhttpTransport(HttpTransport):
    """POST each report through its survey's relay, if the survey names one; what `HttpTransport` takes, it takes too.

    >>> OhttpTransport().send("carried", b"{}")
    Traceback (most recent call last):
    ...
    rrcollect.errors.WrongAddress: 'carried' is not an address for reports: use https, or http on this machine.  \
Nothing was sent; the survey's publisher has to mend it
    """

    def send(self, destination: str, body: bytes) -> None:
        """One POST to the relay, or to the collector of a survey without one."""
        if not str(destination).startswith("{"):
            super().send(destination, body)
            return
        collector, relay = Relay.of(json.loads(destination))
        judge(collector, *self.through(relay, collector, body))

    def ask(self, issuer: str, body: bytes, longest: int) -> bytes:
        """What an issuer replies to a request for tokens, by the relay in its address if there is one."""
        if not issuer.startswith("{"):
            return super().ask(issuer, body, longest)
        address, relay = Relay.of(json.loads(issuer))
        return judged_by_issuer(address, *self.through(relay, address, body))

    def through(self, relay: Relay, address: str, body: bytes, now: float | None = None) -> tuple[int, bytes]:
        """The status and content of the reply to a POST that only the gateway behind a relay reads."""
        moment = time.time() if now is None else now
        key = next((key for key in relay.keys if key.opens.timestamp() <= moment < key.closes.timestamp()), None)
        if key is None:
            raise TransportFailed("the survey has no key of its gateway for this moment; the report waits")
        parts = urlsplit(address)
        control = tuple(one.encode() for one in ("POST", parts.scheme, parts.netloc, parts.path or "/"))
        asked = Message(control, INNER, body).packed(whole_units(len(body) + len(address) + ROUND))
        sealed = seal_request(key.id, key.raw, asked)
        status, said = self.exchange(relay.address, sealed.data, OUTER, LONGEST, PATIENCE)
        if status != 200:
            raise TransportFailed(f"the relay of {relay.operator!r} says {status}; the report waits")
        reply = Message.unpacked(open_reply(sealed, said))
        return int(reply.control[0]), reply.content
