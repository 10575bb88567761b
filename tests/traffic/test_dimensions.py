"""Which ad, country and device a click has, and how a copy can contradict it."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.traffic.samples import options
from traffic.catalogue import build_catalogue
from traffic.dimensions import DimensionChooser
from traffic.event import Dimensions, microseconds
from traffic.options import TrafficOptions

RANDOM_SEED = 3


def _chooser(run: TrafficOptions) -> DimensionChooser:
    return DimensionChooser(build_catalogue(run), run)


def _many(run: TrafficOptions, count: int = 20_000) -> list[Dimensions]:
    chooser, random = _chooser(run), Random(RANDOM_SEED)
    return [chooser.choose(random, microseconds(run.end_at) - 1) for _ in range(count)]


def test_one_ad_is_hot_and_the_rest_fall_off() -> None:
    counts = Counter(each.ad_id for each in _many(options(hot_share=0.3)))
    # a standard deviation of the hot ad is 65, so 300 is more than four of them
    assert abs(counts[10_001] - 6_000) < 300
    assert counts[10_002] > counts[10_003] > counts[10_006] > counts[10_018] > 0


def test_one_ad_alone_gets_everything() -> None:
    assert {each.ad_id for each in _many(options(ads_count=1, advertisers_count=1), 100)} == {10_001}


def test_equal_dimensions_are_one_object() -> None:
    chosen = _many(options())
    assert len({id(each) for each in chosen}) == len(set(chosen))


def test_the_moved_ad_has_its_campaign_by_the_time_of_the_click() -> None:
    run = options()
    catalogue, chooser = build_catalogue(run), _chooser(run)
    moved_at = catalogue.moved_at
    assert moved_at is not None
    after = Dimensions(12, 1201, 10_002, "DE", "mobile")
    assert chooser.later(after, microseconds(moved_at) - 1).campaign_id == 1209
    assert chooser.later(after, microseconds(moved_at)).campaign_id == 1201


def test_a_contradiction_keeps_the_ad_and_changes_something() -> None:
    chooser, random = _chooser(options()), Random(RANDOM_SEED)
    changed: Counter[tuple[str, ...]] = Counter()
    for original in _many(options(), 500):
        other = chooser.conflicting(random, than=original)
        assert (other.ad_id, other.advertiser_id) == (original.ad_id, original.advertiser_id)
        changed[tuple(name for name in Dimensions._fields if getattr(other, name) != getattr(original, name))] += 1
    assert set(changed) == {("campaign_id",), ("country",), ("device",), ("country", "device")}


def test_over_http_only_the_device_can_contradict() -> None:
    run = options().over_http()
    chooser, random = _chooser(run), Random(RANDOM_SEED)
    for original in _many(run, 200):
        other = chooser.conflicting(random, than=original)
        assert original.country == other.country == "ZZ"
        assert other == original._replace(device=other.device) != original


def test_another_ad_for_the_same_person() -> None:
    chooser, random = _chooser(options()), Random(RANDOM_SEED)
    for original in _many(options(), 200):
        other = chooser.choose_other_ad(random, microseconds(options().start_at), than=original)
        assert other is not None
        assert other.ad_id != original.ad_id
        assert (other.country, other.device) == (original.country, original.device)
    assert _chooser(options(ads_count=1, advertisers_count=1)).choose_other_ad(random, 0, than=original) is None
