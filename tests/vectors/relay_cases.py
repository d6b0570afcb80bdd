"""Surveys whose reports go through a relay: its form, and the keys of the gateway behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.vectors.parts import POLICY, b64, with_survey


def gateway_key(number: int, opens: str, closes: str, **changes: Any) -> dict[str, Any]:
    made = {"id": number, "key": b64(bytes([number + 1]) * 32), "opens": opens, "closes": closes, **changes}
    return {name: value for name, value in made.items() if value is not ...}


FIRST = gateway_key(0, "2026-10-01T00:00:00Z", "2026-12-01T00:00:00Z")
SECOND = gateway_key(7, "2026-12-01T00:00:00Z", "2027-02-28T00:00:00Z")
ADDRESS = "https://relay.example.net/relay"
RELAY: dict[str, Any] = {"address": ADDRESS, "operator": "Somebody Else", "keys": [FIRST, SECOND]}
YEARS = [f"20{year}-01-01T00:00:00Z" for year in range(26, 60)]


def relayed(**changes: Any) -> bytes:
    outer = {name: changes.pop(name) for name in ("collector", "opens") if name in changes}
    relay = {name: value for name, value in {**RELAY, **changes}.items() if value is not ...}
    return with_survey(relay=relay, **outer)


def good_relays() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    yield "relay", relayed(), POLICY
    yield "relay_one_key", relayed(keys=[{**FIRST, "closes": "2027-01-31T00:00:00Z"}]), POLICY
    yield "relay_keys_overlap", relayed(keys=[{**FIRST, "closes": "2027-01-01T00:00:00Z"}, SECOND]), POLICY
    yield "relay_on_this_machine", relayed(address="http://127.0.0.1:8001/relay"), POLICY
    yield "relay_opens", relayed(opens="2026-10-01T00:00:00Z"), POLICY


def bad_relays() -> Iterator[tuple[str, str, bytes]]:
    """(name, error, envelope)."""
    for field in RELAY:
        yield f"relay_without_{field}", "MalformedDocument", relayed(**{field: ...})
        yield f"relay_{field}_null", "MalformedDocument", relayed(**{field: None})
    for field in FIRST:
        yield f"relay_key_without_{field}", "MalformedDocument", relayed(keys=[{**FIRST, field: None}, SECOND])
    bad: dict[str, dict[str, Any]] = {
        "more_fields": {"gateway": "x"},
        "address_plain": {"address": "http://relay.example.net/relay"},
        "address_carried": {"address": "carried"},
        "address_bare": {"address": "https://relay.example.net"},
        "of_the_collector": {"address": "https://collect.example.org/relay"},
        "carried": {"collector": "carried"},
        "operator_empty": {"operator": ""},
        "operator_hidden": {"operator": "\u200b"},
        "no_keys": {"keys": []},
        "many_keys": {"keys": [gateway_key(i, *YEARS[i : i + 2]) for i in range(33)]},
        "key_ids_alike": {"keys": [FIRST, {**SECOND, "id": 0}]},
        "keys_alike": {"keys": [FIRST, {**SECOND, "key": FIRST["key"]}]},
        "key_id_256": {"keys": [{**FIRST, "id": 256}, SECOND]},
        "key_id_negative": {"keys": [{**FIRST, "id": -1}, SECOND]},
        "key_short": {"keys": [{**FIRST, "key": "AAAA"}, SECOND]},
        "key_zero": {"keys": [{**FIRST, "key": b64(bytes(32))}, SECOND]},
        "key_stray_bits": {"keys": [{**FIRST, "key": FIRST["key"][:-2] + "F="}, SECOND]},
        "key_closes_first": {"keys": [{**FIRST, "opens": "2026-12-02T00:00:00Z"}, SECOND]},
        "keys_with_a_gap": {"keys": [FIRST, {**SECOND, "opens": "2026-12-01T00:00:01Z"}]},
        "keys_within_another": {"keys": [{**FIRST, "closes": "2027-03-01T00:00:00Z"}, SECOND]},
        "keys_end_early": {"keys": [FIRST]},
        "keys_begin_late": {"opens": "2026-09-01T00:00:00Z"},
    }
    for name, change in bad.items():
        yield f"relay_{name}", "MalformedDocument", relayed(**change)
    yield "relay_text", "MalformedDocument", with_survey(relay="https://relay.example.net/relay")
    yield "relay_missing", "MalformedDocument", with_survey(relay=...)
