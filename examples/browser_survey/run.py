"""For whoever wants to see a survey in the browser before running one.

Makes a key, signs `survey.toml` beside this file with a free port of this machine in it, starts the real collector
there, publishes the survey and says where to click: one page to answer on, one to watch the results.  Ctrl-C stops the
collector and counts what it took.

    python examples/browser_survey/run.py [FOLDER]    # FOLDER keeps key, token and reports (./browser-survey)

Every step is a command of `rrcollect` that is printed before it is run, so that you can type it yourself.
"""

import contextlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from rrcollect import PublicKey
from server_agg import estimate, open_store

HERE = Path(__file__).resolve().parent
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "browser-survey")
key, asked, signed, token, store = (
    folder / name for name in ("publisher.pem", "survey.toml", "survey.json", "token", "reports.sqlite3")
)


def command(*words: object) -> list[str]:
    """A command of `rrcollect`, printed as one would type it."""
    print("$ rrcollect", *words, flush=True)
    return [sys.executable, "-m", "server_agg.cli.main", *map(str, words)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, collector: subprocess.Popen[bytes]) -> None:
    while collector.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    sys.exit("the collector did not start; what it says stands above")


def publish(port: int) -> str:
    """Hand the signed survey to the collector; it answers with the address of the survey's page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {token.read_text()}", "Content-Type": "application/json"}
    connection.request("POST", f"/surveys?key={trusted.raw.hex()}", signed.read_bytes(), headers)
    response = connection.getresponse()
    said = response.read()
    if response.status not in (200, 201):
        sys.exit(f"the collector answered {response.status}: {said.decode()}")
    return str(json.loads(said)["pages"][0])


folder.mkdir(exist_ok=True)
if not key.exists():
    subprocess.run(command("keygen", "--out", key), check=True)
trusted = PublicKey.from_pem(Path(f"{key}.pub").read_bytes())
if not asked.exists():  # a survey names its collector, and where its page may be answered: the port is chosen once
    asked.write_text((HERE / "survey.toml").read_text(encoding="utf-8").replace(":8000", f":{free_port()}"), "utf-8")
port = urlsplit(tomllib.loads(asked.read_text(encoding="utf-8"))["collector"]).port
if not signed.exists():
    subprocess.run(command("publish", asked, "--key", key, "--out", signed), check=True)
if not token.exists():
    os.close(os.open(token, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    token.write_text(secrets.token_urlsafe(24))

# Results from two answers on: for trying it out; the 30 of the default is for people.
serving = command("serve", "--store", store, "--token-file", token, "--port", port, "--minimum", 2)
with subprocess.Popen(serving, stdout=subprocess.DEVNULL) as collector:
    try:
        wait_for(port, collector)
        print(f"\nAnswer here:    {publish(port)}")
        print(f"Results here:   http://127.0.0.1:{port}/    (the owner's token is in {token})")
        print("Stop with Ctrl-C.", flush=True)
        collector.wait()
    except KeyboardInterrupt:
        print("\nStopping.")
    finally:
        collector.terminate()  # gracefully: whatever was acknowledged is on disk

with open_store(store) as opened:
    counted, waiting = opened.tallies(), opened.check().waiting
print(f"{counted.n} reports counted, {waiting} wait for others to be counted with")
for (question,), tallies in counted.by("question").items():
    print(f"{question}: {estimate(tallies[0]).sentence()}")
