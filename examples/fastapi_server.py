"""For developers of a web service with many users (FastAPI).

Shows one ledger per person on a server, and the collector mounted in it: `Clients` keeps the ledgers under keyed
hashes, so that nobody gets another's answer and no name is on the disk; `collect.lifespan` tells the collector when
its host starts and ends.  The server sees the truth of its users for a moment, as it does in every web form; a page
with the browser's client does not send it anywhere.

    python examples/fastapi_server.py [FOLDER]          # FOLDER keeps the ledgers and reports (./fastapi-server)

It serves, plays three users, and delivers.  `host` is what you would write: the person comes from your sign-in (here a
header).
"""

from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse
from shared.visits import play

import rrcollect as rr
from server_agg import collect


def host(clients: rr.Clients, envelope: bytes, collector: Any) -> FastAPI:
    """GET /survey: what is asked; POST /answers/{question} {"truth": true}; DELETE: rather not; GET /budget.

    Plain functions: FastAPI runs them in threads, and every operation of a ledger is a transaction of its own."""
    app = FastAPI(lifespan=collect.lifespan(collector))
    app.mount("/collect", collector)

    def mine(x_user: Annotated[str, Header()]) -> rr.Client:
        """The ledger of whoever is signed in."""
        return clients.of(x_user)

    Mine = Annotated[rr.Client, Depends(mine)]  # noqa: N806 (a type)

    @app.exception_handler(rr.RRCollectError)
    def refused(request: Request, error: rr.RRCollectError) -> JSONResponse:
        return JSONResponse({"error": type(error).__name__, "reason": str(error)}, 400)

    @app.get("/survey")
    def survey(client: Mine) -> dict[str, Any]:
        accepted = client.accept(envelope)
        return {"explained": accepted.explain(), "open": [q.id for q in client.open_questions(accepted)]}

    @app.post("/answers/{question}", status_code=204)
    def answer(client: Mine, question: str, truth: Annotated[bool, Body(embed=True)]) -> None:
        client.answer(client.accept(envelope), question, truth=truth)  # what was drawn is not shown: see flask_server

    @app.delete("/answers/{question}")
    def decline(client: Mine, question: str) -> dict[str, int]:
        told = client.decline(client.accept(envelope), question)
        return {"stopped": told.stopped, "may_have_left": told.left}

    @app.get("/budget")
    def budget(client: Mine) -> dict[str, str]:
        return {"explained": client.budget().explain()}

    return app


if __name__ == "__main__":
    play("fastapi-server", host)
