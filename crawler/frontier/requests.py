"""The log of requests, as the workers saw them, and the receipts that are computed from it."""

from __future__ import annotations

from sqlalchemy import insert, select

from crawler.frontier.database import Frontier
from crawler.frontier.schema import BUCKETS, REQUESTS
from domain.crawl_states import Lease
from domain.errors import UsageError
from domain.politeness import SECOND_MICROS
from domain.receipts import Receipt, RequestRow, receipt

LONGEST_REQUEST_MICROS = 3_600 * SECOND_MICROS
"""Requests that started longer before a window than this are over when it begins."""


def log_request(frontier: Frontier, lease: Lease, request: RequestRow) -> None:
    """Records a request that was made, whatever became of the lease meanwhile. Repeatable."""
    row = {"origin": lease.origin, "url_id": lease.url_id, "owner": lease.owner, "fence": lease.fence}
    is_it = (REQUESTS.c.url_id == lease.url_id, REQUESTS.c.fence == lease.fence)
    with frontier.writing() as connection:
        known = select(REQUESTS.c.request_id).where(*is_it, REQUESTS.c.started_at == request.started_at)
        if connection.execute(known).first() is None:
            connection.execute(insert(REQUESTS), [row | request._asdict()])


def receipt_of(frontier: Frontier, origin: str, start: int, end: int) -> Receipt:
    """How an origin was treated from ``start`` up to ``end``, against the gap and cap that hold for it now.

    ``UsageError`` for an origin that is not known, or a window without length.
    """
    if end <= start:
        raise UsageError(f"a window from {start} to {end}", "an end after its start", "swap them")
    with frontier.reading() as connection:
        bucket = connection.execute(
            select(BUCKETS.c.gap_micros, BUCKETS.c.in_flight_cap).where(
                BUCKETS.c.kind == "origin", BUCKETS.c.key == origin
            )
        ).first()
        if bucket is None:
            raise UsageError(f"no origin {origin!r} is known", "an origin such as https://example.org", "correct it")
        rows = connection.execute(
            select(REQUESTS.c.started_at, REQUESTS.c.ended_at, REQUESTS.c.status).where(
                REQUESTS.c.origin == origin,
                REQUESTS.c.started_at >= start - LONGEST_REQUEST_MICROS,
                REQUESTS.c.started_at < end,
            )
        )
        requests = [RequestRow(*row) for row in rows]
    return receipt(origin, (start, end), requests, gap_micros=bucket.gap_micros, in_flight_cap=bucket.in_flight_cap)
