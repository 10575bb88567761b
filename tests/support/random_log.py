"""A random log in which everything happens that the counting rule is about. Deterministic by seed."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from uuid import UUID

from tests.support.archive_world import Click, H

DAY_MINUTES = 24 * 60
MICROSECOND_MINUTES = 1 / 60_000_000
GAPS = (0, 0, 0.5, 2, 65, 200, DAY_MINUTES - 1, DAY_MINUTES, DAY_MINUTES + MICROSECOND_MINUTES, DAY_MINUTES + 300)
"""Minutes between two copies of a click; the horizon of these logs is a day."""
MINTED_BEFORE = (1, 30, 59, 61, 600, 3 * DAY_MINUTES, -1, -300)
"""Minutes between an impression and its first click; a negative one claims the future."""


def random_clicks(seed: int, identity_count: int) -> list[Click]:
    """Copies of so many clicks, in the order of logging, most of them on the date of H."""
    chance = random.Random(seed)
    clicks = [click for number in range(identity_count) for click in _copies(chance, number)]
    return sorted(clicks, key=lambda click: click.logged or 0)


def uuid7(at: datetime, chance: random.Random) -> str:
    """An impression id minted at ``at``."""
    unix_ms = int(at.timestamp() * 1000)
    return str(UUID(int=unix_ms << 80 | 7 << 76 | chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62)))


def _copies(chance: random.Random, number: int) -> list[Click]:
    logged = round(chance.uniform(-1.5, 0.6) * DAY_MINUTES)
    minted_at = H + timedelta(minutes=logged - chance.choice(MINTED_BEFORE))
    imp = uuid7(minted_at, chance) if chance.random() < 0.7 else f"opaque-{number}"
    ad = chance.randrange(1, 4)
    copies: list[Click] = []
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        copies.append(_copy(chance, imp, ad, logged))
        logged += chance.choice(GAPS)
    return copies


def _copy(chance: random.Random, imp: str, ad: int, logged: float) -> Click:
    """Logged at once as a rule, at times hours after the click, at times a little before it: clocks differ."""
    delay = chance.choice((0, 0, 0, 0.1, 3, 3, 400, -2))
    return Click(
        imp,
        clicked=logged - delay,
        logged=logged,
        partition=chance.randrange(2),
        kind=chance.choice(("click",) * 8 + ("head", "prefetch")),
        ad=ad,
        advertiser=ad * 10,
        campaign=chance.choice((100, 100, 100, 200)),
        country=chance.choice(("DE", "DE", "DE", "FR")),
    )
