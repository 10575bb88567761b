"""Table ``stream_batches``: appending what the streams report of their micro-batches, and reading the newest of it.

Belongs here: the table, what goes from it, and keeping it in few files. What its figures mean is
``domain/stream_batches.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from deltalake import write_deltalake

from domain.buckets import format_utc
from domain.settings import Settings
from domain.stream_batches import StreamBatch
from warehouse.layout import open_table, rows_of
from warehouse.ledger import keep_few_files
from warehouse.schema import arrow_rows
from warehouse.tables.stream_batches import KEPT_DAYS, STREAM_BATCHES

_ORDER: list[tuple[str, Literal["ascending", "descending"]]] = [
    ("ended_at", "ascending"),
    ("query", "ascending"),
    ("batch_id", "ascending"),
]


def append_batches(settings: Settings, batches: Sequence[StreamBatch]) -> None:
    """Appends in one commit, none for no batches. Not repeatable: a batch appended twice is there twice.

    What the table has too much of is left to ``tidy_batches``.
    """
    if batches:
        snapshot = open_table(settings, STREAM_BATCHES.name)
        write_deltalake(snapshot, arrow_rows(STREAM_BATCHES, map(_record, batches)), mode="append")


def tidy_batches(settings: Settings, at: datetime) -> None:
    """Deletes the dates that are kept no longer at ``at``, and writes many files into one a date. Repeatable.

    Files of two dates are never one, so it is the deleting that bounds their number. Whenever anything changes, files
    that were replaced more than an hour ago are deleted from the disk.
    """
    snapshot = open_table(settings, STREAM_BATCHES.name)
    found_as = snapshot.version()
    first_kept = at.astimezone(UTC).date() - timedelta(days=KEPT_DAYS)
    if any(date.fromisoformat(one["batch_date"]) < first_kept for one in snapshot.partitions()):
        snapshot.delete(f"batch_date < '{first_kept}'")
    keep_few_files(snapshot)
    if snapshot.version() != found_as:
        snapshot.vacuum(dry_run=False, full=True)


def batches_since(settings: Settings, since: datetime) -> list[StreamBatch]:
    """The batches that ended at or after ``since``, in the order of their ends."""
    is_asked = f"batch_date >= '{since.date()}' AND ended_at >= '{format_utc(since)}'"
    records = rows_of(open_table(settings, STREAM_BATCHES.name), is_asked)
    return [_batch(record) for record in records.sort_by(_ORDER).to_pylist()]


def _record(batch: StreamBatch) -> dict[str, Any]:
    return asdict(batch) | {
        "stage_seconds": json.dumps(batch.stage_seconds),
        "lag_events": json.dumps(batch.lag_events),
        "batch_date": batch.ended_at.date(),
    }


def _batch(record: dict[str, Any]) -> StreamBatch:
    del record["batch_date"]
    lag_events = {int(partition): events for partition, events in json.loads(record["lag_events"]).items()}
    return StreamBatch(**record | {"stage_seconds": json.loads(record["stage_seconds"]), "lag_events": lag_events})
