"""A click event as bytes, as ``domain/events.py`` defines it.

Belongs here: putting the fields together. They come checked: the link from ``domain/links.py``, the sender from
``visitor.py``, the ad from its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson

from domain.events import EVENT_VERSION
from services.click.ad_map import ServedAd
from services.click.visitor import Visitor


@dataclass(frozen=True)
class Stamp:
    """When and as which of its events this server accepted a click."""

    server_id: str
    server_seq: int
    clicked_at: datetime


def event_bytes(impression_id: str, ad: ServedAd, visitor: Visitor, stamp: Stamp) -> bytes:
    """The event as one JSON object. Whose the ad is comes from its record, never from the request.

    ``bot`` stands in it only where it is true: it is kept with the event and counted by nothing.
    """
    said_bot = {"bot": True} if visitor.is_bot else {}
    return orjson.dumps(
        {
            "v": EVENT_VERSION,
            "impression_id": impression_id,
            "ad_id": ad.ad_id,
            "advertiser_id": ad.advertiser_id,
            "campaign_id": ad.campaign_id,
            "clicked_at": stamp.clicked_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "country": visitor.country,
            "device": visitor.device,
            "ip": visitor.ip,
            "user_agent": visitor.user_agent,
            "kind": visitor.kind,
            "server_id": stamp.server_id,
            "server_seq": stamp.server_seq,
            **said_bot,
        }
    )
