"""docs/examples.md lists every example, with the command that runs it and the first lines it really prints.

The page's `…` stands for anything within a line.  The runs are those of test_examples.py; the browser survey
is compared in test_examples_browser.py, where it runs.
"""

from __future__ import annotations

import pytest

from tests.support.examples import ARGUMENTS, EXAMPLES, STDIN, Runner, names
from tests.support.examples_page import PAGE, prints, sections


def test_every_example_is_listed_and_nothing_else() -> None:
    not_examples = ("__pycache__", "shared")
    folders = {f"{path.name}/" for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in not_examples}
    assert set(sections()) == {*names(), *folders}
    for name in sections():
        assert f"](#{name.replace('.', '').rstrip('/')})" in PAGE  # in the table at the top


@pytest.mark.parametrize("name", names())
def test_what_the_page_shows_is_printed(ran: Runner, name: str) -> None:
    section = sections()[name]
    command = section.command.partition("#")[0].strip()
    typed = f"printf '{STDIN[name].encode('unicode_escape').decode()}' | " if name in STDIN else ""
    assert command == " ".join([f"{typed}python examples/{name}", *ARGUMENTS.get(name, ())])
    assert prints(section.shown, ran(name).out), ran(name).out
    assert len("".join(section.shown)) > 200  # not a page of dots


def test_the_comparison_can_fail() -> None:
    assert prints(("a … c", "d"), "a b c\nd  \ne")
    assert not prints(("a … c", "d"), "a b c\nD\n")
    assert not prints(("a", "b", "c"), "a\nb")
    assert not prints(("a.c",), "abc")
