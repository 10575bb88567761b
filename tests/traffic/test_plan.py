"""The plan as a whole: repeatable, complete, and its facts are those of its bytes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from domain.identity import minted_at
from domain.parsing import ParsedEvent, parse_event
from services.click.devices import device_of
from tests.traffic.samples import START, options, planned
from traffic.catalogue import build_catalogue
from traffic.event import MINUTE_US, PlannedEvent, instant, microseconds
from traffic.malformed import MALFORMED_KINDS
from traffic.options import Shares, TrafficOptions
from traffic.plan import TrafficPlan
from traffic.recount import Recount

SENT_AT = datetime(2026, 3, 5, tzinfo=UTC)
ODDITIES = {
    *("double_click", "redelivery", "far_duplicate", "conflicting_copy"),
    *("head_before_click", "head_alone", "prefetch_before_click", "prefetch_alone"),
    *("malformed", "future_dated", "unknown_ad"),
    *("out_of_order", "late"),
    *("old_impression", "opaque_impression", "shared_impression", "same_instant"),
    "odd_form",
}


@pytest.fixture(scope="module")
def run() -> TrafficOptions:
    return options(clicks_count=3_000)


@pytest.fixture(scope="module")
def events(run: TrafficOptions) -> list[PlannedEvent]:
    return planned(run)


@pytest.fixture(scope="module")
def clicks(events: list[PlannedEvent]) -> list[PlannedEvent]:
    return [event for event in events if event.reason is None and event.kind == "click"]


def _identity(event: PlannedEvent) -> tuple[bytes, int]:
    return event.key, event.dimensions.ad_id


def test_equal_options_give_equal_records(run: TrafficOptions, events: list[PlannedEvent]) -> None:
    assert planned(run) == events


def test_another_seed_or_range_shares_no_click_with_it(run: TrafficOptions, clicks: list[PlannedEvent]) -> None:
    later = options(clicks_count=3_000, start_at=START + timedelta(hours=1), end_at=run.end_at + timedelta(hours=1))
    for other in (options(clicks_count=3_000, seed=8), later):
        assert {_identity(event) for event in planned(other)}.isdisjoint(_identity(event) for event in clicks)


def test_so_many_clicks_as_asked_for(run: TrafficOptions, clicks: list[PlannedEvent]) -> None:
    assert len({_identity(event) for event in clicks}) == run.clicks_count


def test_every_oddity_is_made_and_counted(run: TrafficOptions) -> None:
    plan = TrafficPlan(run)
    records_count = sum(1 for _ in plan.events())
    assert plan.made.keys() == ODDITIES
    assert plan.clicks_count == run.clicks_count
    # what stands beside the clicks as records of their own, not what is only odd about a click
    beside = ODDITIES - {"out_of_order", "late", "odd_form"} - {name for name in ODDITIES if "impression" in name}
    assert records_count == run.clicks_count + sum(plan.made[name] for name in beside - {"same_instant"})


def test_plain_traffic_is_clicks_once_and_in_order() -> None:
    events = planned(options(clicks_count=500, shares=Shares.none()))
    assert len(events) == len({event.key for event in events}) == 500
    assert [event.clicked_us for event in events] == sorted(event.clicked_us for event in events)
    assert not any(event.has_copies or event.reason for event in events)


def test_facts_are_those_of_the_bytes(run: TrafficOptions, events: list[PlannedEvent]) -> None:
    known = {ad.ad_id for ad in build_catalogue(run).ads}
    for event in events:
        parsed = parse_event(event.value, SENT_AT, known)
        if not isinstance(parsed, ParsedEvent):
            assert parsed == event.reason
            continue
        assert event.reason is None
        assert event.key == parsed.impression_id.encode()
        dimensions = (parsed.advertiser_id, parsed.campaign_id, parsed.ad_id, parsed.country, parsed.device)
        assert (dimensions, parsed.kind) == (event.dimensions, event.kind)
        assert parsed.clicked_at == instant(event.clicked_us)


def test_everything_valid_lies_in_the_range(run: TrafficOptions, events: list[PlannedEvent]) -> None:
    times = [event.clicked_us for event in events if event.reason is None]
    assert min(times) >= microseconds(run.start_at)
    assert max(times) < microseconds(run.end_at)


def test_no_click_without_the_mark_has_copies(clicks: list[PlannedEvent]) -> None:
    counts = Counter(_identity(event) for event in clicks)
    assert {_identity(event) for event in clicks if event.has_copies} == {
        identity for identity, count in counts.items() if count > 1
    }


def test_copies_repeat_bytes_or_differ_in_time_or_contradict(clicks: list[PlannedEvent]) -> None:
    """L6: the same id with another dimension."""
    first: dict[tuple[bytes, int], PlannedEvent] = {}
    seen: Counter[str] = Counter()
    for event in clicks:
        winner = first.setdefault(_identity(event), event)
        if winner is event:
            continue
        hours = abs(event.clicked_us - winner.clicked_us) / 3.6e9
        seen["same bytes"] += event.value == winner.value
        seen["seconds"] += 0 < hours < 0.02
        seen["an hour or more"] += hours >= 1
        seen["earlier than the first sent"] += event.clicked_us < winner.clicked_us
        for name in ("campaign_id", "country", "device"):
            seen[name] += getattr(event.dimensions, name) != getattr(winner.dimensions, name)
    assert min(seen.values()) > 0, seen
    assert len(seen) == 7


def test_a_long_range_has_copies_more_than_a_day_and_a_week_later() -> None:
    run = options(clicks_count=400, hours=24 * 9, shares=Shares(far_duplicates=0.5))
    plan = TrafficPlan(run)
    times: dict[tuple[bytes, int], list[int]] = {}
    for event in plan.events():
        times.setdefault(_identity(event), []).append(event.clicked_us)
    assert plan.made["duplicate_beyond_a_day"] > 20
    apart = [timedelta(microseconds=max(each) - min(each)) for each in times.values()]
    assert max(apart) > timedelta(days=7)


def test_a_head_stands_right_before_the_click_of_its_identity(events: list[PlannedEvent]) -> None:
    pairs = Counter(
        (before.kind, after.kind)
        for before, after in pairwise(events)
        if _identity(before) == _identity(after) and before.reason is after.reason is None
    )
    assert pairs["head", "click"] > 50
    assert pairs["prefetch", "click"] > 50


def test_invalid_twins_come_before_their_click(events: list[PlannedEvent], clicks: list[PlannedEvent]) -> None:
    """L8: a future-dated event must neither count nor occupy the identity."""
    keys = {event.key for event in clicks}
    invalid = [event for event in events if event.reason is not None]
    assert {event.reason for event in invalid} >= {"future_dated", "unknown_ad", "malformed_json", "bad_value"}
    assert all(event.key in keys for event in invalid)
    years = {instant(event.clicked_us).year for event in invalid if event.reason == "future_dated"}
    assert min(years) >= 2100
    assert 9999 in years


def test_every_malformed_kind_is_sent_and_large_ones_once(events: list[PlannedEvent]) -> None:
    sizes = [len(event.value or b"") for event in events if event.reason not in (None, "future_dated", "unknown_ad")]
    assert len(sizes) > 2 * len(MALFORMED_KINDS)
    assert sum(size > 900_000 for size in sizes) == 1
    assert sum(size > 65_536 for size in sizes) == 3
    assert any(event.value is None for event in events)


def test_two_clicks_of_one_instant_and_one_impression_on_two_ads(clicks: list[PlannedEvent]) -> None:
    """L7: two impressions of one ad, same microsecond. L5: one impression id, two ads."""
    instants = Counter((event.clicked_us, event.dimensions) for event in clicks if not event.has_copies)
    ads: dict[bytes, set[int]] = {}
    advertisers: dict[bytes, set[int]] = {}
    for event in clicks:
        ads.setdefault(event.key, set()).add(event.dimensions.ad_id)
        advertisers.setdefault(event.key, set()).add(event.dimensions.advertiser_id)
    assert max(instants.values()) == 2
    assert max(map(len, ads.values())) == 2
    assert max(map(len, advertisers.values())) == 2


def test_old_and_opaque_impressions(clicks: list[PlannedEvent]) -> None:
    ages = [
        (instant(event.clicked_us) - minted) if (minted := minted_at(event.key.decode())) else None for event in clicks
    ]
    assert ages.count(None) > 200
    assert sum(age is not None and age > timedelta(hours=1, minutes=2) for age in ages) > 200


def test_the_moved_ad_has_two_campaigns_in_one_minute() -> None:
    run = options(clicks_count=20_000, hours=1, hot_share=0.0, shares=Shares.none())
    moved_at = build_catalogue(run).moved_at
    assert moved_at is not None
    minute = microseconds(moved_at) // MINUTE_US
    campaigns = {
        event.dimensions.campaign_id
        for event in planned(run)
        if event.dimensions.ad_id == 10_002 and event.clicked_us // MINUTE_US == minute
    }
    assert campaigns == {1209, 1201}


def test_a_repeat_after_the_move_has_the_new_campaign() -> None:
    campaigns: dict[bytes, list[int]] = {}
    far = replace(Shares.none(), far_duplicates=0.9)
    for event in planned(options(clicks_count=1_000, hours=4, hot_share=0.0, shares=far)):
        if event.dimensions.ad_id == 10_002:
            campaigns.setdefault(event.key, []).append(event.dimensions.campaign_id)
    assert [1209, 1201] in campaigns.values()


def _late_ratio(name: str, shares: Shares) -> float:
    """How many of the clicks that were sent so live must refuse, everything being in one partition."""
    run = options(hours=6, late_bound_seconds=3_600, shares=shares)
    plan, recount = TrafficPlan(run), Recount(lambda _: 0, run.late_bound_seconds, {})
    for event in plan.events():
        recount.look_at(event)
    return sum(counts.total() for counts in recount.late.values()) / plan.made[name]


def test_out_of_order_alone_is_never_late_and_late_always_is_but_at_the_end() -> None:
    plain = Shares.none()
    assert _late_ratio("out_of_order", replace(plain, out_of_order=0.5)) == 0
    # in the last of the six hours, nothing newer than the bound can come before
    assert 0.75 < _late_ratio("late", replace(plain, late=0.2)) < 0.95


def test_over_http_nothing_needs_a_time_of_its_own() -> None:
    run = options().over_http()
    plan = TrafficPlan(run)
    events = list(plan.events())
    assert {event.reason for event in events} == {None, "unknown_ad"}
    assert plan.made.keys() == ODDITIES - {"malformed", "future_dated", "out_of_order", "late", "odd_form"}
    written = [json.loads(event.value or b"") for event in events]
    assert {fields["country"] for fields in written} == {"ZZ"}
    assert [fields["device"] for fields in written] == [device_of(fields["user_agent"]) for fields in written]
