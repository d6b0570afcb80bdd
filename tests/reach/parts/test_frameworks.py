"""<rr-survey> drawn by React and by Vue: the modules printed in docs/browser.md, bundled by esbuild, in Chromium."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rrcollect import Question, SigningKey, Survey, optimal_design
from tests.documents.blocks import blocks_of
from tests.support.browser import Visit, chromium
from tests.support.devices import FAR
from tests.support.element import TYPES

ROOT = Path(__file__).parents[3]
NODE = Path(os.environ["REACH_NODE"])
KEY = SigningKey.generate()
PRINTED = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
MODULES = {block.name: block.text for block in blocks_of((ROOT / "docs" / "browser.md").read_text(encoding="utf-8"))}
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A club</title>
<script type="module" src="/src/rr-survey.mjs"></script></head>
<body><main id="app"></main><script type="module" src="/app.mjs"></script></body></html>"""


def bundled(folder: Path, text: str) -> bytes:
    """A module with what it imports from npm, as one file."""
    (folder / "given.mjs").write_text(text, encoding="utf-8")
    (folder / "node_modules").symlink_to(NODE / "node_modules")
    program = [NODE / "node_modules" / ".bin" / "esbuild", "given.mjs", "--bundle", "--format=esm", "--outfile=app.mjs"]
    program += ["--define:process.env.NODE_ENV='production'"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "app.mjs").read_bytes()


@pytest.mark.parametrize("name", ["react.mjs", "vue.mjs"])
def test_a_framework_draws_the_element_and_hears_it(tmp_path: Path, name: str) -> None:
    assert PRINTED in MODULES[name]
    files = {"/": PAGE.encode(), "/app.mjs": bundled(tmp_path, MODULES[name].replace(PRINTED, KEY.public.raw.hex()))}

    class Pages(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            file = ROOT / "rrcollect" / "web" / self.path.lstrip("/")
            body = files.get(self.path) or (file.read_bytes() if self.path.startswith("/src/") else b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", TYPES.get(file.suffix, "text/html"))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silence."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_address[1]}"
        asked = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
        survey = Survey(
            name="clean-sport", version=1, title="Clean sport", publisher="A club", expires=FAR, questions=[asked],
            collector=f"{origin}/reports", origins=[origin],
        )  # fmt: skip
        files["/survey.json"] = survey.publish([KEY]).envelope
        with chromium() as browser, Visit(browser) as person:
            said: list[str] = []
            person.context.on("console", lambda message: said.append(message.text))
            page = person.page(origin)
            page.get_by_role("radio", name="Yes").click()
            page.get_by_role("button", name="Send").click()
            page.get_by_text("It is sent within seconds").first.wait_for()
            assert "answered q1" in said
        server.shutdown()
