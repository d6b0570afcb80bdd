"""Known vulnerabilities of the run-time packages, by services that may or may not answer.

Rules
1. pip-audit is asked, with each of its services.  It takes a package that its service does not know for harmless ("no
   known vulnerabilities found"); here a package counts as audited only if the service spoke about it.
2. A service is believed only if it reports `CANARY`, a release known to be vulnerable, in the same run.
3. What pip-audit could not judge is looked up on the package index, whose page lists the vulnerabilities of the newest
   release: that judges packages that are installed in their newest release, and no others.
4. What nobody could judge is "not audited".  That is neither clean nor vulnerable, and does not pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.assurance.check import Figure, Outcome, Step
from tests.assurance.dependencies.packages import Package

CANARY = Package("pycrypto", "2.6.1", "", ())  # CVE-2013-7459 and others; its newest release, and its last
SERVICES = ("pypi", "osv")
PATIENCE = 60.0  # seconds for a page


@dataclass
class Audit:
    """What the services said: vulnerabilities by package for those they spoke about, and notes on the services."""

    spoken: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def believed(self, found: dict[str, list[str]], service: str) -> None:
        """Take over what a service said, if it reported the canary."""
        if not found.pop(CANARY.name, []):
            self.notes.append(f"{service} does not report {CANARY.name} {CANARY.version}: not believed")
            return
        self.notes.append(f"{service} spoke about {len(found)} packages")
        self.spoken |= found


def read_pip_audit(text: str) -> dict[str, list[str]]:
    """The vulnerabilities by package in pip-audit's JSON, without the packages that it skipped."""
    told: list[dict[str, Any]] = json.loads(text)["dependencies"]
    return {one["name"]: [v["id"] for v in one["vulns"]] for one in told if "skip_reason" not in one}


def by_pip_audit(packages: Iterable[Package], audit: Audit, service: str) -> None:
    """Ask pip-audit about these versions and the canary."""
    with tempfile.TemporaryDirectory() as place:
        pins = Path(place, "pins.txt")
        pins.write_text("".join(f"{p.name}=={p.version}\n" for p in (*packages, CANARY)), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(pins)]
        options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "--cache-dir", place]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=900)
    try:
        found = read_pip_audit(done.stdout)
    except (ValueError, LookupError):
        why = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        audit.notes.append(f"pip-audit with {service} failed: {why[0].split(':')[0]}")
        return
    audit.believed(found, f"pip-audit with {service}")


def page_of(name: str) -> dict[str, Any]:
    """What the index says of a package's newest release."""
    index = import_module("pip._internal.models.index").PyPI.pypi_url
    with urllib.request.urlopen(f"{index}/{name}/json", timeout=PATIENCE) as reply:  # noqa: S310 (pip's own address)
        told: dict[str, Any] = json.load(reply)
    return told


def by_index(
    packages: Iterable[Package], audit: Audit, step: Step, page: Callable[[str], dict[str, Any]] = page_of
) -> None:
    """Look up the packages that are installed in their newest release."""
    found: dict[str, list[str]] = {}
    asked = [*packages, CANARY]
    for done, package in enumerate(asked):
        try:
            told = page(package.name)
        except (urllib.error.URLError, OSError, ValueError):
            continue
        if told["info"]["version"] == package.version and isinstance(told.get("vulnerabilities"), list):
            found[package.name] = [v["id"] for v in told["vulnerabilities"] if not v.get("withdrawn")]
        step(done + 1, len(asked))
    audit.believed(found, "the index")


def decided(packages: Iterable[Package], audit: Audit) -> Outcome:
    """Every package audited and none vulnerable; "not decided" if some could not be judged."""
    names = {package.name: package for package in packages}
    bad = [f"{name} {names[name].version}: {', '.join(ids)}" for name, ids in audit.spoken.items() if ids]
    silent = [f"{name} {package.version}" for name, package in names.items() if name not in audit.spoken]
    figures: dict[str, Figure] = {
        "run-time packages": len(names),
        "audited": len(names) - len(silent),
        "with known vulnerabilities": len(bad),
        "not audited": len(silent),
    }
    notes = "; ".join(audit.notes)
    if bad:
        return Outcome(False, figures, f"vulnerable: {'; '.join(bad)} ({notes})")
    if silent:
        return Outcome(False, figures, f"not decided: no service could judge {', '.join(silent)} ({notes})")
    return Outcome(True, figures, notes)
