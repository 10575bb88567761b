"""A page that was visited before: what to ask for, whether it changed, and what proves that its validators lie.

Belongs here: decisions about one visit, pure. The arithmetic of intervals is ``domain/recrawl.py``, links and failures
are ``crawler/judging.py``.
"""

from __future__ import annotations

from typing import Literal

from crawler.judging import kept_validators, validators_of
from crawler.outcomes import FetchOutcome, Validators
from crawler.reading import NO_VALIDATORS
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


def constant_lie(lease: Lease, outcome: FetchOutcome) -> str | None:
    """Says so where another body came with the validators of the last one."""
    if not are_constant((lease.etag, lease.last_modified), kept_validators(outcome)):
        return None
    return f"constant_validators {_shown(lease)}"


def false_not_modified(lease: Lease) -> str:
    """Says that 304 was answered to the validators of a body that is not there any more."""
    return f"false_not_modified {_shown(lease)}"


def without_body(lease: Lease) -> Seen:
    """The history after an answer that has no body to compare with."""
    return lease.seen._replace(visited_at=lease.claimed_at, content_hash=None)


def _shown(lease: Lease) -> str:
    return f"{(lease.etag or lease.last_modified or '')[:_SHOWN_CHARACTERS]} at {lease.url}"
