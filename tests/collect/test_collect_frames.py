"""A survey inside frames, in Chromium and in Firefox: each site around a page would be one more ledger."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server_agg import open_store
from tests.support.collector_running import ROOT, RunningCollector
from tests.support.devices import KEY, question
from tests.support.embedded import Site

BROWSERS = {"chrome": "chromium-headless-shell", "firefox": "firefox-esr"}


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


def shown(browser, urls):
    """What the element shows at each address."""
    program = shutil.which(BROWSERS[browser])
    assert program, f"{BROWSERS[browser]} is needed (Debian: apt-get install {BROWSERS[browser]})"
    driver = Path(sys.prefix, "node/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js")
    assert driver.exists(), "puppeteer-core is needed: `make test` installs it"
    done = subprocess.run(
        ["node", str(ROOT / "tests/support/framed.mjs")],
        input=json.dumps({"puppeteer": driver.as_uri(), "browser": browser, "program": program, "urls": urls}),
        capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.browser
@pytest.mark.parametrize("browser", BROWSERS)
def test_inside_another_site_nothing_is_asked_unless_the_survey_lists_it(collector, browser):
    """Both browsers name the sites around; one that does not: `tests/collect/js/answering.test.mjs`."""
    with Site(collector.url) as site:
        port = site.url.rpartition(":")[2]
        other = f"http://localhost:{port}"  # the same machine, another site
        given = {"origins": [site.url], "name": "alone"}
        alone = collector.publish(collector.publication(question(), **given))
        framed = collector.publish(collector.publication(question(), **{**given, "name": "framed", "frames": [other]}))
        urls = []
        for digest in (alone, framed):
            site.more[f"/{digest}"] = f'src="{collector.url}/surveys/{digest}" publisher="{KEY.public.raw.hex()}"'
            inside = f"{site.url}/{digest}"
            urls += [
                inside,  # by itself
                f"{site.url}/around?{inside}",  # inside a page of its own
                f"{other}/around?{inside}",
                f"{other}/around?{site.url}/around?{inside}",
                f"{site.url}/around?{other}/around?{inside}",  # at the top its own again: another ledger still
            ]
        said = shown(browser, urls)
    refused = "WrongFrame"
    assert said[:5] == ["asks", "asks", refused, refused, refused]  # alone
    assert said[5:] == ["asks", "asks", "asks", "asks", refused]  # framed


def test_a_survey_page_may_be_framed_where_its_survey_says_so(collector):
    frames = ["https://club.example", "https://news.example:8443"]
    for name, given, wanted in (("alone", [], "'none'"), ("framed", frames, " ".join(frames))):
        digest = collector.publish(collector.publication(question(), name=name, frames=given))
        status, _, headers = collector.request("GET", f"/s/{digest}")
        assert status == 200
        assert headers["content-security-policy"].endswith(f"frame-ancestors {wanted}")
        assert ("x-frame-options" in headers) is (not given)
