"""An opt-out carried out everywhere: bodies, the frontier's rows, what waits for delivery and what was delivered.

Belongs here: the order of the classes. The suppression itself is written first, by ``crawler/frontier/suppressing.py``,
and stays.
"""

from __future__ import annotations

from crawler.frontier.database import Frontier
from crawler.frontier.keeping import discard_suppressed
from crawler.frontier.suppressing import delete_suppressed, suppression_of, write_deletion
from crawler.store import BodyStore
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.crawl_rows import LOCK_WAIT_SECONDS, delete_pages, writing_crawl_tables

DELIVERED = "delivered_"
"""Before the name of a Delta table, in the audit trail."""


def delete_everywhere(
    frontier: Frontier,
    store: BodyStore,
    settings: Settings,
    suppression_id: int,
    actor: str,
    *,
    wait_seconds: float = LOCK_WAIT_SECONDS,
) -> dict[str, int]:
    """Deletes what is kept of suppressed pages, each class with its row of the audit trail; how many, by class.

    Under the lock of the crawl's tables, so that no relay holds rows that were taken off. A body goes unless another
    page has it. Repeatable; what died is finished by the next call. ``UsageError`` if there is no such suppression,
    ``WriterBusyError`` if another process writes the tables.
    """
    check_actor(actor)
    suppression = suppression_of(frontier, suppression_id)
    with writing_crawl_tables(settings, wait_seconds):
        counts = {"bodies": discard_suppressed(frontier, suppression_id, actor, store.discard)}
        counts |= delete_suppressed(frontier, suppression_id, actor)
        for name, row_count in delete_pages(settings, suppression).items():
            with frontier.writing() as connection:
                write_deletion(connection, suppression_id, DELIVERED + name, row_count, actor)
            counts[DELIVERED + name] = row_count
    return counts
