"""``POST /v1/verdicts``: a body of fraud verdicts, taken in as the next set or not at all.

Belongs here: the body and its bounds, and keeping the work off the event loop. What a verdict may look like and how a
set is kept is the file intake's: ``warehouse/verdict_files.py`` and ``warehouse/verdict_intake.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from domain.errors import UsageError
from domain.settings import Settings
from domain.texts import MAX_CHARACTERS
from services.metrics.access import verdict_actor
from services.metrics.refusals import NO_STORE, BodyTooLargeError, MediaTypeError, OverloadedError
from services.tokens import Caller
from warehouse.verdict_files import read_verdict_bytes
from warehouse.verdict_intake import IntakeReceipt, take_in

VERDICTS_PATH = "/v1/verdicts"
SUFFIX_OF = {"application/json": ".json", "application/x-ndjson": ".jsonl", "text/csv": ".csv"}
"""The media types that are taken, each read like a file of that name."""
SOURCE = "source"
MAX_BODY_BYTES = 8_388_608
"""Some 40,000 verdicts; more are better handed in as a file."""
MAX_UNDER_WAY = 8
"""Each may hold a whole body in memory; one at a time is written."""


class VerdictIntake:
    """Takes in bodies of callers whose token has the role."""

    def __init__(self, settings: Settings, now: Callable[[], datetime], caller_of: Callable[[Request], Caller]) -> None:
        self._settings, self._now, self._caller_of = settings, now, caller_of
        self._limiter = CapacityLimiter(1)
        self._under_way = 0

    async def post(self, request: Request) -> Response:
        """201 with the set and its counts."""
        actor = verdict_actor(self._caller_of(request))
        suffix, source = _suffix(request), _source(request) or actor
        if self._under_way >= MAX_UNDER_WAY:
            raise OverloadedError("too many verdicts at once", f"at most {MAX_UNDER_WAY} bodies", "send it again")
        self._under_way += 1
        try:
            content = await _body(request)
            receipt = await to_thread.run_sync(self._take_in, suffix, content, source, actor, limiter=self._limiter)
        finally:
            self._under_way -= 1
        return JSONResponse(vars(receipt), status_code=201, headers=NO_STORE)

    def _take_in(self, suffix: str, content: bytes, source: str, actor: str) -> IntakeReceipt:
        at = self._now()
        return take_in(self._settings, read_verdict_bytes("the body", suffix, content, at), source, actor, at)


def _suffix(request: Request) -> str:
    given = request.headers.get("content-type", "")
    suffix = SUFFIX_OF.get(given.partition(";")[0].strip().lower())
    if suffix is None:
        raise MediaTypeError(f"Content-Type {given[:100]!r}", f"one of {', '.join(SUFFIX_OF)}", "correct it")
    return suffix


def _source(request: Request) -> str | None:
    """Who decided, if it is not who hands in."""
    given = request.query_params.multi_items()
    if not given:
        return None
    source = given[0][1]
    is_text = source.isprintable() and bool(source.strip()) and len(source) <= MAX_CHARACTERS
    if [name for name, _ in given] != [SOURCE] or not is_text:
        raise UsageError(
            f"parameters {', '.join(name for name, _ in given)[:100]}",
            f"{SOURCE} once, up to {MAX_CHARACTERS} printable characters, or none",
            "correct it",
        )
    return source


async def _body(request: Request) -> bytes:
    """All of it, up to the bound; what its header says is believed only where it says too much."""
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > MAX_BODY_BYTES:
        raise _too_large(f"{int(stated):,} bytes")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise _too_large("more")
    return bytes(content)


def _too_large(found: str) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"a body of {found}", f"at most {MAX_BODY_BYTES:,} bytes", "send several, or take in a file on the server"
    )
