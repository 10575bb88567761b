"""Table ``stream_batches``: a row for each micro-batch, for those who watch the stream. Nothing depends on it."""

from warehouse.table import Column, Table

KEPT_DAYS = 30
"""Whole dates before it go when the stream next tidies the table."""
STREAM_BATCHES = Table(
    name="stream_batches",
    description="What each micro-batch read and made of it, how long it took, and how far behind the log it was.",
    owner="data engineering",
    written_by="the streams",
    writer="delta-rs",
    key=("query", "log", "started_at"),
    columns=(
        Column("query", "string", "archive or live"),
        Column("log", "int", "number of the topic id"),
        Column("batch_id", "long", "Spark's number of the batch; counts anew with a new checkpoint"),
        Column("started_at", "timestamp", "when Spark began to plan the batch"),
        Column("ended_at", "timestamp", "when all of it was committed"),
        Column("in_count", "long", "records read"),
        Column("parsed_count", "long", "of these, valid events"),
        Column("quarantined_count", "long", "of these, records with a reason against them"),
        Column("click_count", "long", "valid events of kind click"),
        Column("duplicate_count", "long", "live: clicks that were no first copies", is_nullable=True),
        Column("late_count", "long", "live: first copies refused as late", is_nullable=True),
        Column("already_count", "long", "looked at by an earlier batch: first copies (live), records (archive)"),
        Column("counted_count", "long", "live: first copies given to the merge", is_nullable=True),
        Column("first_appended_at", "timestamp", "live: append time of the oldest click counted", is_nullable=True),
        Column("last_appended_at", "timestamp", "live: append time of the newest click counted", is_nullable=True),
        Column("visible_at", "timestamp", "live: when readers could see the clicks counted", is_nullable=True),
        Column("newest_appended_at", "timestamp", "append time of the newest record read", is_nullable=True),
        Column("watermark_at", "timestamp", "event time up to which Spark forgets state", is_nullable=True),
        Column("state_count", "long", "rows in the state store"),
        Column("state_bytes", "long", "memory of the state store, as Spark tells it"),
        Column("stage_seconds", "string", "JSON: seconds of each stage; spark is what Spark itself took"),
        Column("lag_events", "string", "JSON: by partition, records beyond the batch when it was planned"),
        Column("batch_date", "date", "UTC date of ended_at"),
    ),
    partition_by=("batch_date",),
    retention_days=KEPT_DAYS,
    properties={
        "delta.logRetentionDuration": "interval 1 hours",
        "delta.deletedFileRetentionDuration": "interval 1 hours",
    },
)
