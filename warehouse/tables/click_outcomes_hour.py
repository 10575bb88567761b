"""Table ``click_outcomes_hour``."""

from warehouse.table import Column, Table

CLICK_OUTCOMES_HOUR = Table(
    name="click_outcomes_hour",
    description="Gross, net and invalid clicks by reason, per advertiser and hour of each attempt: "
    "raw = billable + all the reasons; only attempts that a seal names are the truth.",
    owner="finance",
    written_by="reconcile",
    writer="delta-rs",
    key=("attempt", "advertiser_id", "hour"),
    columns=(
        Column("attempt", "string", "id of the computation"),
        Column("advertiser_id", "long", "who pays"),
        Column("hour", "timestamp", "start of the UTC hour"),
        Column("raw_clicks", "long", "gross: count of raw events up to the cut"),
        Column("billable_clicks", "long", "net: count of billable clicks"),
        Column("head_clicks", "long", "count of HEAD requests"),
        Column("prefetch_clicks", "long", "count of prefetches"),
        Column("duplicate_clicks", "long", "count of copies that agree with the click that counts"),
        Column("conflicting_duplicate_clicks", "long", "count of copies in another campaign, country or device"),
        Column("fraud_clicks", "long", "count of clicks that were judged fraud"),
        Column("click_date", "date", "UTC date of the hour"),
    ),
    partition_by=("click_date",),
    is_append_only=True,
)
