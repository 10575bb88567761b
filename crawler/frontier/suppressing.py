"""Opt-outs: suppress first, then delete class by class, with an audit trail; the suppression stays for ever.

Belongs here: what a suppression does to the frontier's own rows. What may be suppressed is ``domain/suppressions.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError as NotUniqueError

from crawler.frontier.adding import url_key
from crawler.frontier.budgets import forget_samples
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, DELETIONS, DOCUMENTS, OUTBOX, REQUESTS, SUPPRESSIONS, URL_EVENTS, URLS
from crawler.frontier.switches import write_switch
from crawler.frontier.trap_schema import LISTINGS
from domain.errors import UsageError
from domain.suppressions import Suppression, SuppressionKind, check_pattern, origin_of_pattern
from domain.texts import check_actor, check_line

CHUNK = 5_000
"""URLs of one transaction."""
DATA_CLASSES: dict[str, Table] = {
    "outbox": OUTBOX,
    "documents": DOCUMENTS,
    "requests": REQUESTS,
    "url_events": URL_EVENTS,
    "listings": LISTINGS,
    "urls": URLS,
}
"""Classes of data that the frontier keeps of a URL, in the order in which they are deleted."""
SAMPLES = "samples"
"""One more: what the history of its origin says of single URLs, of all of them, covered or not."""


@dataclass(frozen=True)
class OptOut:
    """A request to be left alone, who asked for it to be done, and how it was verified that they may."""

    kind: SuppressionKind
    pattern: str
    reason: str
    verification: str
    actor: str

    def check(self) -> None:
        """``UsageError`` says what of it cannot be kept."""
        check_pattern(self.kind, self.pattern)
        check_line("reason", self.reason)
        check_line("verification", self.verification)
        check_actor(self.actor)


def suppress(frontier: Frontier, opt_out: OptOut) -> Suppression:
    """Nothing that it covers is claimed from now on, nor committed by who holds a lease. Repeatable.

    Two steps: the first, which blocks claims, is short; the second marks each URL of a host or domain and may take
    long. What was interrupted between them is finished by suppressing again.
    """
    opt_out.check()
    with frontier.writing() as connection:
        suppression = _record(connection, opt_out)
        bucket_ids = _covered_buckets(connection, suppression)
        held = lock_buckets(connection, bucket_ids)
        now = now_of(connection)
        if suppression.kind in {"host", "registrable_domain"}:
            fresh = [bucket_id for bucket_id, row in held.items() if row["switch"] != "suppressed"]
            write_switch(connection, fresh, "suppressed", now, reason=opt_out.reason, actor=opt_out.actor)
            _mark(connection, and_(URLS.c.origin_id.in_(bucket_ids), URLS.c.state == "leased"), suppression, opt_out)
        else:
            _mark(connection, _covered(suppression, bucket_ids), suppression, opt_out)
            _recount(connection, bucket_ids)
    while _mark_some(frontier, suppression, opt_out):
        pass
    return suppression


def delete_suppressed(frontier: Frontier, suppression_id: int, actor: str) -> dict[str, int]:
    """Deletes what is kept of suppressed URLs, class by class, each with its row of the audit trail; rows by class.

    A URL whose last request may still be under way is left for a later call, which is repeatable. The suppression
    stays. ``UsageError`` if there is none of that number.
    """
    check_actor(actor)
    suppression = suppression_of(frontier, suppression_id)
    counts = {}
    for data_class, table in DATA_CLASSES.items():
        with frontier.writing() as connection:
            ids = deletable_ids(connection, suppression)
            counts[data_class] = connection.execute(delete(table).where(table.c.url_id.in_(ids))).rowcount
            write_deletion(connection, suppression_id, data_class, counts[data_class], actor)
    with frontier.writing() as connection:
        bucket_ids = _covered_buckets(connection, suppression)
        lock_buckets(connection, bucket_ids)
        counts[SAMPLES] = forget_samples(connection, bucket_ids)
        write_deletion(connection, suppression_id, SAMPLES, counts[SAMPLES], actor)
    return counts


def suppression_of(frontier: Frontier, suppression_id: int) -> Suppression:
    """The suppression of that number. ``UsageError`` if there is none."""
    with frontier.reading() as connection:
        suppression = _suppression(connection, SUPPRESSIONS.c.suppression_id == suppression_id)
    if suppression is None:
        raise UsageError(f"no suppression {suppression_id}", "the number of one", "suppress first")
    return suppression


def deletable_ids(connection: Connection, suppression: Suppression) -> Select[tuple[int]]:
    """The URLs of which everything may go now, as a query; their buckets are held until the transaction ends."""
    bucket_ids = _covered_buckets(connection, suppression)
    lock_buckets(connection, bucket_ids)
    return select(URLS.c.url_id).where(
        _covered(suppression, bucket_ids), URLS.c.state == "suppressed", URLS.c.lease_expires_at.is_(None)
    )


def write_deletion(connection: Connection, suppression_id: int, data_class: str, row_count: int, actor: str) -> None:
    """The row of the audit trail."""
    audit = {"suppression_id": suppression_id, "data_class": data_class, "row_count": row_count, "actor": actor}
    connection.execute(insert(DELETIONS), [audit | {"deleted_at": now_of(connection)}])


def _audit(connection: Connection, suppression_id: int, data_class: str, row_count: int, actor: str) -> None:
    row = {"suppression_id": suppression_id, "data_class": data_class, "row_count": row_count, "actor": actor}
    connection.execute(insert(DELETIONS), [row | {"deleted_at": now_of(connection)}])


def _record(connection: Connection, opt_out: OptOut) -> Suppression:
    """The suppression of that pattern, made if there is none. On PostgreSQL this waits for who is taking in URLs."""
    is_name = opt_out.kind in {"host", "registrable_domain"}
    row = {
        "kind": opt_out.kind,
        "pattern": opt_out.pattern,
        "origin": None if is_name else origin_of_pattern(opt_out.pattern),
        "reason": opt_out.reason,
        "verification": opt_out.verification,
        "actor": opt_out.actor,
        "suppressed_at": now_of(connection),
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(SUPPRESSIONS), [row])
    except NotUniqueError:
        pass  # asked for again
    is_it = and_(SUPPRESSIONS.c.kind == opt_out.kind, SUPPRESSIONS.c.pattern == opt_out.pattern)
    found = _suppression(connection, is_it)
    if found is None:
        raise UsageError(f"no suppression of {opt_out.pattern!r}", "the one just made", "try again")
    return found


def _suppression(connection: Connection, condition: ColumnElement[bool]) -> Suppression | None:
    columns = (SUPPRESSIONS.c.suppression_id, SUPPRESSIONS.c.kind, SUPPRESSIONS.c.pattern)
    row = connection.execute(select(*columns).where(condition)).first()
    return None if row is None else Suppression(*row)


def _covered_buckets(connection: Connection, suppression: Suppression) -> Sequence[int]:
    match suppression.kind:
        case "host":
            condition = BUCKETS.c.host == suppression.pattern
        case "registrable_domain":
            condition = BUCKETS.c.registrable_domain == suppression.pattern
        case _:
            condition = BUCKETS.c.key == origin_of_pattern(suppression.pattern)
    return connection.execute(select(BUCKETS.c.bucket_id).where(BUCKETS.c.kind == "origin", condition)).scalars().all()


def _covered(suppression: Suppression, bucket_ids: Sequence[int]) -> ColumnElement[bool]:
    if suppression.kind == "url":
        return URLS.c.url_key == url_key(suppression.pattern)
    is_of_origin = URLS.c.origin_id.in_(bucket_ids)
    if suppression.kind == "prefix":
        return and_(is_of_origin, func.substr(URLS.c.url, 1, len(suppression.pattern)) == suppression.pattern)
    return is_of_origin


def _mark_some(frontier: Frontier, suppression: Suppression, opt_out: OptOut) -> bool:
    """Marks some URLs of a host or domain; whether there were any."""
    if suppression.kind in {"url", "prefix"}:
        return False
    with frontier.writing() as connection:
        bucket_ids = _covered_buckets(connection, suppression)
        lock_buckets(connection, bucket_ids)
        some = select(URLS.c.url_id).where(_covered(suppression, bucket_ids), URLS.c.state != "suppressed").limit(CHUNK)
        is_any = _mark(connection, URLS.c.url_id.in_(some), suppression, opt_out)
        _recount(connection, bucket_ids)
        return is_any


def _mark(connection: Connection, condition: Any, suppression: Suppression, opt_out: OptOut) -> bool:
    """Any state > suppressed, which no lease may write to; a slot that it held stays taken until its expiry."""
    now = now_of(connection)
    reason = f"suppressed_by_{suppression.kind}"
    marked = connection.execute(
        update(URLS)
        .where(condition, URLS.c.state != "suppressed")
        .values(state="suppressed", reason=reason, lease_owner=None, changed_at=now)
        .returning(URLS.c.url_id, URLS.c.fence)
    ).all()
    detail = f"suppression {suppression.suppression_id}"
    log_urls(
        connection,
        [UrlEvent(row.url_id, now, "suppressed", reason, opt_out.actor, row.fence, detail) for row in marked],
    )
    return bool(marked)


def _recount(connection: Connection, bucket_ids: Sequence[int]) -> None:
    ready = (
        select(func.count()).where(URLS.c.origin_id == BUCKETS.c.bucket_id, URLS.c.state == "ready").scalar_subquery()
    )
    connection.execute(update(BUCKETS).where(BUCKETS.c.bucket_id.in_(bucket_ids)).values(ready_count=ready))
