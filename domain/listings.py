"""Sitemaps and feeds as lists of URLs: how much of one is believed, and what a date in it is worth.

Belongs here: caps, the record of a listing, and the priority of what it lists. Reading its XML is
``crawler/listings.py``.
"""

from __future__ import annotations

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from domain.buckets import parse_utc, to_unix_micros

LISTING_SOURCES = frozenset({"sitemap", "feed"})
"""Of URLs that are read as listings, not as pages."""
MOST_LISTED = 50_000
"""URLs of one file, as the protocol has it."""
MOST_ELEMENTS = 1_000_000
MOST_NESTED = 64
"""Elements within each other; honest listings have five."""
MOST_TOKEN_BYTES = 1024 * 1024
"""Of one tag or comment: what has not ended is looked at again with every piece that comes."""
MOST_DECODED_BYTES = 50 * 1024 * 1024
"""As the protocol has it; after decompression, whoever did it."""
MOST_LISTING_DEPTH = 3
"""Indexes within each other."""
MOST_SITEMAPS_OF_ROBOTS = 50
MOST_FEEDS_OF_PAGE = 10
LISTING_PRIORITY = 60
"""A sitemap comes before pages that have waited up to an hour longer."""
FRESH_PRIORITY = 30
FRESH_MICROS = 7 * 86_400 * 1_000_000
_MAX_DATE_CHARACTERS = 64
_DATE_CHARACTERS = 10

ListingKind = Literal["urlset", "sitemapindex", "feed", "unknown"]
ListingEnd = Literal[
    "read", "unchanged", "not_well_formed", "doctype_refused", "too_many_urls", "too_many_elements", "too_nested",
    "token_too_long", "decoded_too_large", "bad_coding", "not_a_listing",
]  # fmt: skip
"""Why the reading of a listing ended; but for ``not_a_listing`` and ``unchanged``, what came before counts."""


class Listed(NamedTuple):
    """One entry: the raw text of its URL, and of its date, if it has one."""

    raw_url: str
    dated: str = ""


class Listing(NamedTuple):
    """What a file lists: pages, and for an index other files."""

    kind: ListingKind
    pages: tuple[Listed, ...]
    listings: tuple[Listed, ...]
    end: ListingEnd


def priority_of(dated: str, now: int) -> int:
    """A hint and no more: what says that it changed within a week comes a little sooner, if it is new."""
    at = _instant(dated.strip())
    return FRESH_PRIORITY if at is not None and 0 <= now - at <= FRESH_MICROS else 0


def _instant(text: str) -> int | None:
    if not text or len(text) > _MAX_DATE_CHARACTERS:
        return None
    try:
        return to_unix_micros(parse_utc(f"{text}T00:00Z" if len(text) == _DATE_CHARACTERS else text))
    except ValueError:
        pass  # feeds have the dates of mail
    try:
        at: datetime = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return to_unix_micros(at) if at.tzinfo else None
