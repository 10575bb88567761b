"""The variants of the traffic are what their names say, and nothing in them is judged by one contestant only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from parts.sending import VARIANTS, traffic_options

from domain.settings import Settings
from traffic.catalogue import FIRST_AD_ID
from traffic.event import PlannedEvent
from traffic.plan import TrafficPlan

CLICKS = 4_000


def _events(variant: str) -> list[PlannedEvent]:
    hot_share, shares = VARIANTS[variant]
    return list(TrafficPlan(traffic_options(Settings(home=Path("nowhere")), CLICKS, hot_share, shares)).events())


@pytest.mark.parametrize(("variant", "share"), [("hot_30", 0.3), ("hot_60", 0.6), ("hot_90", 0.9)])
def test_one_ad_has_its_share(variant: str, share: float) -> None:
    ads = Counter(event.dimensions.ad_id for event in _events(variant))
    assert ads[FIRST_AD_ID] / CLICKS == pytest.approx(share, abs=0.05)


def test_without_a_hot_ad_there_is_none() -> None:
    ads = Counter(event.dimensions.ad_id for event in _events("uniform"))
    assert ads[FIRST_AD_ID] / CLICKS < 0.3


def test_half_of_the_repeating_events_are_repeats() -> None:
    assert CLICKS / len(_events("repeats_50")) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_contestant_must_count_each_click_once(variant: str) -> None:
    events = _events(variant)
    assert {(event.kind, event.reason) for event in events} == {("click", None)}
    assert len({(event.key, event.dimensions.ad_id) for event in events}) == CLICKS
