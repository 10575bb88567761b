"""The ASGI app of the crawl API: seeds, status, why, switches and opt-outs, for operators only.

Belongs here: routes, who may ask, and keeping blocking work off the event loop. What is done is the crawler's; the same
functions serve ``tallystick crawl``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, TypeVar, get_args

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from crawler.deleting import delete_everywhere
from crawler.frontier.database import Frontier, FrontierUnavailableError
from crawler.frontier.reading import status_of, why
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.switches import set_switch
from crawler.patterns import normal_pattern
from crawler.seeding import add_seeds
from crawler.store import store_of
from crawler.telling import status_object, why_object
from crawler.urls import UrlRefusedError, normalise
from domain.buckets import format_utc
from domain.class_shares import DEFAULT_CLASS
from domain.errors import TallystickError, UsageError, WriterBusyError
from domain.settings import Settings
from domain.suppressions import SuppressionKind
from services.crawl.fields import read_fields
from services.metrics.access import OPERATOR, ForbiddenError, check_operator
from services.metrics.refusals import NO_STORE, OverloadedError, refuse
from services.tokens import Caller, bearer_of, read_token, token_key

ANSWERS_AT_ONCE = 4
MAX_WAITING = 64
MAX_SEEDS = 1_000
SWITCHES: dict[str, Literal["open", "paused", "killed"]] = {"pause": "paused", "resume": "open", "kill": "killed"}
REASONED = {"name": str, "reason": str}
OPT_OUT = {"kind": str, "pattern": str, "reason": str, "verification": str}
Answer = dict[str, Any]
Answered = TypeVar("Answered")


def make_app(settings: Settings, frontier: Frontier, now: Callable[[], datetime]) -> Starlette:
    """The app on an open frontier. Makes the key of the tokens if there is none yet."""
    service = CrawlService(settings, frontier, now)
    routes = [
        Route("/crawl/status/{name:path}", service.status),
        Route("/crawl/why", service.why),
        Route("/healthz", _healthz),
    ]
    for route in routes:
        route.methods = {"GET"}
    routes += [
        Route("/crawl/seeds", service.seeds, methods=["POST"]),
        Route("/crawl/suppressions", service.suppressions, methods=["POST"]),
        *(Route(f"/crawl/{verb}", service.switched_by(verb), methods=["POST"]) for verb in SWITCHES),
    ]
    handlers = {TallystickError: _refuse, HTTPException: _refuse_http, Exception: _refuse}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


class CrawlService:
    """Does what operators ask, each under the name of its token."""

    def __init__(self, settings: Settings, frontier: Frontier, now: Callable[[], datetime]) -> None:
        self._settings, self._frontier, self._now = settings, frontier, now
        self._key = token_key(settings)
        self._limiter = CapacityLimiter(ANSWERS_AT_ONCE)

    async def status(self, request: Request) -> Response:
        """``GET /crawl/status/{name}``: an origin, a host or a registrable domain."""
        self._caller(request)
        name = request.path_params["name"]
        return await self._answer(lambda: status_object(status_of(self._frontier, name)))

    async def why(self, request: Request) -> Response:
        """``GET /crawl/why?url=``."""
        self._caller(request)
        given = request.query_params.multi_items()
        if [name for name, _ in given] != ["url"]:
            raise UsageError(
                f"parameters {', '.join(name for name, _ in given)[:100] or 'none'}", "url, once", "correct it"
            )
        return await self._answer(lambda: why_object(why(self._frontier, normalise(given[0][1]))))

    async def seeds(self, request: Request) -> Response:
        """``POST /crawl/seeds``: what became of each URL; bad ones are refused, the others taken in."""
        actor = self._actor(request)
        fields = await read_fields(request, {"urls": list}, {"priority": int, "class": str})
        urls = fields["urls"]
        if not 1 <= len(urls) <= MAX_SEEDS or not all(isinstance(url, str) for url in urls):
            raise UsageError(f"{len(urls):,} urls", f"1 to {MAX_SEEDS:,} texts", "send several bodies")
        priority, class_name = fields.get("priority", 0), fields.get("class", DEFAULT_CLASS)

        def added() -> Answer:
            return {"urls": [one._asdict() for one in add_seeds(self._frontier, urls, actor, priority, class_name)]}

        return await self._answer(added)

    def switched_by(self, verb: str) -> Callable[[Request], Awaitable[Response]]:
        """``POST /crawl/pause``, ``resume`` or ``kill``: the origins that were switched."""

        async def switched(request: Request) -> Response:
            actor = self._actor(request)
            fields = await read_fields(request, REASONED, {})

            def switch() -> Answer:
                told = {"reason": fields["reason"], "actor": actor}
                return {"origins": set_switch(self._frontier, fields["name"], SWITCHES[verb], **told)}

            return await self._answer(switch)

        return switched

    async def suppressions(self, request: Request) -> Response:
        """``POST /crawl/suppressions``: suppresses, and with ``delete`` deletes what is kept, by class of data."""
        actor = self._actor(request)
        fields = await read_fields(request, OPT_OUT, {"delete": bool})
        kind = next((one for one in get_args(SuppressionKind) if one == fields["kind"]), None)
        if kind is None:
            raise UsageError(f"kind {fields['kind']!r}", f"one of {', '.join(get_args(SuppressionKind))}", "correct it")

        def suppressed() -> Answer:
            pattern = normal_pattern(kind, fields["pattern"])
            opt_out = OptOut(kind, pattern, fields["reason"], fields["verification"], actor)
            made = suppress(self._frontier, opt_out)
            if not fields.get("delete", False):
                return made._asdict() | {"deleted": None}
            store = store_of(self._settings)
            return made._asdict() | {
                "deleted": delete_everywhere(self._frontier, store, self._settings, made.suppression_id, actor)
            }

        return await self._answer(suppressed)

    def _caller(self, request: Request) -> Caller:
        """An operator; ``TokenError`` or ``ForbiddenError`` for anybody else."""
        caller = read_token(self._key, bearer_of(request.headers.get("authorization")), self._now())
        check_operator(caller)
        return caller

    def _actor(self, request: Request) -> str:
        """Under whose name something is changed: that of a person, since it is kept."""
        caller = self._caller(request)
        if caller.person is None:
            raise ForbiddenError(
                f"a token of role {OPERATOR} that names nobody",
                "one that names who it was made for: what is changed is kept under that name",
                f"make one by `tallystick token --role {OPERATOR} --person NAME`",
            )
        return caller.person

    async def _answer(self, ask: Callable[[], Answer]) -> Response:
        if self._limiter.statistics().tasks_waiting >= MAX_WAITING:
            raise OverloadedError("too many requests at once", f"at most {MAX_WAITING} waiting", "ask again")
        told = await to_thread.run_sync(ask, limiter=self._limiter)
        return JSONResponse(_plain(told), headers=NO_STORE)


async def _healthz(_request: Request) -> Response:
    """Whether the process answers at all."""
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


def _plain(told: Any) -> Any:
    """For JSON: instants as text."""
    match told:
        case datetime():
            return format_utc(told)
        case dict():
            return {name: _plain(value) for name, value in told.items()}
        case list():
            return [_plain(one) for one in told]
        case _:
            return told


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UrlRefusedError):
        return await refuse(request, UsageError(error.found, error.expected, error.remedy))
    if isinstance(error, (FrontierUnavailableError, WriterBusyError)):
        return await refuse(request, OverloadedError("the crawl is busy or away", "one that answers", "ask again"))
    return await refuse(request, error)


async def _refuse_http(request: Request, error: Exception) -> JSONResponse:
    """The refusal of a path or method that is not there."""
    fault = error if isinstance(error, HTTPException) else HTTPException(500)
    name = {404: "not_found", 405: "method_not_allowed"}.get(fault.status_code, "bad_request")
    found = f"{request.method} {request.url.path}"
    body = {"error": name, "found": found, "expected": "a request that docs/crawl.md names", "remedy": "correct it"}
    return JSONResponse(body, status_code=fault.status_code, headers=NO_STORE | dict(fault.headers or {}))
