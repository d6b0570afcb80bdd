"""Pictures of all pages, to look at: build/pictures.md.  They are not kept in the repository.

Run: python -m tests.documents.pictures        (Chromium; about two minutes)

Rules
1. Every page is pictured as it is served by `rrcollect demo --web`, on a phone and on a desk: nothing is drawn for it.
2. A row of `SHOTS` is a picture: its name, what it shows, where it is, the language of the person, and what is done
   before.  build/pictures.md is written from the same rows.
3. Pictures have 128 colours, so that they stay small.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from tests.support.browser import chromium

ROOT = Path(__file__).resolve().parents[2]
PICTURES, PAGE = ROOT / "build" / "pictures", ROOT / "build" / "pictures.md"
WIDTHS = {"phone": (390, 844), "desk": (1280, 900), "paper": (760, 1075)}
Step = Callable[[Any, dict[str, str]], None]


class Shot(NamedTuple):
    """A picture: `place` is a page of the demo, `before` what is done on it; requests with `cut` in them fail."""

    name: str
    shows: str
    place: str
    language: str = "en"
    before: Step | None = None
    dark: bool = False
    cut: str = ""
    sizes: tuple[str, ...] = ("phone", "desk")


def nothing(page: Any, pages: dict[str, str]) -> None:
    """The page as it opens."""


def how_it_protects(page: Any, pages: dict[str, str]) -> None:
    """The part that explains is opened."""
    page.locator("details").first.evaluate("each => { each.open = true; each.scrollIntoView() }")
    page.locator(".simulation").wait_for()


def at(question: str, part: str = "") -> Step:
    """The page is scrolled to a question, or to a part of it."""

    def scroll(page: Any, pages: dict[str, str]) -> None:
        page.locator(f'[data-question="{question}"] {part}'.strip()).first.evaluate("each => each.scrollIntoView()")
        page.evaluate("scrollBy(0, -24)")

    return scroll


def with_choice(page: Any, pages: dict[str, str]) -> None:
    """An option is chosen, and not sent."""
    page.get_by_role("radio", name="A medal").click()
    at("tempted")(page, pages)


def with_number(page: Any, pages: dict[str, str]) -> None:
    """A number is entered, and not sent."""
    for digit in "12":
        page.get_by_role("button", name=digit, exact=True).click()
    at("hours")(page, pages)


def to_the_end(page: Any, pages: dict[str, str]) -> None:
    """Some questions are answered, the others declined."""
    for question in ("doped", "pressed", "fixed"):
        card = page.locator(f'[data-question="{question}"]')
        card.get_by_role("radio", name="No").click()
        card.locator("button.send").click()
        card.locator(".good").wait_for()
    for question in ("tempted", "hours"):
        page.locator(f'[data-question="{question}"] button.decline').click()
    page.locator("#end").wait_for()
    page.get_by_text("You can close this page now.").wait_for(timeout=60_000)
    page.locator("#end").evaluate("each => each.scrollIntoView({ block: 'center' })")


def with_token(page: Any, pages: dict[str, str]) -> None:
    """The owner comes in."""
    page.get_by_label("Owner's token").fill(pages["token"])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Surveys").wait_for()


def with_preview(page: Any, pages: dict[str, str]) -> None:
    """The owner looks at what a release would change."""
    with_token(page, pages)
    page.get_by_role("button", name="Clean sport").click()
    page.get_by_role("button", name="Show what would change").click()
    page.get_by_text("A release now would add").wait_for()
    page.locator("details.desk").first.evaluate("each => each.scrollIntoView()")
    page.evaluate("scrollBy(0, -24)")


def on_paper(page: Any, pages: dict[str, str]) -> None:
    """As it is printed."""
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(300)


SHOTS = (
    Shot("survey", "The survey page, as a respondent opens it", "survey"),
    Shot("survey-protects", "“How does this protect me?”", "survey", before=how_it_protects),
    Shot("survey-choice", "One of several options", "survey", before=with_choice),
    Shot("survey-number", "A number", "survey", before=with_number),
    Shot("survey-end", "The end of a survey", "survey", before=to_the_end),
    Shot("survey-german", "The survey page of a person who reads German", "survey", "de"),
    Shot("survey-arabic", "The survey page of a person who reads Arabic", "survey", "ar"),
    Shot("survey-dark", "The survey page at night", "survey", dark=True),
    Shot("state-mistyped", "An address that was mistyped", "mistyped"),
    Shot("state-offline", "Without a network, before the first load", "survey", cut="/surveys/"),
    Shot("results", "Results that were released, for a board", "results"),
    Shot(
        "results-rounds", "Results over the rounds", "results", before=at("pressed", "h3:has-text('Over the rounds')")
    ),
    Shot("results-options", "Results of a choice", "results", before=at("tempted")),
    Shot("results-print", "Results on paper", "results", before=on_paper, sizes=("paper",)),
    Shot("list", "All results of a collector", "list"),
    Shot("owner-token", "The owner's page asks for the token", "owner"),
    Shot("owner", "The owner's surveys", "owner", before=with_token),
    Shot("owner-survey", "A survey of the owner, with what a release would change", "owner", before=with_preview),
    Shot("demo", "The page that `make demo` makes", "demo"),
)


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """The addresses of a demo that runs, and of the page of one that ran."""
    program = [sys.executable, "-m", "server_agg.cli.main", "demo"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        subprocess.run([*program, "--seconds", "5", "--out", str(folder)], check=True, capture_output=True)
        web = [*program, "--web", "--pause", "0.3", "--json"]
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
                    "list": pages["results"],
                    "mistyped": f"{pages['results']}s/{digest[:40]}",
                    "owner": f"{pages['results']}owner",
                    "results": f"{pages['results']}r/{digest}",
                    "demo": (folder / "report.html").as_uri(),
                }
            finally:
                served.send_signal(signal.SIGINT)
                served.communicate(timeout=60)


def small(png: bytes) -> bytes:
    """The same picture in 128 colours."""
    made = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def page() -> str:
    """build/pictures.md."""
    lines = [
        "# Pictures",
        "",
        "Every page, on a phone and on a desk. Made by `python -m tests.documents.pictures`.",
        "",
    ]
    for shot in SHOTS:
        lines += [f"## {shot.shows}", ""]
        lines += [f"![{shot.shows}, {where}](pictures/{shot.name}-{where}.png)" for where in shot.sizes] + [""]
    return "\n".join(lines)


def main(names: Sequence[str] = ()) -> None:
    """Take all pictures, or those of these names."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with running() as pages, chromium() as browser:
        for shot in [one for one in SHOTS if not names or one.name in names]:
            for where in shot.sizes:
                width, height = WIDTHS[where]
                context = browser.new_context(
                    viewport={"width": width, "height": height}, locale=shot.language,
                    color_scheme="dark" if shot.dark else "light",
                )  # fmt: skip
                if shot.cut:
                    context.route(f"**{shot.cut}**", lambda route: route.abort())
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
    main(sys.argv[1:])
