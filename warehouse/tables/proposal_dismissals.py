"""Table ``proposal_dismissals``."""

from warehouse.table import Column, Table

PROPOSAL_DISMISSALS = Table(
    name="proposal_dismissals",
    description="Proposals that somebody refused: the same findings about the hour are not proposed again.",
    owner="finance",
    written_by="tallystick proposals dismiss",
    writer="delta-rs",
    key=("hour", "findings_digest"),
    columns=(
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("findings_digest", "string", "SHA-256 over what was found, in hex, see docs/proposals.md"),
        Column("seal_number", "long", "seal that held for the hour"),
        Column("late_clicks", "long", "count of raw clicks beyond its cut"),
        Column("verdict_count", "long", "clicks of it that newer verdicts are about"),
        Column("reason", "string", "why it was refused"),
        Column("actor", "string", "who refused it"),
        Column("dismissed_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
