"""The description is true: requests made from it, good and bad, get only replies it names."""

from tests.support.collector_running import publication
from tests.support.described import schemathesis


def test_schemathesis_finds_nothing(collector, tmp_path):
    collector.publish(publication())
    done = schemathesis(collector.url, tmp_path, examples=15)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Tested: 24" in done.stdout


def test_every_route_is_described(collector):
    _, said = collector.json("GET", "/openapi.json")
    assert set(said["paths"]) == {
        "/", "/owner", "/r/{digest}", "/r/{digest}/embed", "/s/{digest}", "/reports", "/results", "/surveys",
        "/surveys/{digest}", "/surveys/{digest}/close", "/surveys/{digest}/invites", "/surveys/{digest}/release",
        "/surveys/{digest}/withdrawal", "/livez", "/readyz", "/metrics",
        "/tokens", "/surveys/{digest}/secret",
        "/log/key", "/log/checkpoint", "/log/tile/{address}", "/log/cosignatures",
    }  # fmt: skip
