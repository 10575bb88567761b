"""Table ``final_clicks_day``."""

from warehouse.table import Column, Table

FINAL_CLICKS_DAY = Table(
    name="final_clicks_day",
    description="Sealed figures by UTC day and nothing else: "
    "the sum of the day's sealed hours; rebuilt from the seals at will.",
    owner="finance",
    written_by="publish",
    writer="spark",
    key=("advertiser_id", "campaign_id", "ad_id", "click_date", "country", "device"),
    columns=(
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("ad_id", "long", "the ad"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("clicks", "long", "count of billable clicks"),
        Column("click_date", "date", "UTC date of clicked_at"),
    ),
    partition_by=("click_date",),
    properties={"delta.deletedFileRetentionDuration": "interval 30 days"},
)
