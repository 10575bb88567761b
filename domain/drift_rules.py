"""The rules of drift: which metric is compared how, from where on it alarms, and why there.

Belongs here: rules as data, and how surprising each hour of a history is under each of them. The arithmetic is
``domain/drift_statistics.py``; what is said about an hour, ``domain/drift_findings.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Literal

import numpy as np

from domain import drift_statistics as statistics
from domain.metric_history import DAY_HOURS, WEEK_HOURS, Array, Family, History

Kind = Literal["count", "rare", "share", "known_share", "quantile", "mix", "level", "trend"]

SUITE_VERSION = 1
"""Of the rules below; a change of what they say is another version."""
LEAST_MIX_CLICKS = 200
"""Under so many clicks any mix looks new."""
LEAST_DAY_CLICKS = 500
"""Under so many clicks a day a level is chance."""
LEVEL_REFERENCE_DAYS = range(1, 29)
LEAST_LEVEL_DAYS = 14
TREND_DAYS = range(13, 0, -1)
TREND_REFERENCE_DAYS = range(14, 42)
LEAST_DAY_SIGMA = 0.02
LARGEST_DAY_SIGMAS = 4.0
"""A single day, an outage, is no trend."""
TREND_SLACK_SIGMAS = 1.25
LEAST_QUANTILE_SIGMA = 0.03
REST = "rest"
"""In a mix the clicks of groups that have no row."""


@dataclass(frozen=True)
class DriftRule:
    """One comparison. It alarms beyond ``bar_sigmas``, if the difference is ``least_effect`` too.

    That is in the unit of the metric for counts and shares, a part of the usual for levels and quantiles, a
    Jensen-Shannon distance for mixes.
    """

    name: str
    metric: str
    kind: Kind
    bar_sigmas: float
    least_effect: float
    reason: str
    groups: tuple[str, ...] = ()
    """Those that are judged; all if empty."""


@dataclass(frozen=True)
class DriftOptions:
    """Settings of the comparison: the zone whose clocks visitors live by, and how long until a level is usual."""

    zone: tzinfo = UTC
    level_days: int = 7


@dataclass(frozen=True)
class Scores:
    """A rule over the rows of a history from one on: sigmas, what was found and what was usual, by row and group."""

    rule: DriftRule
    groups: tuple[str, ...]
    sigmas: Array
    observed: Array
    usual: Array
    effect: Array

    @property
    def is_alarm(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """NaN, no reference, never alarms."""
        found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (np.abs(self.sigmas) > self.rule.bar_sigmas) & (
            self.effect >= self.rule.least_effect
        )
        return found


_PER_HOUR = "168 hours a week are judged: 4.5 sigmas of normal noise alarm once in 17 years"
_PER_GROUP = "many groups are judged each hour: so many sigmas leave room for noise that is not quite normal"
_MIX = "on the scale on which honest sampling, and the noise of this mix, is a standard normal"

DRIFT_RULES: tuple[DriftRule, ...] = (
    DriftRule("volume", "rows", "count", 4.5, 20, _PER_HOUR),
    DriftRule("advertiser_volume", "by_advertiser", "count", 5.5, 20, _PER_GROUP),
    DriftRule("country_share", "by_country", "share", 5.5, 15, _PER_GROUP),
    DriftRule("device_share", "by_device", "share", 5.5, 15, _PER_GROUP),
    DriftRule("server_share", "by_server", "known_share", 5.5, 15, _PER_GROUP),
    DriftRule("kind_share", "by_kind", "share", 5.5, 15, _PER_GROUP),
    DriftRule("ad_share", "by_ad", "known_share", 7.0, 30, f"{_PER_GROUP}; ads come and go"),
    DriftRule("null_share", "nulls", "share", 5.5, 10, _PER_GROUP),
    DriftRule("duplicate_share", "duplicates", "share", 5.5, 15, _PER_GROUP),
    DriftRule("late_share", "late", "share", 5.5, 15, _PER_GROUP),
    DriftRule("exclusion_share", "excluded", "share", 5.5, 15, _PER_GROUP),
    DriftRule("quarantine_share", "quarantined", "share", 5.5, 15, _PER_GROUP),
    DriftRule("lag", "lag", "quantile", 5.0, 0.15, _PER_GROUP, ("p50", "p95", "p99")),
    DriftRule("distinct", "distinct", "quantile", 7.0, 0.1, _PER_GROUP),
    DriftRule("clicks_per_ad", "clicks_per_ad", "quantile", 7.0, 0.3, _PER_GROUP, ("p95", "max")),
    DriftRule("ad_turnover", "new_ads", "rare", 7.0, 10, _PER_GROUP),
    DriftRule("ads_vanished", "vanished_ads", "rare", 7.0, 10, _PER_GROUP),
    DriftRule("country_mix", "by_country", "mix", 6.0, 0.015, _MIX),
    DriftRule("device_mix", "by_device", "mix", 6.0, 0.015, _MIX),
    DriftRule("server_mix", "by_server", "mix", 6.0, 0.015, _MIX),
    DriftRule("advertiser_mix", "by_advertiser", "mix", 6.0, 0.015, _MIX),
    DriftRule("ad_mix", "by_ad", "mix", 7.0, 0.03, f"{_MIX}; ads come and go"),
    DriftRule("level", "rows", "level", 6.0, 0.08, "days are noisier than hours, and judged each hour"),
    DriftRule(
        "advertiser_level", "by_advertiser", "level", 7.0, 0.15, "days are noisier than hours, and judged each hour"
    ),
    DriftRule(
        "trend", "rows", "trend", 9.0, 0.0, "a sum over 13 days, less 1.25 sigmas a day; honest wander stays under it"
    ),
    DriftRule(
        "advertiser_trend",
        "by_advertiser",
        "trend",
        18.0,
        0.0,
        "a sum over 13 days, less 1.25 sigmas a day; single advertisers wander more than all together",
    ),
)


def scores(history: History, rule: DriftRule, options: DriftOptions, since: int) -> Scores | None:
    """How surprising the rows from ``since`` on are under a rule; None if its metric was never measured."""
    family = history.families.get(rule.metric)
    if family is None:
        return None
    if rule.groups:
        kept = [index for index, group in enumerate(family.groups) if group in rule.groups]
        family = Family(tuple(family.groups[index] for index in kept), family.amount[:, kept], family.out_of[:, kept])
    match rule.kind:
        case "count":
            found = _counts(history, rule, family, options, since)
        case "rare":
            found = _rare(rule, family, since)
        case "share" | "known_share":
            found = _shares(history, rule, family, since)
        case "quantile":
            found = _quantiles(rule, family, since)
        case "mix":
            found = _mixes(history, rule, family, since)
        case "level" | "trend":
            found = _levels(history, rule, family, options, since)
    return found


def _usual(history: History, values: Array, options: DriftOptions) -> Array:
    offsets = history.utc_offset_hours(options.zone).astype(float)
    clocks = offsets if np.ptp(offsets) else None
    return statistics.usual_count(values, history, options.level_days * DAY_HOURS, clocks)


def _counts(history: History, rule: DriftRule, family: Family, options: DriftOptions, since: int) -> Scores:
    usual = _usual(history, family.amount, options)
    expected = usual * statistics.level(family.amount, usual)
    sigmas = statistics.count_sigmas(family.amount, expected, since)
    observed, expected = family.amount[since:], expected[since:]
    sigmas = np.where(expected > 0, sigmas, np.nan)
    return Scores(rule, family.groups, sigmas, observed, expected, np.abs(observed - expected))


def _rare(rule: DriftRule, family: Family, since: int) -> Scores:
    """Counts that are mostly 0: against the mean of the week before, by chance alone."""
    expected = statistics.mean(statistics.trailing(family.amount, WEEK_HOURS), statistics.MIN_RESIDUALS)[since:]
    observed = family.amount[since:]
    sigmas = (observed - expected) / np.sqrt(expected + 1)
    return Scores(rule, family.groups, sigmas, observed, expected, np.abs(observed - expected))


def _expected_shares(history: History, family: Family) -> tuple[Array, Array]:
    """By group the clicks that the usual share of this hour's total comes to, and that total."""
    rows = history.families["rows"].amount if "rows" in history.families else np.full_like(family.amount[:, :1], np.nan)
    out_of = np.where(np.isnan(family.out_of), rows, family.out_of)
    usual = statistics.usual_share(family.amount, out_of, history) * out_of
    return usual * statistics.level(family.amount, usual), out_of


def _shares(history: History, rule: DriftRule, family: Family, since: int) -> Scores:
    expected, _ = _expected_shares(history, family)
    sigmas = statistics.count_sigmas(family.amount, expected, since)
    observed, expected = family.amount[since:], expected[since:]
    # The noise of what was never there is that of chance alone.
    sigmas = np.where(np.isnan(sigmas) & (expected == 0), observed, sigmas)
    if rule.kind == "known_share":
        sigmas = np.where(expected > 0, sigmas, np.nan)
    return Scores(rule, family.groups, sigmas, observed, expected, np.abs(observed - expected))


def _quantiles(rule: DriftRule, family: Family, since: int) -> Scores:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(family.amount > 0, np.log(family.amount), np.nan)
    usual = statistics.median(statistics.weekly(logs), 0, statistics.MIN_REFERENCES)
    sigmas = statistics.residual_sigmas(logs - usual, LEAST_QUANTILE_SIGMA, since)
    effect = np.abs(np.expm1(logs[since:] - usual[since:]))
    return Scores(rule, family.groups, sigmas, family.amount[since:], np.exp(usual[since:]), effect)


def _mixes(history: History, rule: DriftRule, family: Family, since: int) -> Scores:
    expected, out_of = _expected_shares(history, family)
    whole = np.max(out_of, axis=1)
    amount = _with_rest(family.amount, whole)
    total = np.sum(expected, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        reference = _with_rest(expected, np.maximum(whole, total))
        reference = reference / np.sum(reference, axis=1, keepdims=True)
        mix = amount / np.sum(amount, axis=1, keepdims=True)
        is_enough = whole >= LEAST_MIX_CLICKS
        surprise = statistics.mix_surprise(amount, reference, whole, whole * statistics.WEEKS_BACK)
        surprise = np.where(is_enough, surprise, np.nan)[:, None]
        distance = np.sqrt(statistics.jensen_shannon(mix, reference))[since:, None]
    sigmas = np.maximum(statistics.residual_sigmas(surprise, 1.0, since), 0.0)  # too well alike is no alarm
    sigmas = np.where(np.isnan(surprise[since:]), np.nan, sigmas)
    return Scores(rule, ("",), sigmas, distance, np.zeros_like(distance), distance)


def _with_rest(amount: Array, whole: Array) -> Array:
    rest = np.maximum(whole - np.sum(amount, axis=1), 0.0)
    return np.column_stack([amount, rest])


def _levels(history: History, rule: DriftRule, family: Family, options: DriftOptions, since: int) -> Scores:
    usual = _usual(history, family.amount, options)
    days = statistics.day_level(family.amount, usual)
    day_clicks = np.nansum(statistics.trailing(usual, DAY_HOURS), axis=-1)
    days = np.where(day_clicks >= LEAST_DAY_CLICKS, days, np.nan)
    is_level = rule.kind == "level"
    reference = statistics.days_before(days, LEVEL_REFERENCE_DAYS if is_level else TREND_REFERENCE_DAYS, since)
    middle = statistics.median(reference, -1, LEAST_LEVEL_DAYS)
    sigma = statistics.robust_sigma(reference, -1, LEAST_LEVEL_DAYS)
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.maximum(sigma, np.sqrt(LEAST_DAY_SIGMA**2 + 2 / day_clicks[since:]))
    change = days[since:] - middle
    if is_level:
        sigmas = change / sigma
    else:
        steps = np.concatenate([statistics.days_before(days, TREND_DAYS, since), days[since:, :, None]], axis=-1)
        steps = np.clip((steps - middle[..., None]) / sigma[..., None], -LARGEST_DAY_SIGMAS, LARGEST_DAY_SIGMAS)
        lower, upper = statistics.lower_and_upper_cusum(steps, TREND_SLACK_SIGMAS)
        sigmas = np.where(np.isnan(change), np.nan, np.where(lower > upper, -lower, upper))
    ratio, before = np.exp(days[since:]), np.exp(middle)
    return Scores(rule, family.groups, sigmas, ratio, before, np.abs(np.expm1(change)))
