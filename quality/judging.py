"""Judges measured hours: invariants by suites, drift by statistics; verdicts are what comes out.

Belongs here: putting together what an hour is compared with: sealed hours before it, and the hours before it that are
judged with it, which would have been sealed by then. So its verdicts are the same alone and in a backfill. What breaks
in the statistics, which only warn, is a verdict of its own and keeps no money rule from being asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import HOUR
from domain.drift_findings import findings_of
from domain.drift_rules import SUITE_VERSION, DriftOptions
from domain.errors import SettingError
from domain.metric_history import history_of
from domain.quality_calendar import Event, explained_hours
from domain.quality_metrics import WHOLE, Metric
from domain.quality_verdicts import Finding, Override, Verdict
from domain.seals import Seal, current_seals
from domain.settings import Settings
from quality.calendar_file import read_calendar
from quality.expectations import run_suite
from quality.suites import SEALS_SUITE, SUITES
from warehouse.layout import code_version
from warehouse.measured_hours import newest_attempts, read_metrics
from warehouse.quality_verdicts import read_overrides
from warehouse.seals import read_seals

REFERENCE = timedelta(weeks=21)
"""All that a rule of drift looks back: six weeks of days, each against eight weeks before it, and their levels."""
DRIFT_SUITE = "drift_statistics"
JUDGED_TABLE = "raw_clicks"
"""Whose metrics the statistics are about."""
MANY_GROUPS = ("by_advertiser", "by_ad")
MOST_FOLLOWED = 200
"""So many advertisers, and ads, are compared with their past: the statistics keep all hours of each in memory."""


@dataclass(frozen=True)
class Judging:
    """Who judges, and when; it goes into each verdict."""

    run: str
    judged_at: datetime


@dataclass(frozen=True)
class Baseline:
    """What hours are compared with: metrics of sealed hours, the calendar, what people accepted."""

    metrics: Sequence[Metric]
    events: Sequence[Event]
    overrides: Sequence[Override]
    options: DriftOptions


def judge(
    settings: Settings, hour: datetime, metrics: Sequence[Metric], *, attempt: str, judging: Judging
) -> list[Verdict]:
    """The verdicts about one hour as this attempt measured it; not written. Reads seals, metrics and the calendar.

    Repeatable. ``CalendarError`` or ``SettingError`` if what it is configured by is wrong; nothing else that is wrong
    with the data is raised, but said.
    """
    return judge_attempts(settings, {hour: metrics}, {hour: attempt}, judging)


def judge_attempts(
    settings: Settings,
    metrics: Mapping[datetime, Sequence[Metric]],
    attempts: Mapping[datetime, str],
    judging: Judging,
) -> list[Verdict]:
    """As ``judge``, of several hours; ``metrics`` and ``attempts`` are by hour."""
    return _verdicts(settings, current_seals(read_seals(settings)), metrics, attempts, judging)


def judge_measured(settings: Settings, hours: Sequence[datetime], judging: Judging) -> list[Verdict]:
    """The verdicts about hours as their newest attempts measured them; none about an hour that nobody measured."""
    attempts = newest_attempts(settings, hours)
    metrics: dict[datetime, list[Metric]] = {hour: [] for hour in attempts}
    for one in read_metrics(settings, attempts):
        metrics[one.hour].append(one)
    return _verdicts(settings, current_seals(read_seals(settings)), metrics, attempts, judging)


def measured_attempts(
    settings: Settings, hours: Sequence[datetime], seals: Mapping[datetime, Seal]
) -> dict[datetime, str]:
    """By hour the attempt whose verdicts say how the hour is: the sealed one, else the newest that was measured."""
    return newest_attempts(settings, hours) | {hour: seals[hour].attempt for hour in hours if hour in seals}


def seal_metrics(seal: Seal) -> list[Metric]:
    """The figures of a seal as metrics of table ``seals``."""
    whole = {"raw": seal.raw_clicks, "billable": seal.billable_clicks}
    found = [Metric("seals", seal.hour, name, WHOLE, clicks, None, "clicks") for name, clicks in whole.items()]
    return found + [
        Metric("seals", seal.hour, "excluded", reason, clicks, seal.raw_clicks, "clicks")
        for reason, clicks in sorted(seal.excluded_clicks.items())
    ]


def drift_findings(
    baseline: Baseline, metrics: Mapping[datetime, Sequence[Metric]]
) -> Iterator[tuple[datetime, Finding]]:
    """What the statistics say about these hours, which may be a backfill: each against what lies before it alone."""
    left_out = explained_hours(baseline.events)
    plain = [hour for hour in sorted(metrics) if hour not in left_out]
    alone = [[hour] for hour in sorted(metrics) if hour in left_out]
    for hours in ([plain] if plain else []) + alone:
        rows = _rows_for(baseline, metrics, hours)
        history = history_of(rows, min(hours) - REFERENCE, max(hours) + HOUR, left_out - set(hours))
        yield from findings_of(history, hours, baseline.options, baseline.events, baseline.overrides)


def _rows_for(
    baseline: Baseline, metrics: Mapping[datetime, Sequence[Metric]], hours: Sequence[datetime]
) -> Iterator[Metric]:
    """Sealed hours, and those that are judged, as they are judged."""
    judged = set(hours)
    yield from (one for one in baseline.metrics if one.hour not in judged)
    yield from (one for hour in hours for one in _largest(metrics[hour]))


def _largest(rows: Sequence[Metric]) -> Iterator[Metric]:
    """What is judged of an hour, as far as it is followed."""
    yield from (one for one in rows if one.table == JUDGED_TABLE and one.name not in MANY_GROUPS)
    for name in MANY_GROUPS:
        groups = (one for one in rows if one.table == JUDGED_TABLE and one.name == name)
        yield from sorted(groups, key=lambda one: (-one.amount, one.group))[:MOST_FOLLOWED]


def _verdicts(
    settings: Settings,
    seals: Mapping[datetime, Seal],
    metrics: Mapping[datetime, Sequence[Metric]],
    attempts: Mapping[datetime, str],
    judging: Judging,
) -> list[Verdict]:
    if not metrics:
        return []
    found = [
        _verdict(finding, hour, (suite.table_name, suite.name, suite.version), attempts[hour], judging)
        for hour, rows in sorted(metrics.items())
        for suite in SUITES.values()
        if suite.name != SEALS_SUITE.name or _is_of(seals.get(hour), attempts[hour])
        for finding in run_suite(suite, [*rows, *(seal_metrics(seals[hour]) if hour in seals else [])])
    ]
    return found + [
        _verdict(finding, hour, (JUDGED_TABLE, DRIFT_SUITE, SUITE_VERSION), attempts[hour], judging)
        for hour, finding in _drift(settings, seals, metrics, attempts)
    ]


def _drift(
    settings: Settings,
    seals: Mapping[datetime, Seal],
    metrics: Mapping[datetime, Sequence[Metric]],
    attempts: Mapping[datetime, str],
) -> list[tuple[datetime, Finding]]:
    """What the statistics say, or that they could not be asked: a wrong calendar is no reason to hold money back."""
    try:
        return list(drift_findings(_baseline(settings, seals, metrics, attempts), metrics))
    except Exception as error:  # noqa: BLE001  whatever it is, it is said, of each hour
        return [(hour, _broken(error)) for hour in sorted(metrics)]


def _broken(error: Exception) -> Finding:
    return Finding(
        rule=DRIFT_SUITE,
        group=WHOLE,
        outcome="error",
        severity="warn",
        observed=f"{type(error).__name__}: {error}",
        expected="statistics that can be asked",
        tolerance="none",
        tolerance_reason="what could not be asked has said nothing",
    )


def _is_of(seal: Seal | None, attempt: str) -> bool:
    return seal is not None and seal.attempt == attempt


def _baseline(
    settings: Settings,
    seals: Mapping[datetime, Seal],
    metrics: Mapping[datetime, Sequence[Metric]],
    attempts: Mapping[datetime, str],
) -> Baseline:
    start, end = min(metrics) - REFERENCE, max(metrics)
    sealed = {
        hour: seal.attempt
        for hour, seal in seals.items()
        if start <= hour <= end and attempts.get(hour, seal.attempt) == seal.attempt
    }
    known = read_metrics(settings, sealed, _followed(metrics))
    options = DriftOptions(_zone(settings.quality_zone), settings.quality_level_days)
    return Baseline(known, read_calendar(settings), read_overrides(settings), options)


def _followed(metrics: Mapping[datetime, Sequence[Metric]]) -> ds.Expression:
    """Of what has a group for each advertiser or ad, the largest of the judged hours; of everything else all."""
    largest = {
        name: Counter({one.group: one.amount for rows in metrics.values() for one in rows if one.name == name})
        for name in MANY_GROUPS
    }
    is_few = ~ds.field("name").isin(pa.array(MANY_GROUPS))
    is_followed = [
        (ds.field("name") == name)
        & ds.field("group").isin(pa.array([group for group, _ in counts.most_common(MOST_FOLLOWED)], pa.string()))
        for name, counts in largest.items()
    ]
    return (ds.field("table_name") == JUDGED_TABLE) & reduce(or_, is_followed, is_few)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingError(
            f"setting quality_zone is {name!r}", "a time zone such as Europe/Berlin, or UTC", "correct it"
        ) from error


def _verdict(finding: Finding, hour: datetime, suite: tuple[str, str, int], attempt: str, judging: Judging) -> Verdict:
    """``suite`` is the table that it is about, its name and its version."""
    table_name, suite_name, suite_version = suite
    return Verdict(
        **asdict(finding),
        table_name=table_name,
        hour=hour,
        suite=suite_name,
        suite_version=suite_version,
        attempt=attempt,
        run=judging.run,
        judged_at=judging.judged_at,
        code_version=code_version(),
    )
