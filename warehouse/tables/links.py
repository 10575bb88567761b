"""Table ``links``: what the fetched pages link to."""

from warehouse.table import Column, Table

LINKS = Table(
    name="links",
    description="A row for each link of each document, as the parser found it; may hold an event twice.",
    owner="crawl",
    written_by="tallystick crawl relay and reparse",
    writer="delta-rs",
    key=("event_id", "link_number"),
    columns=(
        Column("event_id", "string", "the outcome that it belongs to"),
        Column("link_number", "long", "its place in the page, from 1"),
        Column("url", "string", "normalised URL of the page"),
        Column("host", "string", "host of the page"),
        Column("registrable_domain", "string", "registrable domain of the page"),
        Column("target_url", "string", "normalised URL that it leads to"),
        Column("raw", "string", "the text of it in the page"),
        Column("kind", "string", "a, area, frame, canonical or alternate"),
        Column("is_nofollow", "boolean", "whether the link itself says nofollow", is_nullable=True),
        Column("fetch_date", "date", "UTC date of the document's fetched_at"),
    ),
    partition_by=("fetch_date",),
    retention_days=30,
    properties={"delta.deletedFileRetentionDuration": "interval 24 hours"},
)
