"""The pages and what they load.  All of it is served from here; no page asks a third party for anything, and every
address in them is relative: they work below any path.

A survey's page is the element <rr-survey> of `rrcollect.web` and nothing more: it is given the survey's address, its
publisher and public keys, escaped; what it shows comes from the signed envelope, verified in the browser, and is put
into the document as text, never as markup.  So is what the other pages read from /results and, with the owner's token,
from the routes under /surveys.  A survey's page is served at the origins that the survey lists and nowhere else: every
origin has a ledger of its own in a person's browser, and would draw once more.
"""

from __future__ import annotations

import html
from functools import cache
from importlib import resources

from rrcollect.answer.words import LANGUAGES
from rrcollect.publish.survey import CARRIED
from rrcollect.web import for_pages
from server_agg.collect.catalogue import CatalogueEntry

__all__ = ["ASSETS", "asset", "board_page", "embedded_page", "missing_page", "owner_page", "results_page",
           "survey_page"]  # fmt: skip

ASSETS = {
    "rrcollect.mjs": ("rrcollect", "web", "text/javascript"),
    "rr-survey.mjs": ("rrcollect", "web", "text/javascript"),
    "rr-entries.mjs": ("rrcollect", "web", "text/javascript"),
    "offline.mjs": ("server_agg.collect", "static", "text/javascript"),
    "figures.mjs": ("server_agg.collect", "static", "text/javascript"),
    "findings.mjs": ("server_agg.collect", "static", "text/javascript"),
    "board.mjs": ("server_agg.collect", "static", "text/javascript"),
    "owner.mjs": ("server_agg.collect", "static", "text/javascript"),
    "icon.svg": ("server_agg.collect", "static", "image/svg+xml"),
    "page.css": ("server_agg.collect", "static", "text/css"),
    **{f"words/{language}.mjs": ("rrcollect", "web", "text/javascript") for language in LANGUAGES},
}

FRAME = """<!doctype html>
<html lang="en">
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
NO_SCRIPT = """<noscript><p class="notice">This page needs JavaScript: your answer is changed at random on this device,
before anything is sent.</p></noscript>"""
NO_DRAWINGS = '<noscript><p class="notice">This page needs JavaScript: it draws its figures itself.</p></noscript>'
NO_PAGE = "Its publisher lists no web page for it: it is answered in apps. Nothing was asked and nothing was sent."
NOWHERE = (
    "Perhaps the link was cut off or mistyped: a survey's link ends in 64 letters and digits. Please ask whoever gave "
    "it to you for the whole link. Nothing was asked and nothing was sent."
)
ELSEWHERE = (
    "Each address keeps its own record of what you answered, so the publisher has listed where this survey may be "
    "answered. This address is not among them. Nothing was asked and nothing was sent."
)


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """The bytes (of modules as pages need them) and the media type of a file the pages load; None for any other."""
    if name not in ASSETS:
        return None
    package, folder, kind = ASSETS[name]
    text = resources.files(package).joinpath(folder, name).read_text("utf-8")
    if name == "page.css":
        text = resources.files("server_agg.report").joinpath("colours.css").read_text("utf-8") + text
    return (for_pages(text) if name.endswith(".mjs") else text).encode(), kind


def survey_page(listed: CatalogueEntry, origin: str | None, prefix: str = "") -> tuple[str, int]:
    """The page on which a person answers, if the survey lists this origin, else one that says where; and its status.
    `prefix`: the path below which this collector is reached."""
    if not listed.survey.origins or listed.survey.collector == CARRIED:
        return _notice("This survey has no page", NO_PAGE), 404
    if origin not in listed.survey.origins:
        return _notice("This survey is not answered here", ELSEWHERE, _places(listed, prefix)), 421
    keys, publisher = " ".join(listed.published.keys), html.escape(listed.survey.publisher)
    element = SURVEY.format(digest=listed.published.digest, keys=keys, publisher=publisher)
    script = SCRIPT.format(module="rr-survey.mjs", root="../")
    inside = element + NO_SCRIPT
    return FRAME.format(title="Survey", kind="survey", data="", script=script, inside=inside, root="../"), 200


def _places(listed: CatalogueEntry, prefix: str) -> str:
    """The origins as a list; where the survey's collector is, with a link to the page it serves."""
    items = []
    for origin, page in zip(listed.survey.origins, listed.pages(prefix), strict=True):
        here = listed.survey.collector.startswith(f"{origin}/")
        shown = f'<a href="{html.escape(page)}">{html.escape(origin)}</a>' if here else html.escape(origin)
        items.append(f"<li>{shown}</li>")
    return f"<p>It may be answered at:</p>\n<ul>\n{''.join(items)}\n</ul>\n"


def board_page() -> str:
    """The page that lists what was released."""
    return _frame("Results", "board", {"view": "all"}, "./", NO_DRAWINGS)


def results_page(digest: str) -> str:
    """The page of what was released of one survey."""
    return _frame("Results", "board", {"view": "one", "digest": digest}, "../", NO_DRAWINGS)


def embedded_page(digest: str) -> str:
    """The same for a frame in another page: nothing to press that leads away from it."""
    return _frame("Results", "board", {"view": "embedded", "digest": digest}, "../../", NO_DRAWINGS)


def owner_page(*, public: bool) -> str:
    """The page on which the owner publishes, invites, releases, closes and reads."""
    return _frame("Owner", "owner", {"public": "yes" if public else "no"}, "./", NO_DRAWINGS)


def missing_page(path: str) -> str:
    """The page for a person whose link leads nowhere, at this path of ours.

    >>> '<link rel="stylesheet" href="../assets/page.css">' in missing_page("/s/abc")
    True
    """
    return _notice("There is nothing at this address", NOWHERE, root="../" * (path.count("/") - 1) or "./")


def _frame(title: str, kind: str, data: dict[str, str], root: str, inside: str = NO_SCRIPT) -> str:
    attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in data.items())
    script = SCRIPT.format(module=f"{kind}.mjs", root=root)
    return FRAME.format(title=title, kind=kind, data=attributes, script=script, inside=inside, root=root)


def _notice(title: str, words: str, more: str = "", root: str = "../") -> str:
    inside = f'<section class="card">\n<h1>{title}</h1>\n<p>{words}</p>\n{more}</section>'
    return FRAME.format(title=title, kind="survey", data="", script="", inside=inside, root=root)
