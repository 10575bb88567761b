"""Table ``late_clicks``."""

from warehouse.table import Column, Table

LATE_CLICKS = Table(
    name="late_clicks",
    description="Clicks that the live stream refused because they came too late or their hour was sealed; "
    "the batch still counts them.",
    owner="data engineering",
    written_by="live stream",
    writer="spark",
    key=("log", "partition", "offset"),
    columns=(
        Column("log", "int", "number of the topic id, see table logs"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "offset in the partition"),
        Column("reason", "string", "late or hour_sealed"),
        Column("appended_at", "timestamp", "append time at the broker"),
        Column("clicked_at", "timestamp", "when the click service saw it"),
        Column("identity", "binary", "16 bytes, see domain/identity.py"),
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("ad_id", "long", "the ad"),
        Column("minute", "timestamp", "start of the minute of clicked_at"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("click_date", "date", "UTC date of clicked_at"),
    ),
    partition_by=("click_date",),
    is_append_only=True,
)
