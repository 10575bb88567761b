"""When a page is fetched again: what its history says about how often it changes, and whether validators are believed.

Belongs here: the estimate of the rate of change, the next visit, the sample, and when validators name one version.
Instants are microseconds since 1970. Asking for pages is ``crawler/visit.py``.

The estimator is the bias-reduced one of Cho and Garcia-Molina, "Estimating frequency of change" (ACM TOIT 3(3), 2003,
section 4.2): of n visits, an interval I apart, X found a change; the rate is -ln((n - X + 0.5) / (n + 0.5)) / I. It
stays finite where every visit found one, and counts changes that one visit hides. Visits are not quite regular here, so
I is their mean.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import NamedTuple

MOST_COMPARISONS_COUNT = 20
"""Beyond this the history is halved, so that a page which changes its habits is believed."""
SHORTEST_PART, LONGEST_FACTOR = 4, 8
"""A next visit lies between a quarter of its class's usual interval and eight times that."""
BACKOFF_FACTOR = 2
"""A next interval is at most this times the last one: one visit that found nothing new proves little."""
PER_MILLE = 1_000
_HALF = 0.5
_CHANCE_BYTES = 6


class Seen(NamedTuple):
    """What earlier visits found. ``content_hash`` is of the last body, None if that was not whole or there was none."""

    visited_at: int | None = None
    content_hash: str | None = None
    comparison_count: int = 0
    """Visits that could be compared with the one before."""
    change_count: int = 0
    """Of these, how many found another body."""
    observed_micros: int = 0
    """Time between these visits, summed up."""
    interval_micros: int = 0
    """What the last visit planned until the next, without its jitter."""


def after_visit(seen: Seen, at: int, content_hash: str | None, is_unmodified: bool = False) -> Seen:
    """The history after another visit; ``content_hash`` None says that no whole body came, and proves nothing.

    ``is_unmodified`` is an answer 304, which confirms the body of before.
    """
    known = seen.content_hash if is_unmodified else content_hash
    base = seen._replace(visited_at=at, content_hash=known)
    if seen.visited_at is None or seen.content_hash is None or known is None:
        return base
    counts = (
        seen.comparison_count + 1,
        seen.change_count + int(known != seen.content_hash),
        seen.observed_micros + max(1, at - seen.visited_at),
    )
    if seen.comparison_count >= MOST_COMPARISONS_COUNT:
        counts = (counts[0] // 2, counts[1] // 2, counts[2] // 2)
    return base._replace(comparison_count=counts[0], change_count=counts[1], observed_micros=counts[2])


def change_micros(seen: Seen) -> int | None:
    """The time in which one change is expected, by the estimator; None where no change was seen."""
    visits, changes = seen.comparison_count, seen.change_count
    if not visits or not changes:
        return None
    changes_a_visit = -math.log((visits - changes + _HALF) / (visits + _HALF))
    return max(1, int(seen.observed_micros / visits / changes_a_visit))


def next_interval(seen: Seen, usual_micros: int) -> int:
    """Until the next visit: when one change is expected, with back-off, within the bounds of the class's interval."""
    if not seen.comparison_count:
        return usual_micros
    shortest, longest = usual_micros // SHORTEST_PART, usual_micros * LONGEST_FACTOR
    expected = change_micros(seen) or longest
    backed_off = BACKOFF_FACTOR * (seen.interval_micros or usual_micros)
    return max(shortest, min(expected, backed_off, longest))


def chance_of(url: str, fence: int) -> float:
    """From 0 up to 1, the same for the same visit: what jitters it, and draws it into the sample."""
    drawn = sha256(f"{fence} {url}".encode()).digest()[:_CHANCE_BYTES]
    return int.from_bytes(drawn) / (1 << 8 * _CHANCE_BYTES)


def is_sampled(url: str, fence: int, per_mille: int) -> bool:
    """Whether this visit is one of the share that asks without validators, to test them."""
    return chance_of(url, fence) * PER_MILLE < per_mille


def are_constant(before: tuple[str | None, str | None], after: tuple[str | None, str | None]) -> bool:
    """Whether two (ETag, Last-Modified) name one version; where both have an ETag it alone counts, as in RFC 9110."""
    if before[0] and after[0]:
        return before[0] == after[0]
    return bool(before[1]) and before[1] == after[1]
