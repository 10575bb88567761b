"""The frontier's tables, the same on SQLite and PostgreSQL, with their invariants as constraints.

Every instant (``_at``) is microseconds since 1970 by the database's clock, ``database_now()``; no other clock gets in,
but for ``requests``, which is what workers saw. A URL's life: ``ready`` (may be claimed) > ``leased`` > ``waiting``
(for its time) > ``ready``, or an end: ``done``, ``failed``, ``refused``, ``suppressed``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from domain.crawl_states import STATES, SWITCHES
from domain.suppressions import SUPPRESSION_KINDS

BIG = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite counts up by itself only what is declared INTEGER."""
METADATA = MetaData()


class database_now(FunctionElement[int]):  # noqa: N801  it is written like a function of SQL
    """This instant by the database's clock, moved by ``frontier_clock``. A scalar subquery, so that an index on an
    instant can be compared with it; evaluated anew by each statement.
    """

    type = BigInteger()
    inherit_cache = True


@compiles(database_now, "postgresql")
def _postgresql_now(_element: Any, _compiler: Any, **_kwargs: Any) -> str:
    return (
        "(SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) + offset_micros FROM frontier_clock)"
    )


@compiles(database_now, "sqlite")
def _sqlite_now(_element: Any, _compiler: Any, **_kwargs: Any) -> str:
    """In milliseconds, which is what SQLite keeps."""
    return (
        "(SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + offset_micros"
        " FROM frontier_clock)"
    )


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


def _id(name: str) -> Column[int]:
    return Column(name, BIG, primary_key=True, autoincrement=True)


FRONTIER_CLOCK = Table(
    "frontier_clock",
    METADATA,
    Column("clock_id", Integer, CheckConstraint("clock_id = 1", name="one_clock"), primary_key=True),
    Column("offset_micros", BigInteger, nullable=False),
)
"""One row. The offset is 0, but where time is played through faster than it passes."""

BUCKETS = Table(
    "buckets",
    METADATA,
    _id("bucket_id"),
    Column("kind", Text, _one_of("kind", ("origin", "registrable_domain")), nullable=False),
    Column("key", Text, nullable=False),
    Column("host", Text),
    Column("registrable_domain", Text, nullable=False),
    Column("group_id", BIG, ForeignKey("buckets.bucket_id")),
    Column("class_name", Text, nullable=False),
    Column("switch", Text, _one_of("switch", SWITCHES), nullable=False, server_default="open"),
    Column("gap_micros", BigInteger, CheckConstraint("gap_micros >= 0", name="gap_is_no_debt"), nullable=False),
    Column("crawl_delay_micros", BigInteger),
    Column("in_flight_cap", Integer, CheckConstraint("in_flight_cap > 0", name="cap_is_positive"), nullable=False),
    Column(
        "in_flight_count",
        Integer,
        CheckConstraint("in_flight_count BETWEEN 0 AND in_flight_cap", name="cap_is_kept"),
        nullable=False,
        server_default="0",
    ),
    Column(
        "ready_count",
        Integer,
        CheckConstraint("ready_count >= 0", name="ready_is_counted"),
        nullable=False,
        server_default="0",
    ),
    Column("failure_count", Integer, nullable=False, server_default="0"),
    Column("claimable_at", BigInteger, nullable=False, server_default="0"),
    Column("startable_at", BigInteger, nullable=False, server_default="0"),
    Column("deferred_at", BigInteger, nullable=False, server_default="0"),
    Column("distrusted_at", BigInteger),
    Column("missing_page", Text),
    Column(
        "ready_at",
        BigInteger,
        Computed(
            "CASE WHEN switch = 'open' AND in_flight_count < in_flight_cap AND ready_count > 0 THEN claimable_at END",
            persisted=True,
        ),
    ),
    UniqueConstraint("kind", "key", name="one_bucket_a_key"),
)
"""What origins, and groups of them, allow. ``ready_at`` is when the next URL may be claimed, and nothing where there is
none; the index on it holds what could be claimed and nothing else, so a claim takes as long with millions of rows.
Of a group: ``deferred_at`` is the last place in its queue. ``distrusted_at`` is since when validators of the origin are
not believed; ``missing_page`` what it answers for a path that does not exist."""
Index(
    "buckets_ready",
    BUCKETS.c.class_name,
    BUCKETS.c.ready_at,
    sqlite_where=BUCKETS.c.ready_at.is_not(None),
    postgresql_where=BUCKETS.c.ready_at.is_not(None),
)
Index("buckets_by_host", BUCKETS.c.host)
Index("buckets_by_domain", BUCKETS.c.registrable_domain)

URLS = Table(
    "urls",
    METADATA,
    _id("url_id"),
    Column("url_key", LargeBinary, nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("raw_url", Text, nullable=False),
    Column("origin_id", BIG, ForeignKey("buckets.bucket_id"), nullable=False),
    Column("source", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", Text, _one_of("state", STATES), nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempt_count", Integer, nullable=False, server_default="0"),
    Column("due_at", BigInteger, nullable=False),
    Column("rank_at", BigInteger, nullable=False),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("content_hash", Text),
    Column("visited_at", BigInteger),
    Column("comparison_count", Integer, nullable=False, server_default="0"),
    Column("change_count", Integer, nullable=False, server_default="0"),
    Column("observed_micros", BigInteger, nullable=False, server_default="0"),
    Column("interval_micros", BigInteger, nullable=False, server_default="0"),
    Column("lease_owner", Text),
    Column("lease_expires_at", BigInteger),
    Column("started_at", BigInteger),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("added_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    CheckConstraint("state <> 'leased' OR lease_expires_at IS NOT NULL", name="a_lease_expires"),
    CheckConstraint("lease_expires_at IS NULL OR state IN ('leased', 'suppressed')", name="only_leases_hold_slots"),
)
"""Known URLs. ``url_key`` is the SHA-256 of the URL, since an index cannot hold long ones. Where ``lease_expires_at``
stands, the URL holds a slot of its origin; the fence only grows. From ``content_hash`` to ``interval_micros``: what
visits found, as ``domain/recrawl.py`` counts it."""
Index(
    "urls_ready",
    URLS.c.origin_id,
    URLS.c.rank_at,
    URLS.c.url_id,
    sqlite_where=URLS.c.state == "ready",
    postgresql_where=URLS.c.state == "ready",
)
Index(
    "urls_undiscovered",
    URLS.c.origin_id,
    URLS.c.visited_at,
    URLS.c.rank_at,
    URLS.c.url_id,
    sqlite_where=(URLS.c.state == "ready") & URLS.c.visited_at.is_(None),
    postgresql_where=(URLS.c.state == "ready") & URLS.c.visited_at.is_(None),
)
Index(
    "urls_waiting",
    URLS.c.due_at,
    sqlite_where=URLS.c.state == "waiting",
    postgresql_where=URLS.c.state == "waiting",
)
Index(
    "urls_leased",
    URLS.c.lease_expires_at,
    sqlite_where=URLS.c.lease_expires_at.is_not(None),
    postgresql_where=URLS.c.lease_expires_at.is_not(None),
)
Index("urls_of_origin", URLS.c.origin_id)
Index(
    "urls_by_content",
    URLS.c.content_hash,
    sqlite_where=URLS.c.content_hash.is_not(None),
    postgresql_where=URLS.c.content_hash.is_not(None),
)

URL_EVENTS = Table(
    "url_events",
    METADATA,
    _id("event_id"),
    Column("url_id", BIG, nullable=False, index=True),
    Column("happened_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("detail", Text),
)
"""Every change of every URL: what it became and why, by whom, under which fence. A commit that came too late is an
event too, with reason ``stale_commit``; it changed nothing."""
Index(
    "url_events_stale",
    URL_EVENTS.c.event_id,
    sqlite_where=URL_EVENTS.c.reason == "stale_commit",
    postgresql_where=URL_EVENTS.c.reason == "stale_commit",
)

ORIGIN_EVENTS = Table(
    "origin_events",
    METADATA,
    _id("event_id"),
    Column("bucket_id", BIG, nullable=False, index=True),
    Column("happened_at", BigInteger, nullable=False),
    Column("event", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("until_at", BigInteger),
)
"""What befell an origin: switched, throttled (until when), its Crawl-delay."""

SUPPRESSIONS = Table(
    "suppressions",
    METADATA,
    _id("suppression_id"),
    Column("kind", Text, _one_of("kind", SUPPRESSION_KINDS), nullable=False),
    Column("pattern", Text, nullable=False),
    Column("origin", Text, index=True),
    Column("reason", Text, nullable=False),
    Column("verification", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("suppressed_at", BigInteger, nullable=False),
    UniqueConstraint("kind", "pattern", name="one_suppression_a_pattern"),
)
"""Opt-outs, with how each request was verified. Append-only: they outlive what is deleted under them."""

REFUSALS = Table(
    "refusals",
    METADATA,
    _id("refusal_id"),
    Column("url_key", LargeBinary, nullable=False),
    Column("reason", Text, nullable=False),
    Column("suppression_id", BIG, index=True),
    Column("source", Text, nullable=False),
    Column("refused_at", BigInteger, nullable=False),
)
"""URLs that were not taken in. Of the URL only its hash, so that a suppression is proven without keeping what it
forbids."""
Index("refusals_by_url", REFUSALS.c.url_key)

DELETIONS = Table(
    "deletions",
    METADATA,
    _id("deletion_id"),
    Column("suppression_id", BIG, nullable=False, index=True),
    Column("data_class", Text, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("deleted_at", BigInteger, nullable=False),
)
"""The audit trail of what was deleted under suppressions, by class of data. Append-only."""

DOCUMENTS = Table(
    "documents",
    METADATA,
    _id("document_id"),
    Column("url_id", BIG, nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("fetched_at", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("status", Integer, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("fetch_reason", Text, nullable=False),
    Column("parse_reason", Text, nullable=False),
    Column("title", Text, nullable=False),
    UniqueConstraint("url_id", "fence", name="one_document_a_lease"),
)
"""What was fetched and stored: a row for every body, in the transaction that completes its URL. ``content_hash`` is its
name in the store of bodies; only with ``fetch_reason`` ``fetched`` it is whole."""
Index("documents_by_hash", DOCUMENTS.c.content_hash)
Index("documents_by_time", DOCUMENTS.c.fetched_at)

REQUESTS = Table(
    "requests",
    METADATA,
    _id("request_id"),
    Column("origin", Text, nullable=False),
    Column("url_id", BIG, nullable=False, index=True),
    Column("owner", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Column("status", Integer),
)
"""Every request as the worker that made it saw it, by its own clock: what receipts are computed from."""
Index("requests_of_origin", REQUESTS.c.origin, REQUESTS.c.started_at)

OUTBOX = Table(
    "outbox",
    METADATA,
    _id("outbox_id"),
    Column("event_id", Text, nullable=False, unique=True),
    Column("url_id", BIG, nullable=False, index=True),
    Column("happened_at", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)
"""What the Delta tables have not been told yet: a row for each lease that ended with an outcome, written in the
transaction that ended it, deleted once it is delivered."""

STAGE_COUNTS = Table(
    "stage_counts",
    METADATA,
    Column("bucket_id", BIG, nullable=False, primary_key=True),
    Column("stage", Text, nullable=False, primary_key=True),
    Column("reason", Text, nullable=False, primary_key=True),
    Column("outcome_count", BigInteger, nullable=False),
)
"""How often each stage of a page (fetch, parse, store, index) ended with each reason, by origin. Written under the lock
of the origin's bucket."""

RETENTIONS = Table(
    "retentions",
    METADATA,
    _id("retention_id"),
    Column("data_class", Text, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("policy", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("deleted_at", BigInteger, nullable=False),
)
"""The audit trail of what was deleted because its retention was over. Append-only."""
