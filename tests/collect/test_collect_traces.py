"""The truth is in no place that a browser saves: a whole profile is read after a visit, in Chromium and in Firefox.

One visit answers questions of every kind.  Yes or no, and one of two options: `tests.support.truth_search`, with false
alarms of 1e-10 per stream that holds an id at all.  Numbers have 22 random digits, labels begin with 20 common ones:
these texts are looked for as they are, in 2^29 bytes at most, which finds by chance less than 1e-9.
"""

import json
import math
import re
import secrets
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from rrcollect import Choice, Design, Number, SetDesign, optimal_design
from tests.support.collector_running import ROOT
from tests.support.devices import question
from tests.support.element import changed, serve
from tests.support.profile_files import streams
from tests.support.truth_search import marked, truths_found

BROWSERS = {"chrome": "chromium", "firefox": "firefox-esr"}
MANY = 104  # every second one is sent, the others are chosen only
HONEST = Fraction(33, 64)  # the chance that the randomised answer is the truth: 104 answers fit a device's budget


LISTED = 60  # options of a list that is scrolled


def coins(many=MANY):
    return {f"q{secrets.token_hex(5)}": bool(secrets.randbits(1)) for _ in range(many)}


def labelled(mark, many):
    return Choice(options=[{"en": f"{mark}{place}"} for place in range(many)])


class VisitEntries:
    """What is entered in a visit: coins for yes/no and for one of two options by turns, long lists, and numbers."""

    def __init__(self):
        self.coins, self.mark = coins(), secrets.token_hex(10)
        self.lists = {f"l{secrets.token_hex(5)}": place for place in (LISTED - 1, 0, LISTED - 2, LISTED - 1)}
        self.numbers = {f"n{secrets.token_hex(5)}": str(10**21 + secrets.randbelow(9 * 10**21)) for _ in range(2)}
        warner, pair, chosen = Design(HONEST, HONEST), SetDesign(2, 1, HONEST), optimal_design("1/10", options=LISTED)
        wide = Number(low="0", high=str(10**22))
        kinds = [(name, {"design": pair, "kind": labelled(self.mark, 2)} if i % 4 > 1 else {"design": warner})
                 for i, name in enumerate(self.coins)]  # fmt: skip
        kinds += [(name, {"design": chosen, "kind": labelled(self.mark, LISTED)}) for name in self.lists]
        kinds += [(name, {"design": warner, "kind": wide}) for name in self.numbers]
        self.asked = [question(id=name, attribute=name, text=f"Ever {name}?", **kind) for name, kind in kinds]
        self.truths = {**self.coins, **self.lists, **self.numbers}
        self.sent = [name for some in (self.coins, self.lists, self.numbers) for name in list(some)[::2]]

    def found_as_they_are(self, data):
        """The labels and numbers that stand in some bytes."""
        texts = [self.mark, *self.numbers.values()]
        return [text for text in texts if text.encode() in data or text.encode("utf-16-le") in data]


def visited(collector, browser, folder):
    """A visit to a survey's page; the profile's streams, what was entered, and what the page showed."""
    entered = VisitEntries()
    digest = collector.page_of(*entered.asked)
    program = shutil.which(BROWSERS[browser])
    assert program, f"{BROWSERS[browser]} is needed (Debian: apt-get install {BROWSERS[browser]})"
    driver = Path(sys.prefix, "node/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js")
    assert driver.exists(), "puppeteer-core is needed: `make test` installs it"
    given = {"puppeteer": driver.as_uri(), "browser": browser, "program": program, "profile": str(folder)}
    given |= {"url": f"{collector.url}/s/{digest}", "away": f"{collector.url}/", "truths": entered.truths}
    given |= {"send": entered.sent}
    done = subprocess.run(
        ["node", str(ROOT / "tests/support/visit.mjs")],
        input=json.dumps(given), capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return list(streams(folder)), entered, json.loads(done.stdout)


def scrolled(found):
    """How far lists were scrolled, as Firefox saves it: the states of all scrolled elements but the page itself."""
    lists = (
        json.loads(said) for _, data in found for said in re.findall(rb'"presState":(\[\{"stateKey".*?\}\])', data)
    )
    return [state for states in lists for state in states if state["stateKey"] != "0>html>1"]


def told(found, truths):
    return {name: said for name, data in found if (said := truths_found(data, truths, HONEST))}


@pytest.mark.parametrize(("browser", "saved"), [("chrome", 0), ("firefox", 2)])  # lists whose scrolling it saves
def test_no_file_of_the_profile_tells_a_truth(browser, saved, collector, tmp_path):
    found, entered, shown = visited(collector, browser, tmp_path / "profile")
    truths, sent = entered.truths, entered.sent
    assert shown == {"before": len(truths), "after": 0, "kept": "true"}  # gone also on the way back
    holding = {name: ids for name, data in found if (ids := marked(data, truths))}
    ledgers = {name for name in holding if "indexeddb" in name.lower() or "/idb/" in name}
    assert any(set(sent) <= set(holding[name]) for name in ledgers)  # the search reads what is there
    assert holding.keys() == ledgers  # nothing else so much as names a question
    assert told(found, entered.coins) == {}
    assert [(name, said) for name, data in found if (said := entered.found_as_they_are(data))] == []
    states = scrolled(found)  # of two lists that were not sent, one scrolled and one not
    assert len({json.dumps(state) for state in states}) == len({state["stateKey"] for state in states}) == saved
    assert not any("scroll" in state for state in states)


@pytest.mark.parametrize(("browser", "saved"), [("chrome", 0), ("firefox", 2)])
def test_the_same_search_finds_the_truth_behind_form_controls(browser, saved, collector, tmp_path, monkeypatch):
    """Planted bug: the element with form controls."""
    planted = (ROOT / "tests/support/saved_choice.mjs").read_text(encoding="utf-8")
    serve(monkeypatch, changed(tmp_path, {"element/entries.mjs": planted}) / "src")
    found, entered, shown = visited(collector, browser, tmp_path / "profile")
    assert shown["after"] == len(entered.truths) // 2  # those not sent are still there after going away and back
    assert any("session" in name.lower() for name in told(found, entered.coins))
    assert any("session" in name.lower() and entered.found_as_they_are(data) for name, data in found)
    assert any("scroll" in state for state in scrolled(found)) is bool(saved)


# ---- the search itself -----------------------------------------------------------------------------------------------


def by_name(truths):
    return ",".join(
        f'{{"name":"{name}","type":"radio","checked":{str(truth).lower()}}}' for name, truth in truths.items()
    )


def by_place(truths):
    return ";".join("on;off" if truth else "off;on" for truth in truths.values())


def honest(truths):
    """The randomised answers: half of them."""
    return "".join(f'{{"answer":"{secrets.randbits(1)}","question":"{name}"}}' for name in truths)


def in_sqlite(data, path):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE object_data (data BLOB)")
        database.execute("INSERT INTO object_data VALUES (?)", (snapped(data),))


def snapped(data):
    return pa.compress(data, codec="snappy").to_pybytes()


def moz_lz4(data, path):
    packed = pa.compress(data, codec="lz4_raw").to_pybytes()
    path.write_bytes(b"mozLz40\0" + len(data).to_bytes(4, "little") + packed)


def in_table(data, path):
    """A LevelDB table of one block."""

    def number(value):
        head = []
        while value >= 128:
            head.append(value & 127 | 128)
            value >>= 7
        return bytes([*head, value])

    block = snapped(data)
    handle = number(0) + number(len(block))
    index = number(0) + number(1) + number(len(handle)) + b"k" + handle + bytes(4) + (1).to_bytes(4, "little")
    body = block + b"\x01" + bytes(4)
    footer = number(0) + number(0) + number(len(body)) + number(len(index))
    path.write_bytes(body + index + bytes(5) + footer.ljust(40, b"\0") + bytes.fromhex("57fb808b247547db"))


CONTAINERS = {
    "plain": lambda data, path: path.write_bytes(data),
    "mozLz4": moz_lz4,
    "zstd": lambda data, path: path.write_bytes(pa.compress(data, codec="zstd").to_pybytes()),
    "SQLite": in_sqlite,
    "LevelDB": in_table,
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_stored_truths_are_found_in_every_container(container, encoding, tmp_path):
    truths = coins()
    for write, many in ((by_name, True), (by_place, True), (honest, False)):
        folder = tmp_path / write.__name__
        folder.mkdir()
        CONTAINERS[container](write(truths).encode(encoding), folder / "file")
        assert bool([said for _, data in streams(folder) for said in truths_found(data, truths, HONEST)]) is many


def test_the_bound_on_chance_is_the_binomial_tail():
    from tests.support.truth_search import _agreements

    for n in (0, 10, 52, 104):
        k = _agreements(n, HONEST, Fraction(1, 10**9))
        tail = sum(math.comb(n, i) * HONEST**i * (1 - HONEST) ** (n - i) for i in range(k, n + 1))
        assert tail <= Fraction(1, 10**9)
