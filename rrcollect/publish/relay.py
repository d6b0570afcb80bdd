"""The relay of a survey, and the keys of the gateway behind it (oblivious HTTP, RFC 9458).

Rules
1. A relay is run by somebody else than the collector, who is named to people (`operator`).  It sees the network address
   of a device and nothing that the device says; the gateway at the collector sees what is said and the relay's address.
   Run by the collector's owner it hides nothing.
2. The gateway's keys come from the signed survey alone: a device that asked for them could be given keys of its own.
   Each has its period; one begins where another ends, or before, from the survey's opening until its expiry.
3. A key is named by the number in the requests that are sealed for it.  No two are alike, in number or in bytes.
"""

from __future__ import annotations

import base64
import itertools
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rrcollect.publish.canonical import canonical
from rrcollect.publish.document import CARRIED, Address, Document, Moment, Words, as_tuple

MOST_GATEWAY_KEYS = 32


def _public_key(text: str) -> str:
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 32 or base64.b64encode(raw).decode() != text or not any(raw):
        raise ValueError("it must be the base64 of an X25519 key, 32 bytes that are not all zero")
    return text


class GatewayKey(Document):
    """A key of the gateway, from `opens` until `closes`."""

    id: int = Field(ge=0, le=255)
    key: Annotated[str, AfterValidator(_public_key)]
    opens: Moment
    closes: Moment

    @property
    def raw(self) -> bytes:
        """The key's 32 bytes."""
        return base64.b64decode(self.key)


class Relay(Document):
    """Through whom reports go, and for whose eyes they are sealed."""

    address: Address
    operator: Words
    keys: Annotated[
        tuple[GatewayKey, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=MOST_GATEWAY_KEYS)
    ]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.address == CARRIED:
            raise ValueError("a relay has an address")
        for what in ("id", "key"):
            if len({getattr(key, what) for key in self.keys}) != len(self.keys):
                raise ValueError(f"two keys of the gateway have the same {what}")
        if any(key.opens >= key.closes for key in self.keys):
            raise ValueError("a key of the gateway closes before it opens")
        if any(later.opens > sooner.closes or later.closes <= sooner.closes
               for sooner, later in itertools.pairwise(self.keys)):  # fmt: skip
            raise ValueError("the keys of the gateway follow one another without a gap")
        return self

    def fault(self, collector: str, issuer: str | None, opens: datetime | None, expires: datetime) -> str | None:
        """What does not fit the survey around it."""
        if collector.split("/")[:3] == self.address.split("/")[:3] or not collector.startswith("http"):
            return "the relay is another host than the collector, and the reports go to a collector"
        if issuer is not None and issuer.split("/")[:3] != collector.split("/")[:3]:
            return "with a relay the issuer is at the collector's host: what is sealed is opened there"
        if self.keys[-1].closes < expires or (opens is not None and self.keys[0].opens > opens):
            return "the keys of the gateway are there from the survey's opening until it expires"
        return None

    def destination(self, collector: str) -> str:
        """Where a report goes that may take no other way: an address that no transport but the relay's knows."""
        return canonical({"collector": collector, "relay": self.to_wire()}).decode()

    @classmethod
    def of(cls, given: Any) -> tuple[str, Relay]:
        """The collector and the relay in such a destination, read from JSON."""
        return str(given["collector"]), cls.from_wire(given["relay"])
