"""`rrcollect publish --to`: the signed survey is handed to a collector, and the token goes nowhere else."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from server_agg import open_store
from tests.support.collector_running import TOKEN, RunningCollector
from tests.support.command_line import SIGNED, json_of, refused, run, signed_survey
from tests.support.ports import free_port

SIGNING = ["publish", "survey.toml", "--key", "publisher.pem", "--out", "again.json"]


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    signed_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    os.chmod(tmp_path / "token", 0o600)
    capsys.readouterr()
    return tmp_path


@pytest.mark.process
def test_a_survey_is_uploaded_when_it_is_signed_or_later(desk, capsys):
    with RunningCollector(str(desk / "reports.sqlite3")) as collector:
        there = ["--to", f"http://127.0.0.1:{collector.port}", "--token-file", "token"]
        said = json_of(capsys, *SIGNING, *there)
        assert said["pages"] == [f"https://collect.example.org/s/{said['digest']}"]
        again = json_of(capsys, "publish", *SIGNED, *there)
        assert (again["digest"], again["pages"]) == (said["digest"], said["pages"])  # the same survey: known already
        code, out, _ = run(capsys, "publish", *SIGNED, *there)
        assert (code, out.splitlines()[0]) == (0, f"uploaded to {there[1]}: digest {said['digest']}")
        (desk / "token").write_text("another token than the collector's\n")
        refused(capsys, 4, "HTTP 401", "publish", *SIGNED, *there)
    with open_store(desk / "reports.sqlite3") as store:
        assert store.check().surveys == 1


def test_what_cannot_be_uploaded(desk, capsys):
    nowhere = ["--to", f"http://127.0.0.1:{free_port()}", "--token-file", "token"]
    refused(capsys, 4, "could not be reached (ConnectionRefusedError)", "publish", *SIGNED, *nowhere)
    refused(capsys, 2, "https://", "publish", *SIGNED, "--to", "http://collect.example.org", "--token-file", "token")
    refused(capsys, 2, "https://", "publish", *SIGNED, "--to", "ftp://127.0.0.1", "--token-file", "token")
    refused(capsys, 2, "give both --to URL and --token-file", "publish", *SIGNED, "--to", "https://collect.example.org")
    refused(capsys, 2, "signed already", "publish", *SIGNED)
    os.chmod(desk / "token", 0o644)
    refused(capsys, 2, "600", "publish", *SIGNED, *nowhere)


@pytest.mark.process
def test_the_token_does_not_follow_a_redirect(desk, capsys):
    seen = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")
            self.end_headers()

        def do_GET(self):
            self.do_POST()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = ["--to", f"http://127.0.0.1:{server.server_port}", "--token-file", "token"]
        refused(capsys, 4, "HTTP 302", "publish", *SIGNED, *there)
        server.shutdown()
    assert [path.partition("?")[0] for path in seen] == ["/surveys"]
