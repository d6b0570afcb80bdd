"""Running a part, and what is recorded of it: one JSON file per part in `tests/reach/results`."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.assurance.evidence import ROOT
from tests.reach.environment import variables
from tests.reach.part import Part

RESULTS = ROOT / "tests" / "reach" / "results"
Record = dict[str, Any]
VERSIONS = (
    "import json, platform, sys\nfrom importlib.metadata import version\n"
    "print(json.dumps({'Python': platform.python_version(), **{name: version(name) for name in sys.argv[1:]}}))"
)
TESTED = re.compile(r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped|deselected|no tests).*?)(?: in [\d.]+s.*)?$", re.M)


def run(part: Part, environment: Callable[[Part], Path]) -> tuple[Record, str]:
    """Run a part in its environment: what is recorded, and all that it said."""
    python = environment(part)
    versions = _versions(part, python)
    start = time.monotonic()
    try:
        done = subprocess.run(
            [str(python), *part.run], cwd=ROOT, env=variables(part, python), timeout=part.timeout, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        )  # fmt: skip
        said, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as stopped:
        so_far = bytes(stopped.stdout or b"").decode(errors="replace")  # bytes, whatever was asked for
        said, code = f"{so_far}\nstopped after {part.timeout} s", -1
    told = TESTED.findall(said)
    summary = told[-1] if told else (said.strip().splitlines() or ["it said nothing"])[-1][:60]
    tests = "pytest" in part.run
    held = code == 0 and (not tests or (" passed" in summary and "skipped" not in summary))
    return {
        "part": part.name,
        "held": held,
        "date": str(datetime.now(UTC).date()),
        "seconds": round(time.monotonic() - start, 1),
        "versions": versions,
        "command": " ".join(("python", *part.run)),
        "said": summary,
    }, said


def _versions(part: Part, python: Path) -> dict[str, str]:
    """The versions of the part's packages, and of its packages of npm."""
    names = part.told or tuple(re.split(r"[\[<>=!~; ]", package)[0] for package in part.packages)
    asked = subprocess.run([str(python), "-c", VERSIONS, *names], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(asked.stdout)
    for package in part.node:
        name = re.sub(r"(?<=.)@.*", "", package)
        place = python.parents[1] / "node" / "node_modules" / name / "package.json"
        found[name] = json.loads(place.read_text(encoding="utf-8"))["version"]
    return found


def record(found: Record, folder: Path = RESULTS) -> None:
    """Keep what a run found; a crash leaves the old file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['part']}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)


def recorded(parts: tuple[Part, ...], folder: Path = RESULTS) -> dict[str, Record]:
    """What is recorded of these parts."""
    paths = {part.name: folder / f"{part.name}.json" for part in parts}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}
