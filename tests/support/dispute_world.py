"""A disputed range for tests: two sealed hours of two advertisers with every outcome, and the case opened on them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from domain.adjustments import Adjustment, AdjustmentCase, AdjustmentLine, chain_adjustments
from domain.ads import Ad
from domain.buckets import HOUR as AN_HOUR
from domain.buckets import MINUTE
from domain.disputes import Claim, Dispute
from domain.identity import LogPosition
from domain.periods import parse_period
from domain.settings import Settings
from domain.verdicts import ClickTarget, FraudVerdict
from tests.support.sealed_world import HOUR, SEALED_AT, SealedWorld, logged, sealed_world
from warehouse.ads import snapshot_ads
from warehouse.disputes import open_dispute
from warehouse.layout import open_table
from warehouse.ledger import append_after

NEXT = HOUR + AN_HOUR
START, END = HOUR + 5 * MINUTE, HOUR + 90 * MINUTE
OTHER: dict[str, Any] = {"advertiser_id": 20, "campaign_id": 200, "ad_id": 2, "country": "SECRETLAND"}
"""The other advertiser's clicks, which no pack may show."""
OTHERS_IMPRESSIONS = "others-own-impression"
CLAIM = Claim(
    advertiser_id=10,
    start=START,
    end=END,
    claim="we saw 4 visitors",
    actor="ada",
    claimed_clicks=4,
    opened_at=SEALED_AT,
)


def dispute_world(home: Path) -> SealedWorld:
    """Two hours, sealed and published. Of advertiser 10, in the range: 4 billable clicks at offsets 1, 3, 8 and 12.

    Two more are outside of the range: at 0, before it, and at 13, after it.
    """
    made = _made_once()
    shutil.copytree(made.settings.home, home, dirs_exist_ok=True)
    return SealedWorld(Settings(home=home), list(made.log))


@cache
def _made_once() -> SealedWorld:
    """Copied for each test, since making it takes far longer."""
    folder = Path(tempfile.mkdtemp(prefix="tallystick-disputed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    world = sealed_world(folder)
    world.archive(
        [
            logged(90, HOUR - timedelta(days=3), impression_id="early"),
            logged(0, HOUR + MINUTE, impression_id="before-the-range"),
            logged(1, HOUR + 6 * MINUTE, impression_id="a"),
            logged(2, HOUR + 7 * MINUTE, impression_id="a"),
            logged(3, HOUR + 8 * MINUTE, impression_id="b", country="CA"),
            logged(4, HOUR + 9 * MINUTE, impression_id="b", country="US"),
            logged(5, HOUR + 10 * MINUTE, impression_id="c", kind="head"),
            logged(6, HOUR + 11 * MINUTE, impression_id="c", kind="prefetch"),
            logged(7, HOUR + 12 * MINUTE, impression_id="early"),
            logged(8, HOUR + 13 * MINUTE, impression_id="d"),
            logged(9, HOUR + 14 * MINUTE, impression_id="bot"),
            logged(10, HOUR + 15 * MINUTE, impression_id="bot-place"),
            logged(12, NEXT, impression_id="e", ad_id=3, device="tablet"),
            logged(13, END, impression_id="after-the-range"),
            *(
                logged(20 + n, HOUR + n * MINUTE, 1, impression_id=f"{OTHERS_IMPRESSIONS}-{n}", **OTHER)
                for n in range(5)
            ),
            logged(30, NEXT + MINUTE, 1, impression_id=f"{OTHERS_IMPRESSIONS}-next", **OTHER),
        ]
    )
    place = LogPosition(1, 0, 10)
    world.judge_fraud(
        FraudVerdict("v-1", ClickTarget("bot", 1), "fraud", "a bot", HOUR),
        FraudVerdict("v-2", place, "fraud", "a bot", HOUR),
        FraudVerdict("v-3", ClickTarget("d", 1), "fraud", "a mistake", HOUR),
        FraudVerdict("v-4", ClickTarget("d", 1), "withdrawn", "a person", HOUR + MINUTE),
        FraudVerdict("v-5", ClickTarget(f"{OTHERS_IMPRESSIONS}-1", 2), "fraud", "others' secret", HOUR),
    )
    snapshot_ads(world.settings, [Ad(1, 10, 100, "https://example.org/", 250_000, "EUR")], HOUR)
    snapshot_ads(world.settings, [Ad(1, 10, 100, "https://example.org/", 300_000, "EUR")], HOUR + 7 * MINUTE)
    world.seal(HOUR, NEXT)
    world.publish()
    return world


def opened(world: SealedWorld) -> Dispute:
    """The case, D-1."""
    return open_dispute(world.settings, CLAIM)


def adjusted(world: SealedWorld) -> list[Adjustment]:
    """Lines as a case would leave them after a close: the first of the dispute's own, then others'."""
    case = AdjustmentCase(
        case_id="C-1",
        reason="seen twice",
        billing_period=parse_period("2026-12"),
        requested_by="ada",
        approved_by="grace",
        adjusted_at=SEALED_AT,
    )
    own = AdjustmentLine(
        charge_hour=HOUR, advertiser_id=10, campaign_id=100, ad_id=1, country="US", device="mobile", delta_clicks=-2
    )
    others = (replace(own, advertiser_id=20), replace(own, charge_hour=NEXT + AN_HOUR))
    lines = [
        Adjustment(**vars(line), **vars(case), line_number=number, corrects_seal_number=1)
        for number, line in enumerate((own, *others), start=1)
    ]
    chained = chain_adjustments([], lines)
    snapshot = open_table(world.settings, "adjustments")
    append_after(world.settings, "adjustments", snapshot, [line.columns() for line in chained])
    return chained
