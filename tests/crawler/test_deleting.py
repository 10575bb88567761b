"""An opt-out carried out everywhere, class by class, and remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler import deleting
from crawler.deleting import delete_everywhere
from crawler.frontier.outbox import undelivered, undelivered_count
from crawler.frontier.reading import status_of
from crawler.frontier.suppressing import OptOut, suppress
from crawler.relay import relay
from crawler.store import BodyMissingError, BodyStore
from domain.errors import UsageError, WriterBusyError
from domain.settings import Settings
from domain.suppressions import SuppressionKind
from tests.crawler.test_relay import told
from tests.support.crawl_world import Crawl
from tests.support.stored_pages import fail_one, lease_of, store_page
from warehouse.crawl_rows import CRAWL_LOCK
from warehouse.layout import open_table
from warehouse.locks import writer_lock

OURS, SHARED, OTHERS = b"<title>ours</title><a href=/y>y</a>", b"<title>of both</title>x", b"<title>theirs</title>"
A, B = "https://a.big.example/", "https://b.other.example/"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def store(crawl: Crawl) -> BodyStore:
    return BodyStore(crawl.bodies, 1_000_000)


def is_kept(store: BodyStore, digest: str) -> bool:
    try:
        store.get(digest)
    except BodyMissingError:
        return False
    return True


def fill(crawl: Crawl, store: BodyStore, settings: Settings) -> tuple[str, str, str]:
    """Two pages of a, two of b, one body of both; half of each delivered, and an attempt that failed."""
    hashes = []
    for round_, (of_a, of_b) in enumerate(((OURS, OTHERS), (SHARED, SHARED))):
        for url, body in ((f"{A}{round_}", of_a), (f"{B}{round_}", of_b)):
            crawl.pass_seconds(10)
            crawl.seed(url)
            hashes.append(store_page(crawl, store, body))
        if round_ == 0:
            relay(crawl.frontier, settings)
    crawl.pass_seconds(10)
    crawl.seed(f"{A}failed")
    fail_one(crawl.frontier, lease_of(crawl))
    return hashes[0], hashes[2], hashes[1]


COVERING: list[tuple[SuppressionKind, str]] = [
    ("prefix", A),
    ("host", "a.big.example"),
    ("registrable_domain", "big.example"),
]


@pytest.mark.parametrize(("kind", "pattern"), COVERING)
def test_nothing_of_it_is_left_and_nothing_else_is_gone(
    crawl: Crawl, store: BodyStore, settings: Settings, kind: SuppressionKind, pattern: str
) -> None:
    ours, shared, theirs = fill(crawl, store, settings)
    suppression = suppress(crawl.frontier, OptOut(kind, pattern, "asked", "mail", "ann"))
    counts = delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann")
    assert counts | {"url_events": 0} == {
        **{"bodies": 1, "outbox": 2, "documents": 2, "requests": 0, "url_events": 0, "urls": 3},
        **{"listings": 0, "samples": 0},
        **{"delivered_documents": 1, "delivered_links": 1, "delivered_fetch_log": 1, "delivered_near_duplicates": 0},
    }
    assert [is_kept(store, digest) for digest in (ours, shared, theirs)] == [False, True, True]
    assert [event.payload["url"] for event in undelivered(crawl.frontier)] == [f"{B}1"]
    relay(crawl.frontier, settings)
    assert told(settings, "documents", "url") == [(f"{B}0",), (f"{B}1",)]
    assert told(settings, "fetch_log", "url") == [(f"{B}0",), (f"{B}1",)]
    assert told(settings, "links", "url") == []
    crawl.seed(f"{A}0")
    (kept,) = status_of(crawl.frontier, pattern if kind != "prefix" else A[:-1]).suppressions
    assert kept["refused_count"] == 1
    assert {row["data_class"]: row["row_count"] for row in kept["deletions"]} == counts


def test_of_a_single_url_the_others_of_its_host_stay(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    ours, *_ = fill(crawl, store, settings)
    suppression = suppress(crawl.frontier, OptOut("url", f"{A}1", "asked", "mail", "ann"))
    counts = delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann")
    assert (counts["urls"], counts["bodies"], counts["delivered_documents"]) == (1, 0, 0)
    assert is_kept(store, ours)
    assert told(settings, "documents", "url") == [(f"{A}0",), (f"{B}0",)]


def test_a_quote_in_a_pattern_is_a_quote(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    crawl.seed(f"{A}it's", f"{B}1")
    store_page(crawl, store, OURS)
    store_page(crawl, store, OTHERS)
    relay(crawl.frontier, settings)
    suppression = suppress(crawl.frontier, OptOut("prefix", f"{A}it's", "asked", "mail", "ann"))
    counts = delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann")
    assert counts["delivered_documents"] == 1
    assert told(settings, "documents", "url") == [(f"{B}1",)]


def test_what_died_is_finished_by_the_next_call(
    crawl: Crawl, store: BodyStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after the frontier's rows, before the tables'."""
    fill(crawl, store, settings)
    suppression = suppress(crawl.frontier, OptOut("host", "a.big.example", "asked", "mail", "ann"))

    def die(*_arguments: object) -> dict[str, int]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(deleting, "delete_pages", die)
        with pytest.raises(KeyboardInterrupt):
            delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann")
    assert told(settings, "documents", "url") == [(f"{A}0",), (f"{B}0",)]
    counts = delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "bob")
    assert counts["delivered_documents"] == 1
    assert told(settings, "documents", "url") == [(f"{B}0",)]


def test_nothing_is_deleted_beside_a_relay(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    """A relay that holds rows would deliver them after they were deleted."""
    fill(crawl, store, settings)
    suppression = suppress(crawl.frontier, OptOut("host", "a.big.example", "asked", "mail", "ann"))
    with writer_lock(settings, CRAWL_LOCK), pytest.raises(WriterBusyError):
        delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann", wait_seconds=0)
    assert undelivered_count(crawl.frontier) == 3


def test_old_files_of_deleted_rows_go_with_a_vacuum(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    fill(crawl, store, settings)
    suppression = suppress(crawl.frontier, OptOut("host", "a.big.example", "asked", "mail", "ann"))
    delete_everywhere(crawl.frontier, store, settings, suppression.suppression_id, "ann")
    doomed = open_table(settings, "documents").vacuum(0, dry_run=True, enforce_retention_duration=False)
    assert len(doomed) == 1


def test_only_what_was_suppressed_is_deleted(crawl: Crawl, store: BodyStore, settings: Settings) -> None:
    with pytest.raises(UsageError, match="no suppression 7"):
        delete_everywhere(crawl.frontier, store, settings, 7, "ann")
