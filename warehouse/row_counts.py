"""How many rows a table holds, all in all, of some hours, or of each hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time
from functools import reduce

import pyarrow as pa
import pyarrow.dataset as ds

from domain.settings import Settings
from warehouse.layout import dataset_of, open_table
from warehouse.schema import INSTANT
from warehouse.tables import TABLES


def count_rows(settings: Settings, name: str, hours: Sequence[datetime] | None = None) -> int:
    """Count of rows; with ``hours`` (starts, UTC) of those alone, in a table that is partitioned by click_date.

    Only partitions of these hours are opened; without ``hours`` no data file is read at all.
    """
    rows = dataset_of(open_table(settings, name))
    if hours is None:
        return rows.count_rows()
    if not hours:
        return 0
    return rows.count_rows(filter=reduce(lambda a, b: a | b, [_is_in(name, hour) for hour in hours]))


def rows_by_hour(settings: Settings, name: str) -> dict[datetime, int | None]:
    """Of each hour that has files, its rows, by the table's log alone: no data file is opened.

    None where the log does not say. For a table that is partitioned by click_date and click_hour.
    """
    files = pa.table(open_table(settings, name).get_add_actions(flatten=True))
    columns = ("partition.click_date", "partition.click_hour", "num_records")
    found: dict[datetime, int | None] = {}
    for click_date, click_hour, rows in zip(*(files.column(one).to_pylist() for one in columns), strict=True):
        hour = datetime.combine(click_date, time(click_hour), UTC)
        before = found.get(hour, 0)
        found[hour] = None if rows is None or before is None else before + rows
    return found


def _is_in(name: str, hour: datetime) -> ds.Expression:
    of_date = ds.field("click_date") == pa.scalar(hour.date(), pa.date32())
    columns = TABLES[name].column_names
    if "click_hour" in columns:
        return of_date & (ds.field("click_hour") == pa.scalar(hour.hour, pa.int32()))
    if "hour" in columns:
        return of_date & (ds.field("hour") == pa.scalar(hour, INSTANT))
    return of_date
