"""The made-up ads: which there are, who pays for them, and the one that moves between campaigns.

Belongs here: the catalogue as a function of the options. Registering it with the warehouse is ``register.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.ads import Ad
from domain.buckets import MINUTE
from traffic.options import TrafficOptions

FIRST_AD_ID = 10_001
FIRST_ADVERTISER_ID = 11
CAMPAIGNS_OF_ADVERTISER = 3
CAMPAIGN_IDS_OF_ADVERTISER = 100
"""Campaign ids show their advertiser: 1102 is the second of advertiser 11."""
FORMER_CAMPAIGN = 9
"""The campaign that the moved ad comes from: 1209 where its advertiser is 12."""
FIRST_UNKNOWN_AD_ID = 8_000_000_000_000
"""Ids from here on are in no catalogue."""
TARGET_SUFFIX = ".example"
PRICE_MICROS = 120_000
CURRENCY = "EUR"
HOT_RANK = 0
MOVED_RANK = 1


@dataclass(frozen=True)
class Catalogue:
    """Ads by rank, the hot one first. The moved ad belongs to ``former_campaign_id`` before ``moved_at``.

    Nothing moves where ``moved_at`` is None: there is only one ad, or the click service reads the campaigns itself.
    """

    ads: tuple[Ad, ...]
    moved_at: datetime | None
    former_campaign_id: int

    def campaigns_of(self, rank: int) -> tuple[int, int]:
        """The ad's campaign, and another of the same advertiser that it could have been in."""
        ad = self.ads[rank]
        other = self.former_campaign_id if rank == MOVED_RANK else ad.advertiser_id * CAMPAIGN_IDS_OF_ADVERTISER
        return ad.campaign_id, other


def build_catalogue(options: TrafficOptions) -> Catalogue:
    """The ads of a run. They depend on the two counts only, so a second run finds its ads registered."""
    ads = tuple(_ad(rank, options.advertisers_count) for rank in range(options.ads_count))
    is_moving = options.ads_count > MOVED_RANK and options.transport == "log"
    mover = ads[min(MOVED_RANK, len(ads) - 1)]
    return Catalogue(
        ads=ads,
        moved_at=_middle_of_a_minute(options) if is_moving else None,
        former_campaign_id=mover.advertiser_id * CAMPAIGN_IDS_OF_ADVERTISER + FORMER_CAMPAIGN,
    )


def _ad(rank: int, advertisers_count: int) -> Ad:
    advertiser_id = FIRST_ADVERTISER_ID + rank % advertisers_count
    campaign = 1 + rank // advertisers_count % CAMPAIGNS_OF_ADVERTISER
    ad_id = FIRST_AD_ID + rank
    return Ad(
        ad_id=ad_id,
        advertiser_id=advertiser_id,
        campaign_id=advertiser_id * CAMPAIGN_IDS_OF_ADVERTISER + campaign,
        target_url=f"https://shop-{advertiser_id}{TARGET_SUFFIX}/landing/{ad_id}",
        price_micros=PRICE_MICROS,
        currency=CURRENCY,
    )


def _middle_of_a_minute(options: TrafficOptions) -> datetime:
    minutes = (options.end_at - options.start_at) // MINUTE
    return options.start_at + minutes // 2 * MINUTE + timedelta(seconds=30)
