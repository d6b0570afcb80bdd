"""The two pages and what they load.  All of it is served from here; no page asks a third party for anything.

A page is an empty frame: what it shows comes from the signed envelope, verified in the browser, or from /results with
the owner's token, and is put into the document as text, never as markup.  The frame itself holds a digest and public
keys, escaped.
"""

from __future__ import annotations

import html
from functools import cache
from importlib import resources

from server_agg.collect.catalogue import CatalogueEntry

__all__ = ["ASSETS", "asset", "results_page", "survey_page"]

ASSETS = {
    "rrcollect.mjs": ("rrcollect", "web", "text/javascript"),
    "survey.mjs": ("server_agg.collect", "static", "text/javascript"),
    "results.mjs": ("server_agg.collect", "static", "text/javascript"),
    "icon.svg": ("server_agg.collect", "static", "image/svg+xml"),
    "page.css": ("server_agg.collect", "static", "text/css"),
}

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg">
<script type="module" src="/assets/{script}"></script>
</head>
<body>
<main id="main" class="{kind}"{data}>
<noscript><p class="notice">This page needs JavaScript: your answer is changed at random on this device, before anything
is sent.</p></noscript>
</main>
</body>
</html>
"""


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """The bytes and the media type of a file the pages load; None if it is not one of them."""
    if name not in ASSETS:
        return None
    package, folder, kind = ASSETS[name]
    return resources.files(package).joinpath(folder, name).read_bytes(), kind


def survey_page(listed: CatalogueEntry) -> str:
    """The page on which a person answers."""
    data = {
        "digest": listed.published.digest,
        "publisher": listed.survey.publisher,
        "keys": " ".join(listed.published.keys),
    }
    return _frame("Survey", "survey", data)


def results_page(*, public: bool) -> str:
    """The page on which the owner reads."""
    return _frame("Results", "results", {"public": "yes" if public else "no"})


def _frame(title: str, kind: str, data: dict[str, str]) -> str:
    attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in data.items())
    return FRAME.format(title=title, script=f"{kind}.mjs", kind=kind, data=attributes)
