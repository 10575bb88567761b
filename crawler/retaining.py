"""Retention of the crawl: bodies first, then documents, links and outcomes.

Belongs here: the order, the periods and the audit trail. Deleting partitions is ``warehouse/crawl_retention.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from crawler.frontier.database import Frontier
from crawler.frontier.keeping import delete_old_documents, discard_unneeded, now_micros, write_retention
from crawler.store import BodyStore
from domain.buckets import from_unix_micros
from domain.errors import SettingError
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.crawl_retention import retain_tables
from warehouse.crawl_rows import writing_crawl_tables


@dataclass(frozen=True)
class Retained:
    """What was deleted. ``row_counts``: of the Delta tables, by name; None where their files do not say it."""

    body_count: int
    body_bytes: int
    document_count: int
    """Of the frontier."""
    row_counts: dict[str, int | None]


def retain(
    frontier: Frontier, store: BodyStore, settings: Settings, actor: str, clock: Callable[[], datetime]
) -> Retained:
    """Deletes what has been kept for as long as the settings say, and cleans the tables up. Repeatable at any time.

    A body stays while any visit of the last days found it, or found its page unchanged. ``SettingError`` if bodies were
    to be kept longer than documents, ``WriterBusyError`` if another process writes the crawl's tables.
    """
    check_actor(actor)
    body_days, document_days = settings.crawl_bodies_days, settings.crawl_documents_days
    if body_days > document_days:
        raise SettingError(
            f"setting crawl_bodies_days is {body_days}",
            f"no more than crawl_documents_days, {document_days}: documents say which bodies are needed",
            "correct one of them",
        )
    with writing_crawl_tables(settings):
        now_at = from_unix_micros(now_micros(frontier))
        old = list(store.written_before(now_at - timedelta(days=body_days)))
        body_count, body_bytes = discard_unneeded(frontier, old, body_days, store.discard)
        write_retention(frontier, "bodies", body_count, body_days, actor)
        document_count = delete_old_documents(frontier, document_days)
        write_retention(frontier, "documents", document_count, document_days, actor)
        rows = retain_tables(settings, document_days, actor, clock)
    return Retained(body_count, body_bytes, document_count, rows)
