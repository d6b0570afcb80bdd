"""The browser survey: the real collector, and a real Chromium whose person clicks where the example says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import Visit, chromium
from tests.support.examples import EXAMPLES, environment, outside
from tests.support.examples_page import prints, sections

SCRIPT = EXAMPLES / "browser_survey" / "run.py"


class RunningExample:
    """The example at work: what it has printed, and how to stop it as one does at a keyboard."""

    def __init__(self, root: Path) -> None:
        settings = environment(root)
        self.folder = root / "cwd"
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            cwd=self.folder,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        self.printed: list[str] = []
        for line in self.process.stdout:
            self.printed.append(line)
            if line.startswith("Stop with"):
                break

    def address(self, start: str) -> str:
        (found,) = re.findall(rf"^{start} here: +(http://127.0.0.1:\d+/\S*)", "".join(self.printed), re.MULTILINE)
        return str(found)

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        rest, complaints = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, complaints
        return rest


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningExample]:
    example = RunningExample(tmp_path)
    yield example
    if example.process.poll() is None:
        example.process.send_signal(signal.SIGINT)  # it stops its collector
        example.process.communicate(timeout=60)


def answer(page: object, question: str, said: str) -> None:
    part = page.locator(f'[data-question="{question}"]')  # type: ignore[attr-defined]
    part.get_by_role("radio", name=said, exact=True).click()
    part.get_by_role("button", name="Send").click()
    part.get_by_text("It was received.").wait_for()


def test_people_answer_where_it_says_and_the_owner_sees_it(running: RunningExample, tmp_path: Path) -> None:
    assert prints(sections()["browser_survey/"].shown, "".join(running.printed)), running.printed
    with chromium() as browser:
        for level in ("running", "skiing"):  # two people, each with a browser of their own
            with Visit(browser) as person:
                page = person.page(running.address("Answer"))
                page.get_by_text("Have you ever doped?").wait_for()
                page.get_by_label("sport").select_option(label=level)
                answer(page, "doped", "Yes")
                second = page.locator('[data-question="pressed"]')
                second.get_by_role("button", name="I prefer not to answer").click()
                second.get_by_text("You declined. Nothing was sent.").wait_for()
                assert person.complaints == []
        with Visit(browser) as owner:
            page = owner.page(running.address("Results"))
            token = (running.folder / "browser-survey" / "token").read_text()
            page.get_by_label("Owner's token").fill(token)
            page.get_by_role("button", name="Enter").click()
            page.get_by_role("button", name="Clean sport").click()
            page.locator(".answers, .card", has_text="2 answers").first.wait_for()
    rest = running.stop()
    assert "2 reports counted, 0 wait for others to be counted with\n" in rest
    assert re.search(r"^doped: .*\(95 % exact interval [\d.]+–[\d.]+ %\), n = 2, ε = 1\.099", rest, re.MULTILINE)
    assert "pressed" not in rest
    assert outside(tmp_path) == []
