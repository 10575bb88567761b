"""The commit of a page that was fetched: its URL, its document and its links, in one transaction under the fence.

Belongs here: what goes together or not at all. The body is in the store of bodies before this is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert

from crawler.frontier.adding import Added, Candidate, add_within
from crawler.frontier.budgets import Newcomer, record_cuts
from crawler.frontier.database import Frontier, now_of
from crawler.frontier.leases import Completion, complete_within, lost
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


class _LostError(Exception):
    """Takes the transaction back; stays in this file."""


def commit_page(
    frontier: Frontier, lease: Lease, done: Completion, document: Document | None, links: Sequence[Candidate]
) -> list[Added]:
    """Completes the URL, keeps its document, if it has one, and takes its links in; what became of each link.

    Atomic: all of it, or after ``StaleLeaseError`` nothing. Not repeatable once it succeeded.
    """
    try:
        with frontier.writing() as connection:
            added = add_within(connection, frontier, links, lease.owner, (lease.bucket_id, lease.group_id))
            _complete(connection, lease, done)
            if done.reason == SOFT_404:
                page = Newcomer(lease.url, lease.bucket_id, lease.origin, lease.depth, lease.source)
                record_cuts(connection, [page], {lease.url: SOFT_404}, now_of(connection))
            if document is not None:
                row = {"url_id": lease.url_id, "url": lease.url, "fence": lease.fence, "fetched_at": now_of(connection)}
                connection.execute(insert(DOCUMENTS), [row | document._asdict()])
            return added
    except _LostError:
        raise lost(frontier, lease, "complete") from None


def _complete(connection: Connection, lease: Lease, done: Completion) -> None:
    if not complete_within(connection, lease, done):
        raise _LostError
