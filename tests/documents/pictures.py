"""The pictures of the pages in docs/pictures, made anew.

Run: python -m tests.documents.pictures        (Chromium; about a minute)

Rules
1. Every page is pictured as it is served by `rrcollect demo --web`, on a phone and on a desk: nothing is drawn for it.
2. A row of `SHOTS` is a picture: its name, what it shows, where it is, the language of the person, and what is done
   before.  docs/pictures.md is written from the same rows.
3. Pictures have 64 colours, so that they stay small.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from tests.support.browser import chromium

__all__ = ["PAGE", "PICTURES", "SHOTS", "WIDTHS", "page"]

ROOT = Path(__file__).resolve().parents[2]
PICTURES, PAGE = ROOT / "docs" / "pictures", ROOT / "docs" / "pictures.md"
WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}
Step = Callable[[Any, dict[str, str]], None]


class Shot(NamedTuple):
    """A picture: `place` is a page of the demo, `before` what is done on it."""

    name: str
    shows: str
    place: str
    language: str = "en"
    before: Step | None = None
    dark: bool = False


def nothing(page: Any, pages: dict[str, str]) -> None:
    """The page as it opens."""


def how_it_protects(page: Any, pages: dict[str, str]) -> None:
    """The part that explains is opened."""
    page.locator("details").first.evaluate("each => { each.open = true; each.scrollIntoView() }")
    page.locator(".simulation").wait_for()


def with_token(page: Any, pages: dict[str, str]) -> None:
    """The owner comes in."""
    page.locator("input[type=password], input[name=token], #token").first.fill(pages["token"])
    page.keyboard.press("Enter")
    page.wait_for_timeout(1500)


SHOTS = (
    Shot("survey", "The survey page, as a respondent opens it", "survey"),
    Shot("survey-protects", "“How does this protect me?”", "survey", before=how_it_protects),
    Shot("survey-german", "The survey page of a person who reads German", "survey", "de"),
    Shot("survey-arabic", "The survey page of a person who reads Arabic", "survey", "ar"),
    Shot("survey-dark", "The survey page at night", "survey", dark=True),
    Shot("results", "Results that were released, for a board", "results"),
    Shot("owner", "The owner's page", "owner", before=with_token),
    Shot("demo", "The page that `make demo` makes", "demo"),
)


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """The addresses of a demo that runs, and of the page of one that ran."""
    program = [sys.executable, "-m", "server_agg.cli.main", "demo"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        subprocess.run([*program, "--seconds", "5", "--out", str(folder)], check=True, capture_output=True)
        web = [*program, "--web", "--pause", "3600", "--json"]
        with subprocess.Popen(web, stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout
            text = served.stdout.readline()
            while not text.rstrip().endswith("}"):
                text += served.stdout.readline()
            pages = json.loads(text)
            digest = pages["survey"].rpartition("/")[2]
            try:
                yield {
                    **pages,
                    "owner": f"{pages['results']}owner",
                    "results": f"{pages['results']}r/{digest}",
                    "demo": (folder / "report.html").as_uri(),
                }
            finally:
                served.send_signal(signal.SIGINT)
                served.communicate(timeout=60)


def small(png: bytes) -> bytes:
    """The same picture in 64 colours."""
    made = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def page() -> str:
    """docs/pictures.md."""
    lines = [
        "# Pictures",
        "",
        "Every page, on a phone and on a desk. Made by `python -m tests.documents.pictures`.",
        "",
    ]
    for shot in SHOTS:
        lines += [f"## {shot.shows}", ""]
        lines += [f"![{shot.shows}, {where}](pictures/{shot.name}-{where}.png)" for where in WIDTHS] + [""]
    return "\n".join(lines)


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with running() as pages, chromium() as browser:
        for shot in SHOTS:
            for where, (width, height) in WIDTHS.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height}, locale=shot.language,
                    color_scheme="dark" if shot.dark else "light",
                )  # fmt: skip
                seen = context.new_page()
                seen.goto(pages[shot.place])
                seen.get_by_role("heading").first.wait_for(timeout=60_000)
                seen.wait_for_timeout(500)
                (shot.before or nothing)(seen, pages)
                (PICTURES / f"{shot.name}-{where}.png").write_bytes(small(seen.screenshot()))
                context.close()
                sys.stderr.write(f"{shot.name}-{where}\n")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
