"""Whose ads these are, now and before: what the metrics API refuses another advertiser's ads by.

Belongs here: one look-up in table ``ads`` for a few ads. The whole catalogue is ``warehouse/ads.py``.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow.compute as pc

from domain.settings import Settings
from warehouse.layout import open_table


def advertisers_of(settings: Settings, ad_ids: Collection[int]) -> dict[int, set[int]]:
    """Every advertiser that each of these ads has ever had. An ad that no snapshot has seen is not in the answer."""
    if not ad_ids:
        return {}
    ads = open_table(settings, "ads").to_pyarrow_dataset()
    found = ads.to_table(columns=["ad_id", "advertiser_id"], filter=pc.field("ad_id").isin(sorted(ad_ids)))
    owners: dict[int, set[int]] = {}
    for row in found.to_pylist():
        owners.setdefault(row["ad_id"], set()).add(row["advertiser_id"])
    return owners
