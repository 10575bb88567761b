"""Law 9 on what readers are about to see: day = sum of hours = sum of minutes, and each hour what its seal says.

Belongs here: reading the versions that are about to be published, with another engine than the one that wrote them, and
the refusal. No JVM; spills to home where memory is short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import HOUR, format_utc
from domain.conservation import RollupKey, RollupPair, rollup_violations
from domain.errors import IntegrityError
from domain.seals import Seal
from domain.settings import Settings
from warehouse.layout import dataset_of, open_table
from warehouse.tables.final_clicks_day import FINAL_CLICKS_DAY
from warehouse.tables.final_clicks_hour import FINAL_CLICKS_HOUR
from warehouse.tables.final_clicks_minute import FINAL_CLICKS_MINUTE

MEMORY_LIMIT = "1GB"
NAMED_AT_MOST = 10
"""So many violations are named; the first one is enough to look for the cause."""
_KEY = ", ".join(RollupKey._fields)
_KEY_LENGTH = len(RollupKey._fields)

BY_HOUR_SQL = f"""
CREATE TEMP TABLE by_hour AS
SELECT {_KEY}, click_hour, sum(hourly)::BIGINT AS hourly, sum(minutely)::BIGINT AS minutely
FROM (
    SELECT {_KEY}, epoch_us("hour") // 3_600_000_000 % 24 AS click_hour, clicks AS hourly, 0 AS minutely FROM hours
    UNION ALL SELECT {_KEY}, epoch_us("minute") // 3_600_000_000 % 24, 0, clicks FROM minutes
)
GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""Per key and hour the row of the hour table and the sum of the minutes that lie in it."""
UNEQUAL_HOURS_SQL = f"""
SELECT {_KEY}, click_hour, hourly, minutely FROM by_hour WHERE hourly != minutely ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Hours that are not the sum of their minutes."""
UNEQUAL_DAYS_SQL = f"""
SELECT {_KEY}, sum(daily)::BIGINT, sum(hourly)::BIGINT
FROM (
    SELECT {_KEY}, clicks AS daily, 0 AS hourly FROM days
    UNION ALL SELECT {_KEY}, 0, hourly FROM by_hour
)
GROUP BY ALL HAVING sum(daily) != sum(hourly) ORDER BY ALL LIMIT {NAMED_AT_MOST}
"""  # noqa: S608 (made of constants)
"""Days that are not the sum of their hours."""
TOTALS_SQL = "SELECT click_hour, sum(minutely)::BIGINT FROM by_hour GROUP BY click_hour"
"""Clicks of each hour."""


def check_final_tables(settings: Settings, seals: Sequence[Seal], versions: Mapping[str, int]) -> None:
    """``seals``: all that hold of one date. ``IntegrityError`` if the tables at ``versions`` (by name) do not say
    that.
    """
    day = seals[0].hour.date()
    with duckdb.connect(
        ":memory:", config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(settings.home / "scratch")}
    ) as engine:
        for name, table, bucket in (
            ("minutes", FINAL_CLICKS_MINUTE, ["minute"]),
            ("hours", FINAL_CLICKS_HOUR, ["hour"]),
            ("days", FINAL_CLICKS_DAY, []),
        ):
            snapshot = open_table(settings, table.name)
            snapshot.load_as_version(versions[table.name])
            is_day = ds.field("click_date") == pa.scalar(day)
            columns = [*RollupKey._fields, *bucket, "clicks"]
            engine.register(name, dataset_of(snapshot).scanner(columns=columns, filter=is_day).to_reader())
        engine.execute(BY_HOUR_SQL)
        unequal_hours, unequal_days = (engine.execute(sql).fetchall() for sql in (UNEQUAL_HOURS_SQL, UNEQUAL_DAYS_SQL))
        totals = dict(engine.execute(TOTALS_SQL).fetchall())
    violations = rollup_violations(_pairs(day, unequal_hours, unequal_days))
    violations += [
        f"hour {format_utc(seal.hour)} has {totals.get(seal.hour.hour, 0)} clicks, seal {seal.seal_number} says "
        f"{seal.billable_clicks}"
        for seal in seals
        if totals.get(seal.hour.hour, 0) != seal.billable_clicks
    ]
    unsealed = sorted(totals.keys() - {seal.hour.hour for seal in seals})
    violations += [f"hour {hour} of {day} has {totals[hour]} clicks and no seal" for hour in unsealed if totals[hour]]
    if violations:
        raise IntegrityError(
            f"the final tables do not add up: {'; '.join(violations)}",
            "day = sum of hours = sum of minutes = what was sealed",
            "nothing was published, readers see the figures before; find the cause and run this again",
        )


def _pairs(day: date, hours: Sequence[tuple[Any, ...]], days: Sequence[tuple[Any, ...]]) -> list[RollupPair]:
    midnight = datetime.combine(day, time(tzinfo=UTC))
    return [
        RollupPair(RollupKey(*row[:_KEY_LENGTH]), "hour", midnight + HOUR * row[_KEY_LENGTH], *row[_KEY_LENGTH + 1 :])
        for row in hours
    ] + [RollupPair(RollupKey(*row[:_KEY_LENGTH]), "day", midnight, *row[_KEY_LENGTH:]) for row in days]
