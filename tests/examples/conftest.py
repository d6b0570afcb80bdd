"""What the tests of the examples share: each example's run."""

from __future__ import annotations

import pytest

from tests.support.examples import ARGUMENTS, EXAMPLES, STDIN, ExampleRun, Runner, run


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Each example, run once as docs/examples.md says."""
    kept: dict[str, ExampleRun] = {}

    def once(name: str) -> ExampleRun:
        if name not in kept:
            root = tmp_path_factory.mktemp(name.removesuffix(".py"))
            kept[name] = run(EXAMPLES / name, root, *ARGUMENTS.get(name, ()), typed=STDIN.get(name, ""))
        return kept[name]

    return once
