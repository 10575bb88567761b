"""Which table answers which part of a range: final figures by the coarsest grain that fits, else the live estimate.

Belongs here: pure cutting of half-open UTC ranges. Opening tables and adding up is ``warehouse/counts.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from domain.buckets import BUCKET_LENGTH, DAY, HOUR, Granularity, bucket_of

FINER: dict[Granularity, Granularity] = {"day": "hour", "hour": "minute"}
LIVE_TABLE = "live_clicks_minute"
ATTEMPT_TABLE = "reconciled_clicks_minute"
FINAL_TABLE: dict[Granularity, str] = {
    "minute": "final_clicks_minute",
    "hour": "final_clicks_hour",
    "day": "final_clicks_day",
}
BUCKET_COLUMN = {
    LIVE_TABLE: "minute",
    ATTEMPT_TABLE: "minute",
    FINAL_TABLE["minute"]: "minute",
    FINAL_TABLE["hour"]: "hour",
    FINAL_TABLE["day"]: "click_date",
}
Hours = Literal["all", "whole", "split"]
HOURS_PER_DAY = DAY // HOUR


@dataclass(frozen=True)
class Slice:
    """The rows of ``table`` whose bucket starts in ``[start, end)``; only those of ``attempts``, if these are given.

    ``hours``: of all UTC hours, of those that lie in one bucket of the question, or of those that are split by several.
    """

    table: str
    start: datetime
    end: datetime
    attempts: frozenset[str] | None = None
    hours: Hours = "all"


@dataclass(frozen=True)
class FinalRange:
    """The hours without a hole that are sealed and published: ``[start, until)``."""

    start: datetime
    until: datetime


def cut(start: datetime, end: datetime, granularity: Granularity, final: FinalRange | None) -> tuple[Slice, ...]:
    """Slices that cover ``[start, end)`` once, without gap or overlap, in ascending order."""
    if final is None:
        return _slice(LIVE_TABLE, start, end)
    final_start = min(max(start, final.start), end)
    final_end = max(min(end, final.until), final_start)
    return (
        *_slice(LIVE_TABLE, start, final_start),
        *_cut_final(final_start, final_end, granularity),
        *_slice(LIVE_TABLE, final_end, end),
    )


def by_split_hours(slices: Iterable[Slice], split_hours: Collection[int]) -> tuple[Slice, ...]:
    """The slices, with the UTC hours that buckets of a zone split taken from the minutes; ``split_hours`` of a day."""
    return tuple(one for part in slices for one in _by_split_hours(part, split_hours))


def _by_split_hours(part: Slice, split_hours: Collection[int]) -> tuple[Slice, ...]:
    if part.table != FINAL_TABLE["hour"] or not split_hours:
        return (part,)
    minutes = replace(part, table=FINAL_TABLE["minute"])
    if len(split_hours) == HOURS_PER_DAY:
        return (minutes,)
    return (replace(part, hours="whole"), replace(minutes, hours="split"))


def from_attempts(
    slices: Iterable[Slice], gone: Mapping[str, Collection[datetime]], attempts: Mapping[datetime, str]
) -> tuple[Slice, ...]:
    """The slices, with what is ``gone`` (hours by table, their retention is over) taken from the sealed attempts.

    ``attempts`` by hour. From the first to the last such hour of a slice all of it is: the figures are the same.
    """
    return tuple(one for part in slices for one in _from_attempts(part, gone.get(part.table, ()), attempts))


def _from_attempts(part: Slice, gone: Collection[datetime], attempts: Mapping[datetime, str]) -> tuple[Slice, ...]:
    hours = [hour for hour in gone if part.start < hour + HOUR and hour < part.end]
    if not hours:
        return (part,)
    start, end = max(part.start, min(hours)), min(part.end, max(hours) + HOUR)
    sealed = frozenset(attempt for hour, attempt in attempts.items() if start < hour + HOUR and hour < end)
    return (
        *_slice(part.table, part.start, start, part.hours),
        Slice(ATTEMPT_TABLE, start, end, sealed, part.hours),
        *_slice(part.table, end, part.end, part.hours),
    )


def _cut_final(start: datetime, end: datetime, grain: Granularity) -> tuple[Slice, ...]:
    """Whole buckets of this grain in the middle, the edges by the next finer one."""
    if grain not in FINER:
        return _slice(FINAL_TABLE[grain], start, end)
    first, last = _rounded_up(start, grain), bucket_of(end, grain)
    if last <= first:
        return _cut_final(start, end, FINER[grain])
    return (
        *_cut_final(start, first, FINER[grain]),
        *_slice(FINAL_TABLE[grain], first, last),
        *_cut_final(last, end, FINER[grain]),
    )


def _rounded_up(at: datetime, grain: Granularity) -> datetime:
    start = bucket_of(at, grain)
    return start if start == at else start + BUCKET_LENGTH[grain]


def _slice(table: str, start: datetime, end: datetime, hours: Hours = "all") -> tuple[Slice, ...]:
    return (Slice(table, start, end, hours=hours),) if start < end else ()
