"""How large a fault is against the honest rhythm of the series that it shows in.

Belongs here: the standard deviation of clean weeks, plainly computed, and effects in units of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from domain.drift_rules import DRIFT_RULES, DriftOptions, scores
from domain.drift_statistics import day_level
from domain.metric_history import Array, History

RULE_OF = {
    "rows": "volume",
    "by_advertiser": "advertiser_volume",
    "by_country": "country_share",
    "by_device": "device_share",
    "by_server": "server_share",
    "by_kind": "kind_share",
    "by_ad": "ad_share",
    "nulls": "null_share",
    "duplicates": "duplicate_share",
    "late": "late_share",
    "quarantined": "quarantine_share",
    "lag": "lag",
    "vanished_ads": "ads_vanished",
}
RULES = {rule.name: rule for rule in DRIFT_RULES}
LARGE, SMALL = "1", "10"
DECLINE_DAYS = 7
SIGMAS = 4


@dataclass(frozen=True)
class HonestRhythm:
    """By series the standard deviation of clean hours, as a part of what is usual, and that of days of all clicks."""

    relative: dict[tuple[str, str], float]
    day_sigma: float
    clicks: dict[str, float]

    def percents(self) -> dict[str, float]:
        """Four sigmas in percent: of a large and of a small advertiser, with the mean clicks an hour of each."""
        found = {}
        for name, group in (("large", LARGE), ("small", SMALL)):
            found[f"four_sigma_{name}_advertiser_percent"] = round(
                SIGMAS * 100 * self.relative["by_advertiser", group], 1
            )
            found[f"{name}_advertiser_clicks_an_hour"] = round(self.clicks[group])
        found["four_sigma_all_clicks_percent"] = round(SIGMAS * 100 * self.relative["rows", ""], 1)
        return found


def honest_rhythm(history: History, since: int) -> HonestRhythm:
    """Of the clean hours from a row on."""
    relative: dict[tuple[str, str], float] = {}
    day_sigma = 0.0
    for metric, rule_name in RULE_OF.items():
        found = scores(history, RULES[rule_name], DriftOptions(), since)
        if found is None:
            continue
        for column, group in enumerate(found.groups):
            observed, usual = found.observed[:, column], found.usual[:, column]
            is_known = (usual > 0) & ~np.isnan(observed)
            if not is_known.any():
                continue
            relative[metric, group] = float(np.std((observed[is_known] / usual[is_known]) - 1))
        if metric == "rows":
            day_sigma = float(np.nanstd(day_level(found.observed, found.usual)))
    family = history.families["by_advertiser"]
    means = dict(zip(family.groups, np.nanmean(family.amount[since:], axis=0).tolist(), strict=True))
    return HonestRhythm(relative, day_sigma, means)


def effect_sigmas(rhythm: HonestRhythm, series: tuple[str, str], clean: History, faulty: History, row: int) -> float:
    """How far the fault moves its series in its first hour; a decline, which moves nothing then, in its first week."""
    metric, group = series
    before, after = (_values(one, metric, group) for one in (clean, faulty))
    if np.isnan(after[row]):
        return float("inf")
    at = row + DECLINE_DAYS * 24 if before[row] == after[row] and row + DECLINE_DAYS * 24 < len(before) else row
    if metric == "vanished_ads":
        return float(abs(after[at] - before[at]) / np.sqrt(np.nanmean(before) + 1e-9))
    sigma = rhythm.day_sigma if at > row else rhythm.relative[metric, group]
    return float(abs(after[at] / max(before[at], 1.0) - 1) / sigma)


def _values(history: History, metric: str, group: str) -> Array:
    family = history.families[metric]
    found: Array = family.amount[:, family.groups.index(group)]
    return found
