"""What became of one request: the outcome with its reason, and the line of the politeness log.

Belongs here: the records, and the limits that a request has. Does not belong here: what follows from an outcome for the
URL or its origin; that is the frontier's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from crawler.egress import EgressReason
from crawler.names import NameFault
from domain.frontier import UrlIdentity

FetchReason = (
    EgressReason
    | NameFault
    | Literal[
        "fetched", "not_modified", "redirected", "redirect_refused", "throttled", "client_error", "server_error",
        "unexpected_status", "connect_failed", "connect_timeout", "tls_failed", "headers_timeout", "idle_timeout",
        "total_timeout", "headers_too_large", "wire_too_large", "decoded_too_large", "type_refused", "coding_refused",
        "bad_coding", "body_cut", "protocol_error",
    ]
)  # fmt: skip
"""``fetched``: the whole body is here. ``wire_too_large`` and ``decoded_too_large``: its start is, up to the limit.
``body_cut``: the server ended before what it had promised. With every other reason there is no body."""

PAGE_TYPES = frozenset(
    {
        "text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml", "application/rss+xml",
        "application/atom+xml",
    }
)  # fmt: skip


@dataclass(frozen=True)
class FetchLimits:
    """How much one request may take; docs/crawl-fetch.md gives the reason of each."""

    connect_seconds: float = 10.0
    headers_seconds: float = 20.0
    idle_seconds: float = 15.0
    total_seconds: float = 60.0
    wire_bytes: int = 10 * 1024 * 1024
    decoded_bytes: int = 20 * 1024 * 1024
    types: frozenset[str] | None = PAGE_TYPES
    """Media types that are taken; None takes all."""


@dataclass(frozen=True)
class Validators:
    """What the last answer said of its version, verbatim, to be sent back byte for byte."""

    etag: bytes | None = None
    last_modified: bytes | None = None


@dataclass(frozen=True)
class RequestRecord:
    """One request as it went over the wire, or did not: ``address`` is None where nothing was dialled."""

    url: str
    origin: str
    address: str | None
    started_at: datetime
    ended_at: datetime
    status: int | None
    wire_bytes: int
    reason: FetchReason


@dataclass(frozen=True)
class Answer:
    """What an answer said of itself, apart from its body."""

    status: int
    validators: Validators
    content_type: str | None = None
    """The Content-Type header as sent; the charset in it is the parser's to judge."""
    media_type: str | None = None
    """What the body was taken for, after a look at its start."""
    robots_tags: tuple[str, ...] = ()
    retry_after_seconds: int | None = None
    redirect_to: UrlIdentity | None = None
    """A candidate like any other: scope, robots, bucket and egress are still to be asked."""


@dataclass(frozen=True)
class FetchOutcome:
    """One request and what came of it. ``detail`` is for people."""

    request: RequestRecord
    reason: FetchReason
    detail: str = ""
    answer: Answer | None = None
    body: bytes = b""

    @property
    def is_complete(self) -> bool:
        """Whether the body is all there is: what is cut never equals what is whole, however much they share."""
        return self.reason == "fetched"
