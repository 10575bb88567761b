"""Table ``retention_steps``."""

from warehouse.table import Column, Table

RETENTION_STEPS = Table(
    name="retention_steps",
    description="What was deleted because its retention was over: what was meant to be, and how it ended.",
    owner="finance",
    written_by="tallystick maintain",
    writer="delta-rs",
    key=("step_number", "state"),
    columns=(
        Column("step_number", "long", "counts up by one over all steps"),
        Column("state", "string", "intended, done or abandoned; an intended step ends in one of the others"),
        Column("table_name", "string", "table of which partitions were deleted"),
        Column("partition_names", "string", "JSON array of the partitions: dates, or dates with their hour"),
        Column("row_count", "long", "rows that they held", is_nullable=True),
        Column("file_bytes", "long", "size of their files"),
        Column("policy", "string", "for how long the table is kept"),
        Column("actor", "string", "who or what asked for it"),
        Column("recorded_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
