"""Table ``raw_clicks``."""

from warehouse.table import Column, Table

RAW_CLICKS = Table(
    name="raw_clicks",
    description="Every valid click event as it was logged: exact payload bytes, parsed columns, log position. "
    "The truth that everything is recomputed from.",
    owner="data engineering",
    written_by="archive stream",
    writer="spark",
    key=("log", "partition", "offset"),
    columns=(
        Column("log", "int", "number of the topic id, see table logs"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "offset in the partition"),
        Column("logged_at", "timestamp", "append time at the broker, made monotone per partition in offset order"),
        Column("impression_id", "string", "the impression that was clicked"),
        Column("ad_id", "long", "the ad"),
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "the campaign at the time of the click"),
        Column("clicked_at", "timestamp", "when the click service saw it, by its clock"),
        Column("country", "string", "ISO 3166-1 alpha-2 or ZZ"),
        Column("device", "string", "mobile, desktop, tablet or other"),
        Column("kind", "string", "click, head or prefetch"),
        Column("server_id", "string", "the click server"),
        Column("server_seq", "long", "running number of the server's events"),
        Column("spooled_at", "timestamp", "when a server without a broker spooled it", is_nullable=True),
        Column("ip", "string", "client address; erasable", is_nullable=True),
        Column("user_agent", "string", "client software; erasable", is_nullable=True),
        Column("payload", "binary", "the record's value, byte for byte"),
        Column("click_date", "date", "UTC date of clicked_at"),
        Column("click_hour", "int", "UTC hour of the day of clicked_at"),
    ),
    partition_by=("click_date", "click_hour"),
    properties={
        "delta.dataSkippingStatsColumns": "log,partition,offset,logged_at,clicked_at,ad_id,advertiser_id",
        "delta.deletedFileRetentionDuration": "interval 180 days",
    },
)
