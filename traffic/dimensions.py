"""Which ad is clicked, from which country and device: Zipf among the ads, with one hot one above all.

Belongs here: the mixes and the choices. Copies of a click that differ from it in a dimension are made here too.
"""

from __future__ import annotations

from random import Random

from domain.events import UNKNOWN_COUNTRY
from traffic.catalogue import HOT_RANK, MOVED_RANK, Catalogue
from traffic.dice import Weighted
from traffic.event import Dimensions, microseconds
from traffic.options import TrafficOptions

ZIPF_EXPONENT = 1.1
COUNTRIES = {
    "US": 0.30,
    "DE": 0.14,
    "GB": 0.11,
    "IN": 0.10,
    "FR": 0.08,
    "BR": 0.07,
    "JP": 0.06,
    "CA": 0.05,
    "MX": 0.04,
    "ZA": 0.03,
    UNKNOWN_COUNTRY: 0.02,
}
HTTP_COUNTRIES = {UNKNOWN_COUNTRY: 1.0}
"""The click service does not know countries."""
DEVICES = {"mobile": 0.60, "desktop": 0.30, "tablet": 0.08, "other": 0.02}


class DimensionChooser:
    """Chooses the dimensions of clicks. The same dimensions are always the same object, which saves memory."""

    def __init__(self, catalogue: Catalogue, options: TrafficOptions) -> None:
        self._catalogue = catalogue
        self._moved_us = microseconds(catalogue.moved_at) if catalogue.moved_at else None
        self._countries = COUNTRIES if options.transport == "log" else HTTP_COUNTRIES
        self._rank = _ranks(len(catalogue.ads), options.hot_share)
        places = [(country, device) for country in self._countries for device in DEVICES]
        self._place = Weighted(places, [self._countries[country] * DEVICES[device] for country, device in places])
        self._contradiction = Weighted(
            ("device", "country", "both", "campaign"),
            (4, *((4, 1) if options.transport == "log" else (0, 0)), 2 if catalogue.moved_at else 0),
        )
        self._known: dict[tuple[int, int, str, str], Dimensions] = {}

    def choose(self, random: Random, clicked_us: int) -> Dimensions:
        """The dimensions of a click at this time."""
        rank = self._rank.choose(random)
        country, device = self._place.choose(random)
        return self._of(rank, self._campaign(rank, clicked_us), country, device)

    def later(self, dimensions: Dimensions, clicked_us: int) -> Dimensions:
        """The same at another time: the campaign may have changed since."""
        rank = self._rank_of(dimensions)
        return self._of(rank, self._campaign(rank, clicked_us), dimensions.country, dimensions.device)

    def choose_other_ad(self, random: Random, clicked_us: int, than: Dimensions) -> Dimensions | None:
        """The dimensions of the same person's click on another ad; None if there is only one ad."""
        if len(self._catalogue.ads) == 1:
            return None
        other = self.choose(random, clicked_us)
        while other.ad_id == than.ad_id:
            other = self.choose(random, clicked_us)
        return other._replace(country=than.country, device=than.device)

    def conflicting(self, random: Random, than: Dimensions) -> Dimensions:
        """The same ad with another country, another device or, as if the ad had moved, another campaign."""
        what = self._contradiction.choose(random)
        if what == "campaign":
            campaigns = self._catalogue.campaigns_of(self._rank_of(than))
            return than._replace(campaign_id=campaigns[campaigns[0] == than.campaign_id])
        country, device = than.country, than.device
        if what != "device":
            country = _another(random, self._countries, country)
        if what != "country":
            device = _another(random, DEVICES, device)
        return than._replace(country=country, device=device)

    def _rank_of(self, dimensions: Dimensions) -> int:
        return dimensions.ad_id - self._catalogue.ads[HOT_RANK].ad_id

    def _campaign(self, rank: int, clicked_us: int) -> int:
        campaign_id, former_id = self._catalogue.campaigns_of(rank)
        is_before = rank == MOVED_RANK and self._moved_us is not None and clicked_us < self._moved_us
        return former_id if is_before else campaign_id

    def _of(self, rank: int, campaign_id: int, country: str, device: str) -> Dimensions:
        known = self._known.get((rank, campaign_id, country, device))
        if known is None:
            ad = self._catalogue.ads[rank]
            known = Dimensions(ad.advertiser_id, campaign_id, ad.ad_id, country, device)
            self._known[rank, campaign_id, country, device] = known
        return known


def _ranks(ads_count: int, hot_share: float) -> Weighted[int]:
    """The hot ad has exactly its share; the others share the rest by Zipf's law."""
    others = [1 / rank**ZIPF_EXPONENT for rank in range(1, ads_count)]
    scale = (1 - hot_share) / sum(others) if others else 0
    return Weighted(range(ads_count), [hot_share if others else 1, *(weight * scale for weight in others)])


def _another(random: Random, mix: dict[str, float], than: str) -> str:
    others = [name for name in mix if name != than]
    return Weighted(others, [mix[name] for name in others]).choose(random)
