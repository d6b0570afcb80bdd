"""Headers: what every reply carries, which pages of other hosts may speak to us, and the language that is asked for.

Rules
1. A strict content security policy: scripts and styles from here alone, nothing inline, no frames, no third party but
   the collector that a survey names.  One page may stand in a frame of another site: released results without buttons,
   which anybody may read and with which nobody can do anything.
2. No cookie is set or read, so that a foreign page can do nothing in anybody's name.
3. CORS: an origin that a survey lists may GET that survey; one that any survey here lists may POST reports.  Nobody
   else may, and nothing else: the publisher's signature decides, and no setting.
4. The origin a request was made to is what its Host says, once, with the scheme of the connection or of the settings.
   No forwarded header is believed: anybody can send one.
5. Accept-Language (RFC 9110, 12.5.4) is read up to `LONGEST` characters and `MOST` languages; what is not of its form
   is passed over.  The first of our languages by weight, then by place, is taken; English if there is none.  A weight
   of 0 means never.
6. An unforeseen error becomes a 500 without details; its type is logged, nothing that was sent is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rrcollect.answer.explain.words import LANGUAGES, Words
from server_agg.collect.http.bodies import header, reply

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'{images}; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
UNFRAMED = "frame-ancestors 'none'"


def _policy(connect: str = "'self'", images: str = "", frames: str = "'none'") -> str:
    return POLICY.format(connect=connect, images=images, frames=frames)


HEADERS = [
    (b"content-security-policy", _policy().encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
OPEN_TO_ORIGINS = re.compile("/reports|/log/[a-z0-9/.]+|/surveys/([0-9a-f]{64})(?:/withdrawal)?")
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
LONGEST, MOST = 1000, 50
_RANGE = re.compile(r"([A-Za-z]{1,8})(?:-[A-Za-z0-9]{1,8})*(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")
log = logging.getLogger("rrcollect.collect")


class Guard:
    """Wraps the whole application.  `listed(origin, digest)` tells whether that survey, or without a digest any survey,
    lists an origin."""

    def __init__(self, app: ASGIApp, listed: Callable[[str, str | None], Awaitable[bool]]) -> None:
        self._app = app
        self._listed = listed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False
        extra = await self._cors(scope)

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {name for name, _ in message["headers"]}  # a survey's page has a policy of its own
                policies = [value for name, value in message["headers"] if name == b"content-security-policy"]
                if any(UNFRAMED.encode() not in value for value in policies):
                    own.add(b"x-frame-options")
                usual = [one for one in HEADERS if one[0] not in own]
                message["headers"] = [*message["headers"], *usual, *extra]
            await send(message)

        if extra and scope["method"] == "OPTIONS":
            await reply({}, 200)(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            log.error("unforeseen %s in %s", type(error).__name__, scope["method"])
            if not started:
                await reply({"error": "unforeseen", "reason": "a fault of the collector"}, 500)(scope, receive, guarded)

    async def _cors(self, scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
        match = OPEN_TO_ORIGINS.fullmatch(own_path(scope))
        if match is None:
            return ()
        origin = header(scope, b"origin")
        if origin is None or not await self._listed(origin.decode("latin-1"), match[1]):
            return ((b"vary", b"origin"),) if scope["method"] != "OPTIONS" else ()
        return (
            (b"vary", b"origin"),
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"content-type"),
            (b"access-control-max-age", b"600"),
        )


def own_path(scope: Scope) -> str:
    """The path of a request below the path at which we are mounted.

    >>> own_path({"path": "/collect/reports", "root_path": "/collect"}), own_path({"path": "/reports"})
    ('/reports', '/reports')
    """
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and (path == root or path.startswith(root + "/")) else path


def survey_policy(collector: str, frames: Iterable[str] = (), relay: str | None = None) -> dict[str, str]:
    """The policy of a survey's page, which sends reports to the survey's collector (usually, but not always, here), or
    to its relay and nowhere else, shows the logo that stands in the signed survey, and may stand inside pages of these
    origins.

    >>> "connect-src 'self' https://collect.example.org;" in str(survey_policy("https://collect.example.org/reports"))
    True
    """
    parts, around = urlsplit(relay or collector), " ".join(frames) or "'none'"
    connect = f"'self' {parts.scheme}://{parts.netloc}"
    return {"content-security-policy": _policy(connect=connect, images=" data:", frames=around)}


def results_policy(*, framed: bool) -> dict[str, str]:
    """The policy of a page of results, which turns its own drawings into images; `framed`: in whatever page.

    >>> results_policy(framed=False)["content-security-policy"].endswith(UNFRAMED)
    True
    """
    return {"content-security-policy": _policy(images=" blob:", frames="*" if framed else "'none'")}


def own_origin(scope: Scope, *, https: bool) -> str | None:
    """The origin of the page that this request is for, as a browser spells it; None if there is not exactly one Host.

    >>> own_origin({"scheme": "http", "headers": [(b"host", b"Survey.example.org:443")]}, https=True)
    'https://survey.example.org'
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        return None
    scheme = "https" if https else scope["scheme"]
    return f"{scheme}://{hosts[0].decode('latin-1').lower().removesuffix(DEFAULT_PORTS[scheme])}"


def words_for(scope: Scope) -> Words:
    """Our words in the language that a request asks for."""
    return Words.of(preferred((header(scope, b"accept-language") or b"").decode("latin-1")))


def preferred(accepted: str) -> str | None:
    """The language of ours that this header prefers, if it names one.

    >>> preferred("pt-BR, fr-CH;q=0.8, de;q=0.9"), preferred("de;q=0"), preferred("*")
    ('de', None, None)
    """
    weighed = []
    for place, part in enumerate(accepted[:LONGEST].split(",")[:MOST]):
        found = _RANGE.fullmatch(part.strip(" \t"))
        if found and found[1].lower() in LANGUAGES and (weight := float(found[2] or 1)):
            weighed.append((-weight, place, found[1]))
    return min(weighed)[2].lower() if weighed else None
