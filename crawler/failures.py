"""Exceptions of the HTTP client as reasons.

Belongs here: which exception means what. Does not belong here: answers (``crawler/reading.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientPayloadError,
    ClientSSLError,
    ConnectionTimeoutError,
)
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong, PayloadEncodingError

from crawler.outcomes import FetchReason

Failure = ClientError | OSError | ValueError
_TOO_MANY_HEADERS = "Too many headers"


def timeout_reason(error: TimeoutError, is_total: bool, has_headers: bool) -> FetchReason:
    """Which of the times of a request ran out."""
    if is_total:
        return "total_timeout"
    if isinstance(error, ConnectionTimeoutError):
        return "connect_timeout"
    return "idle_timeout" if has_headers else "headers_timeout"


def failure_reason(error: Failure) -> FetchReason:
    """Why a request ended without an answer that can be used. What is no other failure broke HTTP."""
    match error:
        case ClientSSLError():
            return "tls_failed"
        case ClientConnectorError():
            return "connect_failed"
        case ClientPayloadError():
            return "body_cut"
    return next((reason for cause in _causes(error) if (reason := _broken_part(cause))), "protocol_error")


def _broken_part(error: BaseException) -> FetchReason | None:
    match error:
        case LineTooLong():
            return "headers_too_large"
        case PayloadEncodingError():
            return "body_cut"
        case BadHttpMessage() if _TOO_MANY_HEADERS in str(error):
            return "headers_too_large"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from; the client wraps what its parser says twice."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
