"""For developers of a web app with many users (Flask).

Shows one ledger per person on a server, and the collector in the same process: `Clients` keeps the ledgers under keyed
hashes, so that nobody gets another's answer and no name is on the disk; Flask and the collector lie below one ASGI
application, which tells the collector when it starts and ends.  The server sees the truth of its users for a moment, as
it does in every web form; a page with the browser's client does not send it anywhere.

    python examples/flask_server.py [FOLDER]          # FOLDER keeps the ledgers and reports (./flask-server)

It serves, plays three users, and delivers.  `create_app` is what you would write: the person comes from your sign-in
(here a header).
"""

from typing import Any

from a2wsgi import WSGIMiddleware
from flask import Flask, Response, abort, jsonify, request
from shared.visits import play
from starlette.applications import Starlette
from starlette.routing import Mount

import rrcollect as rr
from server_agg import collect


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


def host(clients: rr.Clients, envelope: bytes, collector: Any) -> Starlette:
    """Both below one application: Flask speaks WSGI, the collector ASGI."""
    wsgi: Any = create_app(clients, envelope)
    flask: Any = WSGIMiddleware(wsgi)
    return Starlette(
        routes=[Mount("/collect", collector), Mount("/", flask)],
        lifespan=collect.lifespan(collector),
    )


if __name__ == "__main__":
    play("flask-server", host)
