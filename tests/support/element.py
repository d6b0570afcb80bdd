"""<rr-survey> as `rrcollect/web/build.mjs` makes it, also of changed sources; and the sources themselves, for pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parents[2] / "rrcollect" / "web"
BUILT = WEB / "element"


def build_element(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """The folder `element`, made here of the sources, of which some have another text."""
    tools = Path(sys.prefix, "node", "node_modules")
    assert (tools / "esbuild").exists(), "esbuild and terser are needed: `make test` installs them"
    web = shutil.copytree(WEB, folder / "web", ignore=shutil.ignore_patterns("node_modules", "element"))
    for name, text in (changes or {}).items():
        (web / name).write_text(text, encoding="utf-8")
    (web / "node_modules").symlink_to(tools)
    done = subprocess.run(["node", "build.mjs"], cwd=web, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return web / "element"


def serve_sources(context: Any) -> None:
    """Let the pages of a browser's context import /sources/rrcollect.mjs and what is beside it."""

    def answer(route: Any) -> None:
        name = route.request.url.partition("/sources/")[2]
        route.fulfill(body=(WEB / name).read_text(encoding="utf-8"), content_type="text/javascript")

    context.route("**/sources/**", answer)
