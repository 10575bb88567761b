"""Metrics of many hours as arrays: an hour a row, a series a column, gaps as NaN.

Belongs here: the grid, and where in it an hour lies. What is made of it: ``domain/drift_statistics.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from domain.buckets import HOUR, hours_between
from domain.quality_metrics import Metric

Array = NDArray[np.float64]

WEEK_HOURS = 168
DAY_HOURS = 24


@dataclass(frozen=True)
class Family:
    """All groups of one metric: ``amount`` and ``out_of`` by hour and group.

    In an hour that was measured, a group that has no row has an amount of 0: nothing was found of it.
    """

    groups: tuple[str, ...]
    amount: Array
    out_of: Array


@dataclass(frozen=True)
class History:
    """Metrics of one table on a grid of hours without holes; ``is_measured`` says which of them have figures."""

    start: datetime
    is_measured: NDArray[np.bool_]
    families: dict[str, Family]

    @property
    def hour_count(self) -> int:
        return len(self.is_measured)

    def row(self, hour: datetime) -> int:
        """Where the hour stands in the grid."""
        return (hour - self.start) // HOUR

    @cached_property
    def is_weekend(self) -> NDArray[np.bool_]:
        """By row, whether it lies on a UTC Saturday or Sunday."""
        hours_since_monday = self.start.weekday() * DAY_HOURS + self.start.hour + np.arange(self.hour_count)
        is_weekend: NDArray[np.bool_] = hours_since_monday % WEEK_HOURS >= 5 * DAY_HOURS
        return is_weekend

    def utc_offset_hours(self, zone: tzinfo) -> NDArray[np.int64]:
        """By row, how far the clocks of the zone are ahead of UTC, in whole hours."""
        hours = hours_between(self.start, self.start + self.hour_count * HOUR)
        return np.array([round((zone.utcoffset(hour.astimezone(zone)) or 0 * HOUR) / HOUR) for hour in hours])


def history_of(
    metrics: Iterable[Metric], start: datetime, end: datetime, left_out: Collection[datetime] = ()
) -> History:
    """The grid of ``[start, end)``; hours that are ``left_out`` are as if they had not been measured."""
    hour_count = (end - start) // HOUR
    is_measured = np.zeros(hour_count, dtype=bool)
    by_name: dict[str, list[tuple[int, Metric]]] = {}
    for one in metrics:
        row = (one.hour - start) // HOUR
        if 0 <= row < hour_count and one.hour not in left_out:
            is_measured[row] = True
            by_name.setdefault(one.name, []).append((row, one))
    return History(start, is_measured, {name: _family(rows, is_measured) for name, rows in by_name.items()})


def _family(rows: Sequence[tuple[int, Metric]], is_measured: NDArray[np.bool_]) -> Family:
    """``out_of`` of a group without a row is that of its hour's other groups, where they agree on it (the largest)."""
    groups = tuple(sorted({one.group for _, one in rows}))
    column = {group: index for index, group in enumerate(groups)}
    amount = np.full((len(is_measured), len(groups)), np.nan)
    out_of = np.full((len(is_measured), len(groups)), np.nan)
    amount[is_measured] = 0.0
    whole = np.full(len(is_measured), np.nan)
    for row, one in rows:
        amount[row, column[one.group]] = one.amount
        if one.out_of is not None:
            out_of[row, column[one.group]] = one.out_of
            whole[row] = np.fmax(whole[row], one.out_of)
    return Family(groups, amount, np.where(np.isnan(out_of), whole[:, None], out_of))
