"""The commit of a page that was fetched: its URL, its document, its links and what is told of it, in one transaction
under the fence.

Belongs here: what goes together or not at all. The body is in the store of bodies before this is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert

from crawler.frontier.adding import Added, Candidate, add_within
from crawler.frontier.budgets import Newcomer, record_cuts
from crawler.frontier.database import Frontier, now_of, use_documents
from crawler.frontier.leases import Completion, complete_within, lost
from crawler.frontier.outbox import Fetched, post
from crawler.frontier.schema import DOCUMENTS
from domain.crawl_states import Lease
from domain.traps import TrapReason

SOFT_404: TrapReason = "trap_soft_404"
"""A page with this reason is counted as a cut."""


class Document(NamedTuple):
    """A body that was fetched and stored. Only with ``fetch_reason`` ``fetched`` it is whole."""

    status: int
    content_hash: str
    body_bytes: int
    media_type: str
    fetch_reason: str
    parse_reason: str
    title: str


class Contents(NamedTuple):
    """What else is told of a document: facts by their names in table ``documents``, and its links."""

    facts: Mapping[str, Any]
    links: Sequence[Sequence[Any]]
    index_reason: str


class Stored(NamedTuple):
    """A document, what is told of it, and what sees to it that its body is in the store when it is committed."""

    document: Document
    contents: Contents
    keep_body: Callable[[], None]
    is_new: bool = True
    """False where it is what the last visit found: then only its body is kept."""


class _LostError(Exception):
    """Takes the transaction back; stays in this file."""


def commit_page(
    frontier: Frontier, lease: Lease, done: Completion, stored: Stored | None, links: Sequence[Candidate]
) -> list[Added]:
    """Completes the URL, keeps its document, if it has a new one, and takes its links in; what became of each link.

    ``keep_body`` is called last, when nobody can delete the body any more. Atomic: all of it, or after
    ``StaleLeaseError`` nothing. Not repeatable once it succeeded.
    """
    try:
        with frontier.writing() as connection:
            added = add_within(connection, frontier, links, lease.owner, (lease.bucket_id, lease.group_id))
            _complete(connection, lease, done)
            if done.reason == SOFT_404:
                page = Newcomer(lease.url, lease.bucket_id, lease.origin, lease.depth, lease.source)
                record_cuts(connection, [page], {lease.url: SOFT_404}, now_of(connection))
            post(connection, frontier, lease, _fetched(done, stored))
            if stored is not None:
                use_documents(connection)
                if stored.is_new:
                    row = {"url_id": lease.url_id, "url": lease.url, "fence": lease.fence}
                    row |= {"fetched_at": now_of(connection), **stored.document._asdict()}
                    connection.execute(insert(DOCUMENTS), [row])
                stored.keep_body()
            return added
    except _LostError:
        raise lost(frontier, lease, "complete") from None


def _fetched(done: Completion, stored: Stored | None) -> Fetched:
    if stored is None or not stored.is_new:
        return Fetched("unchanged" if stored else done.reason, done.reason, done.detail, done.trace)
    document, contents = stored.document, stored.contents
    stages = [("parse", document.parse_reason), ("store", "stored"), ("index", contents.index_reason)]
    told = {**document._asdict(), **contents.facts}
    return Fetched("page", document.fetch_reason, done.detail, done.trace, told, contents.links, stages)


def _complete(connection: Connection, lease: Lease, done: Completion) -> None:
    if not complete_within(connection, lease, done):
        raise _LostError
