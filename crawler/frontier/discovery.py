"""Discovery: what sitemaps and feeds list is taken in under the lease that read them, and whether it still finds any.

Belongs here: the transactions of listings, and the alert where nothing new was found for a whole window. Reading
listings is ``crawler/listings.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from crawler.frontier.adding import CHUNK, Added, Candidate, add_within
from crawler.frontier.alerts import NO_NEW_URLS_ALERT, close_alert, raise_alert
from crawler.frontier.budgets import Newcomer, record_cuts
from crawler.frontier.database import Frontier, now_of
from crawler.frontier.leases import Completion, complete_within, is_held, lost
from crawler.frontier.outbox import Fetched, post
from crawler.frontier.schema import URLS
from crawler.frontier.trap_schema import LISTINGS
from domain.buckets import format_utc, from_unix_micros
from domain.crawl_states import Lease
from domain.listings import Listing

WHOLE_CRAWL = "the crawl"


class Taken(NamedTuple):
    """What became of a listing's entries. ``too_deep`` are listings within it that are cut."""

    listing: Listing
    added_count: int
    too_deep: list[Candidate]


class _LostError(Exception):
    """Takes the transaction back; stays in this file."""


def add_under(frontier: Frontier, lease: Lease, candidates: Sequence[Candidate]) -> list[Added]:
    """Takes candidates in, a transaction each few hundred, each only while the lease is held. ``StaleLeaseError``.

    Repeatable: what is in already is known.
    """
    added: list[Added] = []
    try:
        for at in range(0, len(candidates), CHUNK):
            with frontier.writing() as connection:
                chunk = candidates[at : at + CHUNK]
                added += add_within(connection, frontier, chunk, lease.owner, (lease.bucket_id, lease.group_id))
                _check_held(connection, lease)
    except _LostError:
        raise lost(frontier, lease, "add") from None
    return added


def commit_listing(frontier: Frontier, lease: Lease, done: Completion, taken: Taken) -> None:
    """Completes the URL of a listing whose entries are taken in, and keeps what came of reading it.

    Atomic; ``StaleLeaseError`` if the lease was lost.
    """
    with frontier.writing() as connection:
        is_ours = complete_within(connection, lease, done)
        if is_ours:
            now = now_of(connection)
            cut = [
                Newcomer(one.identity.url, lease.bucket_id, lease.origin, one.depth, one.source)
                for one in taken.too_deep
            ]
            record_cuts(connection, cut, {one.url: "trap_listing_depth" for one in cut}, now)
            listing = taken.listing
            row = {"url_id": lease.url_id, "read_at": now, "kind": listing.kind, "end_reason": listing.end}
            listed = len(listing.pages) + len(listing.listings)
            connection.execute(insert(LISTINGS), [row | {"listed_count": listed, "added_count": taken.added_count}])
            post(connection, frontier, lease, Fetched("listing", done.reason, done.detail, done.trace))
    if not is_ours:
        raise lost(frontier, lease, "complete")


def watch_discovery(frontier: Frontier, window_micros: int) -> bool:
    """Raises the alert where listings were read all through the last window, and no URL was new in it.

    Closes it once one is. Windows are aligned, so that all workers see the same. Repeatable; whether it is raised.
    """
    with frontier.writing() as connection:
        now = now_of(connection)
        end = now - now % window_micros
        start = end - window_micros
        newest = connection.execute(select(URLS.c.added_at).order_by(URLS.c.url_id.desc()).limit(1)).scalar()
        if newest is None or newest >= start:
            close_alert(connection, NO_NEW_URLS_ALERT, WHOLE_CRAWL, now)
            return False
        is_within = (LISTINGS.c.read_at >= start) & (LISTINGS.c.read_at < end)
        if connection.execute(select(LISTINGS.c.listing_id).where(is_within).limit(1)).first() is None:
            return False
        window = f"{format_utc(from_unix_micros(start))} to {format_utc(from_unix_micros(end))}"
        detail = f"no new URL from {window}, although sitemaps or feeds were read"
        raise_alert(connection, NO_NEW_URLS_ALERT, WHOLE_CRAWL, detail, now)
        return True


def _check_held(connection: Connection, lease: Lease) -> None:
    if not is_held(connection, lease):
        raise _LostError
