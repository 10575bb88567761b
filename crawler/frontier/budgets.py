"""Budgets of origins against traps: new URLs counted as they come in, and cut, with a sample, beyond the limits.

Belongs here: the counts, in the transaction that adds URLs and holds the buckets of their origins; what a person allows
an origin. Signs and limits are ``domain/traps.py``. Seeds are counted and never cut: a person named them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.frontier.alerts import TRAP_ALERT, close_alert, raise_alert
from crawler.frontier.buckets import log_origin
from crawler.frontier.database import Frontier, lock_buckets, now_of
from crawler.frontier.schema import BUCKETS, ORIGIN_EVENTS, URLS
from crawler.frontier.trap_schema import TRAP_ALLOWANCES, TRAP_COUNTS, TRAP_CUTS, TRAP_VALUES
from domain.errors import UsageError
from domain.texts import check_actor, check_line
from domain.traps import (
    ALERT_CUTS_COUNT,
    NO_LIMIT,
    Counted,
    LimitOf,
    Limits,
    Tally,
    TrapReason,
    check_trap_reason,
    counted_of,
    limit_from,
    over_limit,
    sign_of,
)

MOST_SAMPLES = 5
SEED_SOURCE = "seed"
VALIDATORS = "validators"
FORGOTTEN = "the proof was deleted"


class Newcomer(NamedTuple):
    """A URL that is not known yet, and the bucket of its origin, which the caller holds."""

    url: str
    bucket_id: int
    origin: str
    depth: int
    source: str


class Cut(NamedTuple):
    """A URL that was not taken in. ``is_sample``: one of the few that are kept for people."""

    url: str
    reason: TrapReason
    is_sample: bool


def cut_traps(connection: Connection, limits: Limits, newcomers: Sequence[Newcomer], now: int) -> dict[str, Cut]:
    """Which of these URLs are cut; all others are counted. Part of the caller's transaction."""
    if not newcomers:
        return {}
    limit_of = _limits(connection, limits, {one.bucket_id for one in newcomers})
    counted = {one.url: list(counted_of(one.url)) for one in newcomers}
    counts = _Counts.of(connection, newcomers, counted)
    reasons: dict[str, TrapReason] = {}
    for one in newcomers:
        reason = None
        if one.source != SEED_SOURCE:
            allowed = limit_of[one.bucket_id]
            tallies = [counts.tally(one.bucket_id, each) for each in counted[one.url]]
            reason = sign_of(one.url, one.depth, now, allowed) or over_limit(tallies, allowed)
        if reason is None:
            counts.add(one.bucket_id, counted[one.url])
        else:
            reasons[one.url] = reason
    counts.write(connection)
    samples = record_cuts(connection, [one for one in newcomers if one.url in reasons], reasons, now)
    return {url: Cut(url, reason, url in samples) for url, reason in reasons.items()}


def record_cuts(
    connection: Connection, cut: Sequence[Newcomer], reasons: Mapping[str, TrapReason], now: int
) -> set[str]:
    """Counts cuts and raises the alert of origins that have many; which of these URLs are kept as samples."""
    by_reason: defaultdict[tuple[int, TrapReason], list[Newcomer]] = defaultdict(list)
    for one in cut:
        by_reason[one.bucket_id, reasons[one.url]].append(one)
    if not by_reason:
        return set()
    buckets = {bucket_id for bucket_id, _ in by_reason}
    known = {
        (row.bucket_id, row.reason): row
        for row in connection.execute(select(TRAP_CUTS).where(TRAP_CUTS.c.bucket_id.in_(buckets)))
    }
    totals = Counter(
        {bucket_id: sum(row.cut_count for (of, _), row in known.items() if of == bucket_id) for bucket_id in buckets}
    )
    sampled: set[str] = set()
    for (bucket_id, reason), urls in by_reason.items():
        before = known.get((bucket_id, reason))
        kept = before.samples.split("\n") if before is not None and before.samples else []
        fresh = [one.url for one in urls if one.url not in kept][: max(0, MOST_SAMPLES - len(kept))]
        sampled.update(fresh)
        totals[bucket_id] += len(urls)
        values = {"samples": "\n".join([*kept, *fresh]), "last_cut_at": now}
        if before is None:
            row = {"bucket_id": bucket_id, "reason": reason, "cut_count": len(urls), "first_cut_at": now}
            connection.execute(insert(TRAP_CUTS), [row | values])
        else:
            is_it = (TRAP_CUTS.c.bucket_id == bucket_id) & (TRAP_CUTS.c.reason == reason)
            counted = TRAP_CUTS.c.cut_count + len(urls)
            connection.execute(update(TRAP_CUTS).where(is_it).values(**values, cut_count=counted))
        if totals[bucket_id] >= ALERT_CUTS_COUNT:
            detail = f"{totals[bucket_id]} cuts, the last ones {reason}"
            raise_alert(connection, TRAP_ALERT, urls[-1].origin, detail, now)
    return sampled


def allow(frontier: Frontier, origin: str, trap: str, limit_count: int | None, *, reason: str, actor: str) -> None:
    """Raises a limit of an origin, to no limit if None, with an audited row; closes its alert. ``UsageError``.

    ``validators`` is no trap: it takes back that the origin's validators are not believed.

    What was cut comes again when the pages that link to it do: they are asked for without validators next time.
    """
    if trap != VALIDATORS:
        check_trap_reason(trap)
    check_line("reason", reason)
    check_actor(actor)
    with frontier.writing() as connection:
        is_origin = (BUCKETS.c.kind == "origin") & (BUCKETS.c.key == origin)
        bucket_id = connection.execute(select(BUCKETS.c.bucket_id).where(is_origin)).scalar_one_or_none()
        if bucket_id is None:
            raise UsageError(f"no origin {origin!r} is known", "an origin such as https://example.org", "correct it")
        lock_buckets(connection, [bucket_id])
        now = now_of(connection)
        row = {"bucket_id": bucket_id, "trap": trap, "reason": reason, "actor": actor, "allowed_at": now}
        limit = NO_LIMIT if limit_count is None else limit_count
        connection.execute(insert(TRAP_ALLOWANCES), [row | {"limit_count": limit}])
        told = f"{trap} without limit" if limit_count is None else f"{trap} up to {limit_count}"
        log_origin(connection, bucket_id, now, "allowed", reason=f"{told}: {reason}", actor=actor)
        close_alert(connection, TRAP_ALERT, origin, now)
        if trap == VALIDATORS:
            connection.execute(update(BUCKETS).where(BUCKETS.c.bucket_id == bucket_id).values(distrusted_at=None))
        connection.execute(update(URLS).where(URLS.c.origin_id == bucket_id).values(etag=None, last_modified=None))


def is_allowed(frontier: Frontier, bucket_id: int, trap: TrapReason) -> bool:
    """Whether a person allowed an origin what has no limit of its own."""
    with frontier.reading() as connection:
        return _limits(connection, frontier.policy.limits, {bucket_id})[bucket_id](trap) > 0


def forget_samples(connection: Connection, bucket_ids: Sequence[int]) -> int:
    """Deletes what the history of origins says of single URLs: samples of cuts, proofs of lies; how many rows."""
    cuts = update(TRAP_CUTS).where(TRAP_CUTS.c.bucket_id.in_(bucket_ids), TRAP_CUTS.c.samples != "")
    lies = update(ORIGIN_EVENTS).where(
        ORIGIN_EVENTS.c.bucket_id.in_(bucket_ids),
        ORIGIN_EVENTS.c.event == "distrusted",
        ORIGIN_EVENTS.c.reason != FORGOTTEN,
    )
    return int(
        connection.execute(cuts.values(samples="")).rowcount
        + connection.execute(lies.values(reason=FORGOTTEN)).rowcount
    )


@dataclass
class _Counts:
    """The counts that newcomers touch: as they are in the database, and what was added since."""

    stored: dict[tuple[int, TrapReason, bytes], int]
    values: set[tuple[int, bytes, bytes]]
    added: Counter[tuple[int, TrapReason, bytes]] = field(default_factory=Counter)
    added_values: dict[tuple[int, bytes, bytes], None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, connection: Connection, newcomers: Sequence[Newcomer], counted: Mapping[str, Sequence[Counted]]
    ) -> _Counts:
        buckets = {one.bucket_id for one in newcomers}
        keys = {each.key for found in counted.values() for each in found}
        valued = [each for found in counted.values() for each in found if each.value is not None]
        stored = connection.execute(
            select(TRAP_COUNTS).where(TRAP_COUNTS.c.bucket_id.in_(buckets), TRAP_COUNTS.c.key.in_(keys))
        )
        values = (
            connection.execute(
                select(TRAP_VALUES).where(
                    TRAP_VALUES.c.bucket_id.in_(buckets),
                    TRAP_VALUES.c.key.in_({each.key for each in valued}),
                    TRAP_VALUES.c.value.in_({each.value for each in valued}),
                )
            ).all()
            if valued
            else []
        )
        return cls(
            {(row.bucket_id, row.reason, bytes(row.key)): row.url_count for row in stored},
            {(row.bucket_id, bytes(row.key), bytes(row.value)) for row in values},
        )

    def tally(self, bucket_id: int, counted: Counted) -> Tally:
        key = (bucket_id, counted.reason, counted.key)
        return Tally(counted, self.stored.get(key, 0) + self.added[key], self._is_known(bucket_id, counted))

    def add(self, bucket_id: int, counted: Iterable[Counted]) -> None:
        for each in counted:
            if self._is_known(bucket_id, each):
                continue
            self.added[bucket_id, each.reason, each.key] += 1
            if each.value is not None:
                self.added_values[bucket_id, each.key, each.value] = None

    def _is_known(self, bucket_id: int, counted: Counted) -> bool:
        if counted.value is None:
            return False
        value = (bucket_id, counted.key, counted.value)
        return value in self.values or value in self.added_values

    def write(self, connection: Connection) -> None:
        inserting = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        if self.added:
            counting = inserting(TRAP_COUNTS)
            summed = TRAP_COUNTS.c.url_count + counting.excluded.url_count
            rows = [
                {"bucket_id": bucket_id, "reason": reason, "key": key, "url_count": count}
                for (bucket_id, reason, key), count in self.added.items()
            ]
            is_one = [TRAP_COUNTS.c.bucket_id, TRAP_COUNTS.c.reason, TRAP_COUNTS.c.key]
            connection.execute(counting.on_conflict_do_update(index_elements=is_one, set_={"url_count": summed}), rows)
        if self.added_values:
            connection.execute(
                inserting(TRAP_VALUES).on_conflict_do_nothing(),
                [{"bucket_id": one, "key": key, "value": value} for one, key, value in self.added_values],
            )


def _limits(connection: Connection, limits: Limits, bucket_ids: Iterable[int]) -> dict[int, LimitOf]:
    allowed: dict[int, dict[str, int]] = {one: {} for one in bucket_ids}
    last = (
        select(func.max(TRAP_ALLOWANCES.c.allowance_id))
        .where(TRAP_ALLOWANCES.c.bucket_id.in_(allowed))
        .group_by(TRAP_ALLOWANCES.c.bucket_id, TRAP_ALLOWANCES.c.trap)
    )
    for row in connection.execute(select(TRAP_ALLOWANCES).where(TRAP_ALLOWANCES.c.allowance_id.in_(last))):
        allowed[row.bucket_id][row.trap] = row.limit_count
    return {one: limit_from(limits, mine) for one, mine in allowed.items()}
