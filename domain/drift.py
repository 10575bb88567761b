"""Drift: the live count against the final one, per advertiser and hour, taken apart by cause; and when it alerts.

Belongs here: exact integer arithmetic. Which clicks were late or repeated beyond the live horizon is counted by
reconcile; what is left over has no known cause and is an error, whatever its size.
"""

from __future__ import annotations

from dataclasses import dataclass

PER_MILLE = 1_000


@dataclass(frozen=True)
class Drift:
    """Clicks of one advertiser in one hour, named as in table ``drift``.

    ``late_clicks``: final has them, live refused them. ``dedup_horizon_clicks``: live has them, final knows them as
    repeats that lie further apart than the live horizon. ``fraud_clicks``: live has them, final excluded them by a
    verdict. ``missing_clicks`` and ``extra_clicks``: final or live has them for no known cause.
    """

    live_clicks: int
    final_clicks: int
    late_clicks: int
    dedup_horizon_clicks: int
    fraud_clicks: int
    missing_clicks: int
    extra_clicks: int

    @property
    def difference_clicks(self) -> int:
        """live - final, which is always -late + dedup_horizon + fraud + extra - missing."""
        return self.live_clicks - self.final_clicks

    @property
    def is_explained(self) -> bool:
        return self.missing_clicks == 0 and self.extra_clicks == 0


def explain(
    live_clicks: int, final_clicks: int, late_clicks: int, dedup_horizon_clicks: int, fraud_clicks: int
) -> Drift:
    """The difference by cause: what the known causes leave over is missing or extra, never both."""
    unexplained = live_clicks - final_clicks + late_clicks - dedup_horizon_clicks - fraud_clicks
    return Drift(
        live_clicks,
        final_clicks,
        late_clicks,
        dedup_horizon_clicks,
        fraud_clicks,
        missing_clicks=max(-unexplained, 0),
        extra_clicks=max(unexplained, 0),
    )


def is_over_bar(live_clicks: int, final_clicks: int, per_mille: int, floor_clicks: int) -> bool:
    """Whether |live - final| is above both the share of the final clicks and the floor.

    Below 1,000 clicks a single one is more than 1 per mille; the floor keeps small advertisers quiet.
    """
    difference = abs(live_clicks - final_clicks)
    return difference > floor_clicks and difference * PER_MILLE > per_mille * final_clicks
