"""How lags are put into buckets."""

from __future__ import annotations

import duckdb
import pytest

from spark_jobs.reconcile_metrics_sql import bucket_sql


@pytest.mark.parametrize(
    ("lag_ms", "bucket_ms"),
    [
        (0, 0),
        (127, 127),
        (128, 128),
        (129, 128),
        (255, 254),
        (256, 256),
        (259, 256),
        (86_400_000, 85_983_232),  # 82 * 2**20, of a lag of a day
        (-129, -128),
        (-5, -5),
    ],
)
def test_a_lag_is_told_to_its_leading_bits(lag_ms: int, bucket_ms: int) -> None:
    assert duckdb.sql(f"SELECT {bucket_sql('lag')} FROM (SELECT {lag_ms}::BIGINT AS lag)").fetchall() == [(bucket_ms,)]
