"""Table ``click_exclusions``."""

from warehouse.table import Column, Table

CLICK_EXCLUSIONS = Table(
    name="click_exclusions",
    description="Every raw click of an attempt's hour that is not billable, with its reason.",
    owner="finance engineering",
    written_by="reconcile",
    writer="spark",
    key=("attempt", "log", "partition", "offset"),
    columns=(
        Column("attempt", "string", "id of the computation"),
        Column("log", "int", "number of the topic id, see table logs"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "offset in the partition"),
        Column("advertiser_id", "long", "who would have paid"),
        Column("ad_id", "long", "the ad"),
        Column("reason", "string", "head, prefetch, duplicate, conflicting_duplicate or fraud"),
        Column("winner_log", "int", "log of the copy that stands for it; null where there is none", is_nullable=True),
        Column("winner_partition", "int", "partition of that copy", is_nullable=True),
        Column("winner_offset", "long", "offset of that copy", is_nullable=True),
        Column("verdict_id", "string", "the verdict, where the reason is fraud", is_nullable=True),
        Column("click_date", "date", "UTC date of clicked_at"),
        Column("click_hour", "int", "UTC hour of the day of clicked_at"),
    ),
    partition_by=("click_date", "click_hour"),
    is_append_only=True,
)
