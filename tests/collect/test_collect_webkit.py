"""The survey page in WebKit, the engine of every iPhone: it is answered, remembered, declined and delivered there as in
Chromium, and the client judges the shared vectors alike."""

import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from shutil import copytree

import pytest

from server_agg import open_store
from tests.support.collector_running import ROOT, RunningCollector
from tests.support.devices import VECTORS, cases, load, question
from tests.support.webkit import webkit

ELEMENT = "document.querySelector('rr-survey').shadowRoot"
BUTTON = f"[...{ELEMENT}?.querySelectorAll('button') ?? []].find((one) => one.innerText.trim() === a[0])"
FAMILIES, TABLES = (
    ("surveys", "reports", "withdrawals"),
    ("draws", "sets", "asked", "numbers", "drawn", "settings", "tickets", "words"),
)

JUDGED = """<!doctype html><script type="module">
import * as rr from "/web/index.mjs";
import { judge } from "/js/judge.mjs";
const given = await (await fetch("/given.json")).json(), failed = (error) => ({ wrong: [String(error)], judged: 0 });
const { wrong, judged } = await judge(rr, given).catch(failed);
await fetch("/judged", { method: "POST", body: JSON.stringify([judged, wrong.slice(0, 5)]) });
</script>"""


@pytest.fixture(scope="module")
def window():
    with webkit() as found:
        yield found


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


def press(window, name):
    window.until(f"{BUTTON} && !({BUTTON}).disabled", name)
    window.run(f"{BUTTON}.click()", name)


def test_an_answer_is_delivered_and_repeated_after_a_reload(window, collector):
    digest = collector.page_of()
    window.open(f"{collector.url}/s/{digest}")
    press(window, "Yes")
    press(window, "Send")
    window.until(f"{ELEMENT}.querySelector('[data-report]')?.innerText.includes('It was received')")
    shown = f"[{ELEMENT}.querySelector('[data-report]').dataset.report, {ELEMENT}.querySelector('.sent').textContent]"
    first = window.run(shown)
    window.reload()
    window.until(f"{ELEMENT}?.querySelector('[data-report]')?.innerText.includes('It was received')")
    assert window.run(shown) == first
    assert [report.row.id for report in collector.store.epochs.waiting()] == [first[0]]


def test_a_declined_question_sends_nothing_and_stays_declined(window, collector):
    digest = collector.page_of(question(), question(id="q2", attribute="lied"))
    window.open(f"{collector.url}/s/{digest}")
    press(window, "I prefer not to answer")
    window.until(f"{ELEMENT}.innerHTML.includes('Answer after all') || {BUTTON}", "Answer after all")
    window.reload()
    window.until(f"{BUTTON}", "Answer after all")
    assert list(collector.store.epochs.waiting()) == []


class Files(SimpleHTTPRequestHandler):
    """Files of a folder; what a page posts is put into a queue.  (The vectors change prototypes, so that meanwhile the
    driver cannot ask the page anything.)"""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}  # noqa: RUF012

    def do_POST(self):
        self.server.posted.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """The address of a folder's files, and the queue."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder))) as server:
        server.posted = Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server.posted
        server.shutdown()


def test_the_vectors_are_judged_alike(window, tmp_path):
    copytree(ROOT / "rrcollect/web/src", tmp_path / "web")
    copytree(ROOT / "tests/collect/js", tmp_path / "js")
    given = {family: cases(family) for family in FAMILIES} | {name: load(VECTORS / f"{name}.json") for name in TABLES}
    long = [name for name, case in given["surveys"].items() if 65_000 < len(case["envelope"]) * 9 / 16 < 100_000]
    assert sorted(long) == ["bad_look_logo_long", "bad_round_times_too_many"]
    for name in long:  # WebKitGTK 2.50 itself crashes when Ed25519 signs or verifies 65,536 bytes or more
        del given["surveys"][name]
    (tmp_path / "given.json").write_text(json.dumps(given))
    (tmp_path / "index.html").write_text(JUDGED)
    with served(tmp_path) as (address, posted):
        window.open(f"{address}/index.html")
        judged, wrong = json.loads(posted.get(timeout=60))
    assert wrong == []
    assert judged > 1000
