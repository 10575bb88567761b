"""A batch's row out of its own work and Spark's report, and rows that wait: many to a commit, none in the way."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.buckets import parse_utc, to_unix_micros
from domain.settings import Settings
from spark_jobs.batch_log import APPEND_EVERY, BatchLog, BatchWork, CountedClicks, ReadCounts, stream_batch
from tests.support.batches import AT, batch
from tests.support.empty_tables import make_empty_tables
from warehouse.layout import open_table, table_uri
from warehouse.stream_batches import append_batches, batches_since

VISIBLE_AT = parse_utc("2026-05-03T11:00:03Z")
FIRST, LAST = parse_utc("2026-05-03T10:59:50Z"), parse_utc("2026-05-03T10:59:58Z")
PROGRESS: dict[str, Any] = {
    "batchId": 12,
    "timestamp": "2026-05-03T11:00:00.000Z",
    "batchDuration": 4_000,
    "eventTime": {"watermark": "2026-05-02T22:59:58.000Z"},
    "stateOperators": [{"numRowsTotal": 85, "memoryUsedBytes": 4_096}],
    "sources": [{"latestOffset": {"clicks": {"0": 70, "1": 55, "2": 9}}}],
    "observedMetrics": {
        "read": {
            "in_count": 100,
            "parsed_count": 98,
            "quarantined_count": 2,
            "click_count": 90,
            "newest_appended_micros": to_unix_micros(LAST),
        },
        "first_copies": {"copy_count": 80},
    },
}
LIVE = BatchWork({0: 60, 1: 50}, {"merge": 2.5, "marks": 0.5}, counted=CountedClicks(6, 70, FIRST, LAST, VISIBLE_AT))
ARCHIVE = BatchWork({0: 60}, {"raw_clicks": 1.0}, ReadCounts(100, 98, 2, 90, None), already_count=3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(home=tmp_path / "home")
    make_empty_tables(found)
    return found


def test_a_live_batch_adds_up() -> None:
    # 90 clicks on 80 identities: 10 repeats. Of 80 first copies 6 were late and 70 counted; 4 were looked at before.
    row = stream_batch("live", 1, LIVE, PROGRESS)
    assert (row.in_count, row.parsed_count, row.quarantined_count) == (100, 98, 2)
    assert (row.duplicate_count, row.late_count, row.already_count, row.counted_count) == (10, 6, 4, 70)
    assert (row.first_appended_at, row.last_appended_at, row.visible_at) == (FIRST, LAST, VISIBLE_AT)
    assert (row.newest_appended_at, row.watermark_at) == (LAST, parse_utc("2026-05-02T22:59:58Z"))
    assert row.ended_at - row.started_at == timedelta(seconds=4)
    assert row.stage_seconds == {"merge": 2.5, "marks": 0.5, "spark": 1.0}
    assert row.lag_events == {0: 10, 1: 5, 2: 9}, "a partition that was never read lags with all it has"


def test_an_archive_batch_has_its_own_counts() -> None:
    row = stream_batch("archive", 1, ARCHIVE, PROGRESS | {"stateOperators": [], "observedMetrics": {}, "eventTime": {}})
    assert (row.in_count, row.click_count, row.already_count) == (100, 90, 3)
    assert (row.duplicate_count, row.late_count, row.counted_count, row.visible_at) == (None, None, None, None)
    assert (row.state_count, row.watermark_at, row.newest_appended_at) == (0, None, None)


def test_a_batch_without_records_is_all_zeros() -> None:
    """L10: Spark runs batches that only move the watermark, and leaves out of them what it could observe."""
    nothing = replace(LIVE, counted=CountedClicks(0, 0, None, None, VISIBLE_AT))
    no_watermark = {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    row = stream_batch("live", 1, nothing, PROGRESS | no_watermark | {"observedMetrics": {}})
    assert (row.in_count, row.duplicate_count, row.already_count, row.counted_count) == (0, 0, 0, 0)
    assert row.watermark_at is None


@pytest.mark.parametrize("told", [{"latestOffset": None}, {}])
def test_a_log_whose_end_spark_did_not_ask_for_has_no_lag(told: dict[str, None]) -> None:
    assert stream_batch("live", 1, LIVE, PROGRESS | {"sources": [told]}).lag_events == {}


def test_many_batches_are_one_commit(settings: Settings) -> None:
    rows = BatchLog(settings, AT)
    for number in range(3):
        rows.add("live", 1, LIVE, PROGRESS | {"batchId": number})
        rows.append_due(AT + timedelta(seconds=number))
    assert open_table(settings, "stream_batches").version() == 0
    rows.append_due(AT + APPEND_EVERY)
    rows.append_all(AT)
    assert open_table(settings, "stream_batches").version() == 1
    assert len(batches_since(settings, AT - timedelta(hours=1))) == 3


def test_a_commit_that_fails_halts_nothing_and_is_made_up_for(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    rows, folder = BatchLog(settings, AT), Path(table_uri(settings, "stream_batches"))
    rows.add("live", 1, LIVE, PROGRESS)
    shutil.move(folder, folder.with_name("away"))
    with caplog.at_level(logging.WARNING, "tallystick.stream"):
        rows.append_all(AT)
    assert "1 batches are not in table stream_batches yet: no table stream_batches" in caplog.text
    shutil.move(folder.with_name("away"), folder)
    rows.add("live", 1, LIVE, PROGRESS | {"batchId": 13})
    rows.append_all(AT)
    assert [each.batch_id for each in batches_since(settings, AT - timedelta(hours=1))] == [12, 13]


def test_tidying_that_fails_appends_nothing_twice(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """The commit stands, whatever becomes of the old dates."""
    append_batches(settings, [replace(batch(), ended_at=AT - timedelta(days=40))])
    open_table(settings, "stream_batches").alter.set_table_properties({"delta.appendOnly": "true"})
    rows = BatchLog(settings, AT)
    for number in (7, 8):
        rows.add("live", 1, LIVE, PROGRESS | {"batchId": number})
        with caplog.at_level(logging.WARNING, "tallystick.stream"):
            rows.append_all(AT)
    assert caplog.text.count("stream_batches has all batches, and more files and dates than it needs") == 2
    assert [each.batch_id for each in batches_since(settings, AT - timedelta(hours=1))] == [7, 8]


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        pytest.param({"sources": []}, "ValueError", id="no-source"),
        pytest.param({"timestamp": "noon"}, "ValueError", id="another-time"),
        pytest.param({"batchDuration": None}, "TypeError", id="no-duration"),
        pytest.param({"stateOperators": [{"numRowsTotal": 85}]}, "KeyError", id="no-state-bytes"),
        pytest.param({"eventTime": None}, "AttributeError", id="no-event-time"),
    ],
)
def test_a_report_of_another_shape_costs_its_row_and_halts_nothing(
    settings: Settings, caplog: pytest.LogCaptureFixture, told: dict[str, Any], problem: str
) -> None:
    rows = BatchLog(settings, AT)
    with caplog.at_level(logging.WARNING, "tallystick.stream"):
        rows.add("live", 1, LIVE, PROGRESS | told)
    assert f"batch 12 of the live query has no row, Spark's report of it: {problem}(" in caplog.text
    rows.add("live", 1, LIVE, PROGRESS | {"batchId": 13})
    rows.append_all(AT)
    assert [each.batch_id for each in batches_since(settings, AT - timedelta(hours=1))] == [13]
