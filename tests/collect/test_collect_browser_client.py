"""The JavaScript client in a real Chromium: its origin, its ledger, its moments, tickets and signals."""

import pytest

from tests.support.browser import Visit
from tests.support.collector_running import RunningCollector
from tests.support.devices import KEY, PUBLISHER, question
from tests.support.element import serve_sources
from tests.vectors.ticket_cases import invite, ticket

CLIENT = """async (given) => {
    const rr = await import("/sources/index.mjs");
    const policy = new rr.Policy([{ name: given.publisher, keys: [given.key] }]);
    const attributes = [{ everyAttributeOf: given.publisher }];
    const client = new rr.Client({ ledger: new rr.IndexedDBLedger(), attributes, policy });
    const got = async (digest) => (await fetch("/surveys/" + digest)).arrayBuffer();
    const accept = async (digest) => client.accept(new Uint8Array(await got(digest)));
    try {
        return await (async () => { %s })();
    } catch (error) {
        return `${error.name}: ${error.message}`;
    }
}"""


@pytest.fixture
def collector(tmp_path):
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as running:
        yield running


@pytest.fixture
def run(browser, collector):
    """Code in a page of the collector, under one of its host names; `digests` are surveys."""
    with Visit(browser) as person:
        serve_sources(person.context)

        def evaluate(code, *digests, host="127.0.0.1"):
            page = person.page(f"http://{host}:{collector.port}/")
            given = {"publisher": PUBLISHER, "key": KEY.public.raw.hex(), "digests": list(digests)}
            return page.evaluate(CLIENT % code, given)

        yield evaluate


def test_another_name_of_the_same_host_is_another_origin(run, collector):
    listed = collector.publish(collector.publication())
    nowhere = collector.publish(collector.publication(question(text="Else?"), name="app", origins=[]))
    code = """
        const said = [];
        for (const digest of given.digests) {
            const survey = await accept(digest);
            said.push(await client.answer(survey, "q1", true).then((report) => report.state, (error) => error.name));
        }
        return [client.origin, client.spread, said, (await client.budget()).draws.length];
    """
    here = run(code, listed, nowhere)
    assert here == [collector.url, 5, ["waiting", "WrongOrigin"], 1]
    there = run(code, listed, nowhere, host="localhost")
    assert there == [f"http://localhost:{collector.port}", 5, ["WrongOrigin", "WrongOrigin"], 0]


def test_a_report_waits_for_its_moment_and_a_no_is_a_no(run, collector):
    digest = collector.publish(collector.publication())
    code = """
        const survey = await accept(given.digests[0]), start = Date.now() / 1000;
        const { times, id } = await client.answer(survey, "q1", true);
        const no = await client.decline(survey, "q1"), none = await client.deliver({ within: 6 });
        const again = await client.answer(survey, "q1", () => { throw new Error("read"); });
        const done = await client.deliver({ within: 6 });
        return { early: times[0] - start, same: again.id === id, no, none: none.delivered, done: done.delivered };
    """
    found = run(code, digest)
    assert -1 <= found.pop("early") <= 5
    assert found == {"same": True, "no": {"stopped": 1, "left": 0}, "none": 0, "done": 1}
    assert collector.kept() == 1


def test_a_page_that_is_left_cancels_its_answer(run, collector):
    digest = collector.publish(collector.publication())
    code = """
        const survey = await accept(given.digests[0]), leave = new AbortController(), { transact } = client.ledger;
        client.ledger.transact = async (change) => {
            const result = await transact.call(client.ledger, change);
            leave.abort(new Error("left"));
            return result;
        };
        const said = await client.answer(survey, "q1", true, { signal: leave.signal }).catch((error) => error.message);
        const { reports } = await client.budget(), { delivered } = await client.deliver({ within: 6 });
        return [said, reports.map(({ state }) => state), delivered];
    """
    assert run(code, digest) == ["left", ["cancelled"], 0]


def test_tickets_are_derived_in_the_browser(run, collector):
    digest = collector.publish(collector.publication(invite_only=True))
    code = """
        const survey = await accept(given.digests[0]);
        const { body } = await client.answer(survey, "q1", true, { invite: "INVITE" });
        const mistyped = await client.answer(survey, "q1", true, { invite: "x" }).catch((error) => error.name);
        const kept = JSON.stringify(await client.ledger.transact((state) => state));
        return [JSON.parse(body).ticket, kept.includes("INVITE"), mistyped];
    """
    mine = invite("a person of the tests")
    assert run(code.replace("INVITE", mine), digest) == [ticket(mine, digest, "q1", 0), False, "ParameterError"]
