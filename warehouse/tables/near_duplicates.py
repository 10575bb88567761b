"""Table ``near_duplicates``: which documents of a date say nearly the same."""

from warehouse.table import Column, Table

NEAR_DUPLICATES = Table(
    name="near_duplicates",
    description="A row for each body and each URL under which it was fetched on a date, with its label.",
    owner="crawl",
    written_by="tallystick crawl near-duplicates",
    writer="spark",
    key=("fetch_date", "content_hash", "url"),
    columns=(
        Column("content_hash", "string", "SHA-256 of the body"),
        Column("url", "string", "normalised URL under which it was fetched"),
        Column("host", "string", "host of the URL"),
        Column("registrable_domain", "string", "registrable domain of the URL"),
        Column("simhash", "string", "64 bits over its words in fours, 16 hexadecimal digits"),
        Column("label_simhash", "string", "the smallest SimHash of the date that differs in no more bits than allowed"),
        Column("distance_count", "int", "bits in which the two differ"),
        Column("threshold_count", "int", "bits in which they were allowed to differ"),
        Column("fetch_date", "date", "UTC date of fetching: the batch"),
    ),
    partition_by=("fetch_date",),
    retention_days=30,
    properties={"delta.deletedFileRetentionDuration": "interval 24 hours"},
)
