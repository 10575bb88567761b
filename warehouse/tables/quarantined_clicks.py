"""Table ``quarantined_clicks``."""

from warehouse.table import Column, Table

QUARANTINED_CLICKS = Table(
    name="quarantined_clicks",
    description="What could not become a click event, with its reason and exact bytes. Nothing is dropped.",
    owner="data engineering",
    written_by="archive stream",
    writer="spark",
    key=("log", "partition", "offset"),
    columns=(
        Column("log", "int", "number of the topic id, see table logs"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "offset in the partition"),
        Column("logged_at", "timestamp", "append time at the broker, made monotone per partition in offset order"),
        Column("reason", "string", "the first that applies, see domain/events.py"),
        Column("payload", "binary", "the record's value, byte for byte; null where it had none", is_nullable=True),
        Column("log_date", "date", "UTC date of logged_at"),
    ),
    partition_by=("log_date",),
    is_append_only=True,
    properties={"delta.dataSkippingStatsColumns": "log,partition,offset,logged_at,reason"},
)
