"""What an attempt really wrote, read back by another engine than the one that wrote it.

Belongs here: opening the tables of some hours of a date in DuckDB, and the questions that the laws and the drift are
judged by. No JVM; spills to home where memory is short. The judgement is ``reconcile_checks.py`` and
``reconcile_drift.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import HOUR
from domain.conservation import RollupKey
from domain.counting import EXCLUSION_REASONS
from domain.settings import Settings
from quality.slices import in_hours
from spark_jobs.reconcile_attempt import Attempts
from spark_jobs.reconcile_metrics_sql import (
    ADS_BEFORE_SQL,
    BY_KEY,
    CLICKS_PER_AD_SQL,
    COUNTED_NULLS,
    METRICS_SQL,
    SCANNED,
    bucket_sql,
)
from spark_jobs.transforms.cut import Cut
from warehouse.ads import read_ads
from warehouse.cut_ends import cut_ends
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.schema import table_of

ROWS_AT_A_TIME = 10_000
_KEY = ", ".join(RollupKey._fields)
_POSITION = ("log", "partition", "offset")
_COLUMNS = {
    "raw_clicks": ("click_hour", *_POSITION, *RollupKey._fields, *SCANNED),
    "reconciled_clicks_minute": ("click_hour", "minute", *RollupKey._fields, "clicks"),
    "click_exclusions": ("click_hour", *_POSITION, "advertiser_id", "reason"),
    "live_clicks_minute": ("click_hour", "advertiser_id", "clicks"),
    "late_clicks": ("minute", *_POSITION, "advertiser_id"),
    "quarantined_clicks": ("logged_at", *_POSITION, "reason"),
}
_IS_EXCLUDED = 'SELECT DISTINCT log, partition, "offset", true AS is_excluded FROM click_exclusions'
_REASONS = ", ".join(
    f"coalesce(sum(clicks) FILTER (WHERE what = '{reason}'), 0)::BIGINT AS {reason}" for reason in EXCLUSION_REASONS
)

EXCLUDED_SQL = "CREATE TEMP TABLE click_exclusions AS FROM click_exclusions_once"
LATE_SQL = "CREATE TEMP TABLE late_clicks AS FROM late_clicks_once"
"""Asked several times, as the exclusions; all else is read once and not held."""
SCANNED_SQL = f"""
CREATE TEMP TABLE scanned AS
SELECT click_hour, {_KEY}, server_id, kind, lag_ms, grouping(ad_id, kind, lag_ms) AS part,
       count(*) AS raw, count(*) FILTER (WHERE is_excluded IS NULL) AS kept, max(exact_lag_ms) AS max_lag_ms,
       {", ".join(f"count(*) - count({name}) AS null_{name}" for name in COUNTED_NULLS)}
FROM (
    SELECT *, {bucket_sql("exact_lag_ms")} AS lag_ms
    FROM (
        SELECT *, epoch_ms(logged_at) - epoch_ms(clicked_at) AS exact_lag_ms
        FROM raw_clicks_once
        JOIN ends USING (click_hour, log, partition)
        LEFT JOIN ({_IS_EXCLUDED}) USING (log, partition, "offset")
        WHERE "offset" < end_offset
    )
)
GROUP BY GROUPING SETS ((click_hour, {_KEY}), (click_hour, server_id, kind), (click_hour, lag_ms))
"""  # noqa: S608 (made of constants)
"""Raw clicks below the cut, grouped by key, by server and kind, and by lag in one reading; ``part`` tells which."""
CLICKS_SQL = f"""
CREATE TEMP TABLE clicks AS SELECT click_hour, {_KEY}, raw, kept FROM scanned WHERE part = {BY_KEY}
"""  # noqa: S608 (made of constants)
"""Raw clicks below the cut by hour and key, and how many of them were not excluded."""
WRITTEN_SQL = f"""
CREATE TEMP TABLE written AS
SELECT click_hour, epoch_us(minute) // 3_600_000_000 % 24 AS minute_hour, {_KEY}, sum(clicks)::BIGINT AS clicks
FROM reconciled_clicks_minute_once GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""The minutes that were written, by the hour of their partition, the hour they lie in, and key."""
TALLIES_SQL = f"""
CREATE TEMP TABLE tallies AS
SELECT click_hour, advertiser_id,
       coalesce(sum(clicks) FILTER (WHERE what = 'raw'), 0)::BIGINT AS raw,
       coalesce(sum(clicks) FILTER (WHERE what = 'billable'), 0)::BIGINT AS billable,
       {_REASONS}
FROM (
    SELECT click_hour, advertiser_id, 'raw' AS what, raw AS clicks FROM clicks
    UNION ALL SELECT click_hour, advertiser_id, 'billable', clicks FROM written
    UNION ALL SELECT click_hour, advertiser_id, reason, 1 FROM click_exclusions
)
GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""Per hour and advertiser what law 3 is about."""
OUTCOMES_SQL = "SELECT * FROM tallies ORDER BY click_hour, advertiser_id"
"""Per hour and advertiser what is published of the law."""
UNCONSERVED_SQL = f"""
SELECT * FROM tallies WHERE raw != billable + {" + ".join(EXCLUSION_REASONS)} ORDER BY ALL LIMIT $limit
"""  # noqa: S608 (made of constants)
"""Where clicks vanished or appeared."""
UNEQUAL_HOURS_SQL = f"""
SELECT {_KEY}, click_hour, sum(kept)::BIGINT, sum(written)::BIGINT
FROM (
    SELECT {_KEY}, click_hour, kept, 0 AS written FROM clicks
    UNION ALL SELECT {_KEY}, minute_hour, 0, clicks FROM written
)
GROUP BY ALL HAVING sum(kept) != sum(written) ORDER BY ALL LIMIT $limit
"""  # noqa: S608 (made of constants)
"""Keys and hours where the clicks that were not excluded are not the sum of the minutes that were written."""
UNEQUAL_DAYS_SQL = f"""
SELECT {_KEY}, sum(kept)::BIGINT, sum(written)::BIGINT
FROM (
    SELECT {_KEY}, kept, 0 AS written FROM clicks
    UNION ALL SELECT {_KEY}, 0, clicks FROM written
)
GROUP BY ALL HAVING sum(kept) != sum(written) ORDER BY ALL LIMIT $limit
"""  # noqa: S608 (made of constants)
"""The same over all the hours of the date."""
TOTALS_SQL = f"""
SELECT click_hour, sum(raw)::BIGINT, sum(billable)::BIGINT,
       {", ".join(f"sum({reason})::BIGINT" for reason in EXCLUSION_REASONS)}
FROM tallies GROUP BY click_hour
"""  # noqa: S608 (made of constants)
"""Per hour what goes into its seal."""
COMPARED_SQL = f"""
CREATE TEMP TABLE compared AS
SELECT click_hour, advertiser_id, sum(raw)::BIGINT AS raw, sum(live)::BIGINT AS live, sum(final)::BIGINT AS final,
       sum(late)::BIGINT AS late, sum(fraud)::BIGINT AS fraud
FROM (
    SELECT click_hour, advertiser_id, raw, 0 AS live, billable AS final, 0 AS late, 0 AS fraud FROM tallies
    UNION ALL SELECT click_hour, advertiser_id, 0, clicks, 0, 0, 0 FROM live_clicks_minute_once
    UNION ALL
    SELECT click_hour, advertiser_id, 0, 0, 0, 0, 1
    FROM click_exclusions ANTI JOIN late_clicks USING (log, partition, "offset") WHERE reason = 'fraud'
    UNION ALL
    SELECT click_hour, advertiser_id, 0, 0, 0, 1, 0
    FROM (SELECT *, (epoch_us(minute) // 3_600_000_000 % 24)::INT AS click_hour FROM late_clicks)
    JOIN ends USING (click_hour, log, partition)
    LEFT JOIN ({_IS_EXCLUDED}) USING (log, partition, "offset")
    WHERE "offset" < end_offset AND is_excluded IS NULL
)
GROUP BY ALL
"""  # noqa: S608 (made of constants)
"""Per hour and advertiser the raw, live and final counts, and how many of the final ones live refused as late,
and how many live counted that are excluded as fraud."""
LIVE_SQL = "SELECT * FROM compared ORDER BY click_hour, advertiser_id"
_STEPS = (
    *(EXCLUDED_SQL, LATE_SQL, SCANNED_SQL, CLICKS_SQL, WRITTEN_SQL, TALLIES_SQL, COMPARED_SQL),
    *(CLICKS_PER_AD_SQL, ADS_BEFORE_SQL),
)


class WrittenAttempt:
    """The rows of an attempt at some hours of a date, and what they are compared with. Asked, never changed."""

    def __init__(self, engine: duckdb.DuckDBPyConnection) -> None:
        self._engine = engine

    def ask(self, sql: str, limit: int) -> list[tuple[Any, ...]]:
        """The first rows of an answer."""
        return self._engine.execute(sql, {"limit": limit}).fetchall()

    def totals(self) -> dict[int, tuple[int, ...]]:
        """By hour of the day, for hours with rows: raw, billable, and excluded in the order of the reasons."""
        return {hour: tuple(counts) for hour, *counts in self._engine.execute(TOTALS_SQL).fetchall()}

    def live_and_final(self) -> Iterator[list[tuple[int, ...]]]:
        """Per hour and advertiser: raw, live, final, late, fraud; a bounded number of rows at a time."""
        return self._in_batches(LIVE_SQL)

    def outcomes(self) -> Iterator[list[tuple[int, ...]]]:
        """Per hour and advertiser: raw, billable, and excluded in the order of the reasons; in batches as well."""
        return self._in_batches(OUTCOMES_SQL)

    def figures(self) -> list[tuple[int, str, str, int]]:
        """Hour of the day, name, group and amount of each metric that is not of the laws."""
        return self._engine.execute(METRICS_SQL).fetchall()

    def _in_batches(self, sql: str) -> Iterator[list[tuple[int, ...]]]:
        cursor = self._engine.execute(sql)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield rows


@contextmanager
def written_attempt(
    settings: Settings, day: date, cuts: Mapping[int, Cut], attempts: Attempts
) -> Iterator[WrittenAttempt]:
    """Opens what was written, as it is now, for as long as it is asked."""
    is_day = ds.field("click_date") == day
    midnight = datetime.combine(day, time(tzinfo=UTC))
    before = [midnight + HOUR * (hour - 1) for hour in sorted(cuts) if hour == 0 or hour - 1 not in cuts]
    is_hour = is_day & ds.field("click_hour").isin(pa.array(sorted(cuts), pa.int32()))
    is_attempt = is_hour & ds.field("attempt").isin(sorted(attempts.values()))
    filters = {
        "raw_clicks": is_hour,
        "reconciled_clicks_minute": is_attempt,
        "click_exclusions": is_attempt,
        "live_clicks_minute": is_hour,
        "late_clicks": is_day,
        "quarantined_clicks": ds.field("log_date") == day,
    }
    with opened_engine(settings) as engine:
        engine.register("ends", cut_ends(cuts))
        for table, columns in _COLUMNS.items():
            rows = dataset_of(open_table(settings, table)).scanner(columns=list(columns), filter=filters[table])
            engine.register(f"{table}_once", rows.to_reader())
        raw = dataset_of(open_table(settings, "raw_clicks"))
        ads_of_raw = raw.scanner(columns=["click_hour", *_POSITION, "ad_id"], filter=in_hours(before))
        engine.register("raw_clicks_before_once", ads_of_raw.to_reader())
        engine.register("known_ads", table_of([(ad_id,) for ad_id in read_ads(settings)], {"ad_id": pa.int64()}))
        for sql in _STEPS:
            engine.execute(sql)
        yield WrittenAttempt(engine)
