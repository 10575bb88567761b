"""Table ``quality_overrides``."""

from warehouse.table import Column, Table

QUALITY_OVERRIDES = Table(
    name="quality_overrides",
    description="What people decided about verdicts: hours let go although a rule holds them, levels accepted.",
    owner="data engineering",
    written_by="tallystick quality",
    writer="delta-rs",
    key=("kind", "hour", "rule", "group", "recorded_at"),
    columns=(
        Column("kind", "string", "release (the hour may be sealed) or accept_level (a new level is the right one)"),
        Column("hour", "timestamp", "start of the UTC hour; of accept_level the first one of the new level"),
        Column("rule", "string", "the rule"),
        Column("group", "string", "which part of the hour, as in the verdict"),
        Column("observed", "string", "of release: what was observed then; anything else holds the hour again"),
        Column("actor", "string", "who decided"),
        Column("reason", "string", "why"),
        Column("recorded_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
