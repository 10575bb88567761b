"""Only the files that can hold an answer are read, and the engine can reach nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from domain.buckets import parse_utc
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables
from warehouse.counts_query import CountsQuery
from warehouse.counts_sql import ENGINE_CONFIG, AnswerTooLargeError, CountsEngine
from warehouse.layout import open_table, table_uri
from warehouse.ranges import Slice

DAY_OF_CLICKS = [Clicks(f"2026-05-{day:02}T{hour:02}:30Z", 1) for day in (3, 4) for hour in range(24)]

READ: dict[str, tuple[str, str, str, Counter[str]]] = {
    "two hours of a day": (
        "final_clicks_minute",
        "2026-05-03T09:30Z",
        "2026-05-03T11:00Z",
        Counter({"click_date=2026-05-03/click_hour=9": 1, "click_date=2026-05-03/click_hour=10": 1}),
    ),
    "hours on both sides of midnight": (
        "live_clicks_minute",
        "2026-05-03T23:00Z",
        "2026-05-04T01:00Z",
        Counter({"click_date=2026-05-03/click_hour=23": 1, "click_date=2026-05-04/click_hour=0": 1}),
    ),
    "an hour out of a day's file": (
        "final_clicks_hour",
        "2026-05-04T05:00Z",
        "2026-05-04T06:00Z",
        Counter({"click_date=2026-05-04": 1}),
    ),
    "one day": ("final_clicks_day", "2026-05-04T00:00Z", "2026-05-05T00:00Z", Counter({"click_date=2026-05-04": 1})),
}


@pytest.mark.parametrize(("table", "start", "end", "expected"), READ.values(), ids=READ)
def test_other_files_are_not_opened(
    settings: Settings, table: str, start: str, end: str, expected: Counter[str]
) -> None:
    """Every file that should not be read is taken away; the answer comes all the same."""
    tables = CountsTables(settings)
    tables.write_live(DAY_OF_CLICKS)
    tables.write_final(DAY_OF_CLICKS)
    snapshot = open_table(settings, table)
    kept = Counter(_partition(uri, settings, table) for uri in snapshot.file_uris() if not _removed(uri, expected))
    assert kept == expected
    part = Slice(table, parse_utc(start), parse_utc(end))
    query = CountsQuery(part.start, part.end)
    assert _clicks(CountsEngine(settings), query, part, snapshot) == sum(
        row.clicks for row in DAY_OF_CLICKS if part.start <= row.at < part.end
    )


def _partition(uri: str, settings: Settings, table: str) -> str:
    return str(Path(uri).parent.relative_to(table_uri(settings, table)))


def _removed(uri: str, kept: Counter[str]) -> bool:
    if any(str(Path(uri).parent).endswith(partition) for partition in kept):
        return False
    Path(uri).unlink()
    return True


def _clicks(engine: CountsEngine, query: CountsQuery, part: Slice, snapshot: DeltaTable) -> int:
    return sum(engine.added_up(query, [(part, snapshot)], None, 100)["clicks"].to_pylist())


@pytest.mark.parametrize("table", ["live_clicks_minute", "final_clicks_minute", "final_clicks_hour"])
def test_instants_as_spark_writes_them(settings: Settings, table: str) -> None:
    """Spark's Parquet files have 96-bit timestamps without a zone, where delta-rs writes microseconds in UTC."""
    tables = CountsTables(settings)
    tables.write_live(DAY_OF_CLICKS)
    tables.write_final(DAY_OF_CLICKS)
    snapshot = open_table(settings, table)
    for uri in snapshot.file_uris():
        with pq.ParquetFile(uri) as file:
            rows = file.read()
        pq.write_table(rows, uri, use_deprecated_int96_timestamps=True)
    part = Slice(table, parse_utc("2026-05-03T22:00Z"), parse_utc("2026-05-04T01:00Z"))
    assert _clicks(CountsEngine(settings), CountsQuery(part.start, part.end), part, snapshot) == 3


def test_the_engine_opens_no_file(tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    engine = duckdb.connect(":memory:", config=ENGINE_CONFIG)
    with pytest.raises(duckdb.PermissionException):
        engine.sql(f"SELECT * FROM '{file}'").fetchall()


def test_an_answer_beyond_the_memory_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINE_CONFIG, "memory_limit", "1MB")
    minutes = [Clicks(f"2026-05-03T{hour:02}:{minute:02}Z", 1) for hour in range(24) for minute in range(60)]
    CountsTables(settings).write_live(minutes)
    part = Slice("live_clicks_minute", parse_utc("2026-05-03T00:00Z"), parse_utc("2026-05-04T00:00Z"))
    query = CountsQuery(part.start, part.end, "minute")
    with pytest.raises(AnswerTooLargeError, match="an answer that takes more than 512MB to add up"):
        CountsEngine(settings).added_up(query, [(part, open_table(settings, part.table))], None, 10_000)
