"""Two laws of exact sums: raw = billable + excluded, and day = sum of hours = sum of minutes.

Belongs here: the judgement over figures, with violations in words. Reading the figures is done by ``quality``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from domain.buckets import format_utc


@dataclass(frozen=True)
class HourTally:
    """Raw clicks of one advertiser in one hour, up to the cut, and what became of them. Counts."""

    advertiser_id: int
    hour: datetime
    raw_clicks: int
    billable_clicks: int
    excluded_clicks: Mapping[str, int]


class RollupKey(NamedTuple):
    """What figures of every granularity are kept by."""

    advertiser_id: int
    campaign_id: int
    ad_id: int
    country: str
    device: str


@dataclass(frozen=True)
class RollupPair:
    """One key's clicks in one hour or day, and the sum of its minutes or hours in it; 0 where there is no row."""

    key: RollupKey
    granularity: Literal["hour", "day"]
    bucket_at: datetime
    clicks: int
    finer_clicks: int


def conservation_violations(tallies: Iterable[HourTally]) -> list[str]:
    """Each advertiser and hour where clicks vanished or appeared between raw and outcome."""
    return [
        _unconserved(tally)
        for tally in tallies
        if tally.raw_clicks != tally.billable_clicks + sum(tally.excluded_clicks.values())
    ]


def rollup_violations(pairs: Iterable[RollupPair]) -> list[str]:
    """Each key and bucket that is not the sum of its finer buckets. With hours and days given, days equal minutes."""
    return [_unequal(pair) for pair in pairs if pair.clicks != pair.finer_clicks]


def _unconserved(tally: HourTally) -> str:
    excluded = "".join(f" + {count} {reason}" for reason, count in sorted(tally.excluded_clicks.items()))
    accounted = tally.billable_clicks + sum(tally.excluded_clicks.values())
    return (
        f"advertiser {tally.advertiser_id}, hour {format_utc(tally.hour)}: {tally.raw_clicks} raw clicks, "
        f"but {tally.billable_clicks} billable{excluded} = {accounted}"
    )


def _unequal(pair: RollupPair) -> str:
    finer = "minutes" if pair.granularity == "hour" else "hours"
    key = ", ".join(
        f"{name.removesuffix('_id')} {value}" for name, value in zip(pair.key._fields, pair.key, strict=True)
    )
    return (
        f"{key}: {pair.granularity} {format_utc(pair.bucket_at)} has {pair.clicks} clicks, "
        f"its {finer} add up to {pair.finer_clicks}"
    )
