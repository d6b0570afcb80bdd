"""One target of `fuzz_targets` under atheris.  Run: python -m assurance.fuzz_atheris NAME RUNS FOLDER [planted]

libFuzzer ends the process: with 0 after so many runs, otherwise at the first input that raised what it must not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rrcollect", "server_agg"]):
    from assurance import fuzz_targets

name, runs, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
target = fuzz_targets.careless if sys.argv[4:] == ["planted"] else fuzz_targets.TARGETS[name]


def one_input(data: bytes) -> None:
    """What libFuzzer calls."""
    fuzz_targets.held(target, data)


corpus = folder / "corpus"
corpus.mkdir()
for number, seed in enumerate(fuzz_targets.seeds(name)):
    (corpus / str(number)).write_bytes(seed)
options = [f"-runs={runs}", f"-max_len={fuzz_targets.LARGEST}", "-print_final_stats=1", "-timeout=30"]
atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=2048", f"-artifact_prefix={folder}/", str(corpus)], one_input)
atheris.Fuzz()
