"""A page of somebody else's with the survey element in it: its own files, its own strict policy, another origin."""

from __future__ import annotations

import http.server
import threading
from typing import Self

from tests.support.element import SOURCES, TYPES

PAGE = """<!doctype html>
<html lang="en"{html}><head><meta charset="utf-8"><title>A club</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/page.css"><script type="module" src="/page.mjs"></script>
<script type="module" src="/web/rr-survey.mjs"></script></head>
<body><main><h1>A club</h1><rr-survey {attributes}></rr-survey></main></body></html>
"""
AROUND = """<!doctype html>
<html lang="en"><head><title>Around</title></head><body><iframe title="inside" src="{inside}"></iframe></body></html>
"""
STYLE = "rr-survey { --rr-accent: #7a1fa2; } rr-survey::part(send) { letter-spacing: 1px; }"
SCRIPT = """globalThis.heard = [];
for (const what of ["answered", "declined", "finished"]) {
  addEventListener(what, (event) => heard.push([what, JSON.stringify(event.detail), event.target.localName]));
}
"""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' {collector}; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


class Site:
    """A web site in a thread, whose page embeds a survey; `attributes` of the element, `html` of the page.

    `more` pages have attributes of their own, by their path."""

    def __init__(self, collector: str, attributes: str = "", html: str = "") -> None:
        self.attributes, self.html, self.more = attributes, html, dict[str, str]()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                files = {"/page.css": (STYLE, "text/css"), "/page.mjs": (SCRIPT, "text/javascript")}
                for path, given in {"/": site.attributes, **site.more}.items():
                    files[path] = (PAGE.format(attributes=given, html=site.html), "text/html")
                if self.path.startswith("/around?"):  # a page around another one
                    files[self.path] = (AROUND.format(inside=self.path.partition("?")[2]), "text/html")
                if self.path.startswith("/web/") and ".." not in self.path:
                    found = SOURCES / self.path[5:]
                    files[self.path] = (found.read_text("utf-8"), TYPES[found.suffix])
                text, kind = files.get(self.path, ("", "text/plain"))
                self.send_response(200 if self.path in files else 404)
                self.send_header("content-type", f"{kind}; charset=utf-8")
                if not self.path.startswith("/around?"):
                    self.send_header("content-security-policy", POLICY.format(collector=collector))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(10)
