"""What a run of the generator is asked for: how many clicks, over which time, how much of each oddity.

Belongs here: the options, their bounds, and the id that a run has by them. Defaults of the command line are these.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import MAXYEAR, datetime
from typing import Any, Literal

from domain.buckets import HOUR, format_utc, hour_of, minute_of
from domain.errors import UsageError

Transport = Literal["log", "http"]

MAX_CLICKS = 100_000_000
MAX_ADS = 1_000_000
MAX_ADVERTISERS = 10_000
DEFAULT_HOURS = 3
FIRST_YEAR = 2000
"""Events of earlier years are not valid."""


@dataclass(frozen=True)
class Shares:
    """How often each oddity happens, as a ratio of the clicks (0.01 is one in a hundred clicks).

    Of each group (copies; arrival; impression ids; bystanders) a click gets at most one.
    """

    # copies of a click: more events of the same identity
    duplicates: float = 0.03
    far_duplicates: float = 0.01
    conflicting: float = 0.005
    # bystanders: events that are not clicks, or not valid
    heads: float = 0.01
    prefetches: float = 0.01
    malformed: float = 0.003
    future: float = 0.001
    unknown_ads: float = 0.001
    # arrival in the log
    out_of_order: float = 0.05
    late: float = 0.002
    # impression ids
    old_impressions: float = 0.03
    opaque: float = 0.05
    twins: float = 0.004
    # the bytes of a valid event
    odd_forms: float = 0.01

    def __post_init__(self) -> None:
        for name, group in _GROUPS.items():
            values = [getattr(self, share) for share in group]
            if min(values) < 0 or sum(values) > 1:
                found = ", ".join(f"{share} {value}" for share, value in zip(group, values, strict=True))
                raise UsageError(f"{name}: {found}", "shares from 0 to 1 that sum up to 1 at most", "lower them")

    @classmethod
    def none(cls) -> Shares:
        """Nothing but clicks, each once, in order."""
        return cls(**dict.fromkeys((share.name for share in fields(cls)), 0.0))

    def over_http(self) -> Shares:
        """What is left through the click service, which sets the time and writes the event itself."""
        return replace(self, late=0, out_of_order=0, future=0, malformed=0, odd_forms=0)


_GROUPS = {
    "copies": ("duplicates", "far_duplicates", "conflicting"),
    "bystanders": ("heads", "prefetches", "malformed", "future", "unknown_ads"),
    "arrival": ("out_of_order", "late"),
    "impression ids": ("old_impressions", "opaque", "twins"),
    "forms": ("odd_forms",),
}


@dataclass(frozen=True)
class TrafficOptions:
    """One run. ``clicks_count`` first copies are sent and each must end billable; every oddity comes on top.

    The range is ``[start_at, end_at)`` in whole UTC minutes. Equal options give equal bytes, in equal order.
    """

    clicks_count: int
    seed: int
    start_at: datetime
    end_at: datetime
    late_bound_seconds: int
    ads_count: int = 200
    advertisers_count: int = 8
    hot_share: float = 0.3
    shares: Shares = field(default_factory=Shares)
    transport: Transport = "log"

    def __post_init__(self) -> None:
        _check_bounds("clicks", self.clicks_count, 1, MAX_CLICKS)
        _check_bounds("ads", self.ads_count, 1, MAX_ADS)
        _check_bounds("advertisers", self.advertisers_count, 1, min(MAX_ADVERTISERS, self.ads_count))
        _check_bounds("hot-share", self.hot_share, 0, 1)
        _check_bounds("from", self.start_at.year, FIRST_YEAR, MAXYEAR)
        for at in (self.start_at, self.end_at):
            if at != minute_of(at):
                raise UsageError(f"the range begins or ends at {format_utc(at)}", "a whole minute", "round it")
        if self.start_at >= self.end_at:
            raise UsageError(
                f"the range {format_utc(self.start_at)} to {format_utc(self.end_at)} is empty",
                "a start before its end",
                "correct --from, --until or --hours",
            )

    def over_http(self) -> TrafficOptions:
        """The same run through the click service."""
        return replace(self, transport="http", shares=self.shares.over_http())

    def as_json(self) -> dict[str, Any]:
        """The options as the truth file keeps them."""
        return asdict(self) | {"start_at": format_utc(self.start_at), "end_at": format_utc(self.end_at)}

    @property
    def run_id(self) -> str:
        """Equal for equal options and different otherwise: what all random choices of the run start from."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:32]


def _check_bounds(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}", f"{low} to {high}", f"correct --{name}")


def time_range(
    from_at: datetime | None, until_at: datetime | None, hours: int | None, now: datetime
) -> tuple[datetime, datetime]:
    """The half-open range that two of start, end and length give; by default the last whole hours before ``now``."""
    if from_at is not None and until_at is not None and hours is not None:
        raise UsageError("--from, --until and --hours together", "two of them at most", "leave one out")
    length = (DEFAULT_HOURS if hours is None else hours) * HOUR
    if from_at is not None:
        end_at = until_at if until_at is not None else from_at + length
    else:
        end_at = until_at if until_at is not None else hour_of(now)
        from_at = end_at - length
    if end_at > now:
        raise UsageError(
            f"the range ends at {format_utc(end_at)}", f"an end that has come ({format_utc(now)})", "correct --until"
        )
    return from_at, end_at
