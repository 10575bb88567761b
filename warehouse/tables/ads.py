"""Table ``ads``."""

from warehouse.table import Column, Table

ADS = Table(
    name="ads",
    description="Ads as of each change: the newest row of an ad whose valid_from has come is in force.",
    owner="ad operations",
    written_by="ads snapshot",
    writer="delta-rs",
    key=("ad_id", "valid_from"),
    columns=(
        Column("ad_id", "long", "the ad"),
        Column("valid_from", "timestamp", "from when on this row holds"),
        Column("advertiser_id", "long", "who pays"),
        Column("campaign_id", "long", "its campaign"),
        Column("target_url", "string", "where a click is redirected to"),
        Column("price_micros", "long", "price of a click in millionths of the currency unit", is_nullable=True),
        Column("currency", "string", "ISO 4217", is_nullable=True),
    ),
    is_append_only=True,
)
