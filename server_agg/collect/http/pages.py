"""The pages and what they load.  All of it is served from here; no page asks a third party for anything, and every
address in them is relative: they work below any path.

A survey's page is the element <rr-survey> of `rrcollect.web`, and nothing more: it is given the
survey's address, its publisher and public keys, escaped; what it shows comes from the signed envelope, verified in the
browser, and is put into the document as text, never as markup.  So is what the other pages read from /results and, with
the owner's token, from the routes under /surveys.  A survey's page is served at the origins that the survey lists and
nowhere else: every origin has a ledger of its own in a person's browser, and would draw once more.

Refusals and troubles become replies: a person whose link leads nowhere reads a page, a program reads JSON.
"""

from __future__ import annotations

import gzip
import html
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rrcollect import __version__, web
from rrcollect.answer.explain.words import Words
from rrcollect.publish.document import CARRIED
from server_agg.collect.catalogue import CatalogueEntry
from server_agg.collect.http.bodies import NOT_CACHED, header, refusal_reply, trouble_reply
from server_agg.collect.http.headers import own_path, words_for
from server_agg.errors import Refusal, StoreError

MEDIA = {
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
STATIC = Path(__file__).parents[1] / "static"


def assets(*folders: Path) -> dict[str, Path]:
    """The files in these folders that pages may load, by the names they load them by."""
    return {
        path.relative_to(folder).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in MEDIA
    }


ASSETS = assets(web.folder(), STATIC)

FRAME = """<!doctype html>
<html lang="{language}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{root}assets/page.css">
<link rel="icon" href="{root}assets/icon.svg">{script}
</head>
<body>
<main id="main" class="{kind}"{data}>
{inside}
</main>
</body>
</html>
"""
SCRIPT = '\n<script type="module" src="{root}assets/{module}"></script>'
SURVEY = """<rr-survey page src="../surveys/{digest}" publisher="{keys}" publisher-name="{publisher}"
worker="../assets/offline.mjs"></rr-survey>
"""
NO_DRAWINGS = '<noscript><p class="notice">This page needs JavaScript: it draws its figures itself.</p></noscript>'


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """The bytes and the media type of a file the pages load; None for any other."""
    if name not in ASSETS:
        return None
    text = ASSETS[name].read_text("utf-8")
    if name == "page.css":
        text = resources.files("server_agg.results").joinpath("colours.css").read_text("utf-8") + text
    if name == "offline.mjs":
        names = ["page.css", "icon.svg", *(name for name, path in ASSETS.items() if STATIC not in path.parents)]
        text = f"const ASSETS = {json.dumps(names)};\n{text}"
    return text.encode(), MEDIA[ASSETS[name].suffix]


@cache
def packed(data: bytes) -> bytes:
    """The bytes of an asset, gzipped: they are the same for everybody, so that their length tells nothing."""
    return gzip.compress(data, 9, mtime=0)


def survey_page(
    listed: CatalogueEntry, origin: str | None, words: Words, prefix: str = "", logged: int = 1
) -> tuple[str, int]:
    """The page on which a person answers, if the survey lists this origin, else one that says where; and its status.
    `prefix`: the path below which this collector is reached; `logged`: how many surveys its log has of this name by the
    publisher."""
    if not listed.survey.origins or listed.survey.collector == CARRIED:
        return _notice(words, "no_page", "in_apps"), 404
    if origin not in listed.survey.origins:
        return _notice(words, "not_here", "elsewhere", _places(listed, words, prefix)), 421
    keys, publisher = " ".join(listed.published.keys), html.escape(listed.survey.publisher)
    element = SURVEY.format(digest=listed.published.digest, keys=keys, publisher=publisher)
    script = SCRIPT.format(module="rr-survey.mjs", root="../")
    element += f'<p class="foot">{words.say("in_log", count=str(logged))}</p>'
    inside = f'{element}<noscript><p class="notice">{words.say("needs_script")}</p></noscript>'
    return _filled(words, title=words.say("survey"), kind="survey", script=script, inside=inside, root="../"), 200


def _places(listed: CatalogueEntry, words: Words, prefix: str) -> str:
    """The origins as a list; where the survey's collector is, with a link to the page it serves."""
    items = []
    for origin, page in zip(listed.survey.origins, listed.survey.pages(prefix), strict=True):
        here = listed.survey.collector.startswith(f"{origin}/")
        shown = f'<a href="{html.escape(page)}">{html.escape(origin)}</a>' if here else html.escape(origin)
        items.append(f"<li>{shown}</li>")
    return f"<p>{words.say('answered_at')}</p>\n<ul>\n{''.join(items)}\n</ul>\n"


def board_page(digest: str | None = None, *, embedded: bool = False) -> str:
    """The page of what was released, of one survey or of all; `embedded`: for a frame in another page, with nothing to
    press that leads away from it."""
    if digest is None:
        return _frame("Results", "board", {"view": "all"}, "./", NO_DRAWINGS)
    view, root = ("embedded", "../../") if embedded else ("one", "../")
    return _frame("Results", "board", {"view": view, "digest": digest}, root, NO_DRAWINGS)


def owner_page(*, public: bool) -> str:
    """The page on which the owner publishes, invites, releases, closes and reads."""
    return _frame("Owner", "owner", {"public": "yes" if public else "no"}, "./", NO_DRAWINGS)


def missing_page(path: str, words: Words) -> str:
    """The page for a person whose link leads nowhere, at this path of ours.

    >>> '<link rel="stylesheet" href="../assets/page.css">' in missing_page("/s/abc", Words.of("fr"))
    True
    """
    return _notice(words, "nowhere", "mistyped", root="../" * (path.count("/") - 1) or "./")


def _frame(title: str, kind: str, data: dict[str, str], root: str, inside: str) -> str:
    attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in data.items())
    script = SCRIPT.format(module=f"{kind}.mjs", root=root)
    return _filled(Words.of("en"), title=title, kind=kind, data=attributes, script=script, inside=inside, root=root)


def _notice(words: Words, title: str, text: str, more: str = "", root: str = "../") -> str:
    """A page of these two sentences, and that nothing was asked."""
    told = f"{words.say(text)} {words.say('nothing_asked')}"
    inside = f'<section class="card">\n<h1>{words.say(title)}</h1>\n<p>{told}</p>\n{more}</section>'
    return _filled(words, title=words.say(title), kind="survey", inside=inside, root=root)


def _filled(words: Words, data: str = "", script: str = "", **places: str) -> str:
    return FRAME.format(language=words.language, direction=words.direction, data=data, script=script, **places)


async def told(request: Request, error: HTTPException | Refusal | StoreError) -> Response:
    """What is told of a refusal, of trouble with the store, and at an address that is not ours or takes another
    method: a person whose link leads nowhere reads a page."""
    if isinstance(error, StoreError):
        return trouble_reply(error)
    headers = {}
    if isinstance(error, HTTPException):
        words = {404: "there is nothing at this address", 405: "this address takes another method"}
        headers = dict(error.headers or {})
        error = Refusal(error.status_code, "http", words.get(error.status_code, error.detail))
    for_people = request.method == "GET" and b"text/html" in (header(request.scope, b"accept") or b"")
    if error.status == 404 and for_people:
        page = missing_page(own_path(request.scope), words_for(request.scope))
        return Response(page, 404, NOT_CACHED, "text/html")
    return refusal_reply(error, headers)


def description(list_limit: int, most_invites: int, *, public_results: bool) -> dict[str, Any]:
    """The document at /openapi.json: what the collector takes and says.  A test sends requests made from it.  It is
    stored in `openapi.json`; this fills in what depends on the version and on the settings."""
    made: dict[str, Any] = json.loads(resources.files(__package__).joinpath("openapi.json").read_bytes())
    made["info"]["version"] = __version__
    _body(made, "/reports")["oneOf"][1]["maxItems"] = list_limit
    _body(made, "/surveys/{digest}/invites")["oneOf"][0]["properties"]["count"]["maximum"] = most_invites
    if public_results:
        del made["paths"]["/results"]["get"]["security"]
    return made


def _body(made: dict[str, Any], path: str) -> Any:
    return made["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
