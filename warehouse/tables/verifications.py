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
        Column("verdict_set", "long", "set of fraud verdicts that it was counted with, all before it included"),
        Column("actor", "string", "who or what asked for it"),
        Column("reason", "string", "why, where it was asked for under a case; else empty"),
        Column("case_id", "string", "the case, or empty"),
        Column("verified_at", "timestamp", "when"),
    ),
    is_append_only=True,
)
