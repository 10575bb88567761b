"""Ads mapped from a file: each found, none made up, the newest row of each, whatever replaces the file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ads import Ad
from domain.events import MAX_INT64
from domain.settings import Settings
from services.click.ad_map import AdMap, ServedAd, ensure_ad_map
from tests.support.click_parts import AT
from tests.support.empty_tables import make_empty_tables
from warehouse.ads import snapshot_ads
from warehouse.layout import open_table

MANY = [Ad(number * 7 + 1, number % 5 + 1, number % 9 + 1, f"https://shop.example/{number}") for number in range(2_000)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(home=tmp_path_factory.mktemp("ads"))
    make_empty_tables(settings)
    return settings


@pytest.fixture(scope="module")
def ads(settings: Settings) -> AdMap:
    snapshot_ads(settings, [*MANY, Ad(MAX_INT64, 1, 1, "http://b\u00fccher.example/")], AT - timedelta(days=1))
    return ensure_ad_map(settings, open_table(settings, "ads"))


def test_every_ad_is_found(ads: AdMap) -> None:
    assert len(ads) == len(MANY) + 1
    for ad in MANY:
        assert ads.get(ad.ad_id) == ServedAd(ad.ad_id, ad.advertiser_id, ad.campaign_id, ad.target_url)
    assert ads.get(MAX_INT64) == ServedAd(MAX_INT64, 1, 1, "http://b\u00fccher.example/")


@given(st.integers(-10, MAX_INT64))
def test_no_ad_is_made_up(ads: AdMap, ad_id: int) -> None:
    is_known = ad_id == MAX_INT64 or (ad_id % 7 == 1 and 1 <= ad_id <= MANY[-1].ad_id)
    assert (ads.get(ad_id) is not None) == is_known


def test_the_newest_row_of_an_ad_counts_and_an_open_map_stays_as_it_was(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    empty = ensure_ad_map(settings, open_table(settings, "ads"))
    assert (len(empty), empty.get(1)) == (0, None)
    snapshot_ads(settings, [Ad(1, 1, 1, "https://old.example/")], AT)
    old = ensure_ad_map(settings, open_table(settings, "ads"))
    snapshot_ads(settings, [Ad(1, 1, 2, "https://new.example/")], AT + timedelta(seconds=1))
    new = ensure_ad_map(settings, open_table(settings, "ads"))
    assert old.get(1) == ServedAd(1, 1, 1, "https://old.example/")
    assert new.get(1) == ServedAd(1, 1, 2, "https://new.example/")
    assert len(list((tmp_path / "catalogue").iterdir())) == 1


def test_a_map_that_is_there_is_not_made_again(ads: AdMap, settings: Settings) -> None:
    (path,) = (settings.home / "catalogue").iterdir()
    written = path.stat().st_mtime_ns
    assert len(ensure_ad_map(settings, open_table(settings, "ads"))) == len(ads)
    assert path.stat().st_mtime_ns == written


def test_a_file_that_is_broken_is_made_again(ads: AdMap, settings: Settings) -> None:
    (path,) = (settings.home / "catalogue").iterdir()
    path.write_bytes(b"no arrow")
    assert len(ensure_ad_map(settings, open_table(settings, "ads"))) == len(ads)
