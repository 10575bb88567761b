"""Batches in their table: they come back as they were, by time, from few files."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.settings import Settings
from tests.support.batches import AT, batch
from warehouse.layout import open_table, table_uri
from warehouse.stream_batches import append_batches, batches_since, tidy_batches


def test_batches_come_back_as_they_were_by_their_ends(settings: Settings) -> None:
    live, archive, old = batch(), batch("archive", 40), batch(ended_seconds_ago=3_601)
    append_batches(settings, [live, old])
    append_batches(settings, [archive])
    assert batches_since(settings, AT - timedelta(hours=1)) == [archive, live]
    assert batches_since(settings, AT - timedelta(seconds=3_601)) == [old, archive, live]


def test_the_day_before_is_read_where_the_hour_reaches_into_it(settings: Settings) -> None:
    midnight = AT.replace(hour=0)
    before = replace(batch(), ended_at=midnight - timedelta(minutes=5))
    append_batches(settings, [before])
    assert batches_since(settings, midnight - timedelta(minutes=30)) == [before]
    assert open_table(settings, "stream_batches").partitions() == [{"batch_date": "2026-05-02"}]


def test_none_are_no_commit(settings: Settings) -> None:
    append_batches(settings, [])
    assert open_table(settings, "stream_batches").version() == 0


def test_a_commit_every_few_seconds_for_ever_leaves_few_files(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D11, D13: small files are written into one, and those replaced long ago are deleted."""
    # Batches 0 to 5 are six files, written into one; with 6 to 10 these are six again, and the second time the first
    # six files were replaced long ago. Left are the first whole one, 6 to 10, the second whole one and 11.
    monkeypatch.setattr("warehouse.ledger.MAX_FILES", 5)
    table = open_table(settings, "stream_batches")
    table.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 1 seconds"})
    for number in range(12):
        if number == 8:
            time.sleep(1.2)
        append_batches(settings, [replace(batch(), batch_id=number)])
        tidy_batches(settings, AT)
    assert len(open_table(settings, "stream_batches").file_uris()) == 2
    assert len(list(Path(table_uri(settings, "stream_batches")).glob("*/*.parquet"))) == 1 + 5 + 1 + 1
    assert [each.batch_id for each in batches_since(settings, AT - timedelta(hours=1))] == list(range(12))


def test_dates_of_more_than_thirty_days_ago_go_and_appends_rewrite_nothing(settings: Settings) -> None:
    """D11: files of two dates are never one, so 130 dates would be tidied, in vain, after every append."""
    append_batches(settings, [replace(batch(), ended_at=AT - timedelta(days=days)) for days in range(130)])
    tidy_batches(settings, AT)
    dates = sorted(one["batch_date"] for one in open_table(settings, "stream_batches").partitions())
    assert (len(dates), dates[0], dates[-1]) == (31, "2026-04-03", "2026-05-03")
    tidied_as = open_table(settings, "stream_batches").version()
    for number in range(3):
        append_batches(settings, [replace(batch(), batch_id=number)])
        tidy_batches(settings, AT)
    assert open_table(settings, "stream_batches").version() == tidied_as + 3
    tidy_batches(settings, AT + timedelta(days=1))
    assert len(batches_since(settings, AT - timedelta(days=200))) == 30 + 3
