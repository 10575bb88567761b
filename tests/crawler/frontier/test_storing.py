"""The commit of a page: URL, document and links together, or nothing."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from crawler.frontier.adding import Candidate
from crawler.frontier.leases import Completion
from crawler.frontier.schema import DOCUMENTS
from crawler.frontier.storing import Document, Stored, commit_page
from crawler.frontier.suppressing import OptOut, delete_suppressed, suppress
from crawler.frontier.sweeping import sweep
from domain.crawl_states import Lease, StaleLeaseError
from tests.support.frontiers import GAP_SECONDS, LEASE_SECONDS, FrontierWorld, identity
from tests.support.stored_pages import facts_of

A, LINK, OTHER = "https://a.example/", "https://a.example/x", "https://new.a.example/"
BODY = Document(200, "ab" * 32, 7, "text/html", "fetched", "parsed", "a title")
STORED = Stored(BODY, facts_of(A), int)


def commit(world: FrontierWorld, lease: Lease, *links: str) -> list[str]:
    candidates = [Candidate(identity(url), url, "link", 0, 1) for url in links]
    done = Completion("fetched", 0, 1_000_000, '"v"')
    return [one.outcome for one in commit_page(world.frontier, lease, done, STORED, candidates)]


def documents(world: FrontierWorld) -> list[tuple[object, ...]]:
    with world.frontier.reading() as connection:
        rows = connection.execute(select(DOCUMENTS.c.url, DOCUMENTS.c.content_hash, DOCUMENTS.c.title))
        return [tuple(row) for row in rows]


def test_a_page_its_document_and_its_links_come_together(world: FrontierWorld) -> None:
    world.add(A)
    assert commit(world, world.lease(), LINK, A, OTHER) == ["added", "known", "added"]
    assert documents(world) == [(A, BODY.content_hash, "a title")]
    assert (world.url(A)["state"], world.url(A)["etag"]) == ("waiting", '"v"')
    assert (world.url(LINK)["state"], world.url(LINK)["depth"], world.url(LINK)["source"]) == ("ready", 1, "link")
    assert world.origin("https://new.a.example")["ready_count"] == 1


def test_a_stale_commit_leaves_nothing(world: FrontierWorld) -> None:
    """C9: the lease ran out and another worker has the page; not even the new origin of a link stays."""
    world.add(A)
    slept = world.lease()
    world.pass_seconds(LEASE_SECONDS + GAP_SECONDS + 1)
    sweep(world.frontier, "s")
    held = world.lease("w2")
    with pytest.raises(StaleLeaseError):
        commit(world, slept, LINK, OTHER)
    assert documents(world) == []
    with pytest.raises(Exception, match="No row"):
        world.origin("https://new.a.example")
    assert world.events(A)[-1] == ("", "stale_commit")
    assert commit(world, held, LINK) == ["added"]
    assert documents(world) == [(A, BODY.content_hash, "a title")]


def test_documents_go_with_an_opt_out(world: FrontierWorld) -> None:
    world.add(A)
    commit(world, world.lease())
    suppression = suppress(world.frontier, OptOut("host", "a.example", "asked", "mail", "ann"))
    assert delete_suppressed(world.frontier, suppression.suppression_id, "ann")["documents"] == 1
    assert documents(world) == []
