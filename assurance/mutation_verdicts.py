"""The verdicts on mutants, asked of a process of its own and kept in a file a module.

Rules
1. Nothing is asked again while module and tests are the same; everything is when the module is another.
2. When only the tests are others, all survivors are asked again, and one in ten of the killed: if one of these now
   survives, so are all of them.
3. Of a target with a `share` only that many mutants in a hundred are tried, chosen by the digest of their names.
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

__all__ = ["DEAD", "Verdicts", "keys_of", "sampled", "tried", "verdicts_file"]

VERDICTS = RESULTS / "mutants"
DEAD = {"killed", "timeout"}
AGAIN = 10  # of a hundred killed by other tests
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
        return self._kept()["verdicts"] if self._kept()["tests"] == self.tests else {}

    def killed_before(self) -> dict[str, str]:
        """What other tests killed (rule 2)."""
        kept = self._kept()
        killed = {key: verdict for key, verdict in kept["verdicts"].items() if verdict in DEAD}
        return killed if kept["tests"] != self.tests else {}

    def _kept(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {"module": self.module, "tests": "", "verdicts": {}}
        if self.path is None or not self.path.exists():
            return nothing
        kept: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return kept if kept["module"] == self.module else nothing

    def keep(self, verdicts: Mapping[str, str], *, whole: bool) -> None:
        """Write what is known; of a run that was stopped it counts as found by other tests."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        body = {
            "module": self.module,
            "tests": self.tests if whole else "",
            "verdicts": dict(sorted(verdicts.items())),
        }
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(body, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)


def verdicts_file(target: Target) -> Path:
    return VERDICTS / (target.module.removesuffix(".py").replace("/", ".") + ".json")


def sampled(key: str, share: int) -> bool:
    """Rule 3."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % 100 < share


def keys_of(target: Target) -> dict[str, Mutant]:
    """The mutants of a target that are tried, by their keys."""
    found = {mutant.key: mutant for mutant in mutants_of((ROOT / target.module).read_text(encoding="utf-8"))}
    return {key: mutant for key, mutant in found.items() if sampled(key, target.share)}


def tried(
    target: Target, step: Step, path: Path | None = None, only: Callable[[str], bool] | None = None
) -> dict[str, str]:
    """The verdict on every mutant of the target (of those in the sample, of those asked for)."""
    found = {key: mutant for key, mutant in keys_of(target).items() if only is None or only(key)}
    store = Verdicts(target, path)
    before = {key: verdict for key, verdict in store.killed_before().items() if key in found}
    again = {key for key in before if sampled(f"{key} {store.tests}", AGAIN)}
    known = {key: verdict for key, verdict in (store.known() or before).items() if key in found and key not in again}
    known = _completed(target, found, known, store, step)
    if any(known[key] not in DEAD for key in again):
        known = _completed(target, found, {key: v for key, v in known.items() if key not in before}, store, step)
    store.keep(known, whole=True)
    return {key: known[key] for key in found}


def _completed(
    target: Target, found: Mapping[str, Mutant], known: Mapping[str, str], store: Verdicts, step: Step
) -> dict[str, str]:
    """What is known, and the verdicts on the rest, kept as they come."""
    said, missing = dict(known), [mutant for key, mutant in found.items() if key not in known]
    for number, (key, verdict) in enumerate(asked(target, missing) if missing else (), start=1):
        said[key] = verdict
        step(number, len(missing))
        if number % 25 == 0:
            store.keep(said, whole=False)
    return said


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
