"""25 kinds of fault at three strengths, put into generated weeks from one hour on.

Belongs here: what a fault does to metrics, and on which series its effect is measured. Clean weeks are
``quality_world.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from parts.quality_world import DAY_HOURS

from domain.buckets import HOUR
from domain.metric_history import Array, Family, History

Apply = Callable[[History, int, float], None]
"""Changes a history of its own from a row on, at a strength."""


@dataclass(frozen=True)
class Fault:
    """``series``, a metric and a group, is where a statistical fault shows; None for one that breaks an invariant."""

    name: str
    strengths: tuple[float, float, float]
    apply: Apply
    series: tuple[str, str] | None = None
    hours: int = 6


def copy_of(history: History, first: int, end: int) -> History:
    """Rows of a history as one that may be changed."""
    families = {
        name: Family(one.groups, one.amount[first:end].copy(), one.out_of[first:end].copy())
        for name, one in history.families.items()
    }
    return History(history.start + first * HOUR, history.is_measured[first:end].copy(), families)


def _column(family: Family, group: str) -> int:
    return family.groups.index(group)


def _scale(history: History, row: int, name: str, groups: tuple[str, ...] | None, factor: float | Array) -> None:
    """Clicks of some groups of one dimension grow or go; the other dimensions follow in proportion."""
    family = history.families[name]
    columns = [n for n, group in enumerate(family.groups) if groups is None or group in groups]
    old = _whole(history)[row:]
    change = (family.amount[row:, columns] * (np.asarray(factor)[..., None] - 1)).round()
    family.amount[row:, columns] += change
    new = old + change.sum(axis=1)
    ratio = np.where(old > 0, new / np.maximum(old, 1), 0.0)
    history.families["rows"].amount[row:, 0] = new
    for other in ("by_advertiser", "by_country", "by_device", "by_server", "by_kind", "by_ad"):
        if other != name:
            _fit(history.families[other], row, ratio, new if other != "by_ad" else None)
    for other in ("nulls", "excluded", "duplicates", "late", "quarantined"):
        history.families[other].amount[row:] = (history.families[other].amount[row:] * ratio[:, None]).round()
    for one in history.families.values():
        one.out_of[row:] = np.where(np.isnan(one.out_of[row:]), np.nan, new[:, None])
    _fit_distinct(history, row, ratio)
    _conserve(history, row)


def _fit(family: Family, row: int, ratio: Array, whole: Array | None) -> None:
    """The rounding is the first group's, so that parts stay those of the whole."""
    family.amount[row:] = np.floor(family.amount[row:] * ratio[:, None])
    if whole is not None:
        family.amount[row:, 0] += whole - family.amount[row:].sum(axis=1)


def _fit_distinct(history: History, row: int, ratio: Array) -> None:
    family = history.families["distinct"]
    for group in ("impression_id", "ip"):
        column = _column(family, group)
        family.amount[row:, column] = np.floor(family.amount[row:, column] * ratio)


def _conserve(history: History, row: int) -> None:
    """Final is what is left of the clicks of each advertiser."""
    clicks = history.families["by_advertiser"].amount[row:]
    lost = history.families["excluded"].amount[row:].sum(axis=1)
    share = clicks / np.maximum(clicks.sum(axis=1, keepdims=True), 1)
    final = np.floor(clicks - lost[:, None] * share)
    final[:, 0] += clicks.sum(axis=1) - lost - final.sum(axis=1)
    for name in ("final", "live"):
        history.families[name].amount[row:] = final


def _whole(history: History) -> Array:
    return history.families["rows"].amount[:, 0]


def _server_stops(history: History, row: int, strength: float) -> None:
    _scale(history, row, "by_server", ("edge-2",), np.full(history.hour_count - row, 1 - strength))


def _country_mislabelled(history: History, row: int, strength: float) -> None:
    _move(history, row, "by_country", ("DE", "FR"), strength)


def _devices_unread(history: History, row: int, strength: float) -> None:
    _move(history, row, "by_device", ("mobile", "other"), strength)


def _move(history: History, row: int, name: str, groups: tuple[str, str], share: float) -> None:
    source, target = groups
    family = history.families[name]
    moved = (family.amount[row:, _column(family, source)] * share).round()
    family.amount[row:, _column(family, source)] -= moved
    family.amount[row:, _column(family, target)] += moved


def _more_excluded(reason: str, metric: str | None) -> Apply:
    """So many times as many of a reason."""

    def apply(history: History, row: int, strength: float) -> None:
        family = history.families["excluded"]
        column = _column(family, reason)
        family.amount[row:, column] = (family.amount[row:, column] * strength).round()
        if metric is not None:
            history.families[metric].amount[row:, 0] = family.amount[row:, column]
        _conserve(history, row)

    return apply


def _head_flood(history: History, row: int, strength: float) -> None:
    _move(history, row, "by_kind", ("click", "head"), strength)
    kinds = history.families["by_kind"]
    history.families["excluded"].amount[row:, 0] = kinds.amount[row:, _column(kinds, "head")]
    _conserve(history, row)


def _clock_off(history: History, row: int, strength: float) -> None:
    """That part of the clicks lies an hour back: the quantiles above it do."""
    family = history.families["lag"]
    for group, share in (("p50", 0.5), ("p95", 0.05), ("p99", 0.01), ("max", 0.0)):
        if strength > share:
            family.amount[row:, _column(family, group)] += 3_600_000
    late = history.families["late"]
    late.amount[row:, 0] += (_whole(history)[row:] * strength * 0.05).round()


def _slower(history: History, row: int, strength: float) -> None:
    lag = history.families["lag"]
    lag.amount[row:] = (lag.amount[row:] * strength).round()


def _hot_ad(history: History, row: int, strength: float) -> None:
    _scale(history, row, "by_ad", ("106",), np.full(history.hour_count - row, strength))
    _hottest(history, row)


def _bots(history: History, row: int, strength: float) -> None:
    """One ad gets a share of all clicks on top, from one country and kind of device."""
    extra = _whole(history)[row:] * strength
    ads = history.families["by_ad"]
    _scale(history, row, "by_ad", ("110",), 1 + extra / np.maximum(ads.amount[row:, _column(ads, "110")], 1))
    for name, group in (("by_country", "ZZ"), ("by_device", "desktop")):
        family = history.families[name]
        keep = 1 - extra / np.maximum(_whole(history)[row:], 1)
        family.amount[row:] = np.floor(family.amount[row:] * keep[:, None])
        family.amount[row:, _column(family, group)] += _whole(history)[row:] - family.amount[row:].sum(axis=1)
    _hottest(history, row)


def _hottest(history: History, row: int) -> None:
    per_ad = history.families["clicks_per_ad"]
    per_ad.amount[row:] = np.quantile(history.families["by_ad"].amount[row:], (0.5, 0.95, 1), axis=1).T.round()


def _null_field(history: History, row: int, strength: float) -> None:
    family = history.families["nulls"]
    family.amount[row:, _column(family, "country")] += (_whole(history)[row:] * strength).round()


def _decline(history: History, row: int, strength: float) -> None:
    days = np.arange(history.hour_count - row) / DAY_HOURS
    _scale(history, row, "by_advertiser", None, (1 - strength) ** days)


def _times(history: History, row: int, strength: float) -> None:
    _scale(history, row, "by_advertiser", None, np.full(history.hour_count - row, strength))


def _advertiser_stops(history: History, row: int, strength: float) -> None:
    _scale(history, row, "by_advertiser", ("3",), np.full(history.hour_count - row, 1 - strength))


def _missing(history: History, row: int, strength: float) -> None:
    """A part of the partition, or all of it: nobody measured anything."""
    if strength < 1:
        _times(history, row, 1 - strength)
        return
    history.is_measured[row:] = False
    for family in history.families.values():
        family.amount[row:] = np.nan


def _more(name: str, group: str) -> Apply:
    """So many times as many rows of one group of a metric that is part of nothing else."""

    def apply(history: History, row: int, strength: float) -> None:
        family = history.families[name]
        column = _column(family, group)
        family.amount[row:, column] = (family.amount[row:, column] * strength).round()

    return apply


def _plus(name: str, group: str) -> Apply:
    """So many rows too many of one group."""

    def apply(history: History, row: int, strength: float) -> None:
        family = history.families[name]
        family.amount[row:, _column(family, group)] += strength

    return apply


def _schema_change(history: History, row: int, strength: float) -> None:
    """A column is gone; with another one; with all that was measured by country."""
    nulls = history.families["nulls"]
    gone = {1.0: ("country",), 2.0: ("country", "impression_id"), 3.0: ()}[strength]
    for group in gone:
        nulls.amount[row:, _column(nulls, group)] = np.nan
    if not gone:
        history.families["by_country"].amount[row:] = np.nan


def _renamed(name: str, group: str, new: str) -> Apply:
    """Rows of a group under a name that nobody knows."""

    def apply(history: History, row: int, strength: float) -> None:
        family = history.families[name]
        moved = np.minimum(family.amount[row:, _column(family, group)], strength)
        fresh = np.zeros((history.hour_count, 1))
        fresh[row:, 0] = moved
        amount = np.column_stack([family.amount, fresh])
        amount[row:, _column(family, group)] -= moved
        out_of = np.column_stack([family.out_of, family.out_of[:, 0]])
        history.families[name] = Family((*family.groups, new), amount, out_of)

    return apply


def _live_off(history: History, row: int, strength: float) -> None:
    live = history.families["live"].amount
    live[row:, 0] = (live[row:, 0] * (1 + strength)).round()


FAULTS: tuple[Fault, ...] = (
    Fault("server stops", (0.3, 0.6, 1.0), _server_stops, ("by_server", "edge-2")),
    Fault("country mislabelled", (0.25, 0.5, 1.0), _country_mislabelled, ("by_country", "FR")),
    Fault("duplicates times", (1.6, 3.0, 10.0), _more_excluded("duplicate", "duplicates"), ("duplicates", "")),
    Fault("clock off by an hour", (0.02, 0.1, 0.6), _clock_off, ("lag", "p99")),
    Fault("one ad times", (3.0, 10.0, 50.0), _hot_ad, ("by_ad", "106")),
    Fault("a field null", (0.01, 0.05, 0.2), _null_field, ("nulls", "country")),
    Fault("slow decline a day", (0.01, 0.02, 0.04), _decline, ("rows", ""), 21 * DAY_HOURS),
    Fault("missing partition", (0.3, 0.6, 1.0), _missing, ("rows", "")),
    Fault("late surge times", (3.0, 10.0, 30.0), _more("late", ""), ("late", "")),
    Fault("schema change", (1.0, 2.0, 3.0), _schema_change),
    Fault("bots on one ad", (0.02, 0.1, 0.3), _bots, ("by_ad", "110")),
    Fault("advertiser stops", (0.4, 0.8, 1.0), _advertiser_stops, ("by_advertiser", "3")),
    Fault("devices unread", (0.05, 0.3, 0.9), _devices_unread, ("by_device", "other")),
    Fault("replayed traffic", (1.3, 1.6, 2.0), _times, ("rows", "")),
    Fault("traffic falls to", (0.75, 0.5, 0.1), _times, ("rows", "")),
    Fault("malformed times", (4.0, 15.0, 60.0), _more("quarantined", "malformed"), ("quarantined", "malformed")),
    Fault(
        "future-dated times", (8.0, 30.0, 100.0), _more("quarantined", "future_dated"), ("quarantined", "future_dated")
    ),
    Fault("ads vanish", (12.0, 20.0, 40.0), _plus("vanished_ads", ""), ("vanished_ads", "")),
    Fault("slow log times", (1.3, 2.0, 5.0), _slower, ("lag", "p50")),
    Fault("HEAD flood", (0.01, 0.05, 0.4), _head_flood, ("by_kind", "head")),
    Fault("unknown ads", (1.0, 10.0, 100.0), _plus("unknown_ads", "")),
    Fault("clicks lost in counting", (-1.0, -10.0, -1_000.0), _plus("final", "1")),
    Fault("unknown kind", (1.0, 50.0, 1_000.0), _renamed("by_kind", "click", "tap")),
    Fault("identity null", (1.0, 10.0, 1_000.0), _plus("nulls", "impression_id")),
    Fault("live off final", (0.0015, 0.01, 0.05), _live_off),
)
