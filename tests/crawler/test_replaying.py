"""Results replayed from the spool: committed once, under their own fence or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select, text

from crawler.frontier.adding import Candidate
from crawler.frontier.database import FrontierUnavailableError
from crawler.frontier.leases import Completion, Failure
from crawler.frontier.outbox import Trace, undelivered
from crawler.frontier.requests import receipt_of
from crawler.frontier.schema import URL_EVENTS
from crawler.frontier.storing import Document, Stored
from crawler.frontier.suppressing import OptOut, suppress
from crawler.frontier.sweeping import sweep
from crawler.replaying import failure_entry, page_entry, replay, request_entry
from crawler.spool import Spool
from crawler.store import BodyStore
from domain.crawl_states import Lease
from domain.receipts import RequestRow
from domain.recrawl import Seen, after_visit
from tests.support.crawl_world import FOREVER, Crawl
from tests.support.frontiers import identity
from tests.support.stored_pages import BODY, facts_of, lease_of

A, LINK = "https://a.example/", "https://a.example/x"
TRACE = Trace(1_000_000, 2_000_000, 200, 77)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "spool", "w1", 1_000_000) as spool:
        yield spool


@pytest.fixture
def store(crawl: Crawl) -> BodyStore:
    return BodyStore(crawl.bodies, 1_000_000)


def spool_page(spool: Spool, store: BodyStore, lease: Lease) -> str:
    digest = store.put(BODY)
    document = Document(200, digest, len(BODY), "text/html", "fetched", "parsed", "a title")
    stored = Stored(document, facts_of(lease.url), partial(store.keep, digest, BODY))
    done = Completion("fetched", 5, 60_000_000, '"v"', None, "said", TRACE, after_visit(Seen(), 7, digest))
    assert spool.keep(page_entry(lease, done, stored, [Candidate(identity(LINK), LINK, "link", 0, 1)]), 0)
    return digest


def stale_count(crawl: Crawl) -> int:
    with crawl.frontier.reading() as connection:
        stale = select(URL_EVENTS.c.event_id).where(URL_EVENTS.c.reason == "stale_commit")
        return len(connection.execute(stale).all())


def test_a_page_is_committed_as_it_would_have_been(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    crawl.seed(A)
    lease = lease_of(crawl)
    digest = spool_page(spool, store, lease)
    spool.keep(request_entry(lease, RequestRow(1_000_000, 2_000_000, 200)), 0)
    assert replay(crawl.frontier, store, spool) == 2
    assert spool.is_empty
    assert (crawl.documents(), crawl.said(A), crawl.url(A)["etag"]) == ({A: "a title"}, ("waiting", "fetched"), '"v"')
    assert crawl.said(LINK) == ("ready", "added")
    assert (crawl.url(A)["content_hash"], crawl.url(A)["visited_at"]) == (digest, 7)
    (event,) = undelivered(crawl.frontier)
    assert event.payload["document"] == {**facts_of(A).facts, **event.payload["document"], "content_hash": digest}
    assert (event.payload["trace"], event.payload["detail"]) == (list(TRACE), "said")
    assert receipt_of(crawl.frontier, A[:-1], 0, FOREVER).request_count == 1


def test_a_page_with_the_bytes_of_last_time_is_no_document(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    crawl.seed(A)
    digest, lease = store.put(BODY), lease_of(crawl)
    document = Document(200, digest, len(BODY), "text/html", "fetched", "parsed", "a title")
    stored = Stored(document, facts_of(A), partial(store.keep, digest, BODY), is_new=False)
    spool.keep(page_entry(lease, Completion("unchanged", 5), stored, []), 0)
    replay(crawl.frontier, store, spool)
    assert (crawl.documents(), crawl.said(A)) == ({}, ("done", "unchanged"))
    (event,) = undelivered(crawl.frontier)
    assert (event.payload["outcome"], event.payload["document"]) == ("unchanged", None)


def test_a_failure_is_committed_as_it_would_have_been(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    crawl.seed(A)
    spool.keep(failure_entry(lease_of(crawl), Failure("final", "http_410", 5, None, "gone", TRACE)), 0)
    replay(crawl.frontier, store, spool)
    assert crawl.said(A) == ("failed", "http_410")
    (event,) = undelivered(crawl.frontier)
    assert (event.payload["outcome"], event.payload["trace"]) == ("final", list(TRACE))


def test_a_lost_lease_commits_nothing(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    """C9: another worker has the page by the time the database is back."""
    crawl.seed(A)
    spool_page(spool, store, lease_of(crawl))
    crawl.pass_seconds(4)
    sweep(crawl.frontier, "s")
    (held,) = crawl.claim("w2")
    assert held.url == A
    assert replay(crawl.frontier, store, spool) == 1
    assert (crawl.documents(), undelivered(crawl.frontier), crawl.said(LINK)) == ({}, [], (None, ""))
    assert (crawl.url(A)["lease_owner"], stale_count(crawl)) == ("w2", 1)


def test_a_page_that_was_suppressed_meanwhile_commits_nothing(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    crawl.seed(A)
    spool_page(spool, store, lease_of(crawl))
    suppress(crawl.frontier, OptOut("url", A, "asked", "mail", "ann"))
    assert replay(crawl.frontier, store, spool) == 1
    assert (crawl.documents(), undelivered(crawl.frontier), crawl.url(A)["state"]) == ({}, [], "suppressed")


def test_what_the_database_does_not_take_stays_in_the_spool(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    """It is away again in the middle of a replay."""
    crawl.seed(A)
    lease = lease_of(crawl)
    spool_page(spool, store, lease)
    with crawl.frontier.writing() as connection:
        connection.execute(text("ALTER TABLE documents RENAME TO elsewhere"))
    with pytest.raises(FrontierUnavailableError):
        replay(crawl.frontier, store, spool)
    with crawl.frontier.writing() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO documents"))
    assert replay(crawl.frontier, store, spool) == 1
    assert crawl.documents() == {A: "a title"}


def test_what_is_replayed_twice_is_there_once(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    """The worker died after a commit, before it was taken off the spool."""
    crawl.seed(A)
    lease = lease_of(crawl)
    for _ in range(2):
        spool.keep(request_entry(lease, RequestRow(1_000_000, 2_000_000, 200)), 0)
        spool_page(spool, store, lease)
    assert replay(crawl.frontier, store, spool) == 4
    assert len(undelivered(crawl.frontier)) == 1
    assert receipt_of(crawl.frontier, A[:-1], 0, FOREVER).request_count == 1


def test_a_document_whose_body_is_gone_is_fetched_again(crawl: Crawl, spool: Spool, store: BodyStore) -> None:
    crawl.seed(A)
    store.discard(spool_page(spool, store, lease_of(crawl)))
    assert replay(crawl.frontier, store, spool) == 1
    assert (crawl.documents(), crawl.url(A)["state"], undelivered(crawl.frontier)) == ({}, "leased", [])
