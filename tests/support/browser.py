"""Chromium for the tests: the machine's own, without a profile, a window and the network.

The headless shell is the same engine for half the processor time.  Tests of what a browser keeps of a person use the
whole browser: see test_collect_traces.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect, sync_playwright

PROGRAM = "chromium-headless-shell"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",  # of a new process for each page most of the time is its start
]


AXE = Axe()
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


def accessible(page: Any) -> None:
    """axe finds nothing in the page, nor in the elements inside it."""
    found = AXE.run(page, options=RULES).response["violations"]
    told = [(one["id"], [(node["target"], node["failureSummary"]) for node in one["nodes"]]) for one in found]
    assert told == []


def unfold(page: Any) -> None:
    """Open everything that is folded, and wait for what is loaded then."""
    page.locator("summary").first.wait_for()
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    expect(page.locator("details[part=details] > div:empty")).to_have_count(0)


@contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which(PROGRAM)
    assert program, f"{PROGRAM} is needed (Debian: apt-get install {PROGRAM})"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A person at a browser: one profile, its pages, and every request and complaint they made."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(**{"service_workers": "block", **options})
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def page(self, url: str) -> Any:
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        page.goto(url)
        return page
