"""What people ask of the frontier: how a domain stands, and why a URL was or was not fetched. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from crawler.frontier.adding import suppressions_over, url_key
from crawler.frontier.alerts import NO_NEW_URLS_ALERT
from crawler.frontier.database import Frontier, now_of
from crawler.frontier.events import STALE_COMMIT
from crawler.frontier.schema import (
    BUCKETS,
    DELETIONS,
    ORIGIN_EVENTS,
    REFUSALS,
    STAGE_COUNTS,
    SUPPRESSIONS,
    URL_EVENTS,
    URLS,
    database_now,
)
from crawler.frontier.switches import origins_named
from crawler.frontier.trap_schema import ALERTS, TRAP_CUTS
from domain.errors import UsageError
from domain.frontier import UrlIdentity

Record = dict[str, Any]


class OriginStatus(NamedTuple):
    """One origin: its bucket, and its URLs by state. Instants are microseconds since 1970."""

    origin: str
    switch: str
    class_name: str
    url_counts: dict[str, int]
    in_flight_count: int
    in_flight_cap: int
    gap_micros: int
    crawl_delay_micros: int | None
    failure_count: int
    claimable_at: int
    oldest_ready_at: int | None
    group: str | None
    stage_counts: dict[str, dict[str, int]]
    """By stage (fetch, parse, store, index) how often it ended with each reason."""
    distrusted_at: int | None
    """Since when its validators are not believed; None while they are."""
    cuts: list[Record]
    """What traps cut, by reason: how often, and the first few URLs."""


class DomainStatus(NamedTuple):
    """Everything under an origin, host or registrable domain, with the suppressions on it."""

    origins: list[OriginStatus]
    suppressions: list[Record]
    stale_commit_count: int
    alerts: list[Record]
    """Open ones, of these origins or of the whole crawl."""


class Why(NamedTuple):
    """One URL: what stands in its way now, and the whole chain of what happened to it and to its origin."""

    url: str
    state: str | None
    obstacles: list[str]
    events: list[Record]
    origin_events: list[Record]
    refusals: list[Record]
    suppressions: list[Record]


class Pending(NamedTuple):
    """What is still to come by itself. URLs that wait for their time are not in it."""

    held_count: int
    """URLs in the hands of workers, dead ones included until their leases run out."""
    next_in_micros: int | None
    """Until an origin that does not rest has a URL to claim; 0 for now, None for never."""
    resting_count: int
    """URLs that could be claimed if their origins had not asked for rest."""


def pending(frontier: Frontier) -> Pending:
    """What a worker without work may wait for."""
    is_resting = (BUCKETS.c.failure_count > 0) & (BUCKETS.c.ready_at > database_now())
    with frontier.reading() as connection:
        now = now_of(connection)
        held = connection.execute(select(func.count()).where(URLS.c.lease_expires_at.is_not(None))).scalar_one()
        ready_at = select(func.min(BUCKETS.c.ready_at)).where(BUCKETS.c.ready_at.is_not(None), ~is_resting)
        next_at = connection.execute(ready_at).scalar_one()
        resting = connection.execute(select(func.sum(BUCKETS.c.ready_count)).where(is_resting)).scalar_one()
    return Pending(held, None if next_at is None else max(0, next_at - now), int(resting or 0))


def status_of(frontier: Frontier, name: str) -> DomainStatus:
    """How an origin, host or registrable domain stands. ``UsageError`` if nothing is known of it."""
    with frontier.reading() as connection:
        ids = origins_named(connection, name)
        suppressions = _suppressions(connection, SUPPRESSIONS.c.pattern == name) + _suppressions(
            connection, SUPPRESSIONS.c.origin.in_(select(BUCKETS.c.key).where(BUCKETS.c.bucket_id.in_(ids)))
        )
        if not ids and not suppressions:
            raise UsageError(
                f"nothing is known of {name!r}", "an origin, host or registrable domain", "add seeds first"
            )
        counts: dict[int, dict[str, int]] = {one: {} for one in ids}
        oldest: dict[int, int] = {}
        grouped = select(URLS.c.origin_id, URLS.c.state, func.count(), func.min(URLS.c.due_at))
        for origin_id, state, count, due_at in connection.execute(
            grouped.where(URLS.c.origin_id.in_(ids)).group_by(URLS.c.origin_id, URLS.c.state)
        ):
            counts[origin_id][state] = count
            if state == "ready":
                oldest[origin_id] = due_at
        stages = _stage_counts(connection, ids)
        groups = BUCKETS.alias("groups")
        rows = connection.execute(
            select(BUCKETS, groups.c.key.label("group_key"))
            .outerjoin(groups, groups.c.bucket_id == BUCKETS.c.group_id)
            .where(BUCKETS.c.bucket_id.in_(ids))
            .order_by(BUCKETS.c.key)
        ).mappings()
        cuts = _cuts(connection, ids)
        origins = [
            _origin(row, counts[one], oldest.get(one), cuts[one], stages[one])
            for row in rows
            for one in [row["bucket_id"]]
        ]
        stale = select(func.count()).select_from(URL_EVENTS).join(URLS, URLS.c.url_id == URL_EVENTS.c.url_id)
        is_stale_here = (URL_EVENTS.c.reason == STALE_COMMIT) & URLS.c.origin_id.in_(ids)
        stale_count = connection.execute(stale.where(is_stale_here)).scalar_one()
        is_here = ALERTS.c.subject.in_([one.origin for one in origins]) | (ALERTS.c.kind == NO_NEW_URLS_ALERT)
        open_ones = select(ALERTS).where(ALERTS.c.closed_at.is_(None), is_here).order_by(ALERTS.c.alert_id)
        alerts = _records(connection, open_ones)
    return DomainStatus(origins, suppressions, stale_count, alerts)


def why(frontier: Frontier, identity: UrlIdentity) -> Why:
    """The whole chain of decisions about one URL, oldest first. Answers for unknown and for deleted URLs too."""
    key = url_key(identity.url)
    with frontier.reading() as connection:
        now = now_of(connection)
        url = connection.execute(select(URLS).where(URLS.c.url_key == key)).mappings().first()
        origin = (
            connection.execute(select(BUCKETS).where(BUCKETS.c.kind == "origin", BUCKETS.c.key == identity.origin))
            .mappings()
            .first()
        )
        found = [one.suppression_id for one in suppressions_over(connection, [identity]) if one.covers(identity)]
        suppressions = _suppressions(connection, SUPPRESSIONS.c.suppression_id.in_(found))
        of_url = URL_EVENTS.c.url_id == (None if url is None else url["url_id"])
        of_origin = ORIGIN_EVENTS.c.bucket_id == (None if origin is None else origin["bucket_id"])
        return Why(
            url=identity.url,
            state=None if url is None else url["state"],
            obstacles=_obstacles(connection, url, origin, suppressions, now),
            events=_records(connection, select(URL_EVENTS).where(of_url).order_by(URL_EVENTS.c.event_id)),
            origin_events=_records(
                connection, select(ORIGIN_EVENTS).where(of_origin).order_by(ORIGIN_EVENTS.c.event_id)
            ),
            refusals=_records(
                connection,
                select(REFUSALS.c.reason, REFUSALS.c.suppression_id, REFUSALS.c.source, REFUSALS.c.refused_at)
                .where(REFUSALS.c.url_key == key)
                .order_by(REFUSALS.c.refusal_id),
            ),
            suppressions=suppressions,
        )


def _obstacles(
    connection: Connection,
    url: Mapping[Any, Any] | None,
    origin: Mapping[Any, Any] | None,
    suppressions: list[Record],
    now: int,
) -> list[str]:
    """What keeps the URL from being claimed at this instant, in the order in which it is looked at."""
    said = [f"suppressed by {one['kind']} {one['pattern']}: {one['reason']}" for one in suppressions]
    if url is None or origin is None:
        cuts = [] if origin is None else _cuts(connection, [origin["bucket_id"]])[origin["bucket_id"]]
        said += [f"its origin is cut by {one['reason']}, {one['cut_count']} times so far" for one in cuts]
        return [*said, "not known: nobody has named it, or it was refused"] if not suppressions else said
    if origin["switch"] != "open":
        said.append(f"origin is {origin['switch']}")
    match url["state"]:
        case "ready":
            ahead = connection.execute(
                select(func.count()).where(
                    URLS.c.origin_id == url["origin_id"], URLS.c.state == "ready", URLS.c.rank_at < url["rank_at"]
                )
            ).scalar_one()
            said += [f"{ahead} URLs of its origin come first"] if ahead else []
        case "waiting":
            said.append(f"its time comes in {_seconds(url['due_at'] - now)} s")
        case "leased":
            said.append(f"held by {url['lease_owner'] or 'nobody, since its lease was taken away'}")
        case state:
            said.append(f"{state}: {url['reason']}")
    if origin["in_flight_count"] >= origin["in_flight_cap"]:
        said.append(f"{origin['in_flight_count']} of {origin['in_flight_cap']} requests of its origin are in flight")
    if origin["claimable_at"] > now:
        rest = "throttled origin rests" if origin["failure_count"] else "gap of its origin runs"
        said.append(f"{rest} for {_seconds(origin['claimable_at'] - now)} s more")
    return said


def _seconds(micros: int) -> int:
    return -(-micros // 1_000_000)


def _stage_counts(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, dict[str, int]]]:
    found: dict[int, dict[str, dict[str, int]]] = {one: {} for one in ids}
    of_them = STAGE_COUNTS.c.bucket_id.in_(ids)
    for row in connection.execute(select(STAGE_COUNTS).where(of_them).order_by(STAGE_COUNTS.c.reason)):
        found[row.bucket_id].setdefault(row.stage, {})[row.reason] = row.outcome_count
    return found


def _cuts(connection: Connection, bucket_ids: list[int]) -> dict[int, list[Record]]:
    found: dict[int, list[Record]] = {one: [] for one in bucket_ids}
    for row in _records(
        connection, select(TRAP_CUTS).where(TRAP_CUTS.c.bucket_id.in_(bucket_ids)).order_by(TRAP_CUTS.c.reason)
    ):
        samples = row["samples"].split("\n") if row["samples"] else []
        found[row.pop("bucket_id")].append(row | {"samples": samples})
    return found


def _origin(
    row: Mapping[Any, Any],
    counts: dict[str, int],
    oldest: int | None,
    cuts: list[Record],
    stages: dict[str, dict[str, int]],
) -> OriginStatus:
    return OriginStatus(
        origin=row["key"],
        switch=row["switch"],
        class_name=row["class_name"],
        url_counts=counts,
        in_flight_count=row["in_flight_count"],
        in_flight_cap=row["in_flight_cap"],
        gap_micros=row["gap_micros"],
        crawl_delay_micros=row["crawl_delay_micros"],
        failure_count=row["failure_count"],
        claimable_at=row["claimable_at"],
        oldest_ready_at=oldest,
        group=row["group_key"],
        stage_counts=stages,
        distrusted_at=row["distrusted_at"],
        cuts=cuts,
    )


def _suppressions(connection: Connection, condition: Any) -> list[Record]:
    """Suppressions with how often each refused a URL, and what was deleted under it."""
    found = _records(connection, select(SUPPRESSIONS).where(condition).order_by(SUPPRESSIONS.c.suppression_id))
    for one in found:
        of_it = REFUSALS.c.suppression_id == one["suppression_id"]
        one["refused_count"] = connection.execute(select(func.count()).where(of_it)).scalar_one()
        audit = select(DELETIONS.c.data_class, DELETIONS.c.row_count, DELETIONS.c.actor, DELETIONS.c.deleted_at)
        one["deletions"] = _records(
            connection,
            audit.where(DELETIONS.c.suppression_id == one["suppression_id"]).order_by(DELETIONS.c.deletion_id),
        )
    return found


def _records(connection: Connection, query: Any) -> list[Record]:
    return [dict(row) for row in connection.execute(query).mappings()]
