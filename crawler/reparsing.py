"""Parses stored bodies again, without the network: the same parser makes the same rows.

Belongs here: which documents, and replacing a date where it differs. Parsing is ``crawler/parse.py``, what the tables
are told is ``crawler/contents.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from crawler.contents import contents_of
from crawler.parse import PageSource
from crawler.parse_worker import ParseOutcome
from crawler.relay import Row, link_rows
from crawler.store import BodyMissingError, BodyStore
from crawler.urls import normalise
from domain.errors import UsageError
from domain.settings import Settings
from warehouse.crawl_documents import crawl_dates, read_crawl
from warehouse.crawl_rows import replace_date, writing_crawl_tables

Parse = Callable[[PageSource], ParseOutcome]


@dataclass(frozen=True)
class Reparsed:
    """What one date came to. ``missing_count``: documents whose bodies are kept no longer; their rows stay."""

    fetch_date: date
    document_count: int
    changed_count: int
    missing_count: int


def reparse(settings: Settings, store: BodyStore, parse: Parse, first: date, last: date) -> Iterator[Reparsed]:
    """Parses the documents of these dates, both included, and replaces rows that come out otherwise; date by date.

    A date of which nothing changed is not written. A date is one commit a table, links first; what died in between
    is finished by the next call. ``UsageError`` for a range without length; ``WriterBusyError`` if another process
    writes the crawl's tables; ``IntegrityError`` for a damaged body.
    """
    if last < first:
        raise UsageError(f"dates from {first} to {last}", "an end that is no earlier", "swap them")
    with writing_crawl_tables(settings):
        for day in crawl_dates(settings, "documents"):
            if first <= day <= last:
                yield _reparse_date(settings, store, parse, day)


def _reparse_date(settings: Settings, store: BodyStore, parse: Parse, day: date) -> Reparsed:
    documents = read_crawl(settings, "documents", day, day).to_pylist()
    old_links: dict[str, list[Row]] = {}
    for link in read_crawl(settings, "links", day, day).to_pylist():
        old_links.setdefault(link["event_id"], []).append(link)
    new_documents: list[Row] = []
    new_links: list[Row] = []
    changed_count = missing_count = 0
    for document in documents:
        old = old_links.get(document["event_id"], [])
        try:
            new, links = _parsed_again(document, store.get(document["content_hash"]), parse)
        except BodyMissingError:
            missing_count += 1
            new, links = document, old
        changed_count += (new, links) != (document, old)
        new_documents.append(new)
        new_links += links
    if changed_count:
        replace_date(settings, "links", day, new_links)
        replace_date(settings, "documents", day, new_documents)
    return Reparsed(day, len(documents), changed_count, missing_count)


def _parsed_again(document: dict[str, Any], body: bytes, parse: Parse) -> tuple[Row, list[Row]]:
    source = PageSource(
        document["url"],
        body,
        document["media_type"],
        document["content_type"],
        tuple(json.loads(document["robots_tags"])),
        document["robots_token"],
    )
    contents = contents_of(source, parse(source), document["fetch_reason"])
    links = link_rows(document["event_id"], normalise(document["url"]), document["fetched_at"], contents.links)
    return {**document, **contents.facts}, links
