"""A page that was visited before: what to ask for, whether it changed, and what proves that its validators lie.

Belongs here: decisions about one visit, and the one request more that proves a lie. The arithmetic of intervals is
``domain/recrawl.py``, links and failures are ``crawler/judging.py``.
"""

from __future__ import annotations

from typing import Literal

from crawler.judging import kept_validators, validators_of
from crawler.outcomes import FetchOutcome, Validators
from crawler.reading import NO_VALIDATORS
from crawler.robots import Admit, Asks
from crawler.urls import normalise
from domain.crawl_states import Lease
from domain.recrawl import Seen, are_constant, is_sampled

_SHOWN_CHARACTERS = 80

Change = Literal["unknown", "changed", "unchanged"]


def asked_validators(lease: Lease, unconditional_per_mille: int) -> Validators:
    """What to send along: nothing where the origin's validators lie, or where this visit is to test them."""
    if lease.is_distrusted or is_sampled(lease.url, lease.fence, unconditional_per_mille):
        return NO_VALIDATORS
    return validators_of(lease)


def change_of(lease: Lease, outcome: FetchOutcome, content_hash: str) -> Change:
    """Whether a body is another one than last time, by its hash; unknown where one of the two is not whole."""
    if not outcome.is_complete or lease.seen.content_hash is None:
        return "unknown"
    return "unchanged" if content_hash == lease.seen.content_hash else "changed"


async def proven_lie(asks: Asks, admit: Admit, lease: Lease, outcome: FetchOutcome, is_conditional: bool) -> str | None:
    """Proof that the origin's validators lie, of a page that has another body than before; None where there is none.

    Where it was asked without them, and has others now, it is asked once more, with the old ones: whoever answers that
    with 304 would never have told.
    """
    asked = validators_of(lease)
    shown = f"{(lease.etag or lease.last_modified or '')[:_SHOWN_CHARACTERS]} at {lease.url}"
    if are_constant((lease.etag, lease.last_modified), kept_validators(outcome)):
        return f"constant_validators {shown}"
    if is_conditional or lease.is_distrusted or asked == NO_VALIDATORS:
        return None
    url = normalise(lease.url)
    await admit(url)
    again = await asks.fetch(url, asked)
    return f"false_not_modified {shown}" if again.reason == "not_modified" else None


def without_body(lease: Lease) -> Seen:
    """The history after an answer that has no body to compare with."""
    return lease.seen._replace(visited_at=lease.claimed_at, content_hash=None)
