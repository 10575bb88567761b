"""What a person, or a robots.txt, does to whole origins: pause, resume, kill, a Crawl-delay.

Belongs here: switches of origins and their gap. An opt-out is ``suppressing.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import Connection, or_, select, update

from crawler.frontier.buckets import log_origin
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, URLS
from domain.crawl_states import Switch
from domain.errors import UsageError
from domain.politeness import gap_with, is_parking
from domain.texts import check_actor, check_line


def set_switch(
    frontier: Frontier, name: str, switch: Literal["open", "paused", "killed"], *, reason: str, actor: str
) -> list[str]:
    """Switches an origin, or all of a host or registrable domain, and returns the origins. Holds from the next claim.

    ``paused`` lets what is in flight end, and no other request starts. ``killed`` also takes the leases away: what
    they would commit is stale. ``open`` takes either back, and a parking too; never a suppression.
    """
    check_line("reason", reason)
    check_actor(actor)
    with frontier.writing() as connection:
        found = origins_named(connection, name)
        if not found:
            raise UsageError(
                f"no origin of {name!r} is known", "an origin, host or registrable domain", "add seeds first"
            )
        held = lock_buckets(connection, found)
        now = now_of(connection)
        switched = [bucket_id for bucket_id, row in held.items() if row["switch"] != "suppressed"]
        write_switch(connection, switched, switch, now, reason=reason, actor=actor)
        if switch == "killed":
            take_leases(connection, switched, now, actor)
        return [held[bucket_id]["key"] for bucket_id in switched]


def set_crawl_delay(frontier: Frontier, origin: str, crawl_delay_micros: int | None, actor: str) -> Switch:
    """What robots.txt asks for, None if for nothing: the larger of it and our own gap holds, and is never broken.

    A delay that is too long parks the origin, visibly, until a person has opened it again; then it still holds.
    Returns the origin's switch. ``UsageError`` for an origin that is not known. Repeatable.
    """
    with frontier.writing() as connection:
        ids = connection.execute(
            select(BUCKETS.c.bucket_id).where(BUCKETS.c.kind == "origin", BUCKETS.c.key == origin)
        ).scalars()
        held = lock_buckets(connection, ids)
        if not held:
            raise UsageError(f"no origin {origin!r} is known", "an origin with URLs", "add seeds first")
        ((bucket_id, row),) = held.items()
        switch: Switch = row["switch"]
        if row["crawl_delay_micros"] == crawl_delay_micros:
            return switch
        now, gap = now_of(connection), gap_with(frontier.policy.gap_micros, crawl_delay_micros)
        longer = max(0, gap - row["gap_micros"])  # a gap that runs already is the new one
        connection.execute(
            update(BUCKETS)
            .where(BUCKETS.c.bucket_id == bucket_id)
            .values(
                crawl_delay_micros=crawl_delay_micros,
                gap_micros=gap,
                claimable_at=BUCKETS.c.claimable_at + longer,
                startable_at=BUCKETS.c.startable_at + longer,
            )
        )
        log_origin(connection, bucket_id, now, "crawl_delay", reason=f"{crawl_delay_micros} microseconds", actor=actor)
        if switch == "open" and is_parking(crawl_delay_micros):
            write_switch(connection, [bucket_id], "parked", now, reason="crawl_delay_too_long", actor=actor)
            return "parked"
        return switch


def origins_named(connection: Connection, name: str) -> list[int]:
    """The buckets of the origin of that name, or of all origins of that host or registrable domain."""
    is_named = or_(BUCKETS.c.key == name, BUCKETS.c.host == name, BUCKETS.c.registrable_domain == name)
    found = connection.execute(select(BUCKETS.c.bucket_id).where(BUCKETS.c.kind == "origin", is_named))
    return list(found.scalars())


def write_switch(
    connection: Connection, bucket_ids: Sequence[int], switch: Switch, now: int, *, reason: str, actor: str
) -> None:
    """Sets the switch of buckets that the caller holds, and logs it."""
    connection.execute(update(BUCKETS).where(BUCKETS.c.bucket_id.in_(bucket_ids)).values(switch=switch))
    for bucket_id in bucket_ids:
        log_origin(connection, bucket_id, now, switch, reason=reason, actor=actor)


def take_leases(connection: Connection, bucket_ids: Sequence[int], now: int, actor: str) -> None:
    """Takes the leases of origins away: the fence grows, and the slot is held until the expiry that was promised.

    The caller holds the buckets.
    """
    leased = connection.execute(
        update(URLS)
        .where(URLS.c.origin_id.in_(bucket_ids), URLS.c.state == "leased")
        .values(fence=URLS.c.fence + 1, reason="killed", lease_owner=None, changed_at=now)
        .returning(URLS.c.url_id, URLS.c.fence)
    )
    log_urls(connection, [UrlEvent(row.url_id, now, "leased", "killed", actor, row.fence) for row in leased])
