"""Spaces of URLs without end, by what can be seen from URLs and counts alone: calendars, facets, loops of links.

Belongs here: the signs of one URL, what of it is counted, the limits, and which limit a URL goes beyond first. Keeping
the counts is ``crawler/frontier/budgets.py``; pages that are not what they say are ``domain/soft_404.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple, get_args
from urllib.parse import unquote_plus, urlsplit

from domain.buckets import from_unix_micros
from domain.errors import UsageError

TrapReason = Literal[
    "trap_depth",
    "trap_length",
    "trap_repetition",
    "trap_calendar",
    "trap_origin",
    "trap_prefix",
    "trap_facets",
    "trap_query_values",
    "trap_dates",
    "trap_listing_depth",
    "trap_soft_404",
]
TRAP_REASONS: tuple[TrapReason, ...] = get_args(TrapReason)
LONGEST_URL_CHARACTERS = 2_000
MOST_REPEATS = 2
"""As many times in a row may a path say the same; ``/a/a/a/`` is a loop."""
LONGEST_PERIOD = 4
"""Segments that repeat together, as in ``/a/b/a/b/``."""
FIRST_YEAR, YEARS_AHEAD = 1970, 1
"""Dates before, or further beyond the present than this, are pages of a calendar that nobody wrote."""
DATED_YEARS = range(1_700, 2_300)
"""Other numbers of four digits are no years."""
MOST_DATES = 5_000
"""Dated URLs of one shape: thirteen years of days."""
PREFIX_SEGMENTS = 2
MOST_COUNTED_KEYS = 20
"""Query keys of one URL that are looked at."""
FACET_KEYS = 2
"""From this many query keys on, a URL is a combination."""
KEY_BYTES = 16
ALERT_CUTS_COUNT = 100
"""Cuts of an origin that raise its alert."""
NO_LIMIT = 1 << 62
_DATE = re.compile(r"(?<![0-9])([0-9]{4})([-/_.])(0?[1-9]|1[0-2])(?:\2(0?[1-9]|[12][0-9]|3[01]))?(?![0-9])")
_YEAR_KEYS = frozenset({"year", "yr", "y"})
_MONTH_KEYS = frozenset({"month", "mon", "m"})
_YEAR = re.compile(r"[0-9]{4}")
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Limits:
    """How much of an origin is taken in before somebody has looked. Each can be raised for an origin."""

    depth: int = 50
    origin_urls: int = 100_000
    prefix_urls: int = 20_000
    facet_urls: int = 2_000
    query_values: int = 10_000

    def of(self, reason: TrapReason) -> int:
        """The limit behind a reason; of those without one in a setting, the constant."""
        return {
            "trap_depth": self.depth,
            "trap_length": LONGEST_URL_CHARACTERS,
            "trap_repetition": MOST_REPEATS,
            "trap_origin": self.origin_urls,
            "trap_prefix": self.prefix_urls,
            "trap_facets": self.facet_urls,
            "trap_query_values": self.query_values,
            "trap_dates": MOST_DATES,
        }.get(reason, 0)


class Counted(NamedTuple):
    """One thing that a URL adds to: a number of URLs under ``key``, or of different values where ``value`` is said."""

    reason: TrapReason
    key: bytes
    value: bytes | None = None


class Tally(NamedTuple):
    """A count as it is now, and whether the URL would add to it."""

    counted: Counted
    url_count: int
    is_known: bool


LimitOf = Callable[[TrapReason], int]


def sign_of(url: str, depth: int, now: int, limit_of: LimitOf) -> TrapReason | None:
    """What makes one URL suspicious by itself; ``limit_of`` says what its origin is allowed. Pure."""
    if depth > limit_of("trap_depth"):
        return "trap_depth"
    if len(url) > limit_of("trap_length"):
        return "trap_length"
    if repeats(segments_of(url)) > limit_of("trap_repetition"):
        return "trap_repetition"
    year = year_of(url)
    is_odd = year is not None and not FIRST_YEAR <= year <= from_unix_micros(now).year + YEARS_AHEAD
    return "trap_calendar" if is_odd and not limit_of("trap_calendar") else None


def counted_of(url: str) -> Iterator[Counted]:
    """Everything that is counted of a URL, widest first."""
    parts = urlsplit(url)
    path = parts.path
    yield Counted("trap_origin", b"")
    yield Counted("trap_prefix", _key("/".join(path.split("/")[: PREFIX_SEGMENTS + 1])))
    if year_of(url) is not None:
        yield Counted("trap_dates", _key(_DIGITS.sub("0", f"{path}?{parts.query}")))
    pairs = _pairs(parts.query)
    if len({name for name, _ in pairs}) >= FACET_KEYS:
        yield Counted("trap_facets", _key(path))
    for name, value in dict(pairs[:MOST_COUNTED_KEYS]).items():
        yield Counted("trap_query_values", _key(f"{path}?{name}"), _key(value))


def over_limit(tallies: Iterator[Tally] | list[Tally], limit_of: LimitOf) -> TrapReason | None:
    """The first count that a new URL would bring above its limit."""
    for tally in tallies:
        if not tally.is_known and tally.url_count >= limit_of(tally.counted.reason):
            return tally.counted.reason
    return None


def limit_from(limits: Limits, allowed: Mapping[str, int]) -> LimitOf:
    """The limits of an origin: ours, or what a person has allowed it."""
    return lambda reason: allowed.get(reason, limits.of(reason))


def segments_of(url: str) -> list[str]:
    """The parts of a URL's path that say something."""
    return [part for part in urlsplit(url).path.split("/") if part]


def repeats(segments: list[str]) -> int:
    """How many times in a row a path says the same, at most: 3 for ``/x/a/b/a/b/a/b``."""
    most = 1
    for period in range(1, min(LONGEST_PERIOD, len(segments)) + 1):
        run = 0
        for at in range(period, len(segments)):
            run = run + 1 if segments[at] == segments[at - period] else 0
            most = max(most, run // period + 1)
    return most


def year_of(url: str) -> int | None:
    """The year of a date, with its month at least, in path or query: the first there is."""
    parts = urlsplit(url)
    for found in _DATE.finditer(f"{parts.path}?{parts.query}"):
        if int(found[1]) in DATED_YEARS:
            return int(found[1])
    named = {name.lower(): value for name, value in _pairs(parts.query)}
    year = next((named[name] for name in _YEAR_KEYS & named.keys()), "")
    is_date = _YEAR.fullmatch(year) and int(year) in DATED_YEARS and _MONTH_KEYS & named.keys()
    return int(year) if is_date else None


def check_trap_reason(reason: str) -> None:
    """``UsageError`` unless it is one that can be allowed."""
    if reason not in TRAP_REASONS:
        raise UsageError(f"reason {reason!r}", f"one of {', '.join(TRAP_REASONS)}", "name one of them")


def _pairs(query: str) -> list[tuple[str, str]]:
    """Names and values of a query, without any limit on their number; empty parts are none."""
    halves = (part.partition("=") for part in query.split("&") if part)
    return [(unquote_plus(name), unquote_plus(value)) for name, _, value in halves]


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
