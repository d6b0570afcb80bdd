"""One target of `fuzz_targets` under atheris.

Run: python -m tests.assurance.collector.fuzz_atheris NAME RUNS FOLDER [planted]

libFuzzer ends the process: with 0 after so many runs, otherwise at the first input that raised what it must not.  The
corpus of a planted bug has no seed that meets it.  How many seeds there are is told first.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(name: str, runs: int, folder: Path, planted: bool) -> None:
    """Fuzz one target; never returns."""
    import atheris

    with atheris.instrument_imports(include=["rrcollect", "server_agg"]):
        from tests.assurance.collector import fuzz_targets
    target = fuzz_targets.unchecked_fields if planted else fuzz_targets.TARGETS[name]
    seeds = fuzz_targets.harmless(name, target) if planted else fuzz_targets.seeds(name)

    def one_input(data: bytes) -> None:
        """What libFuzzer calls."""
        fuzz_targets.held(target, data)

    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    sys.stderr.write(f"stat::seeds: {len(seeds)}\n")
    options = [f"-runs={runs}", f"-max_len={fuzz_targets.LARGEST}", "-print_final_stats=1", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=2048", f"-artifact_prefix={folder}/", str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:] == ["planted"])
