"""The made-up ads: stable from run to run, spread over advertisers and campaigns."""

from __future__ import annotations

from datetime import timedelta

from tests.traffic.samples import START, options
from traffic.catalogue import FIRST_UNKNOWN_AD_ID, build_catalogue


def test_ads_do_not_depend_on_seed_or_range() -> None:
    assert build_catalogue(options()).ads == build_catalogue(options(hours=5, clicks_count=9, seed=1)).ads


def test_every_advertiser_has_several_campaigns_and_campaigns_one_advertiser() -> None:
    ads = build_catalogue(options(ads_count=40, advertisers_count=4)).ads
    campaigns = {
        ad.advertiser_id: {other.campaign_id for other in ads if other.advertiser_id == ad.advertiser_id} for ad in ads
    }
    assert {advertiser: len(each) for advertiser, each in campaigns.items()} == {11: 3, 12: 3, 13: 3, 14: 3}
    assert len(set.union(*campaigns.values())) == 12
    assert max(ad.ad_id for ad in ads) < FIRST_UNKNOWN_AD_ID


def test_the_second_ad_moves_in_the_middle_of_a_minute() -> None:
    catalogue = build_catalogue(options(hours=2))
    assert catalogue.moved_at == START + timedelta(hours=1, seconds=30)
    assert catalogue.campaigns_of(1) == (1201, 1209)


def test_nothing_moves_with_one_ad_or_over_http() -> None:
    assert build_catalogue(options(ads_count=1, advertisers_count=1)).moved_at is None
    assert build_catalogue(options().over_http()).moved_at is None
