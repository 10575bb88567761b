"""Retention: bodies, then documents; what a kept document refers to stays; every deletion is written down."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from crawler.frontier.schema import RETENTIONS
from crawler.relay import relay
from crawler.retaining import Retained, retain
from crawler.store import BodyStore
from domain.buckets import from_unix_micros
from domain.errors import SettingError
from domain.settings import Settings
from tests.crawler.test_deleting import OTHERS, OURS, SHARED, is_kept
from tests.crawler.test_relay import told
from tests.support.crawl_world import Crawl
from tests.support.stored_pages import store_page
from warehouse.retention_steps import read_steps

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"
DAY_SECONDS = 86_400


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def store(crawl: Crawl) -> BodyStore:
    return BodyStore(crawl.bodies, 1_000_000)


def retained(crawl: Crawl, store: BodyStore, settings: Settings) -> Retained:
    return retain(crawl.frontier, store, settings, "ann", lambda: from_unix_micros(crawl.now()))


def stored(crawl: Crawl, store: BodyStore, url: str, body: bytes) -> str:
    crawl.seed(url)
    return store_page(crawl, store, body)


def test_a_body_stays_while_a_kept_document_refers_to_it(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    old = stored(crawl, store, A, OURS)
    shared = stored(crawl, store, B, SHARED)
    crawl.pass_seconds(4 * DAY_SECONDS)
    assert stored(crawl, store, C, SHARED) == shared
    assert retained(crawl, store, settings).body_count == 0
    crawl.pass_seconds(2 * DAY_SECONDS)
    done = retained(crawl, store, settings)
    assert (done.body_count, done.document_count) == (1, 0)
    assert done.body_bytes > 0
    assert (is_kept(store, old), is_kept(store, shared)) == (False, True)
    crawl.pass_seconds(4 * DAY_SECONDS)
    assert retained(crawl, store, settings).body_count == 1
    assert not is_kept(store, shared)
    with crawl.frontier.reading() as connection:
        trail = connection.execute(select(RETENTIONS.c.data_class, RETENTIONS.c.row_count, RETENTIONS.c.policy)).all()
    assert [tuple(row) for row in trail] == [("bodies", 1, "5 days"), ("bodies", 1, "5 days")]


def test_a_body_that_nobody_committed_goes_when_it_is_old(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    """A worker died between store and commit."""
    digest = store.put(OTHERS)
    retained(crawl, store, settings)
    assert is_kept(store, digest)
    (file,) = crawl.bodies.glob("??/??/*.zst")
    old = (datetime.now(UTC) - timedelta(days=6)).timestamp()  # by the clock of the disk
    os.utime(file, (old, old))
    assert retained(crawl, store, settings).body_count == 1
    assert not is_kept(store, digest)


def test_a_body_that_went_between_store_and_commit_is_put_again(crawl: Crawl, store: BodyStore) -> None:
    digest = store.put(OURS)
    store.discard(digest)
    store.keep(digest, OURS)
    assert is_kept(store, digest)


def test_documents_go_everywhere_after_their_days(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    stored(crawl, store, A, OURS)
    crawl.pass_seconds(28 * DAY_SECONDS)
    stored(crawl, store, B, OTHERS)
    relay(crawl.frontier, settings)
    crawl.pass_seconds(4 * DAY_SECONDS)
    done = retained(crawl, store, settings)
    assert (done.document_count, done.row_counts) == (
        1,
        {"documents": 1, "links": 1, "fetch_log": 1, "near_duplicates": 0},
    )
    assert crawl.documents_left() == [B]
    assert told(settings, "documents", "url") == [(B,)]
    steps = [(one.table_name, one.row_count, one.policy) for one in read_steps(settings) if one.state == "done"]
    assert steps == [(name, 1, "30 days") for name in ("documents", "links", "fetch_log")]
    assert retained(crawl, store, settings).row_counts == {
        "documents": 0,
        "links": 0,
        "fetch_log": 0,
        "near_duplicates": 0,
    }


def test_bodies_are_not_kept_longer_than_documents(crawl: Crawl, store: BodyStore, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", crawl_bodies_days=9, crawl_documents_days=8)
    with pytest.raises(SettingError, match="no more than crawl_documents_days, 8"):
        retained(crawl, store, settings)
