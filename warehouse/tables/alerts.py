"""Table ``alerts``."""

from warehouse.table import Column, Table

ALERTS = Table(
    name="alerts",
    description="What was wrong, step by step: an alert opened, changed, was repeated, resolved; and what was told.",
    owner="data engineering",
    written_by="tallystick alerts",
    writer="delta-rs",
    key=("alert_id", "step", "recorded_at"),
    columns=(
        Column("alert_id", "string", "the alert; its steps share it"),
        Column("source", "string", "who looked: verdicts, drift, seals, servers, crawl, dagster"),
        Column("key", "string", "the cause; one alert is open for it at a time"),
        Column("step", "string", "opened, changed, repeated, resolved, or of the step before it: sent, failed"),
        Column("severity", "string", "fail (holds sealing back) or warn"),
        Column("about", "string", "the hours or the part that it is about"),
        Column("rule", "string", "what was asked"),
        Column("observed", "string", "what was found"),
        Column("expected", "string", "what should have been found"),
        Column("see", "string", "the command or page that shows more"),
        Column("state", "string", "what of it is told at once when it changes"),
        Column("detail", "string", "of sent and failed: how it went"),
        Column("recorded_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
