"""What a part of `make reach` is: something heavy or rare that the project claims to work with, run for real.

Rules
1. A part has an environment of its own, `.venv-reach/NAME`: the project with the extras it names, and its packages.
   `tools` are programs of the machine (names that tests/support/machine.sh knows), `node` packages of npm, which
   the part finds in the folder that the variable REACH_NODE names.
   A part that is `here` needs nothing that `make test` does not need, and runs in that environment.
2. It runs one command of that environment's Python.  It held if the command ended with 0 and, of tests, some ran, and
   none was skipped: what was left out did not hold.
3. Its tests lie in `tests/reach/parts`, which `make test` does not read (tests/reach/conftest.py).
4. Tests that `make test` could run and leaves out (`tests.support.marks.RARE`) are a part of that name, which runs
   these and no others of the files it names.
5. Adding a part is adding a row to `rows.PARTS`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One row: what is reached, what it takes, and what is run."""

    name: str
    title: str
    run: tuple[str, ...]
    packages: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    node: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """Distributions whose versions are recorded; by default those of `packages`."""
    timeout: int = 1800
    here: bool = False


def by_pytest(*selection: str, only: str = "") -> tuple[str, ...]:
    """The command for tests of `tests/reach/parts`, or of elsewhere by their path.

    >>> by_pytest("test_moto.py")
    ('-m', 'pytest', '-q', '-x', 'tests/reach/parts/test_moto.py')
    """
    places = (one if one.startswith("tests/") else f"tests/reach/parts/{one}" for one in selection)
    return ("-m", "pytest", "-q", "-x", *places, *(("-k", only) if only else ()))
