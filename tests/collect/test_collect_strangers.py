"""Whatever a stranger asks of a collector, the reply does not change between two releases, to the last byte.

Every address that takes GET is asked, also those that come to the collector later: the routes are read off the app.
"""

import pytest
from starlette.applications import Starlette

from server_agg import OwnerToken
from tests.support.collector_running import BEARER, JSON, RunningCollector, body
from tests.support.waiting import until

ASKED = ("", "?format=csv", "?format=json", "?preview=1")
MANY = 12


@pytest.fixture
def routes(monkeypatch):
    """The addresses of the collectors that are made, as they take GET."""
    found = []

    def noted(routes, **more):
        found.extend(route.path for route in routes if "GET" in (route.methods or ()))
        return Starlette(routes=routes, **more)

    monkeypatch.setattr("server_agg.collect.http.app.Starlette", noted)
    return found


def seen(collector, digest, routes):
    """What strangers are told, by method and address, without the moment at which they were."""
    found = {}
    for path in routes:
        for more in ASKED:
            address = path.replace("{digest}", digest).replace("{name:path}", "page.css") + more
            for method in ("GET", "HEAD"):
                status, said, headers = collector.request(method, address)
                found[method, path, more] = status, said, {k: v for k, v in headers.items() if k != "date"}
    return found


def changed(folder, routes, *, public):
    """Which replies change when reports come in and are counted; and which at the next release."""
    with RunningCollector(str(folder / f"{public}.sqlite3"), public_results=public, fold_seconds=0.01) as collector:
        digest = collector.page_of(minimum=5, segments={"sport": ["run", "ski"]})
        before = seen(collector, digest, routes)
        for number in range(MANY):
            assert collector.post(body(digest, segments={"sport": "run"} if number % 2 else {}))[0] == 201
        until(lambda: collector.store.tallies().n >= MANY - 4)  # the last few may wait
        after = seen(collector, digest, routes)
        status, _ = collector.json("POST", f"/surveys/{digest}/release", b"{}", {**JSON, **BEARER})
        assert status == 201
        released = seen(collector, digest, routes)
    return _differing(before, after), _differing(after, released)


def _differing(one, other):
    return {path for method, path, more in one if one[method, path, more] != other[method, path, more]}


@pytest.mark.parametrize("public", [True, False])
def test_nothing_a_stranger_can_ask_for_changes_between_releases(tmp_path, routes, public):
    by_reports, by_release = changed(tmp_path, routes, public=public)
    assert {"/results", "/metrics", "/r/{digest}", "/owner", "/surveys"} <= set(routes)
    assert by_reports == set()
    assert ("/results" in by_release) is public  # what is asked for is what tells


def test_the_check_sees_a_collector_that_lets_everybody_in(tmp_path, routes, monkeypatch):
    """The planted bug: a token that is not looked at."""
    monkeypatch.setattr(OwnerToken, "check", lambda *told: None)
    by_reports, _ = changed(tmp_path, routes, public=False)
    assert {"/results", "/metrics"} <= by_reports
