"""The description is true: requests made from it, good and bad, get only replies it names."""

import subprocess
import sys
from pathlib import Path

from tests.collect.running import TOKEN, publication

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,negative_data_rejection,ignored_auth"
)


def test_schemathesis_finds_nothing(collector, tmp_path):
    collector.publish(publication())
    done = subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis",
            "run",
            f"{collector.url}/openapi.json",
            "--header",
            f"Authorization: Bearer {TOKEN}",
            "--checks",
            CHECKS,
            "--max-examples",
            "15",
            "--generation-database",
            "none",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Tested: 9" in done.stdout


def test_every_route_is_described(collector):
    _, said = collector.json("GET", "/openapi.json")
    assert set(said["paths"]) == {
        "/", "/s/{digest}", "/reports", "/results", "/surveys", "/surveys/{digest}", "/surveys/{digest}/invites",
        "/healthz", "/metrics",
    }  # fmt: skip
