"""Click identity, log position and the order in which copies of a click are judged.

Belongs here: the 128-bit identity, places of the log, the total order "first logged wins", mint times of UUIDv7
impression ids.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import NamedTuple

IDENTITY_BYTES = 16
Place = tuple[int, int]
"""Log and partition."""
_UUID7 = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}\Z")


class LogPosition(NamedTuple):
    """Where an event stands: ``log`` numbers the topic id, so a recreated topic is another log."""

    log: int
    partition: int
    offset: int


def place_of(text: str) -> Place:
    """The place that a cut writes as ``"log:partition"``."""
    log, partition = text.split(":")
    return int(log), int(partition)


class LoggedOrder(NamedTuple):
    """The total order of copies: of one identity, the lowest counts."""

    logged_at: datetime
    log: int
    partition: int
    offset: int


def click_identity(impression_id: str, ad_id: int) -> bytes:
    """The first 16 bytes of SHA-256 over ``impression_id``, a line feed and the decimal ``ad_id``.

    A cryptographic hash, because impression ids can be chosen by outsiders who would profit from a collision.
    """
    return hashlib.sha256(f"{impression_id}\n{ad_id}".encode()).digest()[:IDENTITY_BYTES]


def minted_at(impression_id: str) -> datetime | None:
    """When a UUIDv7 impression id was minted (RFC 9562: the first 48 bits are Unix milliseconds); None if opaque."""
    if not _UUID7.match(impression_id):
        return None
    unix_ms = int(impression_id[0:8] + impression_id[9:13], 16)
    seconds, ms = divmod(unix_ms, 1000)
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=ms * 1000)
    except (OverflowError, ValueError):
        return None
