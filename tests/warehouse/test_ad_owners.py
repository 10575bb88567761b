"""Whose an ad is and was; what no snapshot has seen is nobody's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain.ads import Ad
from domain.settings import Settings
from warehouse.ad_owners import advertisers_of
from warehouse.ads import snapshot_ads

AT = datetime(2026, 5, 3, tzinfo=UTC)


def test_owners_now_and_before(settings: Settings) -> None:
    ads = [
        Ad(ad_id, advertiser_id, 100, "https://shop.example/") for ad_id, advertiser_id in ((1, 10), (2, 11), (3, 12))
    ]
    snapshot_ads(settings, ads, AT)
    snapshot_ads(settings, [Ad(2, 10, 100, "https://shop.example/")], AT + timedelta(hours=1))
    assert advertisers_of(settings, [1, 2, 4]) == {1: {10}, 2: {10, 11}}
    assert advertisers_of(settings, []) == {}
