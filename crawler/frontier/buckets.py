"""Rows of buckets as what ``domain/politeness.py`` computes with, and back.

Belongs here: the translation, and the events of an origin. The row is locked by whoever changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, update

from crawler.frontier.schema import BUCKETS, ORIGIN_EVENTS
from domain.politeness import Bucket


def bucket_of(row: Mapping[Any, Any]) -> Bucket:
    """The bucket of a row."""
    return Bucket(
        gap_micros=row["gap_micros"],
        in_flight_cap=row["in_flight_cap"],
        in_flight_count=row["in_flight_count"],
        claimable_at=row["claimable_at"],
        startable_at=row["startable_at"],
        failure_count=row["failure_count"],
    )


def write_buckets(connection: Connection, changed: Mapping[int, tuple[Bucket, int]]) -> None:
    """Writes each bucket back, by its id, with how many of its URLs became ready (negative: are ready no more)."""
    if changed:
        connection.execute(_WRITE, [_row(bucket_id, *new) for bucket_id, new in changed.items()])


def count_ready(connection: Connection, changes: Mapping[int, int]) -> None:
    """Adds to the number of ready URLs of each bucket."""
    rows = [{"bucket": bucket_id, "ready_change": change} for bucket_id, change in changes.items() if change]
    if rows:
        connection.execute(_COUNT, rows)


def log_origin(
    connection: Connection, bucket_id: int, at: int, event: str, *, reason: str, actor: str, until_at: int | None = None
) -> None:
    """Adds an event of an origin."""
    row = {"bucket_id": bucket_id, "happened_at": at, "event": event, "reason": reason, "actor": actor}
    connection.execute(insert(ORIGIN_EVENTS), [row | {"until_at": until_at}])


def _row(bucket_id: int, bucket: Bucket, ready_change: int) -> dict[str, int]:
    return {
        "bucket": bucket_id,
        "ready_change": ready_change,
        "flying": bucket.in_flight_count,
        "claimable": bucket.claimable_at,
        "startable": bucket.startable_at,
        "failures": bucket.failure_count,
    }


_WRITE = (
    update(BUCKETS)
    .where(BUCKETS.c.bucket_id == bindparam("bucket"))
    .values(
        in_flight_count=bindparam("flying"),
        claimable_at=bindparam("claimable"),
        startable_at=bindparam("startable"),
        failure_count=bindparam("failures"),
        ready_count=BUCKETS.c.ready_count + bindparam("ready_change"),
    )
)
_COUNT = (
    update(BUCKETS)
    .where(BUCKETS.c.bucket_id == bindparam("bucket"))
    .values(ready_count=BUCKETS.c.ready_count + bindparam("ready_change"))
)
