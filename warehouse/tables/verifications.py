"""Table ``verifications``."""

from warehouse.table import Column, Table

VERIFICATIONS = Table(
    name="verifications",
    description="Recomputations of sealed hours that gave identical rows.",
    owner="finance",
    written_by="reconcile",
    writer="delta-rs",
    key=("hour", "verified_at"),
    columns=(
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("seal_number", "long", "the seal that was confirmed"),
        Column("digest", "string", "the digest found"),
        Column("actor", "string", "who or what asked for it"),
        Column("verified_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
