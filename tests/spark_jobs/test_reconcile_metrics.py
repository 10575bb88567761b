"""The metrics of hours against a plain recount of the generated events. No JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.buckets import HOUR, format_utc, hour_of, minute_of
from domain.counting import EXCLUSION_REASONS, LoggedEvent, Outcome
from domain.quality_metrics import WHOLE, Metric
from spark_jobs.reconcile_metrics import measured_hours
from spark_jobs.reconcile_written import written_attempt
from tests.support.archive_world import ArchiveWorld, Click, H
from tests.support.random_log import random_clicks
from warehouse.ads import snapshot_ads

Figures = dict[tuple[str, str], int]
"""By name and group the amounts of an hour."""
DAY_HOURS = 24
NUMBERS = count()


@pytest.fixture
def world(tmp_path: Path) -> ArchiveWorld:
    """Four days of log, with everything that the counting rule is about; ad 3 is in no catalogue."""
    world = ArchiveWorld(tmp_path, final_horizon_days=1)
    snapshot_ads(world.settings, [Ad(2, 20, 100, "https://shop.example/")], H)
    world.archive(random_clicks(seed=7, identity_count=400))
    world.write_late([one.position for one in world.events[::9]])
    world.quarantine(0)
    return world


def measure(
    world: ArchiveWorld, hours: Sequence[int], cut: dict[str, int] | None = None
) -> dict[datetime, list[Metric]]:
    """As reconcile would, had it written what the plain rule says, of the date of H."""
    day, cut = H.date(), cut or {f"1:{partition}": end for partition, end in world.log.ends.items()}
    attempts = {hour: f"attempt {next(NUMBERS)} at {hour}" for hour in hours}
    outcomes = [one for one in world.oracle() if is_below(one, cut) and hour_of(one.event.clicked_at).date() == day]
    write_attempt(world, [one for one in outcomes if one.event.clicked_at.hour in attempts], attempts)
    cuts = dict.fromkeys(hours, cut)
    with written_attempt(world.settings, day, cuts, attempts) as written:
        return measured_hours(written, day, hours)


def is_below(one: Outcome | LoggedEvent, cut: dict[str, int]) -> bool:
    return one.position.offset < cut[f"1:{one.position.partition}"]


def write_attempt(world: ArchiveWorld, outcomes: Iterable[Outcome], attempts: dict[int, str]) -> None:
    counts, excluded = [], []
    for one in outcomes:
        event, at = one.event, one.event.clicked_at
        filed = {"attempt": attempts[at.hour], "click_date": at.date(), "click_hour": at.hour}
        filed |= {"advertiser_id": event.advertiser_id, "ad_id": event.ad_id}
        if one.is_billable:
            key = {"campaign_id": event.campaign_id, "country": event.country, "device": event.device}
            counts.append({**filed, **key, "minute": minute_of(at), "clicks": 1})
        else:
            winner = dict.fromkeys(("winner_log", "winner_partition", "winner_offset", "verdict_id"))
            excluded.append({**filed, **one.position._asdict(), **winner, "reason": one.reason})
    world.write_rows("reconciled_clicks_minute", counts)
    world.write_rows("click_exclusions", excluded)


def recounted(world: ArchiveWorld, hour: datetime) -> Figures:
    """The plain recount."""
    outcomes = [one for one in world.oracle() if hour_of(one.event.clicked_at) == hour]
    logged = [one for one in world.events if hour_of(one.event.clicked_at) == hour]
    by_ad = Counter(one.event.ad_id for one in outcomes)
    before = {one.event.ad_id for one in world.events if hour_of(one.event.clicked_at) == hour - HOUR}
    reasons = Counter(one.reason for one in outcomes)
    lags = sorted(bucket(lag_ms(one)) for one in logged)
    found: Figures = {("rows", WHOLE): len(logged)}
    found["duplicates", WHOLE] = reasons["duplicate"] + reasons["conflicting_duplicate"]
    found |= {("excluded", reason): reasons[reason] for reason in EXCLUSION_REASONS}
    for name in ("country", "device", "kind"):
        found |= counted(f"by_{name}", (getattr(one.event, name) for one in logged))
    found |= counted("by_server", (one.event.server_id for one in logged))
    found |= counted("by_advertiser", (one.event.advertiser_id for one in logged))
    found |= counted("by_ad", (one.event.ad_id for one in logged))
    found |= {("nulls", "impression_id"): 0, ("nulls", "country"): 0, ("nulls", "user_agent"): len(logged)}
    found |= {("lag", f"p{percent}"): quantile(lags, percent) for percent in (50, 95, 99)}
    found["lag", "max"] = max(lag_ms(one) for one in logged)
    found |= {("clicks_per_ad", f"p{percent}"): quantile(sorted(by_ad.values()), percent) for percent in (50, 95)}
    found["clicks_per_ad", "max"] = max(by_ad.values())
    found["distinct", "ad_id"] = len(by_ad)
    found["distinct", "advertiser_id"] = len({one.event.advertiser_id for one in logged})
    found["late", WHOLE] = sum(one in logged for one in world.events[::9])
    found["new_ads", WHOLE], found["vanished_ads", WHOLE] = len(by_ad.keys() - before), len(before - by_ad.keys())
    found["unknown_ads", WHOLE] = by_ad[3]
    return found | {("quarantined", "empty" if hour == H else WHOLE): int(hour == H)}


def counted(name: str, values: Iterable[object]) -> Figures:
    return {(name, str(value)): amount for value, amount in Counter(values).items()}


def lag_ms(one: LoggedEvent) -> int:
    return round(one.logged_at.timestamp() * 1000) - round(one.event.clicked_at.timestamp() * 1000)


def bucket(lag: int) -> int:
    shift = max(0, abs(lag).bit_length() - 7)
    cut = abs(lag) >> shift << shift
    return cut if lag >= 0 else -cut


def quantile(ascending: Sequence[int], percent: int) -> int:
    return next(value for rank, value in enumerate(ascending, 1) if rank * 100 >= len(ascending) * percent)


def figures(metrics: Iterable[Metric], table: str = "raw_clicks") -> Figures:
    return {(one.name, one.group): one.amount for one in metrics if one.table == table}


def test_they_are_what_a_plain_recount_says(world: ArchiveWorld) -> None:
    """Every figure of every hour of a day; no two rows of one name and group."""
    found = measure(world, range(DAY_HOURS))
    assert len(found) == DAY_HOURS
    for hour, metrics in found.items():
        keys = [(one.table, one.name, one.group) for one in metrics]
        assert len(keys) == len(set(keys))
        assert figures(metrics) == recounted(world, hour), format_utc(hour)
    assert sum(figures(metrics)["unknown_ads", WHOLE] for metrics in found.values()) > 0


def test_an_hour_is_the_same_alone_and_among_others(world: ArchiveWorld, tmp_path: Path) -> None:
    """Also the first one of the day, whose hour before lies in another partition of the table."""
    together = measure(world, range(DAY_HOURS))
    for hour in (0, 10, 11, 23):
        (at,) = [one for one in together if one.hour == hour]
        assert measure(world, [hour]) == {at: together[at]}


def test_what_lies_beyond_the_cut_is_not_measured(world: ArchiveWorld) -> None:
    """Of the hour, and of the one before it."""
    cut = {f"1:{partition}": end for partition, end in world.log.ends.items()}
    before = measure(world, [H.hour], cut)
    late = [Click("x", 5, logged=2_000, ad=3, country="FR"), Click("y", -5, logged=2_001, ad=77)]
    world.write_late(world.archive(late))
    world.quarantine(1)
    assert measure(world, [H.hour], cut) == before


def test_shares_say_what_they_are_part_of(world: ArchiveWorld) -> None:
    metrics = measure(world, [H.hour])[H]
    (rows,) = [one.amount for one in metrics if one.name == "rows"]
    parts = {one.name for one in metrics if one.out_of == rows}
    assert parts == {
        *("duplicates", "excluded", "by_country", "by_device", "by_kind", "by_server", "by_advertiser"),
        *("by_ad", "nulls", "late", "quarantined", "unknown_ads"),
    }
    units = {one.name: one.unit for one in metrics}
    assert (units["lag"], units["clicks_per_ad"], units["nulls"], units["rows"]) == ("ms", "clicks", "values", "rows")


def test_live_and_final_are_by_advertiser(world: ArchiveWorld) -> None:
    key = {"campaign_id": 100, "ad_id": 1, "minute": H, "country": "DE", "device": "mobile", "versions": {}}
    world.write_rows(
        "live_clicks_minute",
        [{**key, "advertiser_id": 30, "clicks": 9, "click_date": H.date(), "click_hour": H.hour}],
    )
    billable = [one for one in world.oracle() if one.is_billable and hour_of(one.event.clicked_at) == H]
    expected = counted("final", (one.event.advertiser_id for one in billable)) | {("live", "30"): 9}
    assert figures(measure(world, [H.hour])[H], "drift") == expected


def test_an_empty_hour_is_measured_as_one(tmp_path: Path) -> None:
    """Nothing of anything, said rather than left out: an hour without figures would be one that nobody measured."""
    found = measure(ArchiveWorld(tmp_path), [H.hour])[H]
    assert {one.amount for one in found} == {0}
    assert {one.name for one in found} == {
        *("rows", "final", "duplicates", "excluded", "by_country", "by_device", "by_kind", "by_server"),
        *("by_advertiser", "by_ad", "nulls", "late", "quarantined", "unknown_ads", "new_ads", "vanished_ads", "live"),
    }
    assert [one.out_of for one in found if one.name == "by_country"] == [0]


def test_the_largest_ads_are_named(tmp_path: Path) -> None:
    """Fifty of them, the rest is the remainder of the hour; among equals those with the lower number."""
    world = ArchiveWorld(tmp_path)
    world.archive([Click(f"{ad}:{copy}", ad=ad) for ad in range(1, 61) for copy in range(1 + (ad == 60))])
    ads = {one.group: one for one in measure(world, [H.hour])[H] if one.name == "by_ad"}
    assert set(ads) == {*map(str, range(1, 50)), "60"}
    assert (ads["60"].amount, ads["60"].out_of) == (2, 61)
