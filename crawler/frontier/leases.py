"""What the holder of a lease may do: start a request, extend, complete, fail, release. Each matches the fence.

A worker that was taken for dead and wakes up finds that nothing of its own is left: ``StaleLeaseError``, nothing
changed, and the attempt counted. All here is one transaction a call, and not repeatable once it succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, select, update

from crawler.frontier.buckets import bucket_of, log_origin, write_buckets
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import STALE_COMMIT, UrlEvent, log_urls
from crawler.frontier.outbox import Fetched, Trace, post
from crawler.frontier.schema import BUCKETS, URLS
from domain.crawl_states import (
    MOST_ATTEMPTS,
    ROBOTS_HOP,
    Lease,
    Permission,
    StaleLeaseError,
    State,
    check_reason_code,
    rank_at,
)
from domain.politeness import Bucket, retry_micros
from domain.recrawl import Seen

FailureKind = Literal["throttled", "transient", "final", "refused"]
"""``throttled``: the origin asked for rest, the URL is not to blame and keeps its attempts. ``transient``: tried again
later. ``final``: given up now. ``refused``: it may not be fetched."""


@dataclass(frozen=True)
class Completion:
    """A page that was fetched. Without ``next_in_micros`` it is not planned again; validators are kept verbatim."""

    reason: str
    duration_micros: int
    """Of the last request, by the worker's stopwatch, from its start until now."""
    next_in_micros: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    detail: str | None = None
    """For people, kept with the event."""
    trace: Trace | None = None
    seen: Seen | None = None
    """The history with this visit in it; None leaves it as it is."""
    lie: str | None = None
    """Proof that validators of the origin lie: it is asked without them from now on."""
    missing_page: str | None = None
    """What the origin answers for a path that does not exist, if that was found out."""


@dataclass(frozen=True)
class Failure:
    """A page that was not fetched, and what kind of failure that is."""

    kind: FailureKind
    reason: str
    duration_micros: int = 0
    retry_after_micros: int | None = None
    detail: str | None = None
    """For people, kept with the event."""
    trace: Trace | None = None


def start(frontier: Frontier, lease: Lease) -> Permission:
    """Permission for one request to the lease's origin, asked for right before connecting, for each request.

    Pages, robots.txt, sitemaps and repeats spend the same bucket. A permission is used at once or not at all.
    ``StaleLeaseError`` if the lease was lost or has run out.
    """
    with frontier.writing() as connection:
        buckets = lock_buckets(connection, (lease.bucket_id, lease.group_id))
        now = now_of(connection)
        row = connection.execute(_HELD, _match(lease)).first()
        is_held = row is not None and row.lease_expires_at > now
        if is_held:
            switch = buckets[lease.bucket_id]["switch"]
            if switch != "open":
                return Permission(False, switch=switch)
            ours = {bucket_id: bucket_of(held) for bucket_id, held in buckets.items()}
            if wait := max(bucket.wait_micros(now) for bucket in ours.values()):
                return Permission(False, wait)
            write_buckets(connection, {bucket_id: (bucket.started(now), 0) for bucket_id, bucket in ours.items()})
            connection.execute(_START, {**_match(lease), "now_at": now})
            return Permission(True)
        _count_stale(connection, lease, "start", now)
    raise _stale(lease, "start")


def requested(frontier: Frontier, lease: Lease, duration_micros: int) -> None:
    """Says how long ago the last request began, where another one follows under the same lease: the gap counts from it.

    Atomic and repeatable. A lease that was lost says nothing.
    """
    with frontier.writing() as connection:
        buckets = lock_buckets(connection, (lease.bucket_id, lease.group_id))
        now = now_of(connection)
        held = connection.execute(_HELD, _match(lease)).first()
        if held is not None and held.started_at is not None:
            pushed = {
                one: bucket_of(row).requested(now, held.started_at, duration_micros) for one, row in buckets.items()
            }
            write_buckets(connection, {one: (bucket, 0) for one, bucket in pushed.items()})


def extend(frontier: Frontier, lease: Lease) -> Lease:
    """The lease with a new expiry, one whole term from now. ``StaleLeaseError`` if it was lost."""
    with frontier.writing() as connection:
        now = now_of(connection)
        expires_at = now + frontier.policy.lease_micros
        if connection.execute(_EXTEND, {**_match(lease), "expires": expires_at}).rowcount:
            return lease._replace(expires_at=expires_at)
        _count_stale(connection, lease, "extend", now)
    raise _stale(lease, "extend")


def complete(frontier: Frontier, lease: Lease, done: Completion) -> None:
    """The URL waits for its next time, or is done, with no failed attempt against it. ``StaleLeaseError`` if lost."""
    with frontier.writing() as connection:
        if complete_within(connection, lease, done):
            post(connection, frontier, lease, Fetched(done.reason, done.reason, done.detail, done.trace))
            return
    raise lost(frontier, lease, "complete")


def complete_within(connection: Connection, lease: Lease, done: Completion) -> bool:
    """As ``complete``, as a part of the caller's transaction. False if the lease was lost: then nothing was changed,
    and the caller takes back what else it did and raises ``lost``.
    """
    check_reason_code(done.reason)
    is_planned = done.next_in_micros is not None
    end = _End(
        state="waiting" if is_planned else "done",
        reason=done.reason,
        duration_micros=done.duration_micros,
        due_in_micros=done.next_in_micros or 0,
        values={
            **{"etag": done.etag, "last_modified": done.last_modified, "attempt_count": 0},
            **(done.seen or lease.seen._replace(visited_at=lease.claimed_at))._asdict(),
        },
        detail=done.detail,
    )
    is_ours = _finish_within(connection, lease, end, lambda bucket, _now: bucket.calmed())
    if is_ours and done.lie is not None:
        _distrust(connection, lease, done.lie)
    if is_ours and done.missing_page is not None:
        its_bucket = update(BUCKETS).where(BUCKETS.c.bucket_id == lease.bucket_id)
        connection.execute(its_bucket.values(missing_page=done.missing_page))
    return is_ours


def is_held(connection: Connection, lease: Lease) -> bool:
    """Whether the lease still holds its URL, as a part of the caller's transaction, which has its bucket."""
    return connection.execute(_HELD, _match(lease)).first() is not None


def _distrust(connection: Connection, lease: Lease, lie: str) -> None:
    """The bucket is held by the transaction already."""
    now = now_of(connection)
    is_new = update(BUCKETS).where(BUCKETS.c.bucket_id == lease.bucket_id, BUCKETS.c.distrusted_at.is_(None))
    if connection.execute(is_new.values(distrusted_at=now)).rowcount:
        log_origin(connection, lease.bucket_id, now, "distrusted", reason=lie, actor=lease.owner)


def lost(frontier: Frontier, lease: Lease, step: str) -> StaleLeaseError:
    """The error of a step that came too late, which is counted."""
    with frontier.writing() as connection:
        _count_stale(connection, lease, step, now_of(connection))
    return _stale(lease, step)


def fail(frontier: Frontier, lease: Lease, failure: Failure) -> None:
    """What the kind of failure says becomes of the URL, and of its origin. ``StaleLeaseError`` if it was lost."""
    check_reason_code(failure.reason)
    chance = frontier.random.random()

    def rest(bucket: Bucket, now: int) -> Bucket:
        if failure.kind == "throttled":
            return bucket.throttled(now, failure.retry_after_micros, chance)
        return bucket

    with frontier.writing() as connection:
        if _finish_within(connection, lease, _end_of(lease, failure, chance), rest):
            post(connection, frontier, lease, Fetched(failure.kind, failure.reason, failure.detail, failure.trace))
            return
    raise lost(frontier, lease, "fail")


def release(frontier: Frontier, lease: Lease, reason: str) -> None:
    """Gives the URL back as it was, without an attempt against it. ``StaleLeaseError`` if it was lost."""
    check_reason_code(reason)
    end = _End(_back(lease), reason, values={"attempt_count": lease.attempt_count - 1})
    with frontier.writing() as connection:
        if _finish_within(connection, lease, end, lambda bucket, _now: bucket):
            return
    raise lost(frontier, lease, "release")


@dataclass(frozen=True)
class _End:
    """What a URL becomes when its lease ends."""

    state: State
    reason: str
    duration_micros: int = 0
    due_in_micros: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    detail: str | None = None


def _end_of(lease: Lease, failure: Failure, chance: float) -> _End:
    kind, attempts, took, said = failure.kind, lease.attempt_count, failure.duration_micros, failure.detail
    if kind == "throttled":
        return _End(_back(lease), failure.reason, took, values={"attempt_count": attempts - 1}, detail=said)
    if kind == "transient" and attempts < MOST_ATTEMPTS:
        return _End("waiting", failure.reason, took, retry_micros(attempts, chance), detail=said)
    return _End("refused" if kind == "refused" else "failed", failure.reason, took, detail=said)


def _back(lease: Lease) -> State:
    """What a URL is before a claim."""
    return "done" if lease.source == ROBOTS_HOP else "ready"


def _finish_within(connection: Connection, lease: Lease, end: _End, rested: Callable[[Bucket, int], Bucket]) -> bool:
    """leased > whatever ``end`` says. ``rested`` is what the answer means to the origin; its group does not mind."""
    buckets = lock_buckets(connection, (lease.bucket_id, lease.group_id))
    now = now_of(connection)
    held = connection.execute(_HELD, _match(lease)).first()
    due_at = now + end.due_in_micros
    values = {
        **{"state": end.state, "reason": end.reason, "due_at": due_at, "rank_at": rank_at(due_at, lease.priority)},
        **{"lease_owner": None, "lease_expires_at": None, "started_at": None, "changed_at": now},
    }
    changed = connection.execute(update(URLS).where(*_IS_OURS).values(**values, **end.values), _match(lease))
    if held is not None and changed.rowcount:
        new = {
            bucket_id: bucket_of(row).finished(now, held.started_at, end.duration_micros)
            for bucket_id, row in buckets.items()
        }
        new[lease.bucket_id] = rested(new[lease.bucket_id], now)
        ready = {lease.bucket_id: int(end.state == "ready")}
        write_buckets(connection, {one: (bucket, ready.get(one, 0)) for one, bucket in new.items()})
        event = UrlEvent(lease.url_id, now, end.state, end.reason, lease.owner, lease.fence, end.detail)
        log_urls(connection, [event])
        if new[lease.bucket_id].failure_count > buckets[lease.bucket_id]["failure_count"]:
            _log_rest(connection, lease, end.reason, now, new[lease.bucket_id].claimable_at)
        return True
    return False


def _log_rest(connection: Connection, lease: Lease, reason: str, now: int, until: int) -> None:
    log_origin(connection, lease.bucket_id, now, "throttled", reason=reason, actor=lease.owner, until_at=until)


def _count_stale(connection: Connection, lease: Lease, step: str, now: int) -> None:
    log_urls(connection, [UrlEvent(lease.url_id, now, "", STALE_COMMIT, lease.owner, lease.fence, step)])


def _stale(lease: Lease, step: str) -> StaleLeaseError:
    return StaleLeaseError(
        f"{step} of {lease.url} by {lease.owner} under fence {lease.fence}",
        "the lease that holds the URL now",
        "drop what was fetched; whoever holds it fetches it again",
    )


def _match(lease: Lease) -> dict[str, Any]:
    return {"id": lease.url_id, "held_fence": lease.fence}


_IS_OURS = (
    URLS.c.url_id == bindparam("id"),
    URLS.c.fence == bindparam("held_fence"),
    URLS.c.state == "leased",
)
_HELD = select(URLS.c.lease_expires_at, URLS.c.started_at).where(*_IS_OURS)
_START = update(URLS).where(*_IS_OURS).values(started_at=bindparam("now_at"))
_EXTEND = update(URLS).where(*_IS_OURS).values(lease_expires_at=bindparam("expires"))
