"""What is installed when somebody installs rrcollect: its run-time packages, their licences, and a bill of materials.

Rules
1. Run-time is what pyproject.toml asks for, with every extra but those for developing (`DEVELOPMENT`), and all that
   these ask for in turn, under this machine's markers.  Versions are those installed.
2. A licence is what the package declares: an SPDX expression, a short text, or its classifiers.  None is a fault.
3. Copyleft is named.  Strong copyleft is a fault anywhere; weak copyleft (a library that may be used, but whose own
   changes must be shared) is a fault in what everybody installs, and is listed where an extra brings it.
4. The bill of materials is CycloneDX' own, cut down to these packages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.assurance.evidence import ROOT

DEVELOPMENT = frozenset({"quick", "test", "bench", "assure", "release", "docs", "all"})
CORE = "everybody"
STRONG, WEAK = (
    re.compile(r"(?<!L)A?GPL|General Public License v?\d", re.I),
    re.compile(r"LGPL|Lesser|MPL|EPL|CDDL", re.I),
)
LONGEST = 80


@dataclass(frozen=True)
class Package:
    """One package; `extras` are those that bring it, or `CORE`."""

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]


def run_time(project: Path = ROOT / "pyproject.toml") -> dict[str, Package]:
    """The run-time packages by name."""
    told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    groups = {CORE: told["dependencies"], **told["optional-dependencies"]}
    needed: dict[str, set[str]] = {}
    for extra, wanted in groups.items():
        if extra not in DEVELOPMENT:
            for name in _closure(wanted, groups, told["name"]):
                needed.setdefault(name, set()).add(extra)
    found = {}
    for name, extras in sorted(needed.items()):
        known = distribution(name)
        shown = (CORE,) if CORE in extras else tuple(sorted(extras))
        found[name] = Package(name, known.version, _licence(known), shown)
    return found


def direct(packages: Mapping[str, Package], project: Path = ROOT / "pyproject.toml") -> dict[str, Package]:
    """Those of the packages that pyproject.toml names itself: what they ask for in turn differs between machines."""
    told = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    texts = [*told["dependencies"], *(text for group in told["optional-dependencies"].values() for text in group)]
    named = {canonicalize_name(Requirement(text).name) for text in texts}
    return {name: package for name, package in packages.items() if name in named}


def _closure(wanted: Iterable[str], groups: Mapping[str, list[str]], own: str) -> set[str]:
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name == own:
            waiting += [(Requirement(text), "") for part in requirement.extras for text in groups[part]]
            continue
        for part in ("", *requirement.extras):
            if (name, part) not in seen:
                seen.add((name, part))
                waiting += [(Requirement(text), part) for text in _asked(name)]
        found.add(name)
    return found


def _asked(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        raise PackageNotFoundError(f"{name} is not installed: install rrcollect[all] to judge it") from None


def _licence(known: Distribution) -> str:
    told = known.metadata
    stated: str = (told.get_all("License-Expression") or told.get_all("License") or [""])[0].strip()
    classified = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or [] if c.startswith("License ::")]
    if stated and "\n" not in stated and len(stated) <= LONGEST:
        return stated
    return ", ".join(classified) or stated.split("\n", maxsplit=1)[0][:LONGEST]


def weak_copyleft(packages: Iterable[Package]) -> list[Package]:
    """The packages whose own changes must be shared."""
    return [package for package in packages if WEAK.search(package.licence)]


def licence_faults(packages: Iterable[Package]) -> list[str]:
    """What rules 2 and 3 forbid."""
    faults = []
    for package in packages:
        plain = WEAK.sub("", package.licence)
        if not package.licence or package.licence.upper() == "UNKNOWN":
            faults.append(f"{package.name} declares no licence")
        elif STRONG.search(plain):
            faults.append(f"{package.name} is {package.licence}: strong copyleft")
        elif WEAK.search(package.licence) and CORE in package.extras:
            faults.append(f"{package.name} is {package.licence}: copyleft in what everybody installs")
    return faults


def licence_page(packages: Iterable[Package]) -> str:
    """docs/licences.md."""
    rows = list(packages)
    copyleft = ", ".join(f"{p.name} ({p.licence}, by {' and '.join(p.extras)})" for p in weak_copyleft(rows)) or "none"
    text = [
        "# Licences of the run-time packages",
        "",
        "Written by `python -m tests.assurance dependencies` from what the installed packages declare; other versions",
        f"of Python than {sys.version_info.major}.{sys.version_info.minor} may ask for a few more, or for other "
        "releases. `make release` makes",
        "a CycloneDX bill of materials of the same packages.",
        "",
        textwrap.fill(f"Copyleft: {copyleft}.", 118, break_on_hyphens=False),
        "",
        "| package | version | licence | brought by |",
        "|---|---|---|---|",
        *(f"| {p.name} | {p.version} | {p.licence} | {', '.join(p.extras)} |" for p in rows),
    ]
    return "\n".join(text) + "\n"


def bill_of_materials(packages: Mapping[str, Package]) -> dict[str, Any]:
    """The installed environment as CycloneDX sees it, cut down to these packages, without addresses of any kind."""
    module = [sys.executable, "-m", "cyclonedx_py", "environment", sys.executable]
    options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--of", "JSON", "--sv", "1.6"]
    done = subprocess.run([*module, *options], capture_output=True, text=True, check=True, timeout=300)
    bill: dict[str, Any] = json.loads(done.stdout)
    kept = [c for c in bill["components"] if canonicalize_name(c["name"]) in packages]
    bill["components"] = [{k: v for k, v in c.items() if k != "externalReferences"} for c in kept]
    bill["metadata"]["tools"]["components"] = [
        {k: v for k, v in c.items() if k != "externalReferences"} for c in bill["metadata"]["tools"]["components"]
    ]
    root = bill["metadata"]["component"]["bom-ref"]
    refs = {root, *(c["bom-ref"] for c in kept)}
    lines = [line for line in bill["dependencies"] if line["ref"] in refs and line["ref"] != root]
    bill["dependencies"] = [{"ref": root, "dependsOn": sorted(refs - {root})}] + [
        {**line, "dependsOn": [ref for ref in line.get("dependsOn", []) if ref in refs]} for line in lines
    ]
    return bill


def bill_faults(bill: Mapping[str, Any], packages: Mapping[str, Package], *, whole: bool = True) -> list[str]:
    """What is wrong with a bill: its form, a package missing, a reference to nothing; if `packages` are the `whole` of
    what is installed here, also a package too many or of another version."""
    faults = [] if bill.get("bomFormat") == "CycloneDX" and bill.get("specVersion") else ["not a CycloneDX document"]
    listed = {canonicalize_name(c.get("name", "")): c for c in bill.get("components", [])}
    faults += [f"{name} is missing" for name in packages if name not in listed]
    faults += [f"{name} does not belong" for name in listed if whole and name not in packages]
    for name, component in listed.items():
        version = component.get("version")
        if component.get("purl") != f"pkg:pypi/{name}@{version}" or not component.get("bom-ref"):
            faults.append(f"{name} is not identified")
        if whole and name in packages and version != packages[name].version:
            faults.append(f"{name} is installed as {packages[name].version}, not {version}")
    refs = {bill["metadata"]["component"]["bom-ref"], *(c.get("bom-ref") for c in listed.values())}
    told = {ref for line in bill.get("dependencies", []) for ref in (line["ref"], *line.get("dependsOn", []))}
    return faults + [f"{ref} is not a component" for ref in sorted(told - refs)]
