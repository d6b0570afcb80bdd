"""schemathesis, a program we did not write: requests made from the collector's own description."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.collector_running import TOKEN

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,negative_data_rejection,ignored_auth"
)


def schemathesis(url: str, folder: Path, *, examples: int, seconds: float = 200.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis",
            "run",
            f"{url}/openapi.json",
            "--header",
            f"Authorization: Bearer {TOKEN}",
            "--checks",
            CHECKS,
            "--max-examples",
            str(examples),
            "--generation-database",
            "none",
            "--no-color",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
