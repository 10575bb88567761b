"""What the hours of an attempt look like: metrics, made of what reconcile has read and written anyway.

Belongs here: from figures to metrics, with what a share is a part of and what stands where nothing was found. The
questions are ``reconcile_metrics_sql.py``; judging is ``reconcile_quality.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time

from domain.buckets import HOUR
from domain.counting import EXCLUSION_REASONS
from domain.quality_metrics import WHOLE, Metric
from spark_jobs.reconcile_metrics_sql import COUNTED_NULLS
from spark_jobs.reconcile_written import WrittenAttempt

RAW = "raw_clicks"
DRIFT = "drift"
REPEATS = ("duplicate", "conflicting_duplicate")
TABLE_OF = {"live": DRIFT, "final": DRIFT}
"""Metrics by table; all others are of raw clicks."""
UNIT_OF = {
    "lag": "ms",
    "clicks_per_ad": "clicks",
    "live": "clicks",
    "final": "clicks",
    "nulls": "values",
    "distinct": "values",
    "new_ads": "values",
    "vanished_ads": "values",
}
"""Units; of all others, rows."""
ALWAYS = {
    **dict.fromkeys(("late", "new_ads", "vanished_ads", "unknown_ads"), (WHOLE,)),
    "nulls": COUNTED_NULLS,
}
"""Groups that are measured in every hour: 0 where there is nothing."""
PARTS = ("by_country", "by_device", "by_advertiser", "by_server", "by_kind", "by_ad", "live", "final", "quarantined")
"""Those whose groups are what was found: where that is nothing, a 0 of the whole says that it was looked for."""
SHARES = (
    *("by_country", "by_device", "by_advertiser", "by_server", "by_kind", "by_ad"),
    *("nulls", "late", "quarantined", "unknown_ads"),
)
"""Those that are parts of the hour's rows."""

Groups = Mapping[str, int]


def measured_hours(written: WrittenAttempt, day: date, hours: Sequence[int]) -> dict[datetime, list[Metric]]:
    """Of each hour of the day all its metrics, sorted; clicks or not. A function of what was read and written alone."""
    midnight = datetime.combine(day, time(tzinfo=UTC))
    found: dict[int, dict[str, dict[str, int]]] = {hour: defaultdict(dict) for hour in hours}
    for hour, name, group, amount in written.figures():
        if hour in found:
            found[hour][name][group] = amount
    totals = written.totals()
    nothing = (0, 0, *(0 for _ in EXCLUSION_REASONS))
    return {
        midnight + HOUR * hour: sorted(_metrics(midnight + HOUR * hour, names, totals.get(hour, nothing)))
        for hour, names in found.items()
    }


def _metrics(hour: datetime, found: Mapping[str, Groups], totals: Sequence[int]) -> Iterator[Metric]:
    rows, _, *excluded = totals
    by_reason = dict(zip(EXCLUSION_REASONS, excluded, strict=True))
    yield Metric(RAW, hour, "rows", WHOLE, rows, None, "rows")
    yield Metric(RAW, hour, "duplicates", WHOLE, sum(by_reason[reason] for reason in REPEATS), rows, "rows")
    for reason, clicks in by_reason.items():
        yield Metric(RAW, hour, "excluded", reason, clicks, rows, "rows")
    for name in sorted({*found, *ALWAYS, *PARTS}):
        out_of = rows if name in SHARES else None
        for group, amount in _filled(name, found.get(name, {})).items():
            yield Metric(TABLE_OF.get(name, RAW), hour, name, group, amount, out_of, UNIT_OF.get(name, "rows"))


def _filled(name: str, groups: Groups) -> Groups:
    if name in ALWAYS:
        return dict.fromkeys(ALWAYS[name], 0) | dict(groups)
    return groups or {WHOLE: 0}
