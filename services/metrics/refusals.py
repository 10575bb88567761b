"""How the metrics API says no: a status and a JSON object with error, found, expected and remedy. Never a stack trace.

Belongs here: the translation of errors into HTTP. What went wrong inside is logged and not told.
"""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from domain.errors import LedgerConflictError, TallystickError, UsageError
from services.metrics.access import ForbiddenError
from services.tokens import TokenError
from warehouse.layout import TableMissingError
from warehouse.verdicts import KnownFileError

PATH = "/v1/ads/metrics"
NO_STORE = {"Cache-Control": "no-store"}
"""A figure may be restated, and belongs to one caller: nobody on the way keeps an answer."""
RETRY_AFTER_SECONDS = "1"

log = logging.getLogger("tallystick.metrics")


class OverloadedError(TallystickError):
    """More questions wait than the service takes in."""

    is_transient = True


class BodyTooLargeError(TallystickError):
    """A request's body is larger than is taken."""


class MediaTypeError(TallystickError):
    """A request's body is of a type that is not taken."""


_STATUS: dict[type[TallystickError], tuple[int, str]] = {
    KnownFileError: (409, "known"),
    BodyTooLargeError: (413, "too_large"),
    MediaTypeError: (415, "media_type"),
    UsageError: (400, "bad_request"),
    TokenError: (401, "unauthorized"),
    ForbiddenError: (403, "forbidden"),
    OverloadedError: (503, "overloaded"),
    LedgerConflictError: (503, "conflict"),
}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": RETRY_AFTER_SECONDS}}
_HTTP = {
    404: ("not_found", f"a path that /openapi.json describes, such as {PATH}", "correct the path"),
    405: ("method_not_allowed", "the method that the header Allow names", "use that one"),
}


async def refuse(_request: Request, error: Exception) -> JSONResponse:
    """The refusal that belongs to one of our errors. Errors of the inside become 500 or 503 and say nothing of it."""
    for kind, (status, name) in _STATUS.items():
        if isinstance(error, kind):
            return _refusal(status, name, error.found, error.expected, error.remedy)
    log.error("a question could not be answered: %s", error, exc_info=error)
    if isinstance(error, TableMissingError):
        return _refusal(503, "unavailable", "no tables yet", "clicks that were counted", "ask again later")
    return _refusal(500, "internal", "an error of ours", "an answer", "tell the operator when it happened")


async def refuse_http(request: Request, error: Exception) -> JSONResponse:
    """The refusal of a path or method that is not there."""
    fault = error if isinstance(error, HTTPException) else HTTPException(500)
    name, expected, remedy = _HTTP.get(fault.status_code, ("bad_request", f"GET {PATH}", "correct the request"))
    refusal = _refusal(fault.status_code, name, f"{request.method} {request.url.path}", expected, remedy)
    refusal.headers.update(fault.headers or {})
    return refusal


def _refusal(status: int, name: str, found: str, expected: str, remedy: str) -> JSONResponse:
    printable = found.encode(errors="backslashreplace").decode()  # half a surrogate pair of a request is no UTF-8
    body = {"error": name, "found": printable, "expected": expected, "remedy": remedy}
    return JSONResponse(body, status_code=status, headers=NO_STORE | _HEADERS.get(status, {}))
