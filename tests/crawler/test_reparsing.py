"""Parsing stored bodies again: the same rows from the same parser, others from another, never the network."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from crawler import reparsing
from crawler.parse import PageSource, parse_page
from crawler.parse_worker import ParseOutcome, ParseWorker
from crawler.relay import relay
from crawler.reparsing import reparse
from crawler.store import BodyStore
from domain.errors import UsageError
from domain.settings import Settings
from tests.crawler.test_relay import ALWAYS, told
from tests.support.crawl_world import Crawl
from tests.support.stored_pages import BODY, store_page
from warehouse.crawl_documents import read_crawl
from warehouse.layout import open_table

A, B = "https://a.example/", "https://b.example/"
OTHER = b"<title>other</title><a href='/y'>y</a><a href='/z'>z</a>"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def store(crawl: Crawl, settings: Settings) -> BodyStore:
    """A store with two pages, which are delivered."""
    store = BodyStore(crawl.bodies, 1_000_000)
    for url, body in ((A, BODY), (B, OTHER)):
        crawl.seed(url)
        store_page(crawl, store, body)
    relay(crawl.frontier, settings)
    return store


def versions(settings: Settings) -> tuple[int, int]:
    return open_table(settings, "documents").version(), open_table(settings, "links").version()


def parse_otherwise(source: PageSource) -> ParseOutcome:
    """Another parser: it finds no link and another title."""
    return ParseOutcome("parsed", replace(parse_page(source), title="otherwise", links=()))


def test_the_same_parser_makes_the_same_rows_and_writes_nothing(settings: Settings, store: BodyStore) -> None:
    written_as = versions(settings)
    with ParseWorker() as parser:
        (done,) = reparse(settings, store, parser.parse, *ALWAYS)
    assert (done.document_count, done.changed_count, done.missing_count) == (2, 0, 0)
    assert versions(settings) == written_as


def test_another_parser_replaces_rows_under_the_same_events(settings: Settings, store: BodyStore) -> None:
    before = told(settings, "documents", "event_id", "url", "content_hash")
    (done,) = reparse(settings, store, parse_otherwise, *ALWAYS)
    assert done.changed_count == 2
    assert told(settings, "documents", "url", "title", "link_count") == [(A, "otherwise", 0), (B, "otherwise", 0)]
    assert told(settings, "links", "url") == []
    assert told(settings, "documents", "event_id", "url", "content_hash") == before
    list(reparse(settings, store, lambda source: ParseOutcome("parsed", parse_page(source)), *ALWAYS))
    assert told(settings, "links", "url", "link_number") == [(A, 1), (B, 1), (B, 2)]


def test_what_died_between_two_tables_is_finished(
    settings: Settings, store: BodyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = reparsing.replace_date

    def die(of: Settings, name: str, *arguments: object) -> None:
        if name == "documents":
            raise KeyboardInterrupt
        real(of, name, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(reparsing, "replace_date", die)
        with pytest.raises(KeyboardInterrupt):
            list(reparse(settings, store, parse_otherwise, *ALWAYS))
    assert (told(settings, "links", "url"), len(told(settings, "documents", "url"))) == ([], 2)
    list(reparse(settings, store, parse_otherwise, *ALWAYS))
    assert told(settings, "documents", "title") == [("otherwise",), ("otherwise",)]


def test_a_document_whose_body_is_gone_keeps_its_rows(settings: Settings, store: BodyStore) -> None:
    rows = {row["url"]: row for row in read_crawl(settings, "documents", *ALWAYS).to_pylist()}
    store.discard(rows[B]["content_hash"])
    (done,) = reparse(settings, store, parse_otherwise, *ALWAYS)
    assert (done.changed_count, done.missing_count) == (1, 1)
    assert told(settings, "documents", "url", "title") == [(A, "otherwise"), (B, "other")]
    assert told(settings, "links", "url", "link_number") == [(B, 1), (B, 2)]


def test_other_dates_stay(settings: Settings, store: BodyStore) -> None:
    assert list(reparse(settings, store, parse_otherwise, date(2000, 1, 1), date(2000, 12, 31))) == []
    with pytest.raises(UsageError, match="no earlier"):
        list(reparse(settings, store, parse_otherwise, date(2001, 1, 1), date(2000, 1, 1)))
