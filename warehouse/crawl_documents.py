"""Reads the crawl's tables: one row of each key, whatever was delivered twice.

Belongs here: reading without a JVM. Writing is ``warehouse/crawl_rows.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa

from domain.settings import Settings
from warehouse.layout import open_table, rows_of
from warehouse.tables import TABLES


def read_crawl(settings: Settings, name: str, first: date, last: date) -> pa.Table:
    """The rows of ``documents``, ``links`` or ``fetch_log`` of these dates, both included, ordered by key."""
    of_dates = f"fetch_date >= DATE '{first}' AND fetch_date <= DATE '{last}'"
    key = TABLES[name].key
    found = rows_of(open_table(settings, name), of_dates).sort_by([(column, "ascending") for column in key])
    keys = list(zip(*(found.column(column).to_pylist() for column in key), strict=True))
    firsts = [place for place, one in enumerate(keys) if place == 0 or one != keys[place - 1]]
    return found.take(pa.array(firsts, pa.int64()))


def crawl_dates(settings: Settings, name: str) -> list[date]:
    """The dates of which a table has rows, ascending."""
    return sorted({date.fromisoformat(one["fetch_date"]) for one in open_table(settings, name).partitions()})


def urls_by_hash(settings: Settings, first: date, last: date) -> Iterator[tuple[str, list[str]]]:
    """By hash of a body all URLs under which it was fetched on these dates: what is the same page."""
    found: dict[str, set[str]] = {}
    for row in _documents(settings, first, last):
        found.setdefault(row["content_hash"], set()).add(row["url"])
    yield from ((digest, sorted(found[digest])) for digest in sorted(found))


def _documents(settings: Settings, first: date, last: date) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_crawl(settings, "documents", first, last).to_pylist()
    return rows
