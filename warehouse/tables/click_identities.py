"""Table ``click_identities``."""

from warehouse.table import Column, Table

CLICK_IDENTITIES = Table(
    name="click_identities",
    description="The identity of each click-kind event, small and fixed in width: "
    "what look-backs for duplicates read instead of raw_clicks.",
    owner="data engineering",
    written_by="archive stream",
    writer="spark",
    key=("log", "partition", "offset"),
    columns=(
        Column("log", "int", "number of the topic id, see table logs"),
        Column("partition", "int", "partition of the topic"),
        Column("offset", "long", "offset in the partition"),
        Column("logged_at", "timestamp", "append time at the broker, made monotone per partition in offset order"),
        Column("identity", "binary", "16 bytes, see domain/identity.py"),
        Column(
            "minted_at", "timestamp", "when the impression was minted; null where its id is opaque", is_nullable=True
        ),
        Column(
            "dimensions",
            "long",
            "64-bit hash of campaign, country and device: tells a conflicting copy from a plain one",
        ),
        Column("log_date", "date", "UTC date of logged_at"),
    ),
    partition_by=("log_date",),
    properties={"delta.dataSkippingStatsColumns": "log,partition,offset,logged_at,minted_at"},
)
