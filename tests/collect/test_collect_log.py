"""The log: every published survey and every deed of the owner is in it, nobody else's; two histories are noticed."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from rrcollect import ParameterError, Policy, TrustedPublisher
from rrcollect.errors import KeyFileError, NotLogged, SplitLog, TransportFailed
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from server_agg.errors import UnfitDatabase
from tests.inside.collect import Catalogue, SignedLog, add_entry, incoming
from tests.inside.deliver import HttpLog
from tests.inside.publish import LogRule, read_checkpoint, survey_entry
from tests.support.collector_running import BEARER, JSON, ROOT, RunningCollector, body, expired, report
from tests.support.command_line import main
from tests.support.devices import KEY, PUBLISHER, client
from tests.support.logs import LOG, NAME, OWN, SEEN_BY, WITNESSES


def done(store):
    """A store after some deeds; its survey."""
    made = expired(minimum=2, expires="2026-01-01T00:00:00Z")
    survey = Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].survey
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])  # it is there: no deed
    store.take([incoming(report(survey.digest).row) for _ in range(5)])
    store.fold()
    store.release(survey, now=1_800_000_000)
    store.release(survey)  # nothing new: no deed
    for _ in range(2):
        store.folds.finish(survey.digest)
    return survey


@pytest.fixture
def store(where, tmp_path):
    opened = open_store(where, keys=tmp_path / "keys")
    yield opened
    opened.disconnect()


def test_deeds_are_entries_and_what_respondents_do_is_not(store, tmp_path):
    survey = done(store)
    log = store.log()
    assert [(one.number, one.deed, one.survey) for one in log.deeds] == [
        (0, "published", survey.digest), (2, "released", survey.digest), (3, "closed", survey.digest)
    ]  # fmt: skip
    assert (log.deeds[1].moment, log.deeds[1].facts) == ("2027-01-15T08:00:00Z", {"release": 1, "added": 4})
    assert (log.size, store.log(log.checkpoint)) == (4, log)
    (listed,) = Catalogue(store.shelf).all()
    assert Catalogue(store.shelf).of_name(listed.published) == 1
    assert store.export(tmp_path / "log.jsonl") == 3
    assert [json.loads(line)["deed"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [
        "published", "released", "closed",
    ]  # fmt: skip


@pytest.mark.parametrize("change", [
    "UPDATE log SET line = replace(line, 'released', 'rebuilt!') WHERE number = 2",
    "UPDATE log SET line = replace(line, ':', ': ') WHERE number = 2",
    "UPDATE log SET line = 'nothing' WHERE number = 2",
    "UPDATE log SET line = '{}' WHERE number = 2",
    "UPDATE log SET line = '' WHERE number = 2",
    "UPDATE log SET entry = replace(entry, '0', '1') WHERE number = 1",
    "UPDATE log_hashes SET number = 9 WHERE number = 3",
    "DELETE FROM log_hashes WHERE number = 3",
    "DELETE FROM log WHERE number = 1",
    "DELETE FROM log WHERE number = 0",
    "UPDATE log SET number = 7 WHERE number = 2",
])  # fmt: skip
def test_a_changed_entry_is_noticed_at_once(store, change):
    done(store)
    with store.database.writing() as cursor:
        cursor.execute(change)
    with pytest.raises(UnfitDatabase, match="the owner's log was changed"):
        store.log()


def test_a_cut_end_and_a_log_written_anew_are_noticed_against_a_checkpoint(store):
    done(store)
    last = store.log().checkpoint
    with store.database.writing() as cursor:
        cursor.execute("DELETE FROM log WHERE number = 3")
        cursor.execute("DELETE FROM log_hashes WHERE number = 3")
    store.log()  # by itself it is whole
    with pytest.raises(UnfitDatabase, match="cut or written anew"):
        store.log(last)
    with store.database.writing() as cursor:
        cursor.execute("DELETE FROM log")
        cursor.execute("DELETE FROM log_hashes")
    done(store)
    with pytest.raises(UnfitDatabase, match="cut or written anew"):
        store.log(last)
    with pytest.raises(ParameterError, match="checkpoint"):
        store.log("last week")


def test_a_log_of_many_entries_keeps_its_tiles(store):
    with store.database.writing() as cursor:
        for i in range(600):
            add_entry(store.database, cursor, b'{"digest":"%d","key":"k","name":"n","version":1}' % i)
    signed = SignedLog(store.database, NAME, OWN)
    state, _ = read_checkpoint(signed.checkpoint(), signed.own)
    assert (state.size, state.root) == (600, store.log().root)
    assert len(signed.tile(0, 1, 256)) == 8192
    assert len(signed.tile(0, 2, 88)) == 88 * 32
    assert len(signed.tile(1, 0, 2)) == 64
    assert signed.tile(0, 2, 89) is signed.tile(0, 3, 1) is signed.tile(1, 0, 3) is signed.entries(2, 89) is None
    assert LogRule(signed.own)
    with store.database.writing() as cursor:
        cursor.execute("UPDATE log_hashes SET hash = (SELECT hash FROM log_hashes WHERE level = 0 AND number = 1) "
                       "WHERE level = 1 AND number = 0")  # fmt: skip
    with pytest.raises(UnfitDatabase, match="its hashes"):
        store.log()


def test_a_collector_that_starts_notes_it_and_a_new_token_and_shows_the_log(tmp_path, capsys):
    where = str(tmp_path / "a.sqlite3")
    with RunningCollector(where) as running:
        digest = running.page_of()
        for _ in range(3):
            running.post(body(digest))
        _, said = running.json("GET", "/surveys", headers=BEARER)
        assert running.json("GET", "/log/checkpoint")[0] == 404  # nobody has given it a key
    deeds = ["opened", "token changed", "published"]
    assert [one["deed"] for one in said["log"]["entries"]] == deeds
    with RunningCollector(where):
        pass
    with open_store(where) as store:
        log = store.log(said["log"]["checkpoint"])
        assert [one.deed for one in log.deeds] == [*deeds, "opened"]
        assert "a token for the tests" not in str(log)
    assert main(["store", "check", "--store", where, "--checkpoint", said["log"]["checkpoint"]]) == 0
    assert f"the owner's log is whole: 5 entries; keep this elsewhere: {log.checkpoint}" in capsys.readouterr().out
    with open_store(where) as store, store.database.writing() as cursor:
        cursor.execute("DELETE FROM log WHERE number >= 3")
        cursor.execute("DELETE FROM log_hashes WHERE number >= 3")
    assert main(["store", "check", "--store", where]) == 0
    assert main(["store", "check", "--store", where, "--checkpoint", said["log"]["checkpoint"]]) != 0
    assert "cut or written anew" in capsys.readouterr().err


# ---- what strangers see of it: over real sockets --------------------------------------------------------------------

SETTINGS = {"log_name": NAME, "log_witnesses": " ".join(one.text for one in SEEN_BY)}


@pytest.fixture
def running(tmp_path):
    OWN.save(tmp_path / "log.pem")
    with RunningCollector(str(tmp_path / "a.sqlite3"), log_key=str(tmp_path / "log.pem"), **SETTINGS) as collector:
        yield collector


def demands(running, **caps):
    key = running.request("GET", "/log/key")[1].decode().strip()
    assert key == LOG.text
    return Policy([TrustedPublisher(PUBLISHER, [KEY.public])], log=key, **caps)


def test_a_device_that_demands_the_log_takes_what_its_collector_serves(running, tmp_path):
    digest = running.page_of()
    device = client(tmp_path, policy=demands(running))
    accepted = device.accept(running.request("GET", f"/surveys/{digest}")[1])
    device.answer(accepted, "q1", truth=True)
    assert device.deliver().delivered == 1
    for version in range(2, 5):
        digest = running.page_of(version=version)
        device.accept(running.request("GET", f"/surveys/{digest}")[1], log=HttpLog(f"{running.url}/log"))
    assert len(running.request("GET", f"/surveys/{digest}")[1]) < 4096


def test_witnesses_sign_what_they_saw_and_a_device_demands_them(running, tmp_path):
    digest = running.page_of()
    rule = demands(running, witnesses=[one.text for one in SEEN_BY], witnesses_needed=2)
    device = client(tmp_path, policy=rule)
    with pytest.raises(NotLogged, match="0 of 2"):
        device.accept(running.request("GET", f"/surveys/{digest}")[1])
    state, _ = read_checkpoint(running.request("GET", "/log/checkpoint")[1].decode(), LOG)
    lines = [state.cosigned(SEEN_BY[i].name, WITNESSES[i], 1_800_000_000 + i) for i in range(2)]

    def send(size, lines):
        return running.json("POST", "/log/cosignatures", json.dumps({"size": size, "lines": lines}).encode(), JSON)

    assert send(state.size, lines[0]) == (201, {"witnesses": 1})
    assert send(state.size, lines[0]) == (201, {"witnesses": 1})
    running.page_of(name="other")  # the log goes on; what was signed stays
    assert send(state.size, lines[1]) == (201, {"witnesses": 2})
    time.sleep(1.1)  # a proof is remembered for a second
    assert device.accept(running.request("GET", f"/surveys/{digest}")[1]).state == state
    assert send(state.size + 9, lines[0])[0] == 409
    assert send(state.size - 1, lines[0])[0] == 400
    stranger = state.cosigned("stranger.example", OWN, 7)
    assert (send(state.size, stranger)[0], send(state.size, "a line")[0], send(state.size, "")[0]) == (403, 400, 201)
    for wrong in (b"", b"[]", b'{"size":1}', b'{"size":true,"lines":""}', b'{"size":1,"lines":7}', b"{" * 9000):
        assert running.request("POST", "/log/cosignatures", wrong, JSON)[0] in (400, 413)


@pytest.mark.parametrize("address", [
    "", "0", "0/000.p/0", "0/000.p/256", "0/000.p/999", "0/0", "0/x000", "0/000/000", "6/000", "-1/000", "entries",
    "entries/000.p/200", "0/x001/x001/x001/x001/000", "0/000.p/1x", "entries/../../etc", "0/000?x", "0/99999999999",
])  # fmt: skip
def test_an_address_of_no_tile_is_not_found(running, address):
    assert running.request("GET", f"/log/tile/{address}")[0] in (404, 307)


def test_a_split_view_is_noticed_by_the_device_the_command_and_the_monitor(running, tmp_path, capsys):
    """The owner shows one person another history: the store is changed and everything in it signed anew."""
    made = running.publication()
    digest = running.publish(made)
    signed, trust, state = tmp_path / "survey.json", tmp_path / "key.pub", tmp_path / "state"
    signed.write_bytes(running.request("GET", f"/surveys/{digest}")[1])
    trust.write_bytes(KEY.public.to_pem())
    device = client(tmp_path, policy=demands(running))
    device.accept(signed.read_bytes())
    command = ["verify", str(signed), "--trust", str(trust), "--log", LOG.text, "--log-at", f"{running.url}/log"]
    monitor = [sys.executable, str(ROOT / "deploy/log_monitor.py"), f"{running.url}/log", LOG.text, str(state)]
    running.page_of(version=2)
    assert main(command) == 0
    assert "has 2 surveys that this publisher named 'clean-sport'" in capsys.readouterr().out
    for _ in range(2):
        told = subprocess.run(monitor, cwd=ROOT, check=True, capture_output=True, text=True)
        assert told.stdout == f"6 entries of {NAME}, 2 of them surveys\n"
    with running.store.database.writing() as cursor:  # as if version 1 had never been published
        cursor.execute("DELETE FROM log WHERE number >= 2")
        cursor.execute("DELETE FROM log_hashes WHERE number >= 2")
        for i in range(4):
            add_entry(running.store.database, cursor, survey_entry(KEY.public, "clean-sport", 2 + i, f"{i:064x}"))
    assert main(command) == 1
    assert "SplitLog" in capsys.readouterr().err
    told = subprocess.run(monitor, cwd=ROOT, check=False, capture_output=True, text=True)
    assert told.returncode != 0
    assert "SplitLog" in told.stderr
    fresh = running.page_of(version=9)
    with pytest.raises(SplitLog):
        device.accept(running.request("GET", f"/surveys/{fresh}")[1], log=HttpLog(f"{running.url}/log"))


def test_the_settings_of_a_log_fit_together(tmp_path):
    OWN.save(tmp_path / "log.pem")
    for wrong in ({"log_name": NAME}, {"log_key": "a"}):
        with pytest.raises(ParameterError, match="together with log_key"):
            CollectorSettings(**wrong)
    with open_store(tmp_path / "a.sqlite3") as store:
        for wrong in ({"log_name": "a b"}, {"log_name": "a+b"}, {"log_name": NAME, "log_witnesses": LOG.text}):
            with pytest.raises(ParameterError):
                create_app(store, OwnerToken("a token for the tests"),
                           CollectorSettings(log_key=str(tmp_path / "log.pem"), **wrong))  # fmt: skip
        with pytest.raises(KeyFileError):
            create_app(store, OwnerToken("a token for the tests"), CollectorSettings(log_key="nowhere", log_name=NAME))
    for wrong in ("http://example.org/log", "nowhere", 7, "https://a/log?x=1"):
        with pytest.raises(ParameterError):
            HttpLog(wrong)
    with pytest.raises(TransportFailed):
        HttpLog("http://127.0.0.1:9/log")("checkpoint")
