"""Packs `rrcollect/web/dist` if it was made of these sources.  Nothing is built or downloaded here."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackElement(BuildHookInterface):  # type: ignore[type-arg]
    """Adds what `make element` made, as far as `rrcollect.web` would serve it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel or a source distribution is packed."""
        served = runpy.run_path(str(Path(self.root, "rrcollect", "web", "__init__.py")))["folder"]()
        if served.name == "dist":
            build_data["artifacts"].append("/rrcollect/web/dist/")
