"""The description at /openapi.json: what the collector takes and says.  A test sends requests made from it."""

from __future__ import annotations

from typing import Any

from rrcollect import __version__
from rrcollect.publish.report import LARGEST_REPORT

__all__ = ["description"]

DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
REPORT = {
    "type": "object",
    "description": f"Canonical JSON (RFC 8785) of exactly these fields, at most {LARGEST_REPORT} bytes.",
    "additionalProperties": False,
    "required": ["answer", "design", "id", "invite", "question", "round", "segments", "survey"],
    "properties": {
        "answer": {"type": "integer", "enum": [0, 1]},
        "design": {
            "type": "object",
            "additionalProperties": False,
            "required": ["p00", "p11"],
            "properties": {"p00": {"type": "string"}, "p11": {"type": "string"}},
        },
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "invite": {"type": ["string", "null"], "minLength": 1, "maxLength": 128},
        "question": {"type": "string", "minLength": 1, "maxLength": 64},
        "round": {"type": "integer", "minimum": 0, "maximum": 999},
        "segments": {"type": "object", "additionalProperties": {"type": "string"}},
        "survey": DIGEST,
    },
}
COUNTS = {
    "type": "object",
    "required": ["new", "known"],
    "properties": {"new": {"type": "integer"}, "known": {"type": "integer"}},
}
PROBLEM = {
    "type": "object",
    "required": ["error", "reason"],
    "properties": {"error": {"type": "string"}, "reason": {"type": "string"}},
}
WORDS = {
    200: "Done; it was here before.",
    201: "New, and durable.",
    400: "Malformed; the reason says where.",
    401: "The owner's token is missing or wrong.",
    403: "The invite is missing, unknown or spent.",
    404: "Not published here.",
    408: "The body arrived too slowly.",
    409: "The id or version is taken by other content.",
    410: "The survey has expired.",
    413: "Too many bytes.",
    415: "Not plain application/json.",
    422: "Well formed, but not what the survey publishes.",
    503: "Not now; see Retry-After.",
    507: "No space; see Retry-After.",
}
BODY_FAULTS = (400, 408, 413, 415, 503, 507)
OWNER: list[dict[str, list[str]]] = [{"owner": []}]


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _replies(good: dict[int, dict[str, Any] | None], *bad: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for status, content in good.items():
        made[str(status)] = {"description": WORDS[status], **({"content": content} if content else {})}
    for status in sorted(bad):
        made[str(status)] = {"description": WORDS[status], "content": _json(PROBLEM)}
        if status in (503, 507):
            made[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "string"}, "required": True}}
    return made


def _digest(where: str, *, required: bool) -> dict[str, Any]:
    name = "digest" if where == "path" else "survey"
    return {"name": name, "in": where, "required": required, "schema": DIGEST}


def description(list_limit: int, most_invites: int, *, public_results: bool) -> dict[str, Any]:
    """The OpenAPI document."""
    page = {"text/html": {"schema": {"type": "string"}}}
    text = {"text/plain": {"schema": {"type": "string"}}}
    anything = _json({"type": "object"})
    reports = {"oneOf": [REPORT, {"type": "array", "items": REPORT, "minItems": 1, "maxItems": list_limit}]}
    key = {
        "name": "key",
        "in": "query",
        "required": True,
        "schema": {"type": "array", "items": DIGEST, "minItems": 1, "maxItems": 16},
    }
    count = {
        "type": "object",
        "additionalProperties": False,
        "required": ["count"],
        "properties": {"count": {"type": "integer", "minimum": 1, "maximum": most_invites}},
    }
    invites = {
        "type": "object",
        "required": ["invites"],
        "properties": {"invites": {"type": "array", "items": {"type": "string"}}},
    }
    form = {"name": "format", "in": "query", "required": False, "schema": {"type": "string", "enum": ["json", "csv"]}}
    results: dict[str, Any] = {
        "summary": "Estimates with error bars, of every survey or of one.",
        "parameters": [_digest("query", required=False), form],
        "responses": _replies({200: {**anything, "text/csv": {"schema": {"type": "string"}}}}, 400, 401, 404, 503, 507),
    }
    if not public_results:
        results["security"] = OWNER
    return {
        "openapi": "3.1.0",
        "info": {"title": "rrcollect collector", "version": __version__, "license": {"name": "Apache-2.0"}},
        "components": {"securitySchemes": {"owner": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/reports": {
                "post": {
                    "summary": "Hand in a report, or a small list of them.",
                    "requestBody": {"required": True, "content": _json(reports)},
                    "responses": _replies(
                        {200: _json(COUNTS), 201: _json(COUNTS)}, 403, 404, 409, 410, 422, *BODY_FAULTS
                    ),
                }
            },
            "/surveys": {
                "post": {
                    "summary": "Publish a signed envelope, naming the publisher's public keys.",
                    "security": OWNER,
                    "parameters": [key],
                    "requestBody": {"required": True, "content": anything},
                    "responses": _replies({200: anything, 201: anything}, 401, 409, *BODY_FAULTS),
                }
            },
            "/surveys/{digest}": {
                "get": {
                    "summary": "The signed envelope.",
                    "parameters": [_digest("path", required=True)],
                    "responses": _replies({200: anything}, 404, 503, 507),
                }
            },
            "/surveys/{digest}/invites": {
                "post": {
                    "summary": "Make single-use invites; they are shown once and kept as hashes.",
                    "security": OWNER,
                    "parameters": [_digest("path", required=True)],
                    "requestBody": {"required": True, "content": _json(count)},
                    "responses": _replies({201: _json(invites)}, 401, 404, *BODY_FAULTS),
                }
            },
            "/results": {"get": results},
            "/": {"get": {"summary": "The results page.", "responses": _replies({200: page})}},
            "/s/{digest}": {
                "get": {
                    "summary": "The survey page.",
                    "parameters": [_digest("path", required=True)],
                    "responses": _replies({200: page}, 404, 503, 507),
                }
            },
            "/healthz": {
                "get": {"summary": "Whether the database answers.", "responses": _replies({200: anything}, 503, 507)}
            },
            "/metrics": {"get": {"summary": "Prometheus metrics.", "responses": _replies({200: text})}},
        },
    }
