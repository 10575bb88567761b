"""Adding up: slices of pinned tables in, one table of buckets and groups out, by DuckDB over Arrow datasets.

Belongs here: which files and rows of a slice are read, and the SQL that sums them. Which slices an answer is made of is
``warehouse/ranges.py``, and of which versions of the tables, ``warehouse/counts.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyarrow.dataset import Dataset, Expression
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from domain.buckets import MICROSECOND, to_unix_micros
from domain.errors import UsageError
from domain.local_buckets import Buckets
from domain.settings import Settings
from warehouse.buckets_sql import bucket_sql, is_split_sql, text_sql
from warehouse.counts_query import CountsQuery
from warehouse.layout import table_uri
from warehouse.ranges import BUCKET_COLUMN, FinalRange, Slice
from warehouse.schema import INSTANT

MEMORY_LIMIT = "512MB"
ENGINE_CONFIG: dict[str, Any] = {
    "threads": 2,
    "memory_limit": MEMORY_LIMIT,
    "max_temp_directory_size": "0KiB",
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""The engine sees the rows that it is handed and nothing else: no files, no network, nothing spilled to disk."""

SLICE_SQL = (
    "SELECT {bucket} AS bucket_us{keys}, clicks FROM (SELECT {us} AS us, * FROM slice_{index}) WHERE {condition}"
)
"""The rows of one slice, each with the start of its bucket."""
ANSWER_SQL = """
SELECT *,
       to_json({{'bucket': {text}{fields},
                 'clicks': clicks, 'final': final}})::VARCHAR AS json
FROM (
    SELECT bucket_us{keys},
           sum(clicks)::BIGINT AS clicks,
           coalesce(bucket_us >= $final_from_us AND bucket_us < $final_until_us, false) AS final
    FROM ({slices})
    GROUP BY bucket_us{keys}
)
ORDER BY bucket_us{keys}
LIMIT {limit}
"""
"""All slices added up by bucket and group, each row with its JSON form: the engine writes it far faster than Python."""

ATTEMPTS_SQL = "SELECT attempt, sum(clicks)::BIGINT FROM attempt_rows GROUP BY attempt"
"""What each attempt came to."""

_BUCKET_US = {
    table: f"epoch_us({column}::TIMESTAMP)" if column == "click_date" else f"epoch_us({column})"
    for table, column in BUCKET_COLUMN.items()
}


class AnswerTooLargeError(UsageError):
    """An answer has more rows, or needs more memory, than one answer may."""


class CountsEngine:
    """Adds up clicks. Threads may share it; each call has a session of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = duckdb.connect(":memory:", config=ENGINE_CONFIG)

    def added_up(
        self, query: CountsQuery, parts: Sequence[tuple[Slice, DeltaTable]], final: FinalRange | None, max_rows: int
    ) -> pa.Table:
        """Rows in order: bucket, group columns, clicks, final, json. ``AnswerTooLargeError`` beyond ``max_rows``."""
        sql = _answer_sql(query, [part for part, _ in parts], limit=max_rows + 1)
        with self._engine.cursor() as session:
            for index, (part, snapshot) in enumerate(parts):
                session.register(f"slice_{index}", self._rows_of(query, part, snapshot))
            try:
                found: pa.Table = session.sql(sql, params=_final_bounds(final, query.buckets)).to_arrow_table()
            except duckdb.OutOfMemoryException as error:
                raise too_large(f"an answer that takes more than {MEMORY_LIMIT} to add up", max_rows) from error
        if found.num_rows > max_rows:
            raise too_large(f"an answer of more than {max_rows:,} rows", max_rows)
        return found.set_column(0, "bucket", found.column("bucket_us").cast(INSTANT))

    def attempt_sums(self, part: Slice, snapshot: DeltaTable, max_rows: int) -> dict[str, int]:
        """By attempt the clicks of a slice of attempts, whoever they belong to; those without clicks are absent.

        ``AnswerTooLargeError`` as ``added_up``.
        """
        everybody = CountsQuery(part.start, part.end, "day")
        with self._engine.cursor() as session:
            session.register("attempt_rows", self._rows_of(everybody, part, snapshot))
            try:
                return dict(session.execute(ATTEMPTS_SQL).fetchall())
            except duckdb.OutOfMemoryException as error:
                raise too_large(f"attempts that take more than {MEMORY_LIMIT} to add up", max_rows) from error

    def _rows_of(self, query: CountsQuery, part: Slice, snapshot: DeltaTable) -> Dataset:
        """The rows of a slice that the query selects; files that cannot hold any are not opened."""
        folder = SubTreeFileSystem(table_uri(self._settings, part.table), LocalFileSystem())
        dataset = snapshot.to_pyarrow_dataset(filesystem=folder, file_pruning_predicate=_files_of(part))
        return dataset.filter(_selection(query, part))


def too_large(found: str, max_rows: int) -> AnswerTooLargeError:
    """The refusal of an answer, with how it gets smaller."""
    return AnswerTooLargeError(
        found,
        f"at most {max_rows:,} rows",
        "shorten the range, take a coarser granularity, fewer ads or fewer things to group by",
    )


def _files_of(part: Slice) -> list[tuple[str, str, Any]]:
    """What files are pruned by: the partition exactly, then the statistics that each file has of its buckets."""
    first, last = part.start, part.end - MICROSECOND
    files: list[tuple[str, str, Any]] = [("click_date", ">=", first.date()), ("click_date", "<=", last.date())]
    column = BUCKET_COLUMN[part.table]
    if column == "minute" and first.date() == last.date():
        files += [("click_hour", ">=", first.hour), ("click_hour", "<=", last.hour)]
    if column != "click_date":
        files += [(column, ">=", part.start), (column, "<", part.end)]
    return files


def _selection(query: CountsQuery, part: Slice) -> Expression:
    """Which rows of a slice count."""
    bucket = pc.field(BUCKET_COLUMN[part.table])
    is_selected = (bucket >= _bound(part, part.start)) & (bucket < _bound(part, part.end))
    if part.attempts is not None:
        is_selected &= pc.field("attempt").isin(pa.array(sorted(part.attempts), pa.string()))
    if query.ad_ids is not None:  # no ads: nothing is in an empty list
        is_selected &= pc.field("ad_id").isin(pa.array(sorted(query.ad_ids), pa.int64()))
    if query.campaign_id is not None:
        is_selected &= pc.field("campaign_id") == query.campaign_id
    if query.advertiser_id is not None:
        is_selected &= pc.field("advertiser_id") == query.advertiser_id
    if query.countries is not None:
        is_selected &= pc.field("country").isin(pa.array(sorted(query.countries), pa.string()))
    if query.devices is not None:
        is_selected &= pc.field("device").isin(pa.array(sorted(query.devices), pa.string()))
    if part.hours == "split":  # a partition of the minute tables: files of other hours are not opened
        is_selected &= pc.field("click_hour").isin(pa.array(sorted(query.buckets.split_hours), pa.int32()))
    return is_selected


def _bound(part: Slice, at: datetime) -> pa.Scalar[Any]:
    return pa.scalar(at.date()) if BUCKET_COLUMN[part.table] == "click_date" else pa.scalar(at, INSTANT)


def _answer_sql(query: CountsQuery, parts: Sequence[Slice], limit: int) -> str:
    """Made of column names out of our own tables and of whole numbers; no text of a caller gets into it."""
    keys = "".join(f", {column}" for column in query.group_columns)
    fields = "".join(f", '{column}': {column}" for column in query.group_columns)
    slices = " UNION ALL ".join(
        SLICE_SQL.format(
            bucket=bucket_sql("us", query.buckets),
            us=_BUCKET_US[part.table],
            keys=keys,
            index=index,
            condition=_condition(query, part),
        )
        for index, part in enumerate(parts)
    )
    text = text_sql("bucket_us", query.buckets)
    return ANSWER_SQL.format(keys=keys, fields=fields, text=text, limit=limit, slices=slices)


def _condition(query: CountsQuery, part: Slice) -> str:
    """Which hours of the slice count, by the clock of the question's zone."""
    if part.hours == "all":
        return "true"
    is_split = is_split_sql("us", query.buckets)
    return is_split if part.hours == "split" else f"NOT ({is_split})"


def _final_bounds(final: FinalRange | None, buckets: Buckets) -> dict[str, int | None]:
    """A bucket is final as a whole if it starts between the two: before the bucket that holds the first hour after."""
    return {
        "final_from_us": None if final is None else to_unix_micros(final.start),
        "final_until_us": None if final is None else to_unix_micros(buckets.start_of(final.until)),
    }
