"""The documentation's examples run and print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_of_the_batch_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "batch.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 30) == (0, True)
