"""Registering the made-up ads: the file is merged, the table gets what is new, real ads are safe."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.errors import UsageError
from domain.settings import Settings
from tests.traffic.samples import options
from traffic.catalogue import build_catalogue
from traffic.register import merge_into_file, register_ads
from warehouse.ads import read_ads, read_ads_file

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REAL = Ad(77, 5, 6, "https://bread.invalid/rye")
CATALOGUE = build_catalogue(options(ads_count=4))


def test_ads_are_in_the_file_and_in_the_table(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    first = register_ads(settings, CATALOGUE, NOW)
    assert (first.added_count, first.changed_count, first.unchanged_count) == (4, 0, 0)
    assert read_ads_file(settings.ads_path) == list(CATALOGUE.ads)
    assert read_ads(settings) == {ad.ad_id: ad for ad in CATALOGUE.ads}


def test_again_changes_nothing_and_more_ads_are_added(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    register_ads(settings, CATALOGUE, NOW)
    written_at = settings.ads_path.stat().st_mtime_ns
    again = register_ads(settings, CATALOGUE, NOW + timedelta(hours=1))
    assert (again.added_count, again.changed_count, again.unchanged_count) == (0, 0, 4)
    assert settings.ads_path.stat().st_mtime_ns == written_at
    more = register_ads(settings, build_catalogue(options(ads_count=6)), NOW + timedelta(hours=2))
    assert (more.added_count, more.unchanged_count) == (2, 4)


def test_ads_of_others_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "ads.jsonl"
    merge_into_file(path, (REAL,))
    merge_into_file(path, CATALOGUE.ads)
    assert read_ads_file(path) == [REAL, *CATALOGUE.ads]


def test_a_real_ad_under_one_of_our_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ads.jsonl"
    merge_into_file(path, (replace(REAL, ad_id=10_002),))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"ad 10002 leads to https://bread\.invalid/rye"):
        merge_into_file(path, CATALOGUE.ads)
    assert path.read_bytes() == before
