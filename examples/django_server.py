"""For developers of a Django site with many users.

Shows one ledger per person on a server, and the collector beside Django: `Clients` keeps the ledgers under keyed
hashes, so that nobody gets another's answer and no name is on the disk; Django and the collector lie below one ASGI
application, which tells the collector when it starts and ends.  The server sees the truth of its users for a moment, as
it does in every web form; a page with the browser's client does not send it anywhere.

    python examples/django_server.py [FOLDER]          # FOLDER keeps the ledgers and reports (./django-server)

It serves, plays three users, and delivers.  In a site of yours the views lie in an app, the settings in their module,
`host` in asgi.py, and the person is `request.user`.
"""

import json
from typing import Any

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from shared.visits import play
from starlette.applications import Starlette
from starlette.routing import Mount

import rrcollect as rr
from server_agg import collect

urlpatterns: list[Any] = []  # ROOT_URLCONF is this module


class SignedIn:
    """A middleware: whoever is not signed in is refused, what the client refuses is said, others have their ledger."""

    clients: rr.Clients

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __call__(self, request: Any) -> HttpResponse:
        if "X-User" not in request.headers:
            return HttpResponse(status=401)
        request.ledger = self.clients.of(request.headers["X-User"])
        answer: HttpResponse = self.inner(request)
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, rr.RRCollectError):
            return JsonResponse({"error": type(error).__name__, "reason": str(error)}, status=400)
        return None


def views(envelope: bytes) -> list[Any]:
    """GET /survey: what is asked; POST /answers/<question> {"truth": true}; DELETE: rather not; GET /budget."""

    def survey(request: Any) -> HttpResponse:
        accepted = request.ledger.accept(envelope)
        asked = [question.id for question in request.ledger.open_questions(accepted)]
        return JsonResponse({"explained": accepted.explain(), "open": asked})

    def answers(request: Any, question: str) -> HttpResponse:
        accepted = request.ledger.accept(envelope)
        if request.method == "DELETE":
            told = request.ledger.decline(accepted, question)
            return JsonResponse({"stopped": told.stopped, "may_have_left": told.left})
        if request.method != "POST":
            return HttpResponse(status=405)
        request.ledger.answer(accepted, question, truth=json.loads(request.body)["truth"])
        return HttpResponse(status=204)  # what was drawn is not shown: see flask_server

    def budget(request: Any) -> HttpResponse:
        return JsonResponse({"explained": request.ledger.budget().explain()})

    return [path("survey", survey), path("answers/<question>", answers), path("budget", budget)]


def host(clients: rr.Clients, envelope: bytes, collector: Any) -> Starlette:
    """Both below one application.  The guard against forged forms is left out: there are no cookies here."""
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[f"{__name__}.SignedIn"])
    django.setup()
    SignedIn.clients = clients
    urlpatterns.extend(views(envelope))
    return Starlette(
        routes=[Mount("/collect", collector), Mount("/", get_asgi_application())],
        lifespan=collect.lifespan(collector),
    )


if __name__ == "__main__":
    play("django-server", host)
