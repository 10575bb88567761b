"""Sweeping: leases that ran out are returned, and URLs whose time has come become ready.

Any worker may sweep at any time, several at once. A returned lease keeps its attempt, so that a page which kills its
workers is given up some day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, case, select, update

from crawler.frontier.buckets import bucket_of, count_ready, write_buckets
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, URLS, database_now
from domain.crawl_states import MOST_ATTEMPTS, ROBOTS_HOP

SWEEP_SECONDS = 5
"""How often somebody should sweep; less often, and what is due waits longer."""
MOST_EXPIRED = 500
MOST_DUE = 2_000
"""Rows of one transaction; what is left is swept next time."""


class Swept(NamedTuple):
    """What a sweep did: leases returned, of them given up, URLs that became due."""

    returned_count: int
    given_up_count: int
    due_count: int

    @property
    def has_more_ready(self) -> bool:
        """Whether something may be claimable now that was not before."""
        return bool(self.returned_count or self.due_count)


def sweep(frontier: Frontier, actor: str) -> Swept:
    """Returns expired leases, then wakes what is due. Two transactions; repeatable."""
    with frontier.writing() as connection:
        returned, given_up = _return_expired(connection, actor)
    with frontier.writing() as connection:
        due = _wake_due(connection, actor)
    return Swept(returned, given_up, due)


def _return_expired(connection: Connection, actor: str) -> tuple[int, int]:
    found = connection.execute(_EXPIRED, {"most": MOST_EXPIRED}).all()
    if not found:
        return 0, 0
    buckets = lock_buckets(connection, [id_ for row in found for id_ in (row.origin_id, row.group_id)])
    freed = connection.execute(_RETURN, {"ids": [row.url_id for row in found], "now_at": now_of(connection)}).all()
    groups = {row.url_id: row.group_id for row in found}
    slots = Counter(id_ for row in freed for id_ in (row.origin_id, groups[row.url_id]) if id_ is not None)
    ready = Counter(row.origin_id for row in freed if row.state == "ready")
    changed = {}
    for bucket_id, slot_count in slots.items():
        bucket = bucket_of(buckets[bucket_id])
        for _ in range(slot_count):
            bucket = bucket.freed()
        changed[bucket_id] = bucket, ready[bucket_id]
    write_buckets(connection, changed)
    _log(connection, freed, actor)
    return len(freed), sum(row.state == "failed" for row in freed)


def _wake_due(connection: Connection, actor: str) -> int:
    found = connection.execute(_DUE, {"most": MOST_DUE}).all()
    if not found:
        return 0
    lock_buckets(connection, {row.origin_id for row in found})
    woken = connection.execute(_WAKE, {"ids": [row.url_id for row in found], "now_at": now_of(connection)}).all()
    count_ready(connection, Counter(row.origin_id for row in woken))
    _log(connection, woken, actor)
    return len(woken)


def _log(connection: Connection, rows: Sequence[Any], actor: str) -> None:
    log_urls(
        connection, [UrlEvent(row.url_id, row.changed_at, row.state, row.reason, actor, row.fence) for row in rows]
    )


_CHANGED = (URLS.c.url_id, URLS.c.origin_id, URLS.c.state, URLS.c.reason, URLS.c.fence, URLS.c.changed_at)
_IS_WANTED = URLS.c.url_id.in_(bindparam("ids", expanding=True))
_EXPIRED = (
    select(URLS.c.url_id, URLS.c.origin_id, BUCKETS.c.group_id)
    .join(BUCKETS, BUCKETS.c.bucket_id == URLS.c.origin_id)
    .where(URLS.c.lease_expires_at <= database_now())
    .order_by(URLS.c.lease_expires_at)
    .limit(bindparam("most"))
)
"""Leases that ran out, longest ago first."""
_RETURN = (
    update(URLS)
    .where(_IS_WANTED, URLS.c.lease_expires_at <= bindparam("now_at"))
    .values(
        state=case(
            (URLS.c.state != "leased", URLS.c.state),
            (URLS.c.source == ROBOTS_HOP, "done"),
            (URLS.c.attempt_count >= MOST_ATTEMPTS, "failed"),
            else_="ready",
        ),
        reason=case((URLS.c.state != "leased", URLS.c.reason), else_="lease_expired"),
        lease_owner=None,
        lease_expires_at=None,
        changed_at=bindparam("now_at"),
    )
    .returning(*_CHANGED)
)
"""leased > ready, or > failed after too many attempts, or > done where a robots.txt moved to; what was suppressed
meanwhile only gives its slot back."""
_DUE = (
    select(URLS.c.url_id, URLS.c.origin_id)
    .where(URLS.c.state == "waiting", URLS.c.due_at <= database_now())
    .order_by(URLS.c.due_at)
    .limit(bindparam("most"))
)
"""URLs whose time has come, longest due first."""
_WAKE = (
    update(URLS)
    .where(_IS_WANTED, URLS.c.state == "waiting", URLS.c.due_at <= bindparam("now_at"))
    .values(state="ready", reason="due", changed_at=bindparam("now_at"))
    .returning(*_CHANGED)
)
"""waiting > ready."""
