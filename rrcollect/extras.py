"""Optional packages: a part that needs one says which extra of rrcollect brings it along.

>>> extra("json", "plot").dumps([1])
'[1]'
>>> extra("no_such_package.part", "plot")
Traceback (most recent call last):
...
rrcollect.errors.MissingExtra: no_such_package is not installed; pip install 'rrcollect[plot]'
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rrcollect.errors import MissingExtra


def extra(module: str, name: str) -> Any:
    """The module, or `MissingExtra` naming the package that could not be imported and the extra `name`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra((error.name or module).partition(".")[0], name) from None
