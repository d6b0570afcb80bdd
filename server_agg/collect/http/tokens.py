"""POST /tokens: the issuer's door; and POST /surveys/{digest}/secret, by which the owner brings a survey's secret.

200  an element and a proof for each place     400  not a request for all places of the survey
403  the invite is not good                    409  the invite was served another request
404  no tokens of this survey are issued here  410  the survey is over or withdrawn
429  the invite was used too often             503  the database, or the secret, is not there now
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rrcollect.errors import ParameterError
from rrcollect.publish.issuer import MOST_PLACES
from rrcollect.publish.tokens import longest_request
from server_agg.collect.http.bodies import NOT_CACHED, body_of, reply
from server_agg.collect.http.surveys import SurveyRoutes
from server_agg.collect.issuing import Issuing, keep_secret
from server_agg.errors import Refusal


@dataclass(eq=False)
class TokenRoutes:
    """The two routes."""

    issuing: Issuing
    surveys: SurveyRoutes

    def routes(self) -> list[Route]:
        """Both of them."""
        return [
            Route("/tokens", self.issue, methods=["POST"]),
            Route("/surveys/{digest}/secret", self.secret, methods=["POST"]),
        ]

    async def issue(self, request: Request) -> Response:
        """POST /tokens"""
        limit, settings = longest_request(MOST_PLACES), self.surveys.settings
        how = {"limit": limit, "seconds": settings.body_seconds, "budget": self.surveys.budget}
        body = await body_of(request.scope, request.receive, **how)  # type: ignore[arg-type]
        return Response(await asyncio.to_thread(self.issuing.issue, body), 200, NOT_CACHED, "application/json")

    async def secret(self, request: Request) -> Response:
        """POST /surveys/{digest}/secret"""
        self.surveys.owner_only(request)
        listed = await self.surveys.listed(request.path_params["digest"])
        given = await self.surveys.read(request, 1024)
        text = given.get("secret") if isinstance(given, dict) and set(given) == {"secret"} else None
        if not isinstance(text, str):
            raise Refusal(400, "malformed", 'send {"secret": …}, as `rrcollect publish` wrote it')
        try:
            await asyncio.to_thread(keep_secret, self.issuing.epochs.keys, listed.survey, text)
        except ParameterError as error:
            raise Refusal(400, "secret", str(error)) from None
        return reply({"issues": listed.published.digest}, 201)
