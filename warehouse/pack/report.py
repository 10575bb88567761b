"""A dispute drilled down for a person: per hour and ad what is billed and what is not, and what was done to its hours.

Belongs here: adding up the evidence. Single clicks are ``warehouse/pack/evidence.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from domain.buckets import hour_of
from domain.disputes import Dispute
from domain.seals import Seal
from domain.settings import Settings
from warehouse.adjustments import read_adjustments
from warehouse.pack.evidence import Evidence, seals_of_hours
from warehouse.prices import AdjustmentMoney, adjustments_with_money


@dataclass
class HourOfAd:
    """Clicks of one ad in one hour, as far as it lies in the range. ``amounts_micros`` by currency."""

    billable_clicks: int = 0
    priced_clicks: int = 0
    amounts_micros: Counter[str] = field(default_factory=Counter)
    excluded_clicks: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class DisputeReport:
    """What is known of a dispute now.

    ``hours``: by hour and ad. ``seals``: of its hours, revisions included. ``adjustments`` with what they cost.
    ``missing_hours`` are not sealed and published: their clicks are in no figure. Of ``incomplete_hours`` raw events
    are gone, so that not every excluded click is counted here.
    """

    dispute: Dispute
    hours: dict[tuple[datetime, int], HourOfAd]
    seals: list[Seal]
    adjustments: list[AdjustmentMoney]
    missing_hours: list[datetime]
    incomplete_hours: list[datetime]

    @property
    def billable_clicks(self) -> int:
        """All that is billed in the range, without adjustments."""
        return sum(one.billable_clicks for one in self.hours.values())

    @property
    def amounts_micros(self) -> Counter[str]:
        """What that costs, by currency; an amount of zero is one, too."""
        total = Counter[str]()
        for one in self.hours.values():
            total.update(one.amounts_micros)
        return total


def read_report(settings: Settings, dispute: Dispute) -> DisputeReport:
    """The report as of the newest publication. Reads only."""
    hours: dict[tuple[datetime, int], HourOfAd] = {}
    with Evidence(settings, dispute) as evidence:
        for row in evidence.final_rows().to_pylist():
            one = hours.setdefault((hour_of(row["minute"]), row["ad_id"]), HourOfAd())
            one.billable_clicks += row["clicks"]
            if row["currency"] is not None:
                one.priced_clicks += row["clicks"]
                one.amounts_micros[row["currency"]] += row["amount_micros"]
        for hour, ad_id, reason, count in evidence.excluded():
            hours.setdefault((hour, ad_id), HourOfAd()).excluded_clicks[reason] += count
        return DisputeReport(
            dispute,
            dict(sorted(hours.items())),
            seals_of_hours(evidence.seals, dispute),
            _adjustments(settings, dispute),
            evidence.missing_hours,
            evidence.incomplete_hours,
        )


def _adjustments(settings: Settings, dispute: Dispute) -> list[AdjustmentMoney]:
    """Those of the hours of the dispute."""
    hours, own = set(dispute.hours), dispute.advertiser_id
    found = [one for one in read_adjustments(settings) if one.advertiser_id == own and one.charge_hour in hours]
    return adjustments_with_money(settings, found)
