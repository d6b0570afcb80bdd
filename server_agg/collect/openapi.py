"""The description at /openapi.json: what the collector takes and says.  A test sends requests made from it.

It is stored in `openapi.json`; this fills in what depends on the version and on the settings.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from rrcollect import __version__


def description(list_limit: int, most_invites: int, *, public_results: bool) -> dict[str, Any]:
    """The OpenAPI document."""
    made: dict[str, Any] = json.loads(resources.files(__package__).joinpath("openapi.json").read_bytes())
    made["info"]["version"] = __version__
    _body(made, "/reports")["oneOf"][1]["maxItems"] = list_limit
    _body(made, "/surveys/{digest}/invites")["oneOf"][0]["properties"]["count"]["maximum"] = most_invites
    if public_results:
        del made["paths"]["/results"]["get"]["security"]
    return made


def _body(made: dict[str, Any], path: str) -> Any:
    return made["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
