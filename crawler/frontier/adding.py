"""Taking in URLs: each first seen once, by an atomic insert on a unique key; each refused one with its reason.

Belongs here: what a new URL and a new origin look like. Seeds, links, sitemaps and redirects all come in here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, insert, or_, select, text
from sqlalchemy.dialects import postgresql, sqlite

from crawler.frontier.buckets import count_ready
from crawler.frontier.budgets import Cut, Newcomer, cut_traps
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.events import UrlEvent, log_urls
from crawler.frontier.schema import BUCKETS, REFUSALS, SUPPRESSIONS, URLS
from domain.class_shares import DEFAULT_CLASS, check_class
from domain.crawl_states import MAX_DEPTH, check_priority, rank_at
from domain.errors import UsageError
from domain.frontier import UrlIdentity
from domain.suppressions import Suppression

CHUNK = 500
"""URLs of one transaction."""


class Candidate(NamedTuple):
    """A URL that somebody names. Its class counts only where the origin is new; ``raw_url`` is kept as it came."""

    identity: UrlIdentity
    raw_url: str
    source: str
    priority: int = 0
    depth: int = 0
    class_name: str = DEFAULT_CLASS


class Added(NamedTuple):
    """What became of a candidate. ``reason`` is said of refused ones."""

    url: str
    outcome: Literal["added", "known", "refused"]
    reason: str = ""


def url_key(url: str) -> bytes:
    """By which a URL is unique."""
    return sha256(url.encode()).digest()


def add_urls(frontier: Frontier, candidates: Iterable[Candidate], actor: str) -> Iterator[Added]:
    """Takes in what is new, a transaction each few hundred, and says of each candidate what became of it, in order.

    Repeatable, and safe beside others who add the same. Lazy: what is not asked for is not taken in.
    """
    remaining = iter(candidates)
    while chunk := list(islice(remaining, CHUNK)):
        with frontier.writing() as connection:
            added = add_within(connection, frontier, chunk, actor)
        yield from added


def refuse(frontier: Frontier, raw_url: str, reason: str, source: str) -> None:
    """Records that a text was no URL that could be taken in."""
    with frontier.writing() as connection:
        row = {"url_key": url_key(raw_url), "reason": reason, "source": source, "refused_at": now_of(connection)}
        connection.execute(insert(REFUSALS), [row])


def suppressions_over(connection: Connection, identities: Sequence[UrlIdentity]) -> list[Suppression]:
    """All suppressions that may cover one of these."""
    kind, pattern = SUPPRESSIONS.c.kind, SUPPRESSIONS.c.pattern
    found = connection.execute(
        select(SUPPRESSIONS.c.suppression_id, kind, pattern).where(
            or_(
                (kind == "url") & pattern.in_(sorted({one.url for one in identities})),
                (kind == "prefix") & SUPPRESSIONS.c.origin.in_(sorted({one.origin for one in identities})),
                (kind == "host") & pattern.in_(sorted({one.host for one in identities})),
                (kind == "registrable_domain") & pattern.in_(sorted({one.registrable_domain for one in identities})),
            )
        )
    )
    return [Suppression(*row) for row in found]


def add_within(
    connection: Connection,
    frontier: Frontier,
    chunk: Sequence[Candidate],
    actor: str,
    also_held: Sequence[int | None] = (),
) -> list[Added]:
    """As ``add_urls``, as the first part of the caller's transaction, which goes on with the buckets ``also_held``."""
    for one in chunk:
        check_priority(one.priority)
        check_class(one.class_name)
        if not 0 <= one.depth <= MAX_DEPTH:
            raise UsageError(f"depth {one.depth}", f"0 to {MAX_DEPTH}", "correct it")
    if connection.dialect.name == "postgresql":  # no suppression begins between our look at them and our insert
        connection.execute(text("LOCK TABLE suppressions IN SHARE MODE"))
    now = now_of(connection)
    covering = suppressions_over(connection, [one.identity for one in chunk])
    by = {one.identity.url: next((s for s in covering if s.covers(one.identity)), None) for one in chunk}
    refused = [(one, found) for one in chunk if (found := by[one.identity.url]) is not None]
    _log_refused(connection, refused, now)
    origins = bucket_ids_of(connection, frontier, [one for one in chunk if by[one.identity.url] is None])
    lock_buckets(connection, [*origins.values(), *also_held])
    fresh: dict[bytes, Candidate] = {}
    for one in chunk:
        if by[one.identity.url] is None:
            fresh.setdefault(url_key(one.identity.url), one)
    cuts = _cut_of(connection, frontier, fresh, origins, now)
    rows = [
        _row(one, key, origins[one.identity.origin], now) for key, one in fresh.items() if one.identity.url not in cuts
    ]
    inserted = {row.url: row for row in _insert_new(connection, rows)} if rows else {}
    count_ready(connection, Counter(row.origin_id for row in inserted.values()))
    log_urls(
        connection,
        [UrlEvent(row.url_id, now, "ready", "added", actor, 0, row.source) for row in inserted.values()],
    )
    return [_outcome(one, by[one.identity.url], cuts, inserted) for one in chunk]


def _cut_of(
    connection: Connection, frontier: Frontier, fresh: dict[bytes, Candidate], origins: dict[str, int], now: int
) -> dict[str, Cut]:
    """Takes what is known already out of ``fresh``, and says which of the rest traps cut; samples leave a refusal."""
    known = connection.execute(select(URLS.c.url_key).where(URLS.c.url_key.in_(list(fresh)))).scalars()
    for key in known:
        del fresh[bytes(key)]
    newcomers = [
        Newcomer(one.identity.url, origins[one.identity.origin], one.identity.origin, one.depth, one.source)
        for one in fresh.values()
    ]
    cuts = cut_traps(connection, frontier.policy.limits, newcomers, now)
    rows = [
        {"url_key": key, "reason": cuts[url].reason, "source": one.source, "refused_at": now}
        for key, one in fresh.items()
        if (url := one.identity.url) in cuts and cuts[url].is_sample
    ]
    if rows:
        connection.execute(insert(REFUSALS), rows)
    return cuts


def _outcome(one: Candidate, suppression: Suppression | None, cuts: dict[str, Cut], inserted: dict[str, Any]) -> Added:
    """The first of several candidates for one new URL is the one that was added."""
    url = one.identity.url
    if suppression is not None:
        return Added(url, "refused", f"suppressed_by_{suppression.kind}")
    if url in cuts:
        return Added(url, "refused", cuts[url].reason)
    return Added(url, "added" if inserted.pop(url, None) is not None else "known")


def _log_refused(connection: Connection, refused: list[tuple[Candidate, Suppression]], now: int) -> None:
    rows = [
        {
            "url_key": url_key(one.identity.url),
            "reason": f"suppressed_by_{suppression.kind}",
            "suppression_id": suppression.suppression_id,
            "source": one.source,
            "refused_at": now,
        }
        for one, suppression in refused
    ]
    if rows:
        connection.execute(insert(REFUSALS), rows)


def bucket_ids_of(connection: Connection, frontier: Frontier, candidates: list[Candidate]) -> dict[str, int]:
    """The bucket of each origin, made where it is missing; that of its group first, if origins are grouped."""
    firsts = {one.identity.origin: one for one in reversed(candidates)}
    known = _bucket_ids(connection, "origin", list(firsts))
    missing = [firsts[origin] for origin in sorted(firsts.keys() - known.keys())]
    if not missing:
        return known
    shared = {"gap_micros": frontier.policy.gap_micros, "in_flight_cap": frontier.policy.in_flight_cap}
    groups: dict[str, int] = {}
    if frontier.policy.is_grouped:
        domains = sorted({one.identity.registrable_domain for one in missing})
        named = [{"key": one, "registrable_domain": one, "class_name": DEFAULT_CLASS} for one in domains]
        _ensure_buckets(connection, [row | shared | {"kind": "registrable_domain"} for row in named])
        groups = _bucket_ids(connection, "registrable_domain", domains)
    rows = [
        {
            "kind": "origin",
            "key": one.identity.origin,
            "host": one.identity.host,
            "registrable_domain": one.identity.registrable_domain,
            "group_id": groups.get(one.identity.registrable_domain),
            "class_name": one.class_name,
        }
        for one in missing
    ]
    _ensure_buckets(connection, [row | shared for row in rows])
    return _bucket_ids(connection, "origin", list(firsts))


def _bucket_ids(connection: Connection, kind: str, keys: list[str]) -> dict[str, int]:
    found = connection.execute(
        select(BUCKETS.c.key, BUCKETS.c.bucket_id).where(BUCKETS.c.kind == kind, BUCKETS.c.key.in_(keys))
    )
    return {row.key: row.bucket_id for row in found}


def _ensure_buckets(connection: Connection, rows: list[dict[str, Any]]) -> None:
    connection.execute(_inserting(connection)(BUCKETS).on_conflict_do_nothing(), rows)


def _insert_new(connection: Connection, rows: list[dict[str, Any]]) -> Sequence[Any]:
    returned = (URLS.c.url_id, URLS.c.url, URLS.c.origin_id, URLS.c.source)
    return connection.execute(_inserting(connection)(URLS).on_conflict_do_nothing().returning(*returned), rows).all()


def insert_url(connection: Connection, one: Candidate, origin_id: int, now: int) -> None:
    """Adds a URL that no ordinary claim takes, unless it is known. The caller holds the bucket."""
    row = _row(one, url_key(one.identity.url), origin_id, now) | {"state": "done", "reason": one.source}
    _insert_new(connection, [row])


def _inserting(connection: Connection) -> Any:
    """The dialect's INSERT, which knows ON CONFLICT."""
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert


def _row(one: Candidate, key: bytes, origin_id: int, now: int) -> dict[str, Any]:
    return {
        "url_key": key,
        "url": one.identity.url,
        "raw_url": one.raw_url,
        "origin_id": origin_id,
        "source": one.source,
        "depth": one.depth,
        "priority": one.priority,
        "state": "ready",
        "reason": "added",
        "due_at": now,
        "rank_at": rank_at(now, one.priority),
        "added_at": now,
        "changed_at": now,
    }
