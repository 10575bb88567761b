"""Pages that were fetched without a network: leases, and commits of them with a body, for tests of what comes after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from crawler.contents import contents_of
from crawler.frontier.database import Frontier
from crawler.frontier.leases import Completion, Failure, fail
from crawler.frontier.storing import Contents, Document, Stored, commit_page
from crawler.parse import PageSource, parse_page
from crawler.parse_worker import ParseOutcome
from crawler.store import BodyStore
from domain.crawl_states import Lease
from domain.recrawl import after_visit
from tests.support.frontiers import FrontierWorld

HASH = "ab" * 32
BODY = b"<!doctype html><title>a title</title><p>one two three four five</p><a href='/x'>a link</a>"
TOKEN = "tallystick-test"


def lease_of(world: FrontierWorld) -> Lease:
    """One lease of what can be claimed."""
    return world.lease()


def facts_of(url: str, body: bytes = BODY) -> Contents:
    """What the tables are told of that body."""
    source = PageSource(url, body, "text/html", "text/html; charset=utf-8", (), TOKEN)
    return contents_of(source, ParseOutcome("parsed", parse_page(source)), "fetched")


def commit(
    frontier: Frontier,
    lease: Lease,
    *,
    body: bytes = BODY,
    content_hash: str = HASH,
    links: Sequence[Sequence[Any]] | None = None,
    keep_body: Callable[[], None] = int,
    next_in_micros: int | None = None,
    is_new: bool = True,
) -> None:
    """Commits the lease as a page with that body, planned never again if nothing else is said."""
    contents = facts_of(lease.url, body)
    if links is not None:
        contents = contents._replace(links=links)
    title = contents.facts["title"]
    document = Document(200, content_hash, len(body), "text/html", "fetched", "parsed", title)
    seen = after_visit(lease.seen, lease.claimed_at, content_hash)
    done = Completion("fetched" if is_new else "unchanged", 0, next_in_micros, seen=seen)
    commit_page(frontier, lease, done, Stored(document, contents, keep_body, is_new), ())


def store_page(world: FrontierWorld, store: BodyStore, body: bytes = BODY) -> str:
    """Claims one URL and commits it with a body that is in the store; the body's hash."""
    digest = store.put(body)
    commit(world.frontier, lease_of(world), body=body, content_hash=digest)
    return digest


def fail_one(frontier: Frontier, lease: Lease) -> None:
    """Ends the lease with a failure that is tried again."""
    fail(frontier, lease, Failure("transient", "idle_timeout"))
