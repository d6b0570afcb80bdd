"""Python, Node and Chromium as judges of documents: each takes a task and says "accepted" or an error's name.

A task has `surveys` and `reports` (as in tests/vectors) and `flips` (a document, and the bits of its envelope to flip,
one at a time).  `plant` names a bug: "signature" accepts every signature, "spelling" every spelling of the JSON; in the
browser client also one of `DIFFERENCES`, which are small.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rrcollect import PublicKey, Report, RRCollectError
from rrcollect.errors import MalformedReport
from tests.inside.answer import SeenVersion
from tests.inside.design import from_wire
from tests.inside.publish import LARGEST_REPORT, read
from tests.inside.publish import document as document_module
from tests.inside.publish import envelope as envelope_module
from tests.support.browser import Visit, chromium
from tests.support.devices import PUBLISHER, moment, unb64, vector_policy

Task = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
MODULES, MODULE = ROOT / "rrcollect/web/src", "rrcollect/web/src/index.mjs"
PLANTS = {
    "signature": ("if (!(await verifies(", "if (false && !(await verifies("),
    "spelling": ("if (!sameBytes(canonical(value), data)) refuse", "if (false) refuse"),
}
DIFFERENCES = {
    "joiners at the edge of a line": ("(?:$|[${BLANK}", "(?:[${BLANK}"),
    "where a non-joiner may stand": ("u0620-", "u0621-"),
    "one hidden character": ("[0x3164, 0x3164], ", ""),
    "the order of two fields": ("design: needDesign, promise: needPromise", "promise: needPromise, design: needDesign"),
    "one bit of a number": ("bits: 512", "bits: 513"),
}  # fmt: skip


def python(task: Task, plant: str | None = None) -> list[str]:
    """The library's verdicts."""
    with _planted(plant):
        said = [_survey(unb64(it["envelope"]), it) for it in task.get("surveys", [])]
        said += [_verdict(partial(Report.from_bytes, unb64(it["report"]))) for it in task.get("reports", [])]
        for flip in task.get("flips", []):
            whole = unb64(flip["document"]["envelope"])
            for bit in flip["bits"]:
                data = bytearray(whole)
                data[bit >> 3] ^= 1 << (bit & 7)
                said.append(_survey(bytes(data), flip["document"]))
    return said


def _survey(data: bytes, it: Task) -> str:
    seen = {(PUBLISHER, "clean-sport"): SeenVersion(**it["seen"])} if "seen" in it else None
    return _verdict(lambda: vector_policy(it).accept(data, now=moment(it["now"]), seen=seen))


def _verdict(work: Callable[[], object]) -> str:
    try:
        work()
    except RRCollectError as error:
        return type(error).__name__
    except Exception as error:
        return f"a stray {type(error).__name__}"
    return "accepted"


def _any_spelling(data: bytes) -> Report:
    """What `Report.from_bytes` would be without its comparison of bytes."""
    value = read(data, LARGEST_REPORT)
    try:
        return Report(**{**value, "design": from_wire(value["design"])})
    except (KeyError, TypeError):
        raise MalformedReport("not the fields of a report") from None


@contextmanager
def _planted(plant: str | None) -> Iterator[None]:
    if plant == "signature":
        with patch.object(PublicKey, "verifies", lambda self, signature, message: True):
            yield
    elif plant == "spelling":
        with (
            patch.object(envelope_module, "read_canonical", read),
            patch.object(document_module, "read_canonical", read),
            patch.object(Report, "from_bytes", _any_spelling),
        ):
            yield
    else:
        yield


def _changed_modules(plant: str | None) -> dict[str, str]:
    """The module of the browser client that has a bug, if one is named, with its text."""
    if plant is None:
        return {}
    good, bad = (PLANTS | DIFFERENCES)[plant]
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(MODULES.rglob("*.mjs"))}
    found = {str(path.relative_to(MODULES)): text for path, text in texts.items() if good in text}
    if sum(text.count(good) for text in found.values()) != 1:
        raise AssertionError(f"the place of the planted bug {plant!r} has moved")
    return {name: text.replace(good, bad) for name, text in found.items()}


def node(task: Task, plant: str | None = None) -> list[str]:
    """The browser client's verdicts in Node."""
    with tempfile.TemporaryDirectory() as folder:
        module, given = Path(folder, "src", "index.mjs"), Path(folder, "task.json")
        shutil.copytree(MODULES, module.parent)
        for name, text in _changed_modules(plant).items():
            (module.parent / name).write_text(text, encoding="utf-8")
        given.write_text(json.dumps(task), encoding="utf-8")
        code = (
            'import { readFileSync, writeFileSync } from "node:fs";'
            f"import * as rr from {json.dumps(module.as_uri())};"
            f"import {{ verdicts }} from {json.dumps((ROOT / 'tests/assurance/documents/documents.mjs').as_uri())};"
            f"const task = JSON.parse(readFileSync({json.dumps(str(given))}, 'utf8'));"
            f"writeFileSync({json.dumps(folder + '/said.json')}, "
            "JSON.stringify(await verdicts(rr, task)));"
        )
        subprocess.run(["node", "--input-type=module", "-e", code], check=True, timeout=600, cwd=ROOT)
        said: list[str] = json.loads(Path(folder, "said.json").read_text(encoding="utf-8"))
    return said


def browser(task: Task, plant: str | None = None) -> list[str]:
    """The browser client's verdicts in Chromium; its files come from here, not from a network."""
    planted = _changed_modules(plant)

    def serve(route: Any) -> None:
        path = route.request.url.removeprefix("http://localhost/")
        own = path.removeprefix("rrcollect/web/src/")
        text = planted[own] if own in planted else (ROOT / path).read_text(encoding="utf-8") if path else ""
        route.fulfill(body=text, content_type="text/javascript" if path else "text/html")

    with chromium() as opened, Visit(opened) as visit:
        visit.context.route("http://localhost/**", serve)
        page = visit.page("http://localhost/")
        page.set_default_timeout(600_000)
        said: list[str] = page.evaluate(
            f"""async (task) => {{
                const rr = await import("/{MODULE}");
                const {{ verdicts }} = await import("/tests/assurance/documents/documents.mjs");
                return verdicts(rr, task);
            }}""",
            task,
        )
    return said


HOSTS: dict[str, Callable[[Task, str | None], list[str]]] = {"Python": python, "Node": node, "Chromium": browser}
