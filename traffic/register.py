"""Making the ads of a run known: in the catalogue file, and in the warehouse.

Belongs here: the only writing that the generator does beside the log. Ads of others are left alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from domain.ads import Ad
from domain.errors import UsageError
from domain.settings import Settings
from traffic.catalogue import TARGET_SUFFIX, Catalogue
from warehouse.ads import AdsReceipt, read_ads_file, snapshot_ads
from warehouse.create import create_missing_tables


def register_ads(settings: Settings, catalogue: Catalogue, at: datetime) -> AdsReceipt:
    """Adds the ads to the catalogue file and snapshots them; repeatable.

    The moved ad is registered in the campaign it has moved to. ``UsageError`` if an id of ours is somebody's real ad.
    """
    merge_into_file(settings.ads_path, catalogue.ads)
    create_missing_tables(settings)
    return snapshot_ads(settings, catalogue.ads, at)


def merge_into_file(path: Path, ads: tuple[Ad, ...]) -> None:
    """Rewrites the file with these ads in place of those of their ids; untouched if it holds them as they are."""
    before = {ad.ad_id: ad for ad in read_ads_file(path)} if path.exists() else {}
    for ad in ads:
        known = before.get(ad.ad_id)
        if known is not None and not _is_made_up(known):
            raise UsageError(
                f"{path}: ad {ad.ad_id} leads to {known.target_url}",
                f"no real ad under an id that the generator uses (from {ads[0].ad_id} on)",
                "generate traffic in a TALLYSTICK_HOME of its own",
            )
    after = before | {ad.ad_id: ad for ad in ads}
    if after != before:
        _write(path, after)


def _is_made_up(ad: Ad) -> bool:
    return (urlsplit(ad.target_url).hostname or "").endswith(TARGET_SUFFIX)


def _write(path: Path, ads: dict[int, Ad]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("w", encoding="utf-8") as file:
        for ad_id in sorted(ads):
            fields = {name: value for name, value in asdict(ads[ad_id]).items() if value is not None}
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")
    unfinished.replace(path)
