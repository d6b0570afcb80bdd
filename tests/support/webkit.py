"""WebKit for the tests, the engine of every iPhone: Debian's WebKitGTK, driven as the W3C's WebDriver says.

The browser has a screen of its own (Xvfb) and a profile of its own, which lasts as long as its session.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.ports import free_port

DRIVER, SCREEN = "WebKitWebDriver", "Xvfb"
BROWSERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/libexec")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol marks an element
WAIT = 20.0  # seconds for what a page is expected to do


def mini_browser() -> str:
    """The small browser that comes with WebKitGTK."""
    for folder in BROWSERS:
        for found in sorted(Path(folder).glob("webkit2gtk-4.*/MiniBrowser")):
            return str(found)
    raise AssertionError("MiniBrowser of WebKitGTK is needed (Debian: apt-get install webkit2gtk-driver)")


class Refused(AssertionError):
    """What the driver said instead of a result."""


class WebKit:
    """One window of the browser."""

    def __init__(self, address: str, session: str) -> None:
        self._session = f"{address}/session/{session}"

    def _ask(self, method: str, path: str, **given: Any) -> Any:
        return _asked(method, f"{self._session}/{path}", given if method == "POST" else None)

    def open(self, url: str) -> None:
        """Load a page."""
        self._ask("POST", "url", url=url)

    def reload(self) -> None:
        """Load it again."""
        self._ask("POST", "refresh")

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of an expression, of what a promise gives in the end, with `a` as the list of arguments."""
        value = f"(async () => JSON.stringify([({script}) ?? null]))()"
        body = f"const [a, done] = arguments; {value}.then(done, (error) => done(String(error)));"
        found = self._ask("POST", "execute/async", script=body, args=[list(arguments)])
        if not found.startswith("["):
            raise Refused(found)
        return json.loads(found)[0]

    def until(self, script: str, *arguments: Any) -> None:
        """Returns as soon as the expression is true."""
        end = time.monotonic() + WAIT
        while not self.run(f"!!({script})", *arguments):
            assert time.monotonic() < end, f"not true in {WAIT:g} seconds: {script}"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        """The size of the window."""
        self._ask("POST", "window/rect", width=width, height=height)

    def picture(self, path: Path) -> None:
        """What is seen, as a PNG."""
        path.write_bytes(base64.b64decode(self._ask("GET", "screenshot")))


def _asked(method: str, url: str, given: Any) -> Any:
    body = None if given is None else json.dumps(given).encode()
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            return json.load(response)["value"]
    except urllib.error.HTTPError as error:
        raise Refused(error.read().decode(errors="replace")) from None


@contextmanager
def _screen() -> Iterator[str]:
    """The name of a screen that nobody sees."""
    there, here = os.pipe()
    with subprocess.Popen(
        [SCREEN, "-displayfd", str(here), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"],
        pass_fds=[here], stderr=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        os.close(here)
        try:
            with os.fdopen(there) as said:
                yield f":{said.readline().strip()}"
        finally:
            running.terminate()


@contextmanager
def webkit() -> Iterator[WebKit]:
    """A window with an empty profile."""
    for program in (DRIVER, SCREEN):
        assert shutil.which(program), f"{program} is needed (Debian: apt-get install webkit2gtk-driver xvfb)"
    port, browser = free_port(), mini_browser()
    with TemporaryDirectory(ignore_cleanup_errors=True) as home, _screen() as screen:
        folders = {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("DATA", "CACHE", "CONFIG")}
        environment = {**os.environ, **folders, "HOME": home, "DISPLAY": screen, "LIBGL_ALWAYS_SOFTWARE": "1",
                       "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1"}  # fmt: skip
        driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield from _window(f"http://127.0.0.1:{port}", browser)
        finally:
            driver.terminate()
            driver.wait(20)


def _window(address: str, browser: str) -> Iterator[WebKit]:
    wanted = {"webkitgtk:browserOptions": {"binary": browser, "args": ["--automation"]}}
    end = time.monotonic() + WAIT
    while True:
        try:
            made = _asked("POST", f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
            break
        except urllib.error.URLError:
            assert time.monotonic() < end, f"{DRIVER} does not answer"
            time.sleep(0.05)
    try:
        yield WebKit(address, made["sessionId"])
    finally:
        _asked("DELETE", f"{address}/session/{made['sessionId']}", None)
