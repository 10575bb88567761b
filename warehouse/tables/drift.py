"""Table ``drift``."""

from warehouse.table import Column, Table

DRIFT = Table(
    name="drift",
    description="Live against final per advertiser and hour of each attempt, by cause.",
    owner="finance engineering",
    written_by="reconcile",
    writer="spark",
    key=("attempt", "advertiser_id", "hour"),
    columns=(
        Column("attempt", "string", "id of the computation"),
        Column("advertiser_id", "long", "who pays"),
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("raw_clicks", "long", "count of raw events of the hour"),
        Column("live_clicks", "long", "the stream's count"),
        Column("final_clicks", "long", "the batch's count"),
        Column("difference_clicks", "long", "live - final"),
        Column("late_clicks", "long", "count final has and live refused as late"),
        Column("dedup_horizon_clicks", "long", "count live has and final knows as repeats beyond the live horizon"),
        Column("fraud_clicks", "long", "count live has and final excluded as fraud"),
        Column("missing_clicks", "long", "count final has and live lacks for no known cause"),
        Column("extra_clicks", "long", "count live has and final lacks for no known cause"),
        Column("is_alert", "boolean", "whether the difference is above the bar"),
        Column("click_date", "date", "UTC date of clicked_at"),
    ),
    partition_by=("click_date",),
    is_append_only=True,
)
