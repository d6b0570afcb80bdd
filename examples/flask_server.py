"""For developers of a web app with many users (Flask).

Shows one ledger per person on a server: `Clients` keeps them under keyed hashes, so that nobody gets another's answer
and no name is on the disk.  The server sees the truth of its users for a moment, as it does in every web form; a page
with the browser's client does not send it anywhere.

    python examples/flask_server.py [FOLDER]          # FOLDER keeps the ledgers (./flask-server)

It plays three users, then delivers.  `create_app` is what you would serve: the key comes from your secrets, the person
from your sign-in (here a header), and the collector is the one that the survey names.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Flask, Response, abort, jsonify, request

import rrcollect as rr

PUBLISHER = "Example Institute"


def create_app(clients: rr.Clients, envelope: bytes) -> Flask:
    """GET /survey: what is asked; POST /answers/<question> {"truth": true}; DELETE: rather not; GET /budget."""
    app = Flask("surveys")

    def mine() -> rr.Client:
        """The ledger of whoever is signed in."""
        person = request.headers.get("X-User") or abort(401)
        return clients.of(person)

    @app.errorhandler(rr.RRCollectError)
    def refused(error: rr.RRCollectError) -> tuple[Response, int]:
        return jsonify(error=type(error).__name__, reason=str(error)), 400

    @app.get("/survey")
    def survey() -> Response:
        client = mine()
        accepted = client.accept(envelope)
        return jsonify(explained=accepted.explain(), open=[q.id for q in client.open_questions(accepted)])

    @app.post("/answers/<question>")
    def answer(question: str) -> tuple[str, int]:
        client = mine()
        client.answer(client.accept(envelope), question, truth=request.get_json()["truth"])
        return "", 204  # what was drawn is not shown: who sees it and then declines would bias the estimate

    @app.delete("/answers/<question>")
    def decline(question: str) -> Response:
        client = mine()
        told = client.decline(client.accept(envelope), question)
        return jsonify(stopped=told.stopped, may_have_left=told.left)

    @app.get("/budget")
    def budget() -> Response:
        return jsonify(explained=mine().budget().explain())

    return app


def publish(key: rr.SigningKey) -> rr.Publication:
    """The publisher's side."""
    question = rr.Question(id="doped", attribute="doped", text="Have you ever doped?", design=rr.optimal_design("ln 3"))
    survey = rr.Survey(
        name="clean-sport",
        version=1,
        title="Clean sport",
        publisher=PUBLISHER,
        collector="https://collect.example.org/reports",
        expires=datetime(2100, 1, 1, tzinfo=UTC),
        questions=[question],
    )
    return rr.publish_survey(survey, [key])


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "flask-server")
signer = rr.SigningKey.generate()
publication = publish(signer)
policy = rr.Policy([rr.TrustedPublisher(PUBLISHER, [signer.public])])
secret = os.urandom(32)  # of this run; yours is kept with your other secrets, and never changes
clients = rr.Clients(folder / secret.hex()[:8], key=secret, attributes=["doped"], policy=policy, spread=0)
web = create_app(clients, publication.envelope).test_client()


def ask(method: str, path: str, user: str | None = None, **given: Any) -> Any:
    """A request of a user."""
    return web.open(path, method=method, headers={"X-User": user} if user else {}, **given)


print("Open to ana:", ask("GET", "/survey", "ana").json["open"])
print("Without a sign-in:", ask("GET", "/survey").status_code)
for user, truth in (("ana", True), ("ben", False), ("eva", True)):
    said = ask("POST", "/answers/doped", user, json={"truth": truth})
    print(f"{user} answers: {said.status_code}; open then: {ask('GET', '/survey', user).json['open']}")
again = ask("POST", "/answers/doped", "eva", json={"truth": False})
print(f"eva asked again: {again.status_code}, and the first answer stands")
print("ben would rather not:", ask("DELETE", "/answers/doped", "ben").json)
print("dan sees nothing of theirs:", ask("GET", "/survey", "dan").json["open"])

collector = rr.SimulatedCollector([publication.survey])
print(f"Delivered {clients.deliver(collector).delivered}; the collector has {len(collector.reports)} reports.")
print("Ledgers:", len(list(folder.rglob("*.sqlite3"))), "with a name on the disk:", len(list(folder.rglob("*ana*"))))
print(ask("GET", "/budget", "ana").json["explained"])
try:
    rr.Clients(folder / secret.hex()[:8], key=os.urandom(32), attributes=["doped"], policy=policy)
except rr.ParameterError as error:
    print(f"Another key: {error}")
