"""The relay: delivers the outbox into the Delta tables, at least once.

Belongs here: the order of the steps, and rows from events. Each batch is one commit a table, then it is taken off the
outbox. Whatever dies in between is delivered again, and readers keep one row of each event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crawler.frontier.database import Frontier
from crawler.frontier.outbox import OutboxEvent, Trace, acknowledge, undelivered
from crawler.urls import normalise
from domain.buckets import from_unix_micros
from domain.frontier import UrlIdentity
from domain.settings import Settings
from warehouse.crawl_rows import DELIVERED_TABLES, LOCK_WAIT_SECONDS, append_rows, writing_crawl_tables

Row = dict[str, Any]


def _silent(_step: str) -> None:
    """Where nobody watches."""


@dataclass(frozen=True)
class Delivered:
    """What one run of the relay delivered."""

    event_count: int = 0
    document_count: int = 0
    link_count: int = 0
    batch_count: int = 0


def relay(
    frontier: Frontier,
    settings: Settings,
    *,
    after_step: Callable[[str], None] = _silent,
    wait_seconds: float = LOCK_WAIT_SECONDS,
) -> Delivered:
    """Delivers until the outbox is empty. Safe to kill at any moment and to repeat.

    ``after_step`` is told the name of each commit right after it. ``WriterBusyError`` if another process writes the
    crawl's tables for longer than ``wait_seconds``.
    """
    done = Delivered()
    with writing_crawl_tables(settings, wait_seconds):
        while events := undelivered(frontier):
            rows = rows_of_events(events)
            for table in DELIVERED_TABLES:
                append_rows(settings, table.name, rows[table.name])
                after_step(table.name)
            acknowledge(frontier, [event.outbox_id for event in events])
            after_step("acknowledged")
            done = Delivered(
                done.event_count + len(events),
                done.document_count + len(rows["documents"]),
                done.link_count + len(rows["links"]),
                done.batch_count + 1,
            )
    return done


def rows_of_events(events: Sequence[OutboxEvent]) -> dict[str, list[Row]]:
    """The rows of each table that tell of these events."""
    rows: dict[str, list[Row]] = {table.name: [] for table in DELIVERED_TABLES}
    for event in events:
        page = normalise(event.payload["url"])
        at = from_unix_micros(event.happened_at)
        rows["fetch_log"].append(_fetch_row(event, page, at))
        if event.payload["document"] is not None:
            rows["documents"].append(_document_row(event, page, at))
            rows["links"] += link_rows(event.event_id, page, at, event.payload["links"])
    return rows


def link_rows(event_id: str, page: UrlIdentity, at: datetime, links: Sequence[Sequence[Any]]) -> list[Row]:
    """Rows of table ``links`` of one document."""
    of_page = {"event_id": event_id, "url": page.url, "fetch_date": at.date(), **_groups(page)}
    return [
        of_page | {"link_number": number, "target_url": target, "raw": raw, "kind": kind, "is_nofollow": is_nofollow}
        for number, (target, raw, kind, is_nofollow) in enumerate(links, 1)
    ]


def _document_row(event: OutboxEvent, page: UrlIdentity, at: datetime) -> Row:
    facts = dict(event.payload["document"])
    return {
        "event_id": event.event_id,
        **{"url": page.url, "origin": page.origin, **_groups(page)},
        **{"fence_number": event.payload["fence"], "status_number": facts.pop("status")},
        **{"fetched_at": at, "fetch_date": at.date()},
        **facts,
    }


def _fetch_row(event: OutboxEvent, page: UrlIdentity, at: datetime) -> Row:
    told = event.payload
    trace = Trace(*told["trace"]) if told["trace"] is not None else None
    return {
        "event_id": event.event_id,
        **{"url": page.url, "origin": page.origin, **_groups(page)},
        **{"fence_number": told["fence"], "attempt_number": told["attempt_count"]},
        **{"outcome": told["outcome"], "reason": told["reason"], "detail": told["detail"]},
        "status_number": trace.status if trace else None,
        "started_at": from_unix_micros(trace.started_at) if trace else None,
        "ended_at": from_unix_micros(trace.ended_at) if trace else None,
        "wire_bytes": trace.wire_bytes if trace else None,
        **{"committed_at": at, "fetch_date": at.date()},
    }


def _groups(page: UrlIdentity) -> Row:
    return {"host": page.host, "registrable_domain": page.registrable_domain}
