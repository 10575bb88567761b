"""What the service knows beside the request: the ads and the signing keys, refreshed while it serves.

Belongs here: loading both, and replacing each in one step. A refresh that fails leaves what is known in force: clicks
do not depend on the tables being there just now.
"""

from __future__ import annotations

from collections.abc import Mapping

from domain.ads import Ad
from domain.settings import Settings
from domain.signing import KeyRing
from services.click.keys import load_key_ring, read_key_ring
from warehouse.ads import ads_version, read_ads


class Catalogue:
    """Ads by id, and the key ring. May be refreshed in another thread than its readers': they see the old or the new
    one, never a mixture."""

    def __init__(self, settings: Settings) -> None:
        """Loads both, and raises what keeps it from doing so. The first key is made if there is none yet."""
        self._settings = settings
        self._ads_version = ads_version(settings)
        self.ads: Mapping[int, Ad] = read_ads(settings)
        self.key_ring: KeyRing = load_key_ring(settings)

    def refresh_keys(self) -> None:
        """Takes over the key ring as it is on disk now."""
        self.key_ring = read_key_ring(self._settings)

    def refresh_ads(self) -> None:
        """Takes over the ads if their table has another version."""
        version = ads_version(self._settings)
        if version != self._ads_version:
            self.ads = read_ads(self._settings)
            self._ads_version = version
