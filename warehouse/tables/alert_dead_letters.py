"""Table ``alert_dead_letters``."""

from warehouse.table import Column, Table

ALERT_DEAD_LETTERS = Table(
    name="alert_dead_letters",
    description="Messages of alerts that the webhook did not take, as they were sent, and why not.",
    owner="data engineering",
    written_by="tallystick alerts",
    writer="delta-rs",
    key=("alert_id", "step", "failed_at"),
    columns=(
        Column("alert_id", "string", "the alert"),
        Column("step", "string", "the step that nobody was told of"),
        Column("message", "string", "JSON: the message"),
        Column("why", "string", "what the webhook did; never its address"),
        Column("failed_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
