"""Tables of what is counted against traps, of what was cut and allowed, and of alerts; the rest is ``schema.py``.

Counts change in the transaction that takes URLs in, which holds the bucket of their origin.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, Table, Text

from crawler.frontier.schema import BIG, METADATA

TRAP_COUNTS = Table(
    "trap_counts",
    METADATA,
    Column("bucket_id", BIG, ForeignKey("buckets.bucket_id"), primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("url_count", BigInteger, nullable=False),
)
"""How many URLs, or values of a query key, an origin has under ``key``, the start of the SHA-256 of what is counted."""

TRAP_VALUES = Table(
    "trap_values",
    METADATA,
    Column("bucket_id", BIG, ForeignKey("buckets.bucket_id"), primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("value", LargeBinary, primary_key=True),
)
"""Which values of a query key are counted already; as many rows as the limit allows, and no more."""

TRAP_CUTS = Table(
    "trap_cuts",
    METADATA,
    Column("bucket_id", BIG, ForeignKey("buckets.bucket_id"), primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("cut_count", BigInteger, nullable=False),
    Column("samples", Text, nullable=False),
    Column("first_cut_at", BigInteger, nullable=False),
    Column("last_cut_at", BigInteger, nullable=False),
)
"""How often URLs of an origin were cut for a reason, and the first few of them, a line each."""

TRAP_ALLOWANCES = Table(
    "trap_allowances",
    METADATA,
    Column("allowance_id", BIG, primary_key=True, autoincrement=True),
    Column("bucket_id", BIG, ForeignKey("buckets.bucket_id"), nullable=False, index=True),
    Column("trap", Text, nullable=False),
    Column("limit_count", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("allowed_at", BigInteger, nullable=False),
)
"""What persons allowed origins. Append-only; of one trap the last row holds."""

ALERTS = Table(
    "alerts",
    METADATA,
    Column("alert_id", BIG, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("raised_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
)
"""What somebody has to look at: open until ``closed_at``, and only one open of a kind for a subject."""
Index(
    "one_open_alert",
    ALERTS.c.kind,
    ALERTS.c.subject,
    unique=True,
    sqlite_where=ALERTS.c.closed_at.is_(None),
    postgresql_where=ALERTS.c.closed_at.is_(None),
)

LISTINGS = Table(
    "listings",
    METADATA,
    Column("listing_id", BIG, primary_key=True, autoincrement=True),
    Column("url_id", BIG, nullable=False, index=True),
    Column("read_at", BigInteger, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("listed_count", BigInteger, nullable=False),
    Column("added_count", BigInteger, nullable=False),
    Column("end_reason", Text, nullable=False),
)
"""Each reading of a sitemap or feed: how many URLs it listed, how many were new, and why the reading ended."""
