"""What the service knows beside the request: the ads and the signing keys, refreshed while it serves.

Belongs here: loading both, and replacing each in one step. A refresh that fails leaves what is known in force: clicks
do not depend on the tables being there just now.
"""

from __future__ import annotations

from domain.settings import Settings
from domain.signing import KeyRing
from services.click.ad_map import ensure_ad_map
from services.click.keys import load_key_ring, read_key_ring
from warehouse.ads import NAME as ADS
from warehouse.layout import open_table


class Catalogue:
    """Ads by id, and the key ring. May be refreshed in another thread than its readers': they see the old or the new
    one, never a mixture."""

    def __init__(self, settings: Settings) -> None:
        """Loads both, and raises what keeps it from doing so. The first key is made if there is none yet."""
        self._settings = settings
        snapshot = open_table(settings, ADS)
        self._ads_version = (snapshot.metadata().id, snapshot.version())
        self.ads = ensure_ad_map(settings, snapshot)
        self.key_ring: KeyRing = load_key_ring(settings)

    def refresh_keys(self) -> None:
        """Takes over the key ring as it is on disk now."""
        self.key_ring = read_key_ring(self._settings)

    def refresh_ads(self) -> None:
        """Takes over the ads if their table has another version."""
        snapshot = open_table(self._settings, ADS)
        version = (snapshot.metadata().id, snapshot.version())
        if version != self._ads_version:
            self.ads = ensure_ad_map(self._settings, snapshot)
            self._ads_version = version
