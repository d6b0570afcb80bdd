"""Do the tests notice a changed line?  Run: make mutate, or python -m tests.assurance.mutation [MODULE …]

Rules
1. mutmut makes the mutants and runs, for each, the tests of TESTED that reach it; processes, engines and long searches
   are left out.  One module at a time, on a copy of the project in a temporary folder.
2. Words of errors are not mutated (lines that raise).  mutmut leaves out decorated functions and module constants.
   SQL in other letters is the same SQL and is not counted.
3. What was found is kept in tests/assurance/results/mutation.json with the digest of the module; docs/mutation.md is
   made of it, and says what was not run or has changed since.  A mutant that never ends counts as killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.assurance.evidence import RESULTS, ROOT, essence

ABOUT = "beside_the_value edge_cases edge_rule invariance methods numbers output sums_of_options targets unbiased"
ESTIMATES = tuple(f"tests/estimates/test_{name}.py" for name in ABOUT.split())
TESTED = {
    "rrcollect/design/yes_no.py": ("tests/design/test_matrix.py", "tests/design/test_mechanism_contract.py"),
    "rrcollect/design/optimal.py": ("tests/design/test_optimal.py", "tests/design/test_disclosure.py"),
    "rrcollect/answer/draw.py": ("tests/answer/test_draw.py",),
    "rrcollect/answer/ledger/ledger.py": ("tests/answer", "tests/deliver"),
    "rrcollect/answer/ledger/guard.py": ("tests/answer/test_ledger.py", "tests/answer/test_guard_history.py"),
    "rrcollect/publish/report.py": ("tests/publish", "tests/deliver", "tests/collect/test_collect_rules.py"),
    "server_agg/estimates/share.py": ESTIMATES,
    "server_agg/estimates/methods.py": (
        *ESTIMATES,
        "tests/comparisons",
        "tests/sampling",
    ),
    "server_agg/estimates/pooled.py": ("tests/estimates",),
    "server_agg/collect/admission.py": ("tests/collect",),
}
COPIED = ("rrcollect", "server_agg", "tests", "docs", "examples", "README.md", "Makefile", "pyproject.toml")
RECORD, PAGE = RESULTS / "mutation.json", ROOT / "docs" / "mutation.md"
NAMES = "def pytest_itemcollected(item):\n    item._nodeid = item.nodeid\n"  # which pytest 9 renamed, and mutmut reads


def settings(module: str) -> str:
    """The section of pyproject.toml."""
    values = {
        "source_paths": ["rrcollect", "server_agg"],
        "only_mutate": [module],
        "timeout_multiplier": 5,  # a mutant that never ends
        "do_not_mutate_patterns": [r"\braise \w+\("],
        "also_copy": ["docs", "examples", "README.md", "Makefile", "names_of_items.py"],
        "pytest_add_cli_args": ["-p", "names_of_items", "-m", "not (process or browser or engine or long)"],
        "pytest_add_cli_args_test_selection": list(TESTED[module]),
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n[tool.mutmut]\nuse_git_change_detection = false\n" + "\n".join(lines) + "\n"


def mutated(module: str, jobs: int) -> dict[str, Any]:
    """Run mutmut on one module: how many mutants there were, and which survived."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    mutmut = [sys.executable, "-m", "mutmut"]
    with tempfile.TemporaryDirectory(prefix="rrcollect-mutants-") as place:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(place, name))
        Path(place, "names_of_items.py").write_text(NAMES)
        with Path(place, "pyproject.toml").open("a") as file:
            file.write(settings(module))
        run = [*mutmut, "run", "--max-children", str(jobs)]
        done = subprocess.run(run, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stdout.replace("\r", "\n")[-2000:] + done.stderr[-2000:]
            raise RuntimeError(f"mutmut ended with {done.returncode} on {module}:\n{said}")
        subprocess.run([*mutmut, "export-cicd-stats"], cwd=place, env=environment, capture_output=True, check=True)
        stats = json.loads(Path(place, "mutants", "mutmut-cicd-stats.json").read_text())
        told = subprocess.run(
            [*mutmut, "results"], cwd=place, env=environment, capture_output=True, text=True, check=True
        )
        survivors = [line.split(":")[0].strip() for line in told.stdout.splitlines() if line.endswith("survived")]
        same = 0
        for name in survivors:
            shown = subprocess.run(
                [*mutmut, "show", name], cwd=place, env=environment, capture_output=True, text=True, check=True
            )
            lines = [line for line in shown.stdout.splitlines() if line.startswith(("-  ", "+  "))]
            if same_statement(*lines):
                same += 1
            else:
                print("\n".join(lines))
    return {
        "mutants": stats["total"] - same,
        "killed": stats["killed"] + stats["timeout"] + stats["segfault"],
        "survived": stats["survived"] - same,
        "not reached": stats["no_tests"],
        "date": str(datetime.now(UTC).date()),
        "digest": digest(module),
    }


def same_statement(*lines: str) -> bool:
    """Whether a line of SQL was changed in nothing but the letters' case, which SQL takes no notice of.

    >>> same_statement("- SELECT a FROM b WHERE c = 'd'", "+ select a from b where c = 'd'")
    True
    >>> same_statement("- SELECT a FROM b WHERE c = 'd'", "+ SELECT A FROM B WHERE C = 'D'")
    False
    """
    if len(lines) != 2 or not re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|VALUES|AND)\b", lines[0]):
        return False
    before, after = (re.split(r"('[^']*')", line[1:]) for line in lines)  # every second part is a text of SQL
    return before[1::2] == after[1::2] and [p.lower() for p in before[::2]] == [p.lower() for p in after[::2]]


def digest(module: str) -> str:
    """What a module does."""
    return hashlib.sha256(essence(ROOT / module)).hexdigest()[:16] if (ROOT / module).exists() else ""


def page(record: dict[str, Any]) -> str:
    """docs/mutation.md."""
    lines = [
        "# Mutation",
        "",
        "Written by `make mutate`. mutmut changes one thing at a time in a module; the tests that reach it must fail.",
        "Words of errors, decorated functions and module constants are not changed, and processes, engines and long",
        "searches are not among the tests. SQL in capital or small letters is the same SQL and is not counted. One",
        "module alone: `python -m tests.assurance.mutation MODULE`, which also prints the mutants that survived.",
        "",
        "| module | mutants | killed | survived | reached by no test | killed, % | date |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for module in TESTED:
        found = record.get(module)
        if found is None:
            lines.append(f"| `{module}` | not run | | | | | |")
            continue
        share = 100 * found["killed"] // found["mutants"]  # rounded down: 100 is all of them
        when = found["date"] + ("" if found["digest"] == digest(module) else ", changed since")
        counts = " | ".join(str(found[name]) for name in ("mutants", "killed", "survived", "not reached"))
        lines.append(f"| `{module}` | {counts} | {share} | {when} |")
    return "\n".join([*lines, ""])


def main(arguments: list[str] | None = None) -> int:
    """Run the modules named (default: all), then write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.assurance.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(TESTED)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.modules) - set(TESTED)):
        parser.error(f"unknown module {unknown[0]!r}; there are: {', '.join(TESTED)}")
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for module in options.modules or TESTED:
        record[module] = mutated(module, options.jobs)
        print(f"{module}: {record[module]}")
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        PAGE.write_text(page(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
