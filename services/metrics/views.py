"""What the page asks beside counts: a path, who may ask, what may be asked, and how the answer is sent.

Belongs here: the one way from a request to a view, with role and parameters checked before anything is read. What a
view answers is in ``routes_*.py``, whose rows a caller may see in ``access.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import IO, Any

import orjson
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from domain.buckets import hour_of, parse_utc
from domain.errors import UsageError
from domain.periods import Period
from domain.settings import Settings
from services.metrics.access import ForbiddenError
from services.metrics.refusals import NO_STORE, OverloadedError
from services.tokens import Caller, Role
from warehouse.counts_query import read_id

VIEWS_AT_ONCE = 2
"""Each takes a thread; counts have threads of their own, so that no auditor holds up an advertiser."""
MAX_WAITING = 32
DEFAULT_ROWS = 50
MAX_ROWS = 500
"""Of one page of an answer."""
MAX_OFFSET = 1_000_000_000
CHUNK_BYTES = 65_536
PAGING = {
    "limit": f"so many rows, 1 to {MAX_ROWS}; {DEFAULT_ROWS} if left out",
    "offset": "rows to pass over, 0 if left out",
}
READERS: tuple[Role, ...] = ("advertiser", "finance", "auditor", "operator", "approve")
BOOKKEEPERS: tuple[Role, ...] = ("finance", "auditor", "approve")
AUDITORS: tuple[Role, ...] = ("finance", "auditor")


@dataclass(frozen=True)
class Asked:
    """A question whose caller may ask it. ``parts``: what stands in its path and its query, unread."""

    caller: Caller
    at: datetime
    parts: Mapping[str, str]

    def required(self, name: str) -> str:
        """A part; ``UsageError`` if it was left out."""
        if name not in self.parts:
            raise UsageError(f"no {name}", f"{name} in the address", "give it")
        return self.parts[name]

    def hour(self, name: str) -> datetime:
        """A whole UTC hour."""
        text = self.required(name)
        try:
            at = parse_utc(text)
        except (ValueError, OverflowError):
            at = None
        if at is None or at != hour_of(at):
            raise UsageError(f"{name} {text[:60]!r}", "a whole UTC hour such as 2026-01-31T13:00Z", "correct it")
        return at

    def id(self, name: str) -> int | None:
        """The id of an advertiser; None if it was left out."""
        return read_id(name, self.parts[name]) if name in self.parts else None

    def number(self, name: str, default: int, lowest: int, highest: int) -> int:
        """A whole number within bounds."""
        text = self.parts.get(name, str(default))
        if not (text.isascii() and text.isdecimal() and len(text) < len(str(highest)) + 1):
            raise UsageError(f"{name} {text[:60]!r}", f"a whole number from {lowest} to {highest:,}", "correct it")
        if not lowest <= int(text) <= highest:
            raise UsageError(f"{name} {int(text):,}", f"{lowest} to {highest:,}", "correct it")
        return int(text)

    def page(self) -> slice:
        """Which rows are wanted, by ``PAGING``."""
        offset = self.number("offset", 0, 0, MAX_OFFSET)
        return slice(offset, offset + self.number("limit", DEFAULT_ROWS, 1, MAX_ROWS))


@dataclass(frozen=True)
class Download:
    """A file to be kept: it is sent from its start, and closed."""

    name: str
    media_type: str
    file: IO[bytes]


@dataclass(frozen=True)
class View:
    """``answer`` blocks; it gives a document for JSON or a download. ``parameters``: the names in its query that are
    taken, each with its meaning. An advertiser is among ``roles`` only where the answer is narrowed to it.
    """

    path: str
    summary: str
    roles: tuple[Role, ...]
    answer: Callable[[Settings, Asked], Mapping[str, Any] | Download]
    parameters: Mapping[str, str] = field(default_factory=dict)


class ViewRoutes:
    """Routes of views; all of them share a bounded number of threads."""

    def __init__(self, settings: Settings, now: Callable[[], datetime], caller_of: Callable[[Request], Caller]) -> None:
        self._settings, self._now, self._caller_of = settings, now, caller_of
        self._limiter = CapacityLimiter(VIEWS_AT_ONCE)

    def route(self, view: View) -> Route:
        """The route of a view."""
        route = Route(view.path, partial(self._get, view))
        route.methods = {"GET"}  # without HEAD, which starlette adds and which would cost a whole answer
        return route

    async def _get(self, view: View, request: Request) -> Response:
        caller = self._caller_of(request)
        check_role(caller, view.roles)
        asked = Asked(caller, self._now(), _parts(view, request))
        if self._limiter.statistics().tasks_waiting >= MAX_WAITING:
            raise OverloadedError("too many questions at once", f"at most {MAX_WAITING} waiting", "ask again")
        answer = await to_thread.run_sync(view.answer, self._settings, asked, limiter=self._limiter)
        if isinstance(answer, Download):
            return _sent(answer)
        body = await to_thread.run_sync(json_bytes, answer, limiter=self._limiter)
        return Response(body, media_type="application/json", headers=NO_STORE)


def check_role(caller: Caller, roles: tuple[Role, ...]) -> None:
    """``ForbiddenError`` for callers of another role."""
    if caller.role not in roles:
        raise ForbiddenError(
            f"a token of role {caller.role}", f"one of role {' or '.join(roles)}", "make one by `tallystick token`"
        )


def own_advertiser(asked: Asked) -> int:
    """Whose figures are asked for: an advertiser's are always its own; ``ForbiddenError`` if it names another."""
    given, own = asked.id("advertiser_id"), asked.caller.advertiser_id
    if own is not None and given not in (None, own):
        raise ForbiddenError(f"advertiser {given}", f"advertiser {own}, the token's", "leave it out")
    found = given if own is None else own
    if found is None:
        raise UsageError("no advertiser_id", "whose figures are asked for", "give it")
    return found


def paged(rows: list[Any], asked: Asked) -> dict[str, Any]:
    """The asked part of the rows, and how many there are."""
    page = asked.page()
    return {"rows": rows[page], "offset": page.start, "total_count": len(rows)}


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """The document; instants end in Z."""
    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.dumps(document, default=_plain, option=options)


def _plain(value: object) -> object:
    match value:
        case Period():
            return str(value)
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return dict(value)
    if is_dataclass(value):
        return vars(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _parts(view: View, request: Request) -> dict[str, str]:
    """An unknown or repeated parameter is refused: a misspelt filter must not be ignored."""
    parts: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in view.parameters:
            known = ", ".join(view.parameters) or "none"
            raise UsageError(f"parameter {name[:60]!r}", f"any of {known}", "correct or leave it out")
        if name in parts:
            raise UsageError(f"parameter {name} given twice", "each once", "leave one out")
        parts[name] = value
    return parts | request.path_params


def _sent(download: Download) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{download.name}"'}
    return StreamingResponse(_chunks(download.file), media_type=download.media_type, headers=NO_STORE | disposition)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
