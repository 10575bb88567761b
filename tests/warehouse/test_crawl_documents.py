"""Reading the crawl's tables: one row of each key, and every URL of a body."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from domain.settings import Settings
from warehouse.crawl_documents import crawl_dates, read_crawl, urls_by_hash
from warehouse.crawl_rows import append_rows
from warehouse.table import ColumnType
from warehouse.tables import TABLES

DAY, NEXT = date(2026, 5, 2), date(2026, 5, 3)
EMPTY: dict[ColumnType, Any] = {"string": "x", "int": 1, "long": 1, "boolean": False, "date": DAY}


def row(name: str, **fields: object) -> dict[str, Any]:
    """A row with something in every column."""
    at = datetime(2026, 5, 2, tzinfo=UTC)
    return {one.name: at if one.type == "timestamp" else EMPTY[one.type] for one in TABLES[name].columns} | fields


@pytest.mark.parametrize("name", ["documents", "links", "fetch_log"])
def test_what_was_delivered_twice_is_read_once(settings: Settings, name: str) -> None:
    rows = [row(name, event_id="b"), row(name, event_id="a", fetch_date=NEXT)]
    append_rows(settings, name, rows)
    append_rows(settings, name, [*rows, row(name, event_id="c")])
    append_rows(settings, name, [])
    assert read_crawl(settings, name, DAY, NEXT).column("event_id").to_pylist() == ["a", "b", "c"]
    assert read_crawl(settings, name, NEXT, NEXT).column("event_id").to_pylist() == ["a"]
    assert crawl_dates(settings, name) == [DAY, NEXT]


def test_two_links_of_one_event_are_two_rows(settings: Settings) -> None:
    append_rows(settings, "links", [row("links", link_number=number) for number in (2, 1, 2)])
    assert read_crawl(settings, "links", DAY, DAY).column("link_number").to_pylist() == [1, 2]


def test_all_urls_of_a_body_are_kept(settings: Settings) -> None:
    pages = [("1", "aa", "https://b.example/"), ("2", "aa", "https://a.example/"), ("3", "bb", "https://c.example/")]
    append_rows(settings, "documents", [row("documents", event_id=i, content_hash=h, url=u) for i, h, u in pages])
    assert list(urls_by_hash(settings, DAY, DAY)) == [
        ("aa", ["https://a.example/", "https://b.example/"]),
        ("bb", ["https://c.example/"]),
    ]
    assert list(urls_by_hash(settings, NEXT, NEXT)) == []
