"""The truth is in no place that a browser saves: a whole profile is read after a visit, in Chromium and in Firefox.

The false-alarm rate of a search is below 1e-9 (`tests.support.truth_search`: 1e-10 per stream that holds an id at all).
"""

import json
import math
import secrets
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from rrcollect import Design
from server_agg.collect import pages
from tests.support.collector_running import ROOT
from tests.support.devices import question
from tests.support.profile_files import streams
from tests.support.truth_search import marked, truths_found

BROWSERS = {"chrome": "chromium", "firefox": "firefox-esr"}
MANY = 104  # every second one is sent, the others are chosen only
HONEST = Fraction(33, 64)  # the chance that the randomised answer is the truth: 104 answers fit a device's budget


def coins(many=MANY):
    return {f"q{secrets.token_hex(5)}": bool(secrets.randbits(1)) for _ in range(many)}


def visited(collector, browser, folder):
    """A visit to a survey's page; the profile's streams, the truths, and what the page showed."""
    truths = coins()
    asked = [question(id=name, attribute=name, text=f"Ever {name}?", design=Design(HONEST, HONEST)) for name in truths]
    digest = collector.page_of(*asked)
    program = shutil.which(BROWSERS[browser])
    assert program, f"{BROWSERS[browser]} is needed (Debian: apt-get install {BROWSERS[browser]})"
    driver = Path(sys.prefix, "node/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js")
    assert driver.exists(), "puppeteer-core is needed: `make test` installs it"
    given = {"puppeteer": driver.as_uri(), "browser": browser, "program": program, "profile": str(folder)}
    given |= {"url": f"{collector.url}/s/{digest}", "away": f"{collector.url}/", "truths": truths}
    given |= {"send": list(truths)[::2]}
    done = subprocess.run(
        ["node", str(ROOT / "tests/support/visit.mjs")],
        input=json.dumps(given), capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return list(streams(folder)), truths, json.loads(done.stdout)


def told(found, truths):
    return {name: said for name, data in found if (said := truths_found(data, truths, HONEST))}


@pytest.mark.parametrize("browser", BROWSERS)
def test_no_file_of_the_profile_tells_a_truth(browser, collector, tmp_path):
    found, truths, shown = visited(collector, browser, tmp_path / "profile")
    assert shown == {"before": MANY, "after": 0, "kept": "true"}  # gone also on the way back
    sent = list(truths)[::2]
    holding = {name: marked(data, truths) for name, data in found if marked(data, truths)}
    ledgers = {name for name in holding if "indexeddb" in name.lower() or "/idb/" in name}
    assert any(set(sent) <= set(holding[name]) for name in ledgers)  # the search reads what is there
    assert holding.keys() == ledgers  # nothing else so much as names a question
    assert told(found, truths) == {}


@pytest.mark.parametrize("browser", BROWSERS)
def test_the_same_search_finds_the_truth_behind_radio_buttons(browser, collector, tmp_path, monkeypatch):
    """Planted bug: the page with form controls."""
    planted, real = (ROOT / "tests/support/saved_choice.mjs").read_bytes(), pages.asset
    asset = lambda name: (planted, "text/javascript") if name == "choice.mjs" else real(name)  # noqa: E731
    monkeypatch.setattr(pages, "asset", asset)
    found, truths, shown = visited(collector, browser, tmp_path / "profile")
    assert shown["after"] == MANY // 2  # those not sent are still there after going away and back
    assert any("session" in name.lower() for name in told(found, truths))


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
