"""Table ``publications``."""

from warehouse.table import Column, Table

PUBLICATIONS = Table(
    name="publications",
    description="The ledger that makes sealed figures visible: "
    "which versions of the final tables belong together; a hash chain.",
    owner="finance",
    written_by="publish",
    writer="delta-rs",
    key=("publication_number",),
    columns=(
        Column("publication_number", "long", "counts up by one"),
        Column("seal_number", "long", "highest seal that these versions contain"),
        Column("minute_version", "long", "version of final_clicks_minute"),
        Column("hour_version", "long", "version of final_clicks_hour"),
        Column("day_version", "long", "version of final_clicks_day"),
        Column("final_until", "timestamp", "end of the last hour up to which every hour is sealed and published"),
        Column("published_at", "timestamp", "when"),
        Column("previous_hash", "string", "hash of the publication before, in hex"),
        Column("hash", "string", "SHA-256 of this row and previous_hash, in hex"),
    ),
    is_append_only=True,
)
