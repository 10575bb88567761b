"""Table ``adjustments``."""

from warehouse.table import Column, Table

ADJUSTMENTS = Table(
    name="adjustments",
    description="Differences found after a close, each with its charge hour and the open period that bills it.",
    owner="finance",
    written_by="tallystick period adjust",
    writer="delta-rs",
    key=("case_id", "line_number"),
    columns=(
        Column("case_id", "string", "the case; one is adjusted once"),
        Column("line_number", "long", "from 1 in each case"),
        Column("charge_hour", "timestamp", "start of the UTC hour that the clicks belong to, in a closed period"),
        Column("billing_period", "string", "UTC month that bills it, such as 2026-12; open when it was written"),
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign"),
        Column("ad_id", "long", "the ad"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("delta_clicks", "long", "count of clicks billed more, or less if negative"),
        Column("reason", "string", "why"),
        Column("corrects_seal_number", "long", "seal that holds for the charge hour"),
        Column("requested_by", "string", "who asked, by token"),
        Column("approved_by", "string", "who approved, by token; another person"),
        Column("adjusted_at", "timestamp", "when"),
        Column("adjustment_number", "long", "place in the chain, counts up by one over all cases"),
        Column("previous_hash", "string", "hash of the line before, or zeros"),
        Column("hash", "string", "SHA-256 over previous_hash and all other columns, see docs/seals.md"),
    ),
    is_append_only=True,
)
