"""Table ``stream_marks``: a few rows, replaced by a commit per batch for ever."""

from warehouse.table import Column, Table

STREAM_MARKS = Table(
    name="stream_marks",
    description="How far each query has looked at each partition; may lag a batch, never leads.",
    owner="data engineering",
    written_by="the streams",
    writer="delta-rs",
    key=("query", "log", "partition"),
    columns=(
        Column("query", "string", "archive or live"),
        Column("log", "int", "number of the topic id"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "last offset looked at"),
        Column("highest_clicked_at", "timestamp", "highest clicked_at counted of this partition", is_nullable=True),
        Column("logged_at", "timestamp", "logged_at of the newest record looked at", is_nullable=True),
    ),
    partition_by=("query",),  # two queries of one driver commit at the same time and must not conflict
    properties={
        "delta.checkpointInterval": "20",
        "delta.logRetentionDuration": "interval 10 minutes",
        "delta.deletedFileRetentionDuration": "interval 10 minutes",
    },
)
