"""Public names that are loaded when first used.

Rules
1. A package's public names stand in its `__init__.pyi` and nowhere else, one line each:
   `from HOME import NAME as NAME`.
2. A name is imported from its home when it is first asked for, and is then a plain attribute of the package.
   A name whose home is the package itself is a module of it.
3. A part that needs an optional package says which extra of rrcollect brings it along (`extra`).

>>> extra("json", "plot").dumps([1])
'[1]'
>>> extra("no_such_package.part", "plot")
Traceback (most recent call last):
...
rrcollect.errors.MissingExtra: no_such_package is not installed; pip install 'rrcollect[plot]'
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rrcollect.errors import MissingExtra


def public_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the `__init__.pyi` beside its `__init__.py`."""
    module = sys.modules[package]
    stub = module.__spec__.loader.get_data(f"{module.__path__[0]}/__init__.pyi").decode()  # type: ignore[union-attr]
    lines = (line.split() for line in stub.splitlines() if line.startswith("from "))
    homes = {words[3]: words[1] for words in lines}

    def getattribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)
        return value

    return getattribute, lambda: sorted({*vars(module), *homes}), list(homes)


def extra(module: str, name: str) -> Any:
    """The module, or `MissingExtra` naming the package that could not be imported and the extra `name`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra((error.name or module).partition(".")[0], name) from None
