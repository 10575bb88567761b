"""Table ``fetch_log``: how every lease of the crawl ended."""

from warehouse.table import Column, Table

FETCH_LOG = Table(
    name="fetch_log",
    description="A row for each outcome of the crawl: pages, 304s, redirects, failures; may hold an event twice.",
    owner="crawl",
    written_by="tallystick crawl relay",
    writer="delta-rs",
    key=("event_id",),
    columns=(
        Column("event_id", "string", "the outcome; readers keep one row of each"),
        Column("url", "string", "normalised URL"),
        Column("origin", "string", "scheme, host and port of the URL"),
        Column("host", "string", "host of the URL"),
        Column("registrable_domain", "string", "registrable domain of the URL"),
        Column("fence_number", "long", "of the lease"),
        Column("attempt_number", "long", "attempts in a row, this one included"),
        Column("outcome", "string", "page, unchanged, listing, redirected, transient and the like, see docs/crawl.md"),
        Column("reason", "string", "reason code, see docs/crawl.md"),
        Column("detail", "string", "for people", is_nullable=True),
        Column("status_number", "int", "HTTP status; null without an answer or a request", is_nullable=True),
        Column("started_at", "timestamp", "when the request began, by the worker's clock", is_nullable=True),
        Column("ended_at", "timestamp", "when it ended, by the worker's clock", is_nullable=True),
        Column("wire_bytes", "long", "bytes of the body as it was sent", is_nullable=True),
        Column("committed_at", "timestamp", "when the outcome was committed, by the frontier's clock"),
        Column("fetch_date", "date", "UTC date of committed_at"),
    ),
    partition_by=("fetch_date",),
    retention_days=30,
    properties={"delta.deletedFileRetentionDuration": "interval 24 hours"},
)
