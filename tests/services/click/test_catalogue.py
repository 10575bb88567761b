"""Ads and keys, taken over while the service runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.settings import Settings
from services.click.ad_map import AdMap
from services.click.catalogue import Catalogue
from services.click.keys import rotate_keys
from services.secrets import SecretError, secret_path
from tests.support.click_parts import ADS, AT, home_with_ads
from warehouse.ads import snapshot_ads
from warehouse.layout import TableMissingError


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return home_with_ads(tmp_path)


def test_newer_ads_are_taken_over(settings: Settings) -> None:
    catalogue = Catalogue(settings)
    before = catalogue.ads
    catalogue.refresh_ads()
    assert catalogue.ads is before
    moved = Ad(17, 3, 9, "https://shop.example/new")
    snapshot_ads(settings, [*ADS[1:], moved, Ad(19, 4, 1, "https://other.example/")], AT)
    catalogue.refresh_ads()
    assert _served(catalogue.ads, 17) == ("https://shop.example/new", 9)
    assert (len(catalogue.ads), len(before)) == (3, 2)
    assert _served(before, 17) == (ADS[0].target_url, ADS[0].campaign_id)


def _served(ads: AdMap, ad_id: int) -> tuple[str, int]:
    found = ads.get(ad_id)
    assert found is not None
    return found.target_url, found.campaign_id


def test_newer_keys_are_taken_over(settings: Settings) -> None:
    catalogue = Catalogue(settings)
    ring = rotate_keys(settings, AT, timedelta(days=1))
    catalogue.refresh_keys()
    assert catalogue.key_ring == ring


def test_a_refresh_that_fails_leaves_what_is_known(settings: Settings) -> None:
    """R2: the service goes on with what it knows while tables and key file are away."""
    catalogue = Catalogue(settings)
    ads, ring = catalogue.ads, catalogue.key_ring
    tables, keys = settings.home / "tables", secret_path(settings, "click-keys.json")
    tables.rename(settings.home / "away")
    with pytest.raises(TableMissingError):
        catalogue.refresh_ads()
    keys.chmod(0o644)
    with pytest.raises(SecretError):
        catalogue.refresh_keys()
    keys.unlink()
    with pytest.raises(FileNotFoundError):
        catalogue.refresh_keys()
    assert not keys.exists()
    assert (catalogue.ads, catalogue.key_ring) == (ads, ring)


def test_it_does_not_start_without_the_table(tmp_path: Path) -> None:
    with pytest.raises(TableMissingError):
        Catalogue(Settings(home=tmp_path))
