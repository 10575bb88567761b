"""Table ``live_clicks_minute``."""

from warehouse.table import Column, Table

LIVE_CLICKS_MINUTE = Table(
    name="live_clicks_minute",
    description="The stream's estimate, partial totals included: "
    "counts by minute with, per row, the highest offset counted of each partition.",
    owner="data engineering",
    written_by="live stream",
    writer="spark",
    key=("advertiser_id", "campaign_id", "ad_id", "minute", "country", "device"),
    columns=(
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("ad_id", "long", "the ad"),
        Column("minute", "timestamp", "start of the minute of clicked_at"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("clicks", "long", "count of clicks"),
        Column("versions", "map<string,long>", 'per "log:partition" the highest offset counted in this row'),
        Column("click_date", "date", "UTC date of clicked_at"),
        Column("click_hour", "int", "UTC hour of the day of clicked_at"),
    ),
    partition_by=("click_date", "click_hour"),
    retention_days=90,
    properties={"delta.dataSkippingStatsColumns": "minute,ad_id,advertiser_id,clicks"},
)
