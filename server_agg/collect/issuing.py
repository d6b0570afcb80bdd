"""Issuing tokens, and recognising them in reports: what a collector does with the secret of a survey.

Rules
1. One invite is served one request, for all places of its survey.  The hash of its elements is durable before the reply
   leaves.  The same request again gets the same elements, with fresh proofs; another one is refused, whoever sends it.
2. What a request may cost is known before anything is multiplied: its bytes, its form, whether the survey is open,
   whether the invite is good and how often it was used lately (`MOST_ASKED`, in memory alone).
3. A report's token is looked up among the spent ones first: what is spent is not computed again, and the store says
   whether it is the same report.  Then the output is computed and compared in constant time.
4. Of a request nothing is kept but two hashes, of the invite and of the elements: no address, no time, no order
   (PostgreSQL keeps lines in the order in which they came until the survey is closed, and so does any log of changes).
   All of it is deleted with the survey, and so is the secret.
5. Without the secret nothing is issued and no report with a token is taken: it waits on its device.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from datetime import timedelta

from rrcollect.errors import KeyFileError, ParameterError
from rrcollect.publish.issuer import MOST_PLACES, TokenSecret
from rrcollect.publish.report import Report
from rrcollect.publish.survey import Survey
from rrcollect.publish.tickets import proof_known_as
from rrcollect.publish.tokens import REFUSALS, TokenKeys, TokenRequest
from server_agg.collect.catalogue import CatalogueEntry
from server_agg.collect.store.database import Database
from server_agg.collect.store.epochs import Epochs
from server_agg.collect.store.keys import KeyFolder
from server_agg.collect.store.reports import IncomingReport
from server_agg.collect.store.taking import already_spent
from server_agg.errors import Refusal, StoreUnavailable

MOST_ASKED, ASKED_SECONDS = 12, 600.0  # requests of one invite in so many seconds
MOST_REMEMBERED = 100_000  # invites whose requests are counted
ADD_ISSUED = "INSERT INTO issued (survey, invite, elements) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
READ_ISSUED = "SELECT elements FROM issued WHERE survey = ? AND invite = ?"

Accepts = Callable[[str, str], bool]  # a survey's digest and what proves an invite: is it good?


def refused(reason: str) -> Refusal:
    """A request refused for good, in the words that a device believes."""
    status, words = REFUSALS[reason]
    return Refusal(status, reason, words)


@dataclass(eq=False)
class Issuing:
    """The issuer of the surveys whose secrets are in the store's folder of keys.

    `accepts` judges invites in the place of the list that the owner uploaded."""

    epochs: Epochs
    survey: Callable[[str], CatalogueEntry | None]
    withdrawn: Container[str] = field(kw_only=True, default=frozenset())
    grace: timedelta = field(kw_only=True, default=timedelta(0))
    accepts: Accepts | None = field(kw_only=True, default=None)
    clock: Callable[[], float] = field(kw_only=True, default=time.time)

    def __post_init__(self) -> None:
        self._keys: dict[str, TokenKeys] = {}
        self._asked: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self, body: bytes) -> bytes:
        """The reply to a request for tokens; a `Refusal` that says why not."""
        request = TokenRequest.from_bytes(body, MOST_PLACES)
        if request is None:
            raise refused("malformed")
        entry = self.survey(request.survey)
        if entry is None or entry.survey.issuer is None:
            raise refused("unknown_survey")
        if request.survey in self.withdrawn:
            raise refused("withdrawn")
        if self.clock() >= (entry.survey.expires + self.grace).timestamp():
            raise refused("closed")
        if len(request.elements) != len(entry.survey.issuer.keys):
            raise refused("malformed")
        invite = proof_known_as(request.invite)
        if not self._is_good(request, invite):
            raise refused("unknown_invite")
        self._count(f"{request.survey}{invite}")
        keys = self.keys(entry.survey)
        if not keys.fits(request):
            raise refused("malformed")
        if not served(self.epochs.database, request, invite):
            raise refused("already_issued")
        return keys.reply(request)

    def check(self, report: Report, incoming: IncomingReport, survey: Survey) -> None:
        """Return if the token of a report is good, or was spent: then the store says by what."""
        spending = incoming.spending
        if spending is not None and already_spent(self.epochs, spending):
            return
        if not self.keys(survey).spoken(report):
            raise Refusal.of("unknown_ticket", "the token was not issued for this survey, place and report")

    def keys(self, survey: Survey) -> TokenKeys:
        """The keys of a survey; `StoreUnavailable` if its secret is not here."""
        text = self.epochs.keys.secret(survey.digest)
        if text is None:  # not brought yet, or destroyed with the survey
            self._keys.pop(survey.digest, None)
            raise StoreUnavailable("the secret of the survey's tokens is not here: its publisher brings it")
        known = self._keys.get(survey.digest)
        if known is None:
            known = self._keys[survey.digest] = TokenKeys(survey, TokenSecret.of(text))
        return known

    def _is_good(self, request: TokenRequest, invite: str) -> bool:
        if self.accepts is not None:
            return self.accepts(request.survey, request.invite)
        with self.epochs.database.reading() as cursor:
            found = self.epochs.database.select_in(cursor, "survey", "invites", "ticket", [invite])
        return (request.survey,) in [tuple(row) for row in found]

    def _count(self, invite: str) -> None:
        now = time.monotonic()
        with self._lock:
            asked = [moment for moment in self._asked.pop(invite, []) if now - moment < ASKED_SECONDS]
            self._asked[invite] = [*asked, now]
            if len(self._asked) > MOST_REMEMBERED:
                self._asked.popitem(last=False)
        if len(asked) >= MOST_ASKED:
            raise Refusal(429, "too_often", "this invite was used many times in the last minutes; ask again later")


def served(database: Database, request: TokenRequest, invite: str) -> bool:
    """Whether these are the elements that the invite is served, from now on or since before; durable."""
    elements = hashlib.sha256(b"".join(request.elements)).hexdigest()
    with database.writing() as cursor:
        database.run(cursor, ADD_ISSUED, (request.survey, invite, elements))
        (there,) = database.run(cursor, READ_ISSUED, (request.survey, invite)).fetchone()
    return bool(there == elements)


def keep_secret(folder: KeyFolder, survey: Survey, text: str) -> None:
    """Keep the secret that a survey's keys come from, beside the keys of the store; another one is an error."""
    try:
        secret = TokenSecret.of(text)
    except KeyFileError as error:
        raise ParameterError("secret", "not shown", str(error)) from None
    TokenKeys(survey, secret)
    folder.keep_secret(survey.digest, secret.text())
