"""Writes the crawl's tables: appending, replacing a date, deleting pages.

Belongs here: the commits, and the lock under which they are made. What the rows say is decided by the crawler; who
reads them uses ``warehouse/crawl_documents.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

from deltalake import CommitProperties, write_deltalake
from deltalake.exceptions import CommitFailedError

from domain.errors import LedgerConflictError
from domain.settings import Settings
from domain.suppressions import Suppression
from warehouse.create import create_missing_tables
from warehouse.layout import open_table
from warehouse.locks import writer_lock
from warehouse.schema import arrow_rows
from warehouse.tables import DOCUMENTS, FETCH_LOG, LINKS, NEAR_DUPLICATES, TABLES

CRAWL_LOCK = "crawl"
"""Held by whoever writes the crawl's tables: what was deleted for an opt-out is not delivered once more."""
DELIVERED_TABLES = (DOCUMENTS, LINKS, FETCH_LOG)
"""In the order in which they are written: an outcome is told after the document that it speaks of."""
CRAWL_TABLES = (*DELIVERED_TABLES, NEAR_DUPLICATES)
LOCK_WAIT_SECONDS = 60.0

Rows = Sequence[Mapping[str, Any]]


@contextmanager
def writing_crawl_tables(settings: Settings, wait_seconds: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
    """Holds the lock of the crawl's tables, which are there afterwards. ``WriterBusyError`` names who holds it."""
    with writer_lock(settings, CRAWL_LOCK, wait_seconds):
        create_missing_tables(settings, CRAWL_TABLES)
        yield


def append_rows(settings: Settings, name: str, rows: Rows) -> None:
    """Appends in one commit, none for no rows. Not repeatable: readers keep one row of each key."""
    if rows:
        write_deltalake(open_table(settings, name), arrow_rows(TABLES[name], rows), mode="append")


def replace_date(settings: Settings, name: str, day: date, rows: Rows) -> None:
    """Replaces all rows of a date in one commit; repeatable.

    ``LedgerConflictError`` if somebody committed to the table meanwhile, past the lock; then nothing was replaced.
    """
    try:
        write_deltalake(
            open_table(settings, name),
            arrow_rows(TABLES[name], rows),
            mode="overwrite",
            predicate=f"fetch_date = DATE '{day}'",
            commit_properties=CommitProperties(max_commit_retries=0),
        )
    except CommitFailedError as error:
        raise LedgerConflictError(
            f"table {name} was changed by somebody else", "no writer past the lock", "do it again"
        ) from error


def delete_pages(settings: Settings, suppression: Suppression) -> dict[str, int]:
    """Deletes the rows of pages that a suppression covers; how many, by table. Repeatable.

    Links of other pages that lead there stay. The old files go with a later vacuum.
    """
    counts = {}
    for table in CRAWL_TABLES:
        done = open_table(settings, table.name).delete(_covered(suppression))
        counts[table.name] = int(done["num_deleted_rows"] or 0)
    return counts


def _covered(suppression: Suppression) -> str:
    literal = "'" + suppression.pattern.replace("'", "''") + "'"
    match suppression.kind:
        case "prefix":
            return f"starts_with(url, {literal})"
        case kind:
            return f"{kind} = {literal}"
