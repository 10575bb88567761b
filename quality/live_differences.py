"""Click by click: what live has of a sealed hour and final has not, and the reverse, each with its cause.

Belongs here: the rule, without Spark; its SQL is ``live_differences_sql.py``. Live keeps no row a click, so its clicks
are derived: of the copies of a click the first within the live horizon, unless live refused it, up to the offset that
its row of ``live_clicks_minute`` has counted. Where a row holds another number than that, the rest is told by key.
Counting the causes for table ``drift`` is reconcile's; totals here must come out as they stand there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import HOUR, MICROSECOND, format_utc, from_unix_micros
from domain.counting import CountKey
from domain.errors import UsageError
from domain.identity import LogPosition
from domain.seals import Seal
from domain.settings import Settings
from quality.live_differences_sql import (
    ASKED_SPAN_SQL,
    ASKED_SQL,
    CLICKS_SQL,
    DIFFERENCES_SQL,
    FIRST_COPIES_SQL,
    JUDGED_SQL,
    KEYS_SQL,
    OTHER_COPIES_SQL,
    TOTALS_SQL,
)
from quality.slices import in_hours
from warehouse.cut_ends import cut_ends
from warehouse.duck_engine import opened_engine
from warehouse.finality import published_seals
from warehouse.layout import dataset_of, open_table
from warehouse.schema import INSTANT

Side = Literal["live", "final"]
Cause = Literal["late", "hour_sealed", "late_arrival", "dedup_horizon", "fraud", "winner", "missing", "extra"]

_POSITION = ["log", "partition", "offset"]
_KEY = ["advertiser_id", "campaign_id", "ad_id", "minute", "country", "device"]
_COLUMNS = {
    "raw_clicks": [
        *_POSITION,
        "logged_at",
        "impression_id",
        "clicked_at",
        *(name for name in _KEY if name != "minute"),
    ],
    "click_exclusions": [*_POSITION, "reason", "winner_log", "winner_partition", "winner_offset", "verdict_id"],
    "late_clicks": [*_POSITION, "reason"],
    "live_clicks_minute": [*_KEY, "clicks", "versions"],
    "drift": ["advertiser_id", "live_clicks", "final_clicks", "difference_clicks"],
}


@dataclass(frozen=True)
class ClickDifference:
    """A click that one of the two counts has and the other has not.

    ``side`` has it. ``other`` is the copy that counts in its stead, or that live counted in its stead; ``verdict_id``
    the verdict of fraud.
    """

    position: LogPosition
    impression_id: str
    key: CountKey
    side: Side
    cause: Cause
    other: LogPosition | None = None
    verdict_id: str | None = None


@dataclass(frozen=True)
class KeyDifference:
    """A row of the live count that holds ``clicks`` more or fewer than the clicks that live should have counted."""

    key: CountKey
    side: Side
    cause: Cause
    clicks: int


@dataclass(frozen=True)
class AdvertiserTotals:
    """What the two counts are now, what table ``drift`` says that they were at the seal, and what was listed."""

    advertiser_id: int
    live_clicks: int
    final_clicks: int
    drift_live_clicks: int
    drift_final_clicks: int
    listed_clicks: int

    @property
    def disagreement(self) -> str | None:
        """In words, where live, final or the sum of what is listed is not what ``drift`` says; None where all are."""
        listed = self.drift_live_clicks - self.drift_final_clicks
        figures = (
            ("live", self.live_clicks, self.drift_live_clicks),
            ("final", self.final_clicks, self.drift_final_clicks),
            ("the difference that is listed", self.listed_clicks, listed),
        )
        unlike = [f"{what} is {found:,}, table drift says {said:,}" for what, found, said in figures if found != said]
        return f"advertiser {self.advertiser_id}: {'; '.join(unlike)}" if unlike else None


@dataclass(frozen=True)
class HourDifferences:
    """All differences of an hour, in the order of the log; totals by advertiser."""

    seal: Seal
    clicks: tuple[ClickDifference, ...]
    keys: tuple[KeyDifference, ...]
    totals: tuple[AdvertiserTotals, ...]


def live_differences(settings: Settings, hour: datetime, advertiser_id: int | None = None) -> HourDifferences:
    """The differences of a sealed and published hour (start, UTC), by the seal that holds. Reads only.

    ``UsageError`` for an hour that is neither.
    """
    seal = _published_seal(settings, hour)
    with _opened(settings, seal, advertiser_id) as engine:
        _find_first_copies(engine, settings, seal)
        engine.execute(JUDGED_SQL)
        rests = {CountKey(*_key(row)): row[-1] for row in engine.execute(KEYS_SQL).fetchall()}
        clicks = {one.position: one for one in map(_difference, engine.execute(DIFFERENCES_SQL).fetchall())}
        _tell_other_winners(engine, rests, clicks)
        totals = engine.execute(TOTALS_SQL).fetchall()
    keys = [_key_difference(key, rest) for key, rest in sorted(rests.items()) if rest]
    ordered = tuple(one for _, one in sorted(clicks.items()))
    listed = _listed(ordered, keys)
    return HourDifferences(
        seal, ordered, tuple(keys), tuple(AdvertiserTotals(*row, listed_clicks=listed[row[0]]) for row in totals)
    )


def _published_seal(settings: Settings, hour: datetime) -> Seal:
    seals = published_seals(settings)
    if hour not in seals:
        raise UsageError(f"hour {format_utc(hour)} is not final", "a sealed and published hour", "reconcile it first")
    return seals[hour]


@contextmanager
def _opened(settings: Settings, seal: Seal, advertiser_id: int | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine with table ``clicks``, and the rows of the hour that live and drift have."""
    is_hour, is_attempt = in_hours([seal.hour]), ds.field("attempt") == seal.attempt
    start, end = (pa.scalar(at, INSTANT) for at in (seal.hour, seal.hour + HOUR))
    is_day = ds.field("click_date") == seal.hour.date()
    filters = {
        "raw_clicks": is_hour & (ds.field("kind") == "click"),
        "click_exclusions": is_hour & is_attempt,
        "late_clicks": is_day & (ds.field("minute") >= start) & (ds.field("minute") < end),
        "live_clicks_minute": is_hour,
        "drift": is_day & is_attempt,
    }
    is_theirs = ds.scalar(True) if advertiser_id is None else ds.field("advertiser_id") == advertiser_id
    with opened_engine(settings) as engine:
        engine.register("cut", cut_ends({seal.hour.hour: seal.cut}))
        for name, columns in _COLUMNS.items():
            rows = dataset_of(open_table(settings, name)).scanner(columns=columns, filter=filters[name] & is_theirs)
            engine.register(f"{name}_once", rows.to_reader())
        for sql in CLICKS_SQL:
            engine.execute(sql)
        yield engine


def _find_first_copies(engine: duckdb.DuckDBPyConnection, settings: Settings, seal: Seal) -> None:
    """Whether any copy precedes a click within live's horizon, where that of the seal does not say it."""
    horizon_us = settings.live_horizon // MICROSECOND
    is_live_longer = settings.live_horizon > timedelta(days=seal.horizon_days)
    engine.execute(ASKED_SQL, {"is_live_longer": is_live_longer})
    first_us, last_us = engine.execute(ASKED_SPAN_SQL).fetchall()[0]
    since, until = (from_unix_micros(us or 0) for us in (first_us, last_us))
    since -= settings.live_horizon
    is_near = (ds.field("log_date") >= since.date()) & (ds.field("log_date") <= until.date())
    is_near &= (ds.field("logged_at") >= pa.scalar(since, INSTANT)) & (
        ds.field("logged_at") <= pa.scalar(until, INSTANT)
    )
    columns = [*_POSITION, "identity", "logged_at"]
    copies = dataset_of(open_table(settings, "click_identities")).scanner(columns=columns, filter=is_near)
    engine.register("copies_once", copies.to_reader())
    engine.execute(FIRST_COPIES_SQL, {"horizon_us": horizon_us})


def _tell_other_winners(
    engine: duckdb.DuckDBPyConnection, rests: dict[CountKey, int], clicks: dict[LogPosition, ClickDifference]
) -> None:
    """Pairs of copies with different dimensions of which live counted one and the seal the other.

    Live has one too many where the duplicate stands. Where its winner does, live has one too few, or no row that came
    to the winner. Both have to say so; then both copies are listed, and ``rests`` brought down by what is explained.
    """
    for row in engine.execute(OTHER_COPIES_SQL).fetchall():
        duplicate, winner = _click(row[:10], "live"), _click(row[10:], "final")
        listed = clicks.get(winner.position)
        is_lacking = rests.get(winner.key, 0) < 0 if listed is None else listed.cause == "missing"
        if rests.get(duplicate.key, 0) <= 0 or not is_lacking:
            continue
        rests[duplicate.key] -= 1
        if listed is None:
            rests[winner.key] += 1
        clicks[duplicate.position] = replace(duplicate, other=winner.position)
        clicks[winner.position] = replace(winner, other=duplicate.position)


def _click(row: Sequence[Any], side: Side) -> ClickDifference:
    return ClickDifference(LogPosition(*row[:3]), row[3], CountKey(*_key(row[4:10])), side, "winner")


def _difference(row: Sequence[Any]) -> ClickDifference:
    side, cause, *other, verdict_id = row[10:]
    position = LogPosition(*other) if other[0] is not None else None
    return replace(_click(row, side), cause=cause, other=position, verdict_id=verdict_id)


def _key(row: Sequence[Any]) -> tuple[Any, ...]:
    """The parts of a key, its minute out of microseconds."""
    return (*row[:3], from_unix_micros(row[3]), *row[4:6])


def _key_difference(key: CountKey, rest: int) -> KeyDifference:
    return KeyDifference(key, "live", "extra", rest) if rest > 0 else KeyDifference(key, "final", "missing", -rest)


def _listed(clicks: Sequence[ClickDifference], keys: Sequence[KeyDifference]) -> Counter[int]:
    """By advertiser what is listed, live less final."""
    listed = Counter[int]()
    for one in clicks:
        listed[one.key.advertiser_id] += 1 if one.side == "live" else -1
    for rest in keys:
        listed[rest.key.advertiser_id] += rest.clicks if rest.side == "live" else -rest.clicks
    return listed
