"""Table ``final_clicks_hour``."""

from warehouse.table import Column, Table

FINAL_CLICKS_HOUR = Table(
    name="final_clicks_hour",
    description="Sealed figures by hour and nothing else; rebuilt from the seals at will.",
    owner="finance",
    written_by="publish",
    writer="spark",
    key=("advertiser_id", "campaign_id", "ad_id", "hour", "country", "device"),
    columns=(
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("ad_id", "long", "the ad"),
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("clicks", "long", "count of billable clicks"),
        Column("click_date", "date", "UTC date of clicked_at"),
    ),
    partition_by=("click_date",),
    retention_days=1096,
    properties={"delta.deletedFileRetentionDuration": "interval 30 days"},
)
