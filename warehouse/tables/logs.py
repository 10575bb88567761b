"""Table ``logs``."""

from warehouse.table import Column, Table

LOGS = Table(
    name="logs",
    description="Numbers given to topic ids, so that a recreated topic is another log.",
    owner="data engineering",
    written_by="the streams",
    writer="delta-rs",
    key=("log",),
    columns=(
        Column("log", "int", "counts up from 1"),
        Column("topic", "string", "name of the topic"),
        Column("topic_id", "string", "the id that the broker gave it"),
        Column("first_offsets", "string", "JSON: per partition the first offset there was when it was registered"),
        Column("registered_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
