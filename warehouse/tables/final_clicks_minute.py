"""Table ``final_clicks_minute``."""

from warehouse.table import Column, Table

FINAL_CLICKS_MINUTE = Table(
    name="final_clicks_minute",
    description="Sealed figures by minute and nothing else; rebuilt from the seals at will.",
    owner="finance",
    written_by="publish",
    writer="spark",
    key=("advertiser_id", "campaign_id", "ad_id", "minute", "country", "device"),
    columns=(
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("ad_id", "long", "the ad"),
        Column("minute", "timestamp", "start of the minute of clicked_at"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("clicks", "long", "count of billable clicks"),
        Column("click_date", "date", "UTC date of clicked_at"),
        Column("click_hour", "int", "UTC hour of the day of clicked_at"),
    ),
    partition_by=("click_date", "click_hour"),
    retention_days=90,
    properties={"delta.deletedFileRetentionDuration": "interval 30 days"},
)
