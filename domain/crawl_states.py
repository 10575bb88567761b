"""What a URL of the frontier can be in, why it changed, and how a lease can end.

Belongs here: states, reasons, priority and aging as numbers. The rows are kept by ``crawler/frontier/``.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from domain.class_shares import DEFAULT_CLASS
from domain.errors import TallystickError, UsageError
from domain.recrawl import Seen

State = Literal["ready", "waiting", "leased", "done", "failed", "refused", "suppressed"]
"""``ready`` may be claimed as soon as its origin allows; ``waiting`` until its time comes; ``done`` was fetched and is
not planned again; ``failed`` was given up; ``refused`` may not be fetched; ``suppressed`` by an opt-out."""
STATES: tuple[State, ...] = get_args(State)

Switch = Literal["open", "paused", "parked", "killed", "suppressed"]
"""Of an origin. ``paused`` by a person, ``parked`` for a Crawl-delay that is too long, both let leases end; ``killed``
takes them away."""
SWITCHES: tuple[Switch, ...] = get_args(Switch)

MOST_ATTEMPTS = 5
"""Attempts in a row, lost leases included, after which a URL is given up."""
MAX_PRIORITY = 1_000
PRIORITY_STEP_MICROS = 60_000_000
"""Aging: a URL of priority p comes before one of priority 0 that is due up to p minutes earlier, and never before one
that has waited longer; so nothing starves."""
MAX_DEPTH = 1_000
ROBOTS_HOP = "robots_hop"
"""Source of a URL to which the robots.txt of another origin leads; between its leases it is ``done``."""
_REASON = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)


class StaleLeaseError(TallystickError):
    """A worker wanted to change a URL that it no longer holds; nothing was changed, and it is counted."""


class Lease(NamedTuple):
    """A claimed URL, which whoever holds the fence may change. ``expires_at`` is microseconds since 1970."""

    url_id: int
    url: str
    raw_url: str
    origin: str
    bucket_id: int
    group_id: int | None
    owner: str
    fence: int
    expires_at: int
    depth: int
    priority: int
    attempt_count: int
    etag: str | None
    last_modified: str | None
    source: str = "seed"
    class_name: str = DEFAULT_CLASS
    claimed_at: int = 0
    seen: Seen = Seen()
    is_distrusted: bool = False
    """Whether validators of its origin have been caught lying."""
    missing_page: str | None = None
    """What its origin answers for a path that does not exist; None if nobody has looked."""


class Permission(NamedTuple):
    """Whether a request may start now; if not, after how long to ask again, or what has closed the origin."""

    is_granted: bool
    wait_micros: int = 0
    switch: Switch = "open"


def rank_at(due_at: int, priority: int) -> int:
    """By which the URLs of an origin are ordered, lowest first: how long each has waited, and its priority."""
    return due_at - priority * PRIORITY_STEP_MICROS


def check_priority(priority: int) -> None:
    """``UsageError`` unless it is a priority."""
    if not 0 <= priority <= MAX_PRIORITY:
        raise UsageError(f"priority {priority}", f"0 to {MAX_PRIORITY}", "correct it")


def check_reason_code(reason: str) -> None:
    """``UsageError`` unless it is a code: a word in small letters."""
    if not _REASON.fullmatch(reason):
        raise UsageError(f"reason {reason!r}", "a code such as not_found", "correct it")
