"""The browser client: ES modules without dependencies, the Python client's equal; see docs/browser.md.

It lies here so that the wheel carries it.  `src` has its modules, with the folders and names of the Python modules they
mirror, and our words.  `make element` makes `dist` of them: the same, bundled, in fewer and smaller files.

Rules
1. `dist` counts only if it was made of these sources: it holds their digest.  So neither a checkout nor an editable
   install serves an old build, and a wheel does not pack one.
2. Without it browsers load the modules of `src` as they are.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent


def sources() -> str:
    """The digest of what `dist` is made of, as `build.mjs` computes it."""
    files = [HERE / "build.mjs", HERE / "package.json", *(HERE / "src").rglob("*.mjs"), *(HERE / "src").rglob("*.json")]
    named = sorted((path.relative_to(HERE).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    return hashlib.sha256("".join(f"{digest} {name}\n" for name, digest in named).encode()).hexdigest()


def folder() -> Path:
    """What pages load: `dist` if it was made of these sources, else `src`.

    >>> (folder() / "rr-survey.mjs").is_file(), (folder() / "words" / "en.json").is_file()
    (True, True)
    """
    made = HERE / "dist" / "sources.txt"
    return made.parent if made.is_file() and made.read_text("utf-8").strip() == sources() else HERE / "src"
