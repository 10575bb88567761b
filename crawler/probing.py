"""One made-up path of an origin, asked for once, to know how it says that a page is not there.

Belongs here: when that is worth a request, the path, and what its answer means. The request spends the bucket of the
origin like any other. Comparing pages with it is ``domain/soft_404.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256

from crawler.parse import HTML_TYPES, PageSource
from crawler.parse_worker import ParseOutcome
from crawler.robots import Asks
from crawler.urls import normalise
from domain.crawl_states import Lease
from domain.frontier import UrlIdentity
from domain.soft_404 import missing_page_of

PROBED_DEPTH = 3
"""Spaces without end are deep; an origin with fewer levels needs no probe."""
PATH_CHARACTERS = 24


def is_probe_due(lease: Lease) -> bool:
    """Whether nobody has looked, and the page is one that an endless space could have."""
    return lease.missing_page is None and lease.depth >= PROBED_DEPTH


def probed_url(lease: Lease) -> UrlIdentity:
    """A path that nobody can have made, another one each time."""
    made_up = sha256(f"{lease.url} {lease.fence} {lease.claimed_at}".encode()).hexdigest()[:PATH_CHARACTERS]
    return normalise(f"/{made_up}", lease.origin)


async def read_missing_page(
    asks: Asks, url: UrlIdentity, token: str, parse: Callable[[PageSource], Awaitable[ParseOutcome]]
) -> str | None:
    """What the origin says there; None if it said nothing that can be judged, and may be asked another time.

    The caller was permitted this request.
    """
    outcome = await asks.fetch(url)
    if outcome.reason in {"client_error", "redirected"}:
        return missing_page_of(None, url.url)
    if outcome.reason != "fetched" or outcome.answer is None or outcome.answer.media_type not in HTML_TYPES:
        return None
    answer = outcome.answer
    source = PageSource(url.url, outcome.body, answer.media_type or "", answer.content_type, answer.robots_tags, token)
    parsed = await parse(source)
    return missing_page_of(parsed.page.text, url.url) if parsed.page else None
