"""The verdicts on mutants, asked of a process of its own and kept in a file a module.

Rules
1. "Killed" is not asked again while the module is the same, "survived" not while module and tests are.
2. Of a target with a `share` only that many mutants in a hundred are tried, chosen by the digest of their names.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assurance.check import Step
from assurance.evidence import RESULTS, ROOT
from assurance.mutants import Mutant, mutants_of
from assurance.mutation_targets import Target

__all__ = ["DEAD", "Verdicts", "sampled", "tried", "verdicts_file"]

VERDICTS = RESULTS / "mutants"
DEAD = {"killed", "timeout"}
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 (a folder of our own in it; spares the disk)


@dataclass
class Verdicts:
    """The verdicts on the mutants of a module as it is; `path` None keeps them in memory."""

    target: Target
    path: Path | None = None

    def __post_init__(self) -> None:
        self.module, self.tests = self.digest(self.target.module), self.digest(*self.target.tests)

    def digest(self, *files: str) -> str:
        found = sorted({file.split("::")[0] for file in files})
        return hashlib.sha256(b"\0".join((ROOT / file).read_bytes() for file in found)).hexdigest()[:16]

    def known(self) -> dict[str, str]:
        """What need not be asked again (rule 1)."""
        if self.path is None or not self.path.exists():
            return {}
        kept = json.loads(self.path.read_text(encoding="utf-8"))
        if kept["module"] != self.module:
            return {}
        same = kept["tests"] == self.tests
        return {key: verdict for key, verdict in kept["verdicts"].items() if same or verdict in DEAD}

    def keep(self, verdicts: Mapping[str, str]) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        body = {
            "module": self.module,
            "tests": self.tests,
            "verdicts": dict(sorted(verdicts.items())),
        }
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(body, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)


def verdicts_file(target: Target) -> Path:
    return VERDICTS / (target.module.removesuffix(".py").replace("/", ".") + ".json")


def sampled(key: str, share: int) -> bool:
    """Rule 2."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % 100 < share


def tried(
    target: Target, step: Step, path: Path | None = None, only: Callable[[str], bool] | None = None
) -> dict[str, str]:
    """The verdict on every mutant of the target (of those in the sample, of those asked for)."""
    found = {mutant.key: mutant for mutant in mutants_of((ROOT / target.module).read_text(encoding="utf-8"))}
    keys = [key for key in found if sampled(key, target.share) and (only is None or only(key))]
    store = Verdicts(target, path)
    known = {key: verdict for key, verdict in store.known().items() if key in set(keys)}
    missing = [found[key] for key in keys if key not in known]
    if missing:
        for number, (key, verdict) in enumerate(asked(target, missing), start=1):
            known[key] = verdict
            step(number, len(missing))
            if number % 25 == 0:
                store.keep(known)
    store.keep(known)
    return {key: known[key] for key in keys}


def asked(target: Target, mutants: list[Mutant]) -> Iterable[tuple[str, str]]:
    """Verdicts as they come, from a process of its own."""
    job = {
        "module": target.module,
        "tests": list(target.tests),
        "preload": list(target.preload),
        "mutants": [asdict(mutant) for mutant in mutants],
        "slow": target.slow,
        "postgres": target.postgres,
    }
    with (
        tempfile.TemporaryDirectory(prefix="mutants", dir=MEMORY, ignore_cleanup_errors=True) as scratch,
        tempfile.TemporaryFile() as log,
    ):
        Path(scratch).chmod(0o755)
        alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TMPDIR": scratch}
        worker = subprocess.Popen(
            [sys.executable, "-m", "assurance.mutant_runs"],
            cwd=ROOT,
            env={**os.environ, **alone},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        if worker.stdin is None or worker.stdout is None:
            raise RuntimeError("no pipes")
        ended = False
        try:
            worker.stdin.write(json.dumps(job))
            worker.stdin.close()
            for line in worker.stdout:
                said: dict[str, Any] = json.loads(line)
                if "verdict" in said:
                    yield said["mutant"], said["verdict"]
            ended = True
        finally:
            if worker.poll() is None and not ended:
                worker.terminate()
            worker.stdout.close()
            code = worker.wait()
        if code != 0:
            log.seek(0)
            raise RuntimeError(f"{target.module}: {log.read()[-2000:].decode(errors='replace')}")
