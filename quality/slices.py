"""Which rows of a table a comparison looks at, as Arrow expressions: by them files are passed over unopened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import reduce

import pyarrow as pa
import pyarrow.dataset as ds

from domain.identity import Place

Range = tuple[int, int]
"""First offset, and the one after the last."""


def in_hours(hours: Iterable[datetime]) -> ds.Expression:
    """Rows filed under any of these hours (start, UTC)."""
    click_date, click_hour = ds.field("click_date"), ds.field("click_hour")
    return _any((click_date == hour.date()) & (click_hour == pa.scalar(hour.hour, pa.int32())) for hour in hours)


def in_ranges(ranges: Mapping[Place, Range]) -> ds.Expression:
    """Rows that stand in any of these ranges of the log."""
    log, partition, offset = (ds.field(name) for name in ("log", "partition", "offset"))
    return _any(
        (log == pa.scalar(place[0], pa.int32()))
        & (partition == pa.scalar(place[1], pa.int32()))
        & (offset >= start)
        & (offset < end)
        for place, (start, end) in ranges.items()
    )


def _any(conditions: Iterable[ds.Expression]) -> ds.Expression:
    return reduce(lambda one, other: one | other, conditions, ds.scalar(False))
