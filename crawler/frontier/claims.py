"""Claiming: one short transaction that chooses origins, takes the best URL of each, and moves their clocks.

The class whose turn it is comes first, of its origins the one that has waited longest, of that origin's URLs the one
that ranks first; a share of the claims is reserved for URLs that were never visited. A row says by itself when its
origin is next claimable, so a claim reads what it takes and little more, however many URLs are known or done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, select, update

from crawler.frontier.buckets import bucket_of, write_buckets
from crawler.frontier.database import Frontier
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, URLS, database_now
from crawler.frontier.sweeping import sweep
from domain.class_shares import CLASS_SHARES, ClassTurns
from domain.crawl_states import Lease
from domain.errors import IntegrityError, UsageError
from domain.politeness import SECOND_MICROS, Bucket
from domain.recrawl import PER_MILLE, Seen

SHORTEST_DEFERRAL_MICROS = SECOND_MICROS
"""Where a group has no gap but as many in flight as it may, nobody knows when one ends."""
MOST_CLAIMS = 100
"""Origins in one transaction; more would hold their rows too long."""


@dataclass
class Claimer:
    """One worker's way to claims. Keeps whose turn it is; everything else is in the database."""

    frontier: Frontier
    owner: str
    turns: ClassTurns = field(default_factory=lambda: ClassTurns(CLASS_SHARES))

    def claim(self, most: int = 1) -> list[Lease]:
        """Up to that many leases, each of another origin; none if nothing may be claimed now.

        Atomic. Where nothing is ready it first sweeps, so a single worker needs nobody else.
        """
        if not 1 <= most <= MOST_CLAIMS:
            raise UsageError(f"{most} claims", f"1 to {MOST_CLAIMS}", "ask for fewer at a time")
        if leases := self._claim(most):
            return leases
        return self._claim(most) if sweep(self.frontier, self.owner).has_more_ready else []

    def _claim(self, most: int) -> list[Lease]:
        leases: list[Lease] = []
        with self.frontier.writing() as connection:
            for class_name in self.turns.order():
                found = self._of_class(connection, class_name, most - len(leases))
                self.turns = self.turns.served(class_name, len(found)) if found else self.turns.found_idle(class_name)
                leases += found
                if len(leases) == most:
                    break
        return leases

    def _of_class(self, connection: Connection, class_name: str, most: int) -> list[Lease]:
        """Tries again as long as origins only stood in the queue of a group that is busy."""
        while rows := connection.execute(_PICK, {"of_class": class_name, "most": most}).mappings().all():
            if allowed := _allowed(connection, rows):
                return self._take(connection, allowed, rows[0]["now_at"])
        return []

    def _is_reserved(self) -> bool:
        return self.frontier.random.random() * PER_MILLE < self.frontier.policy.discovery_per_mille

    def _take(self, connection: Connection, rows: Sequence[Any], now: int) -> list[Lease]:
        by_origin = {row["bucket_id"]: row for row in rows}
        reserved = [bucket_id for bucket_id in by_origin if self._is_reserved()]
        taken = connection.execute(
            _TAKE_RESERVED if reserved else _TAKE,
            {
                **({"reserved": reserved} if reserved else {}),
                "origins": list(by_origin),
                "owner": self.owner,
                "now_at": now,
                "expires": now + self.frontier.policy.lease_micros,
            },
        ).all()
        if len(taken) != len(by_origin):
            raise IntegrityError(
                f"{len(by_origin)} origins count ready URLs, and {len(taken)} have one",
                "a count that is right",
                "nothing was claimed; recount their ready URLs",
            )
        log_urls(connection, [UrlEvent(url.url_id, now, "leased", "claimed", self.owner, url.fence) for url in taken])
        return [lease_of(url, by_origin[url.origin_id], self.owner) for url in taken]


def _allowed(connection: Connection, rows: Sequence[Any]) -> list[Any]:
    """The origins whose group allows a claim too, with both clocks moved; the others go into the group's queue.

    Groups are locked only if they are free: waiting here, with origins in hand, could wait for one who waits for us.
    """
    now = rows[0]["now_at"]
    wanted = sorted({row["group_id"] for row in rows if row["group_id"] is not None})
    free = connection.execute(_GROUPS, {"wanted": wanted}).mappings().all() if wanted else []
    groups = {row["bucket_id"]: bucket_of(row) for row in free}
    queues = {row["bucket_id"]: row["deferred_at"] for row in free}
    allowed: list[Any] = []
    changed: dict[int, tuple[Bucket, int]] = {}
    deferred: list[dict[str, int]] = []
    for row in rows:
        group_id, group = row["group_id"], groups.get(row["group_id"])
        if group_id is None or (group is not None and group.is_claimable(now)):
            allowed.append(row)
            changed[row["bucket_id"]] = bucket_of(row).claimed(now), -1
            if group is not None:
                groups[group_id] = group.claimed(now)
                changed[group_id] = groups[group_id], 0
            continue
        later = now + max(row["gap_micros"], SHORTEST_DEFERRAL_MICROS)
        if group is not None:
            later = queues[group_id] = max(later, group.claimable_at, queues[group_id] + row["gap_micros"])
        deferred.append({"bucket": row["bucket_id"], "later": later})
    write_buckets(connection, changed)
    if deferred:
        connection.execute(_DEFER, deferred)
    if deferred and queues:
        connection.execute(_QUEUE, [{"bucket": bucket_id, "last": last} for bucket_id, last in queues.items()])
    return allowed


def lease_of(url: Any, origin: Any, owner: str) -> Lease:
    """The lease of a row of URLs with ``LEASE_COLUMNS``, and one of buckets."""
    return Lease(
        url_id=url.url_id,
        url=url.url,
        raw_url=url.raw_url,
        origin=origin["key"],
        bucket_id=origin["bucket_id"],
        group_id=origin["group_id"],
        owner=owner,
        fence=url.fence,
        expires_at=url.lease_expires_at,
        depth=url.depth,
        priority=url.priority,
        attempt_count=url.attempt_count,
        etag=url.etag,
        last_modified=url.last_modified,
        source=url.source,
        class_name=origin["class_name"],
        claimed_at=url.changed_at,
        seen=Seen(*(getattr(url, name) for name in Seen._fields)),
        is_distrusted=origin["distrusted_at"] is not None,
        missing_page=origin["missing_page"],
    )


_PICK = (
    select(BUCKETS, database_now().label("now_at"))
    .where(BUCKETS.c.class_name == bindparam("of_class"), BUCKETS.c.ready_at <= database_now())
    .order_by(BUCKETS.c.ready_at)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
"""Origins of a class that are due, longest waiting first; those that another worker has in hand are passed over."""
_GROUPS = (
    select(BUCKETS)
    .where(BUCKETS.c.bucket_id.in_(bindparam("wanted", expanding=True)))
    .with_for_update(skip_locked=True)
)
"""Groups of chosen origins that nobody else has in hand."""
_BEST = (
    select(URLS.c.url_id)
    .where(URLS.c.origin_id == BUCKETS.c.bucket_id, URLS.c.state == "ready")
    .order_by(URLS.c.rank_at, URLS.c.url_id)
    .limit(1)
    .scalar_subquery()
)
_BEST_NEW = (
    select(URLS.c.url_id)
    .where(URLS.c.origin_id == BUCKETS.c.bucket_id, URLS.c.state == "ready", URLS.c.visited_at.is_(None))
    .order_by(URLS.c.rank_at, URLS.c.url_id)
    .limit(1)
    .scalar_subquery()
)
_IS_RESERVED = BUCKETS.c.bucket_id.in_(bindparam("reserved", expanding=True))


LEASE_COLUMNS = (
    *(URLS.c.url_id, URLS.c.url, URLS.c.raw_url, URLS.c.origin_id, URLS.c.fence, URLS.c.lease_expires_at),
    *(URLS.c.depth, URLS.c.priority, URLS.c.attempt_count, URLS.c.etag, URLS.c.last_modified),
    *(URLS.c.source, URLS.c.changed_at, *(URLS.c[name] for name in Seen._fields)),
)
"""What a lease is made of."""


def _taking(best: Any) -> Any:
    return (
        update(URLS)
        .where(URLS.c.url_id.in_(select(best).where(BUCKETS.c.bucket_id.in_(bindparam("origins", expanding=True)))))
        .values(
            state="leased",
            reason="claimed",
            fence=URLS.c.fence + 1,
            attempt_count=URLS.c.attempt_count + 1,
            lease_owner=bindparam("owner"),
            lease_expires_at=bindparam("expires"),
            started_at=None,
            changed_at=bindparam("now_at"),
        )
        .returning(*LEASE_COLUMNS)
    )


_TAKE = _taking(_BEST)
"""ready > leased, for the best URL of each chosen origin, with the next fence."""
_TAKE_RESERVED = _taking(case((_IS_RESERVED, func.coalesce(_BEST_NEW, _BEST)), else_=_BEST))
"""The same; of reserved origins the best URL that was never visited, if there is one."""
_DEFER = update(BUCKETS).where(BUCKETS.c.bucket_id == bindparam("bucket")).values(claimable_at=bindparam("later"))
"""An origin waits for its place in its group's queue."""
_QUEUE = update(BUCKETS).where(BUCKETS.c.bucket_id == bindparam("bucket")).values(deferred_at=bindparam("last"))
"""The last place in a group's queue."""
