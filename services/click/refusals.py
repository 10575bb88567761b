"""Why a request does not become a click event: the reasons, what the sender is told, how many there were a minute.

Belongs here: refusals as data and their tally. Each is answered in one form and counted for ``edge_counts``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Literal

import orjson

from domain.buckets import minute_of
from domain.links import LinkFaultReason
from domain.signing import SignatureFault

RefusalReason = (
    LinkFaultReason
    | SignatureFault
    | Literal["malformed_request", "oversized_request", "method_not_allowed", "unknown_ad", "not_ready"]
)
TallyReason = RefusalReason | Literal["click_lost"]
"""What is counted: refusals, and the clicks that were redirected though nothing could keep them."""
Headers = list[tuple[bytes, bytes]]

RETRY_AFTER_SECONDS = 5
METHODS = ("GET", "HEAD")
EVERY_ANSWER: Headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]

STATUS: dict[RefusalReason, HTTPStatus] = {
    "malformed_request": HTTPStatus.BAD_REQUEST,
    "oversized_request": HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "query_too_long": HTTPStatus.REQUEST_URI_TOO_LONG,
    "missing_parameter": HTTPStatus.BAD_REQUEST,
    "repeated_parameter": HTTPStatus.BAD_REQUEST,
    "oversized_parameter": HTTPStatus.BAD_REQUEST,
    "malformed_parameter": HTTPStatus.BAD_REQUEST,
    "unknown_key": HTTPStatus.FORBIDDEN,
    "bad_signature": HTTPStatus.FORBIDDEN,
    "expired_key": HTTPStatus.FORBIDDEN,
    "expired_link": HTTPStatus.FORBIDDEN,
    "unknown_ad": HTTPStatus.NOT_FOUND,
    "not_ready": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""In the order of judgement: the first that applies is the reason."""


@dataclass(frozen=True)
class Refusal:
    """One refused request. ``expected`` says what would have been right; nothing of the request is repeated."""

    reason: RefusalReason
    expected: str
    parameter: str | None = None

    @property
    def status(self) -> HTTPStatus:
        return STATUS[self.reason]

    @property
    def body(self) -> bytes:
        return orjson.dumps({"error": self.reason, "parameter": self.parameter, "expected": self.expected})

    @property
    def headers(self) -> Headers:
        headers = json_headers(self.body)
        if self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append((b"retry-after", str(RETRY_AFTER_SECONDS).encode()))
        elif self.status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers.append((b"allow", ", ".join(METHODS).encode()))
        return headers


def json_headers(body: bytes) -> Headers:
    """The headers of an answer with this JSON body."""
    length = (b"content-length", str(len(body)).encode())
    return [*EVERY_ANSWER, (b"content-type", b"application/json"), length]


class RefusalTally:
    """Counts refusals and losses by minute and reason until they are reported. Used in the event loop."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[datetime, TallyReason]] = Counter()

    def count(self, reason: TallyReason, at: datetime) -> None:
        self._counts[minute_of(at), reason] += 1

    def unreported(self, before: datetime | None = None) -> list[tuple[datetime, TallyReason, int]]:
        """Minute, reason and count of what was not reported yet, oldest first; only minutes ended by ``before``."""
        return [
            (minute, reason, count)
            for (minute, reason), count in sorted(self._counts.items())
            if before is None or minute < minute_of(before)
        ]

    def reported(self, minute: datetime, reason: TallyReason, count: int) -> None:
        """The log has a report of this many; what was counted since stays."""
        self._counts[minute, reason] -= count
        if not self._counts[minute, reason]:
            del self._counts[minute, reason]
