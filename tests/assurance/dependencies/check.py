"""Check 10: what comes with the project, and what must not leave it.

Packages are in `packages`, known vulnerabilities in `vulnerabilities`, secrets in `canaries`.  The run at full size
writes docs/licences.md, and makes the bill of materials that `make release` puts beside a release; at the size of the
tests the page is judged as it is, by the packages that pyproject.toml names, because what those ask for in turn differs
between machines and versions of Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from tests.assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step
from tests.assurance.dependencies.canaries import planted, searched
from tests.assurance.dependencies.canary_traces import LEAKS
from tests.assurance.dependencies.packages import (
    CORE,
    Package,
    bill_faults,
    bill_of_materials,
    direct,
    licence_faults,
    licence_page,
    run_time,
    weak_copyleft,
)
from tests.assurance.dependencies.vulnerabilities import (
    CANARY,
    SERVICES,
    Audit,
    by_index,
    by_pip_audit,
    decided,
    read_pip_audit,
)
from tests.assurance.evidence import ROOT

PAGE = ROOT / "docs" / "licences.md"
TRUTHS = ["".join(bits) for bits in product("01", repeat=4)][1:]
SKIPPED = """{"dependencies": [
 {"name": "pycrypto", "skip_reason": "Dependency not found on PyPI and could not be audited: pycrypto (2.6.1)"},
 {"name": "numpy", "version": "2.0.0", "vulns": []}], "fixes": []}"""
EMPTY = """{"dependencies": [
 {"name": "pycrypto", "version": "2.6.1", "vulns": []}, {"name": "numpy", "version": "2.0.0", "vulns": []}]}"""


def vulnerabilities(piece: int, step: Step) -> Outcome:
    """No run-time package has a known vulnerability."""
    packages, audit = run_time(), Audit()
    for service in SERVICES:
        left = [package for name, package in packages.items() if name not in audit.spoken]
        if left:
            by_pip_audit(left, audit, service)
    left = [package for name, package in packages.items() if name not in audit.spoken]
    if left:
        by_index(left, audit, step)
    return decided(packages.values(), audit)


def licences(full: bool, piece: int, step: Step) -> Outcome:
    """Every run-time package declares a licence; no strong copyleft; none at all in what everybody installs."""
    packages = run_time()
    faults = licence_faults(packages.values())
    if full:
        PAGE.write_text(licence_page(packages.values()), encoding="utf-8")
    listed, page = packages if full else direct(packages), PAGE.read_text(encoding="utf-8")
    faults += [f"{name} is not on docs/licences.md" for name in listed if f"| {name} |" not in page]
    weak = ", ".join(f"{p.name} ({p.licence}, extra {'/'.join(p.extras)})" for p in weak_copyleft(packages.values()))
    figures: dict[str, Figure] = {
        "run-time packages": len(packages),
        "for everybody": sum(CORE in p.extras for p in packages.values()),
        "weak copyleft, by an extra": weak or "none",
        "faults": len(faults),
    }
    return Outcome(not faults, figures, "; ".join(faults[:5]))


def bill(piece: int, step: Step) -> Outcome:
    """The bill of materials is well formed and lists the run-time packages and no others."""
    packages = run_time()
    found = bill_of_materials(packages)
    refused = _by_the_schema(json.dumps(found))
    if refused:
        return Outcome(False, {"components": 0}, f"not valid CycloneDX 1.6: {refused}")
    faults = bill_faults(found, packages)
    figures = {"components": len(found["components"]), "faults": len(faults)}
    return Outcome(not faults, figures, "; ".join(faults[:5]))


def _by_the_schema(text: str) -> str:
    """What CycloneDX' own schema has against a document; empty if nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return "" if fault is None else str(fault)[:300]


def _written(packages: Mapping[str, Package]) -> dict[str, Any]:
    """A bill of these packages without a fault."""
    named = [(f"{p.name}=={p.version}", p.name, p.version) for p in packages.values()]
    components = [{"bom-ref": r, "name": n, "version": v, "purl": f"pkg:pypi/{n}@{v}"} for r, n, v in named]
    refs = [{"ref": "root", "dependsOn": [ref for ref, _, _ in named]}]
    form = {"bomFormat": "CycloneDX", "specVersion": "1.6", "metadata": {"component": {"bom-ref": "root"}}}
    return {**form, "components": components, "dependencies": refs}


def silent_services(piece: int, step: Step) -> Outcome:
    """Replies that say nothing, which pip-audit calls clean, and a package that is vulnerable: none may pass."""
    numpy = run_time()["numpy"]
    outcomes = []
    for reply in (SKIPPED, EMPTY, EMPTY.replace('"vulns": []', '"vulns": [{"id": "PLANTED-1"}]')):
        audit = Audit()
        audit.believed(read_pip_audit(reply), "a planted service")
        outcomes.append(decided([numpy], audit))
    outdated: dict[str, Any] = {"info": {"version": "0"}, "vulnerabilities": []}
    canary: dict[str, Any] = {"info": {"version": CANARY.version}, "vulnerabilities": [{"id": "KNOWN"}]}
    audit = Audit()
    by_index([numpy], audit, step, lambda name: canary if name == CANARY.name else outdated)
    outcomes.append(decided([numpy], audit))
    good = Audit()
    clean = outdated | {"info": {"version": numpy.version}}
    by_index([numpy], good, step, lambda name: canary if name == CANARY.name else clean)
    caught = sum(not outcome.passed for outcome in outcomes)
    figures = {"replies that must not pass": len(outcomes), "caught": caught}
    return Outcome(caught == len(outcomes) and decided([numpy], good).passed, figures)


def wrong_papers(piece: int, step: Step) -> Outcome:
    """Licences and a bill of materials with a fault each."""
    numpy = run_time()["numpy"]
    licensed = [
        replace(numpy, licence=text, extras=extras)
        for text, extras in (
            ("GPL-3.0-only", ("plot",)),
            ("AGPL-3.0-or-later", ("plot",)),
            ("GNU General Public License v3 (GPLv3)", ("plot",)),
            ("LGPL-3.0-only", (CORE,)),
            ("MPL-2.0", (CORE,)),
            ("", ("plot",)),
        )
    ]
    found = [bool(licence_faults([package])) for package in licensed]
    packages = direct(run_time())
    plain = _written(packages)
    components = plain["components"]
    bills = [
        plain | {"components": components[1:]},
        plain | {"components": [*components, {**components[0], "name": "stranger"}]},
        plain | {"components": [{**components[0], "purl": "pkg:pypi/other@1"}, *components[1:]]},
        plain | {"bomFormat": "other"},
        plain | {"dependencies": [*plain["dependencies"], {"ref": "nothing==1"}]},
    ]
    found += [bool(bill_faults(wrong, packages)) for wrong in bills]
    clean = not bill_faults(plain, packages) and not licence_faults([numpy])
    return Outcome(all(found) and clean, {"papers with a fault": len(found), "caught": sum(found)})


def parts(size: Size) -> list[Part]:
    """Vulnerabilities and the bill are for the full size only: the tests need no network and no CycloneDX."""
    full = size is FULL
    return [
        *([Part("known vulnerabilities", vulnerabilities)] if full else []),
        Part("licences", partial(licences, full)),
        *([Part("bill of materials", bill)] if full else []),
        Part("secrets in a whole flow", partial(searched, TRUTHS if full else ["1111"])),
        Part("services that say nothing", silent_services, planted=True),
        Part("wrong licences and bills", wrong_papers, planted=True),
        Part("clients that leak", partial(planted, [leak for leak in LEAKS if leak]), planted=True),
    ]


CHECK = Check(
    10,
    "dependencies",
    "Dependencies audited, secrets kept",
    "No run-time package has a known vulnerability; each has a licence that allows its use (docs/licences.md) and "
    "stands in the CycloneDX bill of materials of a release. No truth and no draw reaches a log, an error, a file, a "
    "metric or the network: whole flows with every logger at its lowest level hold no canary, in whatever encoding, "
    "and flows that differ in the truth alone leave the same bytes.",
    (
        "tests/assurance/dependencies/vulnerabilities.py",
        "tests/assurance/dependencies/canaries.py",
        "tests/assurance/dependencies/canary_flow.py",
        "tests/assurance/dependencies/canary_traces.py",
        "tests/assurance/dependencies/packages.py",
        "pyproject.toml",
        "rrcollect/answer/explain/budget.py",
        "rrcollect/answer/client.py",
        "rrcollect/answer/draw.py",
        "rrcollect/answer/ledger/ledger.py",
        "rrcollect/answer/ledger/file.py",
        "rrcollect/answer/ledger/guard.py",
        "rrcollect/deliver",
        "rrcollect/errors.py",
        "server_agg/collect",
    ),
    parts,
    "known vulnerabilities are those the services knew on that day; a running process holds the truth for the "
    "time of one answer.",
    alone=False,
)
