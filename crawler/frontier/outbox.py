"""The outbox: what the Delta tables are to be told, written in the transaction that ends a lease.

Belongs here: writing, reading and taking off what was delivered. Delivering is ``crawler/relay.py``. What is lost with
a transaction is lost with its outbox row, and nothing else is: no event without what it tells of, and none untold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import zstandard
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from crawler.frontier.database import Frontier, now_of
from crawler.frontier.schema import BUCKETS, OUTBOX, STAGE_COUNTS, URLS
from domain.crawl_states import Lease

EVENT_ID_BITS = 128
PAYLOAD_LEVEL = 3
MOST_EVENTS = 500
"""Of one delivery, so that what is deleted at once, and what is delivered twice after a crash, stays bounded."""
MOST_PAYLOAD_BYTES = 4 * 1024 * 1024
"""Compressed, of one delivery; a single event may have more."""
MOST_UNPACKED_BYTES = 256 * 1024 * 1024


class Trace(NamedTuple):
    """The last request of a lease as its worker saw it; instants are microseconds since 1970."""

    started_at: int
    ended_at: int
    status: int | None
    wire_bytes: int


class Fetched(NamedTuple):
    """How a lease ended: ``outcome`` is page, unchanged, not_modified, redirected, listing, robots_hop, trap_soft_404
    or the kind of failure.
    """

    outcome: str
    reason: str
    detail: str | None = None
    trace: Trace | None = None
    document: Mapping[str, Any] | None = None
    links: Sequence[Sequence[Any]] = ()
    """Of each link its URL, raw text, kind, and whether it is nofollow."""
    stages: Sequence[tuple[str, str]] = ()
    """Stages after the fetch, each with its reason."""


class OutboxEvent(NamedTuple):
    """One row to deliver. ``payload`` has the fields of ``Fetched`` and of the lease."""

    outbox_id: int
    event_id: str
    happened_at: int
    payload: dict[str, Any]


def post(connection: Connection, frontier: Frontier, lease: Lease, fetched: Fetched) -> None:
    """Puts the outcome into the outbox and counts its stages, as a part of the transaction that ends the lease."""
    payload = {
        **{"url": lease.url, "fence": lease.fence, "attempt_count": lease.attempt_count},
        **{"outcome": fetched.outcome, "reason": fetched.reason, "detail": fetched.detail},
        **{"trace": fetched.trace and list(fetched.trace), "document": fetched.document, "links": list(fetched.links)},
    }
    row = {
        "event_id": f"{frontier.random.getrandbits(EVENT_ID_BITS):032x}",
        "url_id": lease.url_id,
        "happened_at": now_of(connection),
        "payload": zstandard.ZstdCompressor(level=PAYLOAD_LEVEL).compress(orjson.dumps(payload)),
    }
    connection.execute(insert(OUTBOX), [row])
    _count(connection, lease.bucket_id, [("fetch", fetched.reason), *fetched.stages])


def undelivered(frontier: Frontier) -> list[OutboxEvent]:
    """The oldest events that nobody took off, a bounded number of them. Reads only.

    None of a suppressed URL: what an opt-out has stopped is told to nobody, and goes when it is deleted.
    """
    found: list[OutboxEvent] = []
    packed_bytes = 0
    columns = (OUTBOX.c.outbox_id, OUTBOX.c.event_id, OUTBOX.c.happened_at, OUTBOX.c.payload)
    with frontier.reading() as connection:
        of_open = select(*columns).where(_is_open()).order_by(OUTBOX.c.outbox_id).limit(MOST_EVENTS)
        for row in connection.execute(of_open):
            packed_bytes += len(row.payload)
            if found and packed_bytes > MOST_PAYLOAD_BYTES:
                break
            found.append(OutboxEvent(row.outbox_id, row.event_id, row.happened_at, _unpacked(row.payload)))
    return found


def acknowledge(frontier: Frontier, outbox_ids: Sequence[int]) -> None:
    """Takes delivered events off. Atomic and repeatable."""
    with frontier.writing() as connection:
        connection.execute(delete(OUTBOX).where(OUTBOX.c.outbox_id.in_(outbox_ids)))


def undelivered_count(frontier: Frontier) -> int:
    """How many events wait."""
    with frontier.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(OUTBOX)).scalar_one())


def _is_open() -> ColumnElement[bool]:
    """Of a host or domain the switch says so at once, before each URL does."""
    its_origin = BUCKETS.c.bucket_id == URLS.c.origin_id
    is_open = (URLS.c.state != "suppressed") & (BUCKETS.c.switch != "suppressed")
    return exists().where(URLS.c.url_id == OUTBOX.c.url_id, its_origin, is_open)


def _unpacked(payload: bytes) -> dict[str, Any]:
    unpacked = zstandard.ZstdDecompressor().decompress(payload, max_output_size=MOST_UNPACKED_BYTES)
    found: dict[str, Any] = orjson.loads(unpacked)
    return found


def _count(connection: Connection, bucket_id: int, stages: Sequence[tuple[str, str]]) -> None:
    inserting = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = inserting(STAGE_COUNTS).on_conflict_do_update(
        index_elements=["bucket_id", "stage", "reason"],
        set_={"outcome_count": STAGE_COUNTS.c.outcome_count + 1},
    )
    rows = [{"bucket_id": bucket_id, "stage": stage, "reason": reason, "outcome_count": 1} for stage, reason in stages]
    connection.execute(statement, rows)
