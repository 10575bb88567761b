"""The versioned merge of live counts: adds to a row only what the row has not counted yet.

Belongs here: the one MERGE of the live stream. Each row of ``live_clicks_minute`` keeps, per "log:partition", the
highest offset it has counted (Yelp's rule), so a replay of any part of the log adds nothing. What a batch looked at
before is the mark's business, in ``spark_jobs/live.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime

from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from warehouse.tables import LIVE_CLICKS_MINUTE

_OVERLAP = "TALLYSTICK-OVERLAP"

_COUNTED = f"""
aggregate(s.parts, 0L, (sum, part) -> sum + CASE
    WHEN part.first > coalesce(try_element_at(t.versions, part.source), -1L) THEN part.clicks
    WHEN part.last <= try_element_at(t.versions, part.source) THEN 0L
    ELSE CAST(raise_error('{_OVERLAP}') AS BIGINT)
END)
"""
_PART_VERSIONS = "map_from_entries(transform(s.parts, part -> struct(part.source, part.last)))"
_VERSIONS = f"map_zip_with(t.versions, {_PART_VERSIONS}, (source, old, new) -> greatest(old, new))"
_NEW_CLICKS = "aggregate(s.parts, 0L, (sum, part) -> sum + part.clicks)"


class PartialOverlapError(Exception):
    """A key's partial count lies partly above and partly below its stored version; nothing was written.

    Caught by the caller, which drops the counted events one by one (``drop_counted``) and merges again.
    """


def merge_counts(
    parts: DataFrame, uri: str, hours: Collection[tuple[date, int]], minutes: tuple[datetime, datetime]
) -> None:
    """Add partial counts to ``live_clicks_minute`` in one commit.

    ``parts``: the live key, click_date, click_hour and parts(source, clicks, first, last), one row a key. ``hours`` and
    ``minutes`` (first, last) bound the batch: literals, so that Delta reads the files of these minutes only.
    Repeatable: what a row has counted is not added again. Raises ``PartialOverlapError``.
    """
    key = " AND ".join(f"t.{name} = s.{name}" for name in (*LIVE_CLICKS_MINUTE.key, *LIVE_CLICKS_MINUTE.partition_by))
    values = {name: f"s.{name}" for name in LIVE_CLICKS_MINUTE.column_names if name not in ("clicks", "versions")}
    merge = (
        DeltaTable.forPath(parts.sparkSession, uri)
        .alias("t")
        .merge(parts.alias("s"), f"{_bounds('t', hours, minutes)} AND {key}")
        .whenMatchedUpdate(set={"clicks": f"t.clicks + {_COUNTED}", "versions": _VERSIONS})
        .whenNotMatchedInsert(values={**values, "clicks": _NEW_CLICKS, "versions": _PART_VERSIONS})
    )
    try:
        merge.execute()
    except PySparkException as error:
        if _OVERLAP in str(error):
            raise PartialOverlapError from error
        raise


def drop_counted(
    clicks: DataFrame, uri: str, log: int, hours: Collection[tuple[date, int]], minutes: tuple[datetime, datetime]
) -> DataFrame:
    """``clicks`` (live key, partition, offset, ...) without those at or below their row's version: event by event."""
    source = F.concat(F.lit(f"{log}:"), F.col("partition").cast("string"))
    stored = (
        clicks.sparkSession.read.format("delta")
        .load(uri)
        .alias("t")
        .where(_bounds("t", hours, minutes))
        .select(*LIVE_CLICKS_MINUTE.key, "versions")
    )
    version = F.coalesce(F.try_element_at("versions", source), F.lit(-1))
    return clicks.join(stored, list(LIVE_CLICKS_MINUTE.key), "left").where(F.col("offset") > version).drop("versions")


def _bounds(alias: str, hours: Collection[tuple[date, int]], minutes: tuple[datetime, datetime]) -> str:
    partitions = " OR ".join(
        f"({alias}.click_date = DATE'{day}' AND {alias}.click_hour = {hour})" for day, hour in sorted(hours)
    )
    first, last = (f"TIMESTAMP'{at:%Y-%m-%d %H:%M:%S}Z'" for at in minutes)
    return f"({partitions}) AND {alias}.minute BETWEEN {first} AND {last}"
