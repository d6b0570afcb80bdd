"""<rr-survey> as `rrcollect/web/build.mjs` makes it, also of changed sources; and the sources themselves, for pages."""

from __future__ import annotations

import fcntl
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rrcollect import web
from tests.inside.collect import pages

WEB = web.HERE
SOURCES = WEB / "src"
ASSET = inspect.unwrap(pages.asset)  # without its cache
TYPES = {".mjs": "text/javascript", ".json": "application/json", ".css": "text/css"}


def sources_of() -> str:
    """All modules that a page may load, as one text."""
    paths = [path for path in sorted(SOURCES.rglob("*.mjs")) if path != SOURCES / "answer/ledger/file.mjs"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def changed(folder: Path, changes: Mapping[str, str]) -> Path:
    """A copy of the client, without what was built, of which some modules have another text."""
    made = shutil.copytree(WEB, folder / "web", ignore=shutil.ignore_patterns("node_modules", "dist", "__pycache__"))
    for name, text in changes.items():
        assert (made / "src" / name).is_file(), name
        (made / "src" / name).write_text(text, encoding="utf-8")
    return made


def build(made: Path) -> Path:
    """The folder `dist` of a copy of the client, made there."""
    tools = Path(sys.prefix, "node", "node_modules")
    assert (tools / "esbuild").exists(), "esbuild and TypeScript are needed: `make test` installs them"
    (made / "node_modules").symlink_to(tools)
    done = subprocess.run(["node", "build.mjs"], cwd=made, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return made / "dist"


def built() -> Path:
    """The client as it is built: the one of this checkout, or one made once for all processes of a run."""
    if web.folder() != SOURCES:
        return web.folder()
    place = Path(tempfile.gettempdir(), f"rrcollect-element-{web.sources()}")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "web" / "dist" / "sources.txt").is_file():
            shutil.rmtree(place, ignore_errors=True)
            build(changed(place, {}))
    return place / "web" / "dist"


def serve(monkeypatch: Any, folder: Path) -> None:
    """Let collectors of this process serve the client from this folder."""
    monkeypatch.setattr(pages, "ASSETS", pages.assets(folder, pages.STATIC))
    monkeypatch.setattr(pages, "asset", ASSET)


def serve_sources(context: Any) -> None:
    """Let the pages of a browser's context import /sources/index.mjs and what is beside it."""

    def answer(route: Any) -> None:
        path = SOURCES / route.request.url.partition("/sources/")[2]
        route.fulfill(body=path.read_text(encoding="utf-8"), content_type=TYPES[path.suffix])

    context.route("**/sources/**", answer)
