"""A visit of a sitemap or feed: which of its entries become candidates, and taking them in.

Belongs here: limits of the request, scope, priority and depth of entries. Reading the bytes is ``crawler/listings.py``,
the transactions are ``crawler/frontier/discovery.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from crawler.frontier.adding import Candidate
from crawler.frontier.database import Frontier
from crawler.frontier.discovery import Taken, add_under
from crawler.judging import is_in_scope
from crawler.listings import read_listing
from crawler.outcomes import FetchLimits, FetchOutcome
from crawler.urls import UrlRefusedError, normalise
from domain.buckets import to_unix_micros
from domain.crawl_states import Lease
from domain.frontier import UrlIdentity
from domain.listings import (
    LISTING_PRIORITY,
    MOST_DECODED_BYTES,
    MOST_LISTING_DEPTH,
    MOST_SITEMAPS_OF_ROBOTS,
    Listed,
    Listing,
    priority_of,
)

LISTING_LIMITS = FetchLimits(decoded_bytes=MOST_DECODED_BYTES, types=None)
UNCHANGED = Listing("unknown", (), (), "unchanged")
"""A listing with the bytes of last time, whose entries are known."""


async def take_listing(frontier: Frontier, lease: Lease, outcome: FetchOutcome, scope: str, is_known: bool) -> Taken:
    """Reads a listing and takes in what it names, under the lease. ``StaleLeaseError`` if that was lost."""
    listing = UNCHANGED if is_known else await asyncio.to_thread(read_listing, outcome.body)
    pages, listings = listing_candidates(lease, listing, scope, to_unix_micros(outcome.request.ended_at))
    is_too_deep = lease.depth >= MOST_LISTING_DEPTH
    added = await asyncio.to_thread(add_under, frontier, lease, pages if is_too_deep else pages + listings)
    added_count = sum(one.outcome == "added" for one in added)
    return Taken(listing, added_count, listings if is_too_deep else [])


def listing_candidates(lease: Lease, listing: Listing, scope: str, now: int) -> tuple[list[Candidate], list[Candidate]]:
    """The pages and the further listings that a listing names, in the scope of its own URL, each once."""
    page = normalise(lease.url)
    depth = lease.depth + 1
    pages = [
        Candidate(
            url,
            one.raw_url,
            "sitemap_entry" if lease.source == "sitemap" else "feed_entry",
            priority_of(one.dated, now),
            depth,
        )
        for one, url in _identities(listing.pages, page, scope)
    ]
    listings = [
        Candidate(url, one.raw_url, "sitemap", LISTING_PRIORITY, depth)
        for one, url in _identities(listing.listings, page, scope)
    ]
    return pages, listings


def listing_reason(listing: Listing, outcome: FetchOutcome) -> str:
    """The reason code with which the visit of a listing ends: of what was cut, where it was cut."""
    if not outcome.is_complete:
        return outcome.reason
    return listing.end if listing.end in {"unchanged", "read"} else f"listing_{listing.end}"


def sitemaps_of_robots(lease: Lease, raw_urls: Iterable[str], scope: str) -> list[Candidate]:
    """The sitemaps that a robots.txt names, as candidates, the first few of them."""
    page = normalise(lease.url)
    named = [Listed(raw) for raw in list(raw_urls)[:MOST_SITEMAPS_OF_ROBOTS]]
    return [Candidate(url, one.raw_url, "sitemap", LISTING_PRIORITY, 0) for one, url in _identities(named, page, scope)]


def _identities(listed: Iterable[Listed], page: UrlIdentity, scope: str) -> Iterator[tuple[Listed, UrlIdentity]]:
    seen = {page.url}
    for one in listed:
        try:
            url = normalise(one.raw_url, page.url)
        except UrlRefusedError:
            continue
        if url.url not in seen and is_in_scope(page, url, scope):
            seen.add(url.url)
            yield one, url
