"""The ASGI app of the metrics API.

Belongs here: routes, and keeping blocking work off the event loop, a bounded number of answers at a time. Who may see
what: ``access.py``; refusals: ``refusals.py``; listening on a port: ``server.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from domain.errors import TallystickError, UsageError
from domain.settings import Settings
from services.metrics.access import narrowed
from services.metrics.intake import VERDICTS_PATH, VerdictIntake
from services.metrics.openapi import PARAMETER_NAME, document
from services.metrics.openapi_views import VIEWS, view_paths
from services.metrics.page import page_routes
from services.metrics.refusals import NO_STORE, PATH, OverloadedError, refuse, refuse_http
from services.metrics.stream_gauges import GAUGES_PATH, StreamGauges
from services.metrics.views import ViewRoutes
from services.tokens import Caller, bearer_of, read_token, token_key
from warehouse.ad_owners import advertisers_of
from warehouse.counts import CountsReader
from warehouse.counts_answer import CountsAnswer
from warehouse.counts_query import PARTS, CountsQuery, read_query

ANSWERS_AT_ONCE = 4
"""Each takes a thread and up to its share of the engine's memory; more would only wait for the same cores."""
MAX_WAITING = 64


def make_app(settings: Settings, now: Callable[[], datetime]) -> Starlette:
    """The app. Makes the key of the tokens if there is none yet."""
    service = MetricsService(settings, now)
    intake = VerdictIntake(settings, now, service.caller)
    routes = [
        Route(PATH, service.metrics),
        Route(GAUGES_PATH, StreamGauges(settings, now, service.caller).get),
        Route("/healthz", _healthz),
        Route("/openapi.json", _openapi),
    ]
    for route in routes:
        route.methods = {"GET"}  # without HEAD, which starlette adds and which would cost a whole answer
    routes.append(Route(VERDICTS_PATH, intake.post, methods=["POST"]))
    routes += map(ViewRoutes(settings, now, service.caller).route, VIEWS)
    routes += page_routes()
    handlers = {TallystickError: refuse, HTTPException: refuse_http, Exception: refuse}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


class MetricsService:
    """Answers the questions of callers that show a token."""

    def __init__(self, settings: Settings, now: Callable[[], datetime]) -> None:
        self._now = now
        self._reader = CountsReader(settings)
        self._key = token_key(settings)
        self._owners = partial(advertisers_of, settings)
        self._limiter = CapacityLimiter(ANSWERS_AT_ONCE)

    def caller(self, request: Request) -> Caller:
        """Who asks; ``TokenError`` if no valid token says so."""
        return read_token(self._key, bearer_of(request.headers.get("authorization")), self._now())

    async def metrics(self, request: Request) -> Response:
        """``GET /v1/ads/metrics``."""
        caller = self.caller(request)
        query = read_query(_parts(request), PARAMETER_NAME, self._now())
        if self._limiter.statistics().tasks_waiting >= MAX_WAITING:
            raise OverloadedError("too many questions at once", f"at most {MAX_WAITING} waiting", "ask again")
        answer = await to_thread.run_sync(self._answer, query, caller, limiter=self._limiter)
        return StreamingResponse(self._chunks(answer), media_type="application/json", headers=NO_STORE)

    def _answer(self, query: CountsQuery, caller: Caller) -> CountsAnswer:
        return self._reader.answer(narrowed(query, caller, self._owners))

    async def _chunks(self, answer: CountsAnswer) -> AsyncIterator[bytes]:
        chunks = answer.json_chunks()
        while (chunk := await to_thread.run_sync(next, chunks, None, limiter=self._limiter)) is not None:
            yield chunk


async def _healthz(_request: Request) -> Response:
    """Whether the process answers at all."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


async def _openapi(_request: Request) -> Response:
    described = document()
    return JSONResponse(described | {"paths": described["paths"] | view_paths()})


def _parts(request: Request) -> dict[str, str | None]:
    """The question's parts. An unknown or repeated parameter is refused: a misspelt filter must not be ignored."""
    part_of = {PARAMETER_NAME[part]: part for part in PARTS}
    parts: dict[str, str | None] = {}
    for name, value in request.query_params.multi_items():
        if name not in part_of:
            raise UsageError(f"parameter {name!r}", f"any of {', '.join(part_of)}", "correct or leave it out")
        if part_of[name] in parts:
            raise UsageError(f"parameter {name} given twice", "each once, lists with commas", "join them")
        parts[part_of[name]] = value
    return parts
