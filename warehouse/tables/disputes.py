"""Table ``disputes``."""

from warehouse.table import Column, Table

DISPUTES = Table(
    name="disputes",
    description="What happened to each dispute: opened, notes, resolved. What stands here never changes.",
    owner="finance",
    written_by="tallystick dispute",
    writer="delta-rs",
    key=("event_number",),
    columns=(
        Column("event_number", "long", "counts up by one over all disputes"),
        Column("case_id", "string", "the dispute, such as D-1"),
        Column("kind", "string", "opened, note or resolved"),
        Column("recorded_at", "timestamp", "when"),
        Column("actor", "string", "who"),
        Column("reason", "string", "the claim, the note, or why it was resolved like that"),
        Column("advertiser_id", "long", "of opened: whose clicks", is_nullable=True),
        Column("start_at", "timestamp", "of opened: start of the range, a whole UTC minute", is_nullable=True),
        Column("end_at", "timestamp", "of opened: end of the range, not part of it", is_nullable=True),
        Column("claimed_clicks", "long", "of opened: how many clicks there should be, if said", is_nullable=True),
        Column("outcome", "string", "of resolved: upheld, rejected or adjusted", is_nullable=True),
        Column("adjustment_case_id", "string", "of resolved: the adjustments that correct it", is_nullable=True),
    ),
    is_append_only=True,
)
