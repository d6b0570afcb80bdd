"""What a ledger holds of tokens, from the request to the report, and what it forgets.

Rules
1. Nonce and blind of every place are in the ledger before a request leaves.  A device that was interrupted asks again
   with the same ones; once the outputs are here it asks no more.
2. The blind is erased when the outputs are kept.  Without it nothing joins what the issuer saw with a token.
3. Nonce, output and the report's bytes, with its id and its moments, are erased when the report is acknowledged, or
   when the survey is over; the answer stays.  So a ledger that is stolen later does not tell which report was its own.
4. A key that an earlier survey had is refused: tokens of one would be good in the other.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping

from rrcollect.answer.ledger.content import Change
from rrcollect.errors import MalformedDocument, NoTokens
from rrcollect.publish.issuer import Issuer
from rrcollect.publish.tokens import Blinded


def remember_keys(change: Change, survey: str, issuer: Issuer) -> None:
    """Keep the keys of a survey; an error if one is known from another."""
    for place, key in issuer.keys.items():
        row = change.connection.execute("SELECT survey FROM issuer_keys WHERE key = ?", (key,)).fetchone()
        if row is not None and row[0] != survey:
            raise MalformedDocument(f"issuer.keys.{place}: another survey has this key")
        change.insert("issuer_keys", {"key": key, "survey": survey}, unless_there=True)


def begun(change: Change, survey: str, issuer: Issuer, over: int) -> dict[str, Blinded]:
    """The nonce and blind of every place, drawn now or before; none once the outputs are here, or were erased."""
    asked = "SELECT place, nonce, blind FROM tokens WHERE survey = ?"
    rows = change.connection.execute(asked, (survey,)).fetchall()
    if rows:
        return {place: Blinded(nonce, blind) for place, nonce, blind in rows if blind is not None}
    made = {place: Blinded.new() for place in sorted(issuer.keys)}
    for place, (nonce, blind) in made.items():
        change.insert("tokens", {"survey": survey, "place": place, "nonce": nonce, "blind": blind, "over": over})
    return made


def keep_outputs(change: Change, survey: str, outputs: Mapping[str, bytes]) -> None:
    """The outputs of all places in the place of their blinds."""
    for place, output in outputs.items():
        change.update(
            *("tokens", "output = ?, blind = NULL", (output,)),
            *("survey = ? AND place = ? AND blind IS NOT NULL", (survey, place)),
        )
    change.erased = True


def check_token(connection: sqlite3.Connection, survey: str, place: str) -> tuple[bytes, bytes]:
    """The nonce and output of a place; an error if there are none."""
    asked = "SELECT nonce, output FROM tokens WHERE survey = ? AND place = ? AND output IS NOT NULL"
    row: tuple[bytes, bytes] | None = connection.execute(asked, (survey, place)).fetchone()
    if row is None:
        raise NoTokens("this device has no token for this answer: `fetch_tokens` asks the survey's issuer for them")
    taken = "SELECT 1 FROM reports WHERE survey = ? AND place = ? AND body = x''"
    if connection.execute(taken, (survey, place)).fetchone():
        raise NoTokens("the token of this place was spent")
    return row


def erase(change: Change, where: str, which: tuple[object, ...]) -> None:
    """Erase what reports and their places hold that could be found again at the collector (rule 3)."""
    asked = f"SELECT id, survey, place FROM reports WHERE place IS NOT NULL AND ({where})"  # noqa: S608
    for report, survey, place in change.connection.execute(asked, which).fetchall():
        gone = "id = ?, body = x'', times = '[]'"
        change.update("reports", gone, (secrets.token_hex(16),), "id = ?", (report,))
        change.update("tokens", "nonce = NULL, output = NULL", (), "survey = ? AND place = ?", (survey, place))
        change.erased = True


def erase_over(change: Change, now: float) -> None:
    """Erase what is left of surveys that are over; what waited of them does not leave any more."""
    asked = "SELECT DISTINCT survey FROM tokens WHERE over < ? AND nonce IS NOT NULL"
    for (survey,) in change.connection.execute(asked, (now,)).fetchall():
        closed = "state = 'refused', reason = 'closed: the survey is over'"
        change.update("reports", closed, (), "survey = ? AND state = 'waiting'", (survey,))
        erase(change, "survey = ? AND body <> x''", (survey,))
        change.update("tokens", "nonce = NULL, blind = NULL, output = NULL", (), "survey = ?", (survey,))
        change.erased = True
