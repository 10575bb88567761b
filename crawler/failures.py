"""Exceptions of the HTTP client as reasons.

Belongs here: which exception means what. Does not belong here: answers (``crawler/reading.py``).
"""

from __future__ import annotations

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientPayloadError,
    ClientSSLError,
    ConnectionTimeoutError,
)
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong

from crawler.outcomes import FetchReason

Failure = ClientError | OSError | ValueError
_TOO_MANY_HEADERS = "too many headers"


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
    cause = error.__cause__
    is_too_large = isinstance(cause, LineTooLong) or (
        isinstance(cause, BadHttpMessage) and _TOO_MANY_HEADERS in str(cause).lower()
    )
    return "headers_too_large" if is_too_large else "protocol_error"
