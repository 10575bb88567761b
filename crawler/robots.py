"""The robots.txt of an origin: asked for, kept for a bounded time, and what its absence means, by RFC 9309.

Belongs here: entries of the cache and how one follows another. Reading the file itself is ``domain/robots.py``; when
the next request to an origin may go out is the frontier's, which ``admit`` asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

from crawler.fetch import PAGE_LIMITS
from crawler.outcomes import FetchLimits, FetchOutcome, Validators
from crawler.reading import NO_VALIDATORS
from crawler.urls import normalise
from domain.frontier import UrlIdentity
from domain.robots import MAX_ROBOTS_BYTES, RobotsFile, RobotsVerdict, parse_robots, robots_path

KEPT = timedelta(hours=24)
"""RFC 9309, section 2.4: not longer, whatever the server says."""
LAST_GOOD_KEPT = timedelta(hours=24)
"""How long after it ran out a copy still speaks for an origin that cannot be read."""
MAX_REDIRECTS_COUNT = 5
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
MAX_DOUBLINGS_COUNT = 10
ROBOTS_LIMITS = FetchLimits(
    total_seconds=30.0, wire_bytes=MAX_ROBOTS_BYTES + 1, decoded_bytes=MAX_ROBOTS_BYTES + 1, types=None
)
ABSENT_VERSION = "absent"
UNREAD_VERSION = "unread"

_PARSED = frozenset({"fetched", "wire_too_large", "decoded_too_large"})
"""Of a file that is too large the start counts."""

RobotsState = Literal["parsed", "absent", "unreadable"]
Admit = Callable[[UrlIdentity], Awaitable[None]]
"""Returns once a request for this URL may go out: the bucket of its origin spends it, and scope and kill switch agree.
Raises whatever ends the attempt."""


@dataclass(frozen=True)
class RobotsEntry:
    """What is known of one origin's robots.txt. ``file`` is the last good copy; None allows all while ``absent``."""

    origin: str
    state: RobotsState
    file: RobotsFile | None
    read_at: datetime
    expires_at: datetime
    """From then on it has to be asked for again; for ``unreadable``, not before."""
    good_until: datetime | None = None
    """Up to when the last good copy speaks for an origin that is unreadable; None if there is none."""
    failures_count: int = 0
    detail: str = ""

    @property
    def version(self) -> str:
        """What a verdict is by; a claim under another version is judged again."""
        if self.file is not None:
            return self.file.version
        return ABSENT_VERSION if self.state == "absent" or self.good_until else UNREAD_VERSION

    def verdict(self, url: UrlIdentity, token: str, at: datetime) -> RobotsVerdict:
        """Whether this URL may be fetched now. Pure. An origin that never could be read allows nothing."""
        if self.state == "unreadable" and (self.good_until is None or at >= self.good_until):
            return RobotsVerdict(False, "never_read" if self.good_until is None else "unreadable", UNREAD_VERSION)
        if url.url == robots_url(self.origin).url:
            return RobotsVerdict(True, "no_rule", self.version)
        if self.file is None:
            return RobotsVerdict(True, "no_file", self.version)
        return self.file.verdict(token, robots_path(url.url))

    def crawl_delay_seconds(self, token: str) -> int | None:
        """The delay that the file asks of us, one input to the rate."""
        return self.file.crawl_delay_seconds(token) if self.file else None


def robots_url(origin: str) -> UrlIdentity:
    """Where an origin's robots.txt is."""
    return normalise("/robots.txt", origin)


def parsed_entry(origin: str, body: bytes, at: datetime) -> RobotsEntry:
    """The entry of a file that could be read."""
    return RobotsEntry(origin, "parsed", parse_robots(body), at, at + KEPT, at + KEPT + LAST_GOOD_KEPT)


def absent_entry(origin: str, detail: str, at: datetime) -> RobotsEntry:
    """The entry of an origin that says it has no such file: all is allowed."""
    return RobotsEntry(origin, "absent", None, at, at + KEPT, at + KEPT + LAST_GOOD_KEPT, 0, detail)


def unreadable_entry(
    origin: str, previous: RobotsEntry | None, detail: str, at: datetime, asked: timedelta = timedelta()
) -> RobotsEntry:
    """The entry after a failure: the last good copy with its term, and a pause that doubles, or longer if asked."""
    failures_count = previous.failures_count + 1 if previous else 1
    pause = min(FIRST_PAUSE * 2 ** min(failures_count - 1, MAX_DOUBLINGS_COUNT), LONGEST_PAUSE)
    expires_at = at + max(pause, asked)
    if previous is None:
        return RobotsEntry(origin, "unreadable", None, at, expires_at, None, failures_count, detail)
    return replace(
        previous, state="unreadable", read_at=at, expires_at=expires_at, failures_count=failures_count, detail=detail
    )


class Asks(Protocol):
    """Who makes requests: the fetcher, or somebody who also keeps a log of them."""

    async def fetch(
        self, url: UrlIdentity, validators: Validators = NO_VALIDATORS, limits: FetchLimits = PAGE_LIMITS
    ) -> FetchOutcome:
        """Ask once, as ``Fetcher.fetch``: waits for the network up to the limits, in seconds and bytes; one whole
        outcome; may be repeated; failures of the network are outcomes, never errors.
        """
        ...


async def read_robots(fetcher: Asks, origin: str, previous: RobotsEntry | None, admit: Admit) -> RobotsEntry:
    """Ask for an origin's robots.txt, through as many redirects as the RFC names; each request is admitted first.

    The rules are those of the origin that was asked, wherever they were found. Never raises but what ``admit`` raises;
    may be repeated.
    """
    url = robots_url(origin)
    for _ in range(MAX_REDIRECTS_COUNT + 1):
        await admit(url)
        outcome = await fetcher.fetch(url, limits=ROBOTS_LIMITS)
        if outcome.answer is None or outcome.answer.redirect_to is None:
            return entry_of(origin, previous, outcome)
        url = outcome.answer.redirect_to
    return absent_entry(origin, f"more than {MAX_REDIRECTS_COUNT} redirects", outcome.request.ended_at)


def entry_of(origin: str, previous: RobotsEntry | None, outcome: FetchOutcome) -> RobotsEntry:
    """What the last answer of a chain means. Pure.

    429 is a client's error by its number, but asks for a pause, so it is no permission.
    """
    at = outcome.request.ended_at
    if outcome.reason in _PARSED:
        return parsed_entry(origin, outcome.body, at)
    if outcome.reason == "client_error":
        return absent_entry(origin, f"status {outcome.request.status}", at)
    asked_seconds = (outcome.answer.retry_after_seconds if outcome.answer else None) or 0
    detail = f"{outcome.reason} {outcome.request.status or outcome.detail}"
    return unreadable_entry(origin, previous, detail, at, timedelta(seconds=asked_seconds))
