"""Table ``period_closes``."""

from warehouse.table import Column, Table

PERIOD_CLOSES = Table(
    name="period_closes",
    description="The ledger of closed billing periods: what stands here never changes, nor does anything under it.",
    owner="finance",
    written_by="tallystick period close",
    writer="delta-rs",
    key=("period",),
    columns=(
        Column("period", "string", "UTC month, such as 2026-11"),
        Column("closed_at", "timestamp", "when"),
        Column("actor", "string", "who closed it"),
        Column("last_seal_number", "long", "highest of the seals that hold for its hours"),
        Column("root_digest", "string", "SHA-256 over these seals, in hex, see docs/periods.md"),
        Column("billable_clicks", "long", "count of billable clicks of all its hours"),
        Column("hour_count", "int", "count of its hours"),
    ),
    is_append_only=True,
)
