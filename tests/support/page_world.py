"""A home with something in each view of the page: a closed month, final hours, live ones, a dispute.

No JVM. October is closed and quiet; from November on there are clicks of two advertisers. The clock stands at ``AT``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from domain.adjustments import AdjustmentCase, AdjustmentLine
from domain.ads import Ad
from domain.buckets import HOUR as AN_HOUR
from domain.buckets import MINUTE, hours_between
from domain.counting import LoggedEvent
from domain.disputes import Claim
from domain.periods import parse_period
from domain.seals import current_seals
from quality.outcome_tallies import read_tallies
from tests.support.batches import AT as BATCHES_AT
from tests.support.batches import batch
from tests.support.counts_tables import Clicks, CountsTables
from tests.support.periods import OCTOBER, close_month, settle_quiet_month
from tests.support.sealed_world import SealedWorld, logged, sealed_world
from warehouse.adjustments import adjust
from warehouse.ads import snapshot_ads
from warehouse.disputes import open_dispute
from warehouse.outcomes import append_outcomes
from warehouse.seals import read_seals
from warehouse.stream_batches import append_batches

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
FINAL_UNTIL = datetime(2026, 11, 2, 10, tzinfo=UTC)
AT = datetime(2026, 11, 2, 13, 40, tzinfo=UTC)
REVISED = datetime(2026, 11, 1, 20, tzinfo=UTC)
DISPUTED = datetime(2026, 11, 1, 9, tzinfo=UTC)
LIVE_MORE = 2
"""So many more clicks live counted in each hour of advertiser 10 than became final."""
ADS = (
    Ad(1, 10, 100, "https://a.example/", 250_000, "EUR"),
    Ad(2, 10, 101, "https://a.example/", 400_000, "EUR"),
    Ad(3, 11, 200, "https://b.example/"),
)
COUNTRIES, DEVICES = ("DE", "US", "FR"), ("mobile", "desktop")


def page_world(home: Path) -> SealedWorld:
    """The home, filled."""
    world = sealed_world(home)
    settings = world.settings
    settle_quiet_month(CountsTables(settings), OCTOBER)
    close_month(settings, OCTOBER, FIRST + AN_HOUR)
    snapshot_ads(settings, ADS, FIRST)
    world.archive(_events())
    hours = list(hours_between(FIRST, FINAL_UNTIL))
    world.seal(*hours, sealed_at=FINAL_UNTIL + 7 * MINUTE)
    world.archive([logged(9_999, REVISED + 30 * MINUTE, impression_id="came-late", logged_at=FINAL_UNTIL)])
    world.seal(REVISED, sealed_at=FINAL_UNTIL + 20 * MINUTE)
    world.publish()
    _compare(world, hours)
    CountsTables(settings).write_live(_live())
    _adjust(world)
    open_dispute(settings, _claim())
    moved = AT - BATCHES_AT
    append_batches(settings, [_moved(batch(query, 30 + 60 * n), moved, n) for n in range(5) for query in QUERIES])
    return world


QUERIES = ("archive", "live")


def _events() -> Iterator[LoggedEvent]:
    """More by day than by night; now and then a second copy of a click, or a HEAD request."""
    chance, offset = random.Random(7), 0
    for hour in hours_between(FIRST, FINAL_UNTIL):
        for number in range(20 + int(14 * math.sin((hour.hour - 9) / 24 * 2 * math.pi))):
            at = hour + timedelta(seconds=number * 90)
            ad = chance.choice(ADS)
            who = {"ad_id": ad.ad_id, "advertiser_id": ad.advertiser_id, "campaign_id": ad.campaign_id}
            kind = "head" if chance.random() < 0.06 else "click"
            where = {"country": chance.choice(COUNTRIES), "device": chance.choice(DEVICES), "kind": kind}
            copies = 2 if chance.random() < 0.08 else 1
            for copy in range(copies):
                yield logged(
                    offset, at + timedelta(seconds=copy), impression_id=f"imp-{hour:%d%H}-{number}", **who, **where
                )
                offset += 1


def _live() -> list[Clicks]:
    return [
        Clicks(
            FINAL_UNTIL + MINUTE * (number * 11),
            1 + number % 3,
            ad=ad.ad_id,
            advertiser=ad.advertiser_id,
            campaign=ad.campaign_id,
        )
        for number in range(19)
        for ad in ADS
    ]


def _compare(world: SealedWorld, hours: list[datetime]) -> None:
    """What reconcile would write of outcomes and drift."""
    held = current_seals(read_seals(world.settings))
    seals = [held[hour] for hour in hours]
    tallies = read_tallies(world.settings, seals)
    append_outcomes(world.settings, [[(held[one.hour].attempt, one) for one in tallies]])
    world.write_drift(
        [
            {"attempt": held[one.hour].attempt, "hour": one.hour, "click_date": one.hour.date()}
            | {"advertiser_id": one.advertiser_id, "final_clicks": one.billable_clicks}
            | _difference(one.billable_clicks, LIVE_MORE if one.advertiser_id == ADS[0].advertiser_id else 0)
            for one in tallies
        ]
    )


def _difference(final: int, more: int) -> dict[str, Any]:
    return {"live_clicks": final + more, "difference_clicks": more, "fraud_clicks": more, "is_alert": more > 0}


def _adjust(world: SealedWorld) -> None:
    line = AdjustmentLine(
        charge_hour=FIRST - 5 * AN_HOUR,
        advertiser_id=10,
        campaign_id=100,
        ad_id=1,
        country="DE",
        device="mobile",
        delta_clicks=3,
    )
    case = AdjustmentCase(
        case_id="C-7",
        reason="came after the close",
        billing_period=parse_period("2026-11"),
        requested_by="ada",
        approved_by="grace",
        adjusted_at=FINAL_UNTIL,
    )
    adjust(world.settings, case, [line])


def _claim() -> Claim:
    return Claim(
        advertiser_id=10,
        start=DISPUTED + 5 * MINUTE,
        end=DISPUTED + 90 * MINUTE,
        claim="we saw fewer visitors than you bill",
        actor="ada",
        claimed_clicks=12,
        opened_at=FINAL_UNTIL,
    )


def _moved(one: Any, by: timedelta, number: int) -> Any:
    names = ("started_at", "ended_at", "first_appended_at", "last_appended_at", "visible_at", "newest_appended_at")
    moved = {name: getattr(one, name) + by for name in names if getattr(one, name) is not None}
    return replace(one, batch_id=number, **moved)
