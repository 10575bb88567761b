"""Impression ids: UUIDv7 minted shortly before the click, minted days before, and ids that carry no time.

Belongs here: the text of ids. An id is a function of the run's random numbers, so runs do not share ids.
"""

from __future__ import annotations

import base64
from random import Random

from traffic.dice import Weighted, between
from traffic.event import DAY_US, HOUR_US, MINUTE_US

US_PER_MS = 1_000
FRESH_US = 2 * MINUTE_US
"""A usual click follows its impression within this time."""
OLDEST_DAYS = 10
"""Older than the final horizon of seven days, so that a look-back meets both sides of it."""
FUTURE_MINT_MS = 4_102_444_800_000
"""2100-01-01: an id that claims to be minted in the future says nothing about its age."""


def fresh_id(random: Random, clicked_us: int) -> str:
    """A UUIDv7 minted up to two minutes before the click."""
    return _uuid(random, (clicked_us - int(random.random() * FRESH_US)) // US_PER_MS, version=7)


def old_id(random: Random, clicked_us: int) -> str:
    """A UUIDv7 minted an hour to ten days before the click."""
    return _uuid(random, (clicked_us - between(random, HOUR_US, OLDEST_DAYS * DAY_US)) // US_PER_MS, version=7)


def opaque_id(random: Random) -> str:
    """An id without a usable time: a UUIDv4, base64url, a counter with a prefix, or a UUIDv7 of the future."""
    match _OPAQUE.choose(random):
        case "uuid4":
            return _uuid(random, random.getrandbits(48), version=4)
        case "base64url":
            return base64.urlsafe_b64encode(random.getrandbits(128).to_bytes(16, "big")).rstrip(b"=").decode()
        case "prefixed":
            return f"imp_{random.getrandbits(96)}"
        case _:
            return _uuid(random, FUTURE_MINT_MS + random.getrandbits(40), version=7)


_OPAQUE = Weighted(("uuid4", "base64url", "prefixed", "future_mint"), (5, 3, 1, 1))


def _uuid(random: Random, first_48_bits: int, version: int) -> str:
    """RFC 9562: 48 bits, the version, 12 random bits, the variant 10, 62 random bits."""
    bits = random.getrandbits(74)
    head = f"{first_48_bits:012x}"
    tail = f"{1 << 63 | bits & (1 << 62) - 1:016x}"
    return f"{head[:8]}-{head[8:]}-{version}{bits >> 62:03x}-{tail[:4]}-{tail[4:]}"
