"""What is wrong now, one cause each: held hours, failing rules, drift, hours without a seal, silent click servers.

Belongs here: asking the tables and the log. When a cause becomes an alert is ``domain/alerts.py``. A source that cannot
be asked is a cause itself, and says nothing of its others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, takewhile

from clicklog.watermarks import read_watermarks
from domain.alerts import Cause, Severity
from domain.buckets import HOUR, format_utc, hour_of, hours_between
from domain.errors import TallystickError
from domain.finality import final_until
from domain.quality_verdicts import HOLDING, Override, Verdict, blocking, newest
from domain.seals import current_seals
from domain.settings import Settings
from domain.texts import hours_text
from quality.alerting import Look
from quality.checks import DRIFT
from quality.judging import measured_attempts
from warehouse.layout import open_table
from warehouse.publications import latest_publication
from warehouse.quality_verdicts import read_overrides, read_verdicts
from warehouse.seals import read_seals

WINDOW = timedelta(days=31)
"""Hours before it are not looked at."""
SEAL_SLACK = timedelta(minutes=45)
"""After its grace an hour has so long to be asked for, counted and sealed before its seal is overdue."""


def look_everywhere(settings: Settings, at: datetime) -> list[Look]:
    """A look of each source of this installation but the crawl's. Waits at most as long as the log may take."""
    return [look for source, find in SOURCES.items() for look in looks_of(source, lambda: find(settings, at))]  # noqa: B023 - called at once


def looks_of(source: str, find: Callable[[], Sequence[Cause]]) -> list[Look]:
    """What a source found; and whether it could look, which is a source of its own."""
    broken = f"{source} unknown"
    try:
        found = find()
    except TallystickError as error:
        remedy = f"{error.remedy}; `tallystick alerts list`"
        cause = Cause(
            key=source,
            severity="fail",
            about=f"the alerts of {source}",
            rule="can be looked at",
            observed=error.found,
            expected=error.expected,
            see=remedy,
        )
        return [Look(broken, [cause])]
    return [Look(source, found), Look(broken, [])]


def verdict_causes(settings: Settings, at: datetime) -> list[Cause]:
    """A cause for each rule that holds hours back, and for each that fails in the newest hour that it judged."""
    hours = list(hours_between(hour_of(at - WINDOW), hour_of(at)))
    seals = current_seals(read_seals(settings))
    attempts = measured_attempts(settings, hours, seals)
    verdicts = [one for one in newest(read_verdicts(settings, hours)) if attempts.get(one.hour) == one.attempt]
    overrides = read_overrides(settings)
    held = [hold.verdict for hold in blocking(verdicts, overrides) if hold.verdict.hour not in seals]
    others = _still_failing([one for one in verdicts if one not in held], overrides)
    return [_verdict_cause(one, is_holding=True) for one in _by_rule(held)] + [
        _verdict_cause(one, is_holding=False) for one in _by_rule(others)
    ]


def drift_causes(settings: Settings, at: datetime) -> list[Cause]:
    """The newest sealed hour, if an advertiser's live count was over the bar or off for no known cause."""
    hours = [hour for hour in current_seals(read_seals(settings)) if hour >= at - WINDOW]
    if not hours:
        return []
    hour = max(hours)
    result = DRIFT.run(settings, [hour])
    if result.is_passed:
        return []
    cause = Cause(
        key=DRIFT.name,
        severity="warn",
        about=f"hour {format_utc(hour)}",
        rule="live against final",
        observed=f"{result.observed}: {'; '.join(result.metadata['violations'])}",
        expected=result.expected,
        see=f"tallystick differences {format_utc(hour)}",
    )
    return [cause]


def seal_causes(settings: Settings, at: datetime) -> list[Cause]:
    """The hours whose seal is overdue, unless a rule holds the first of them, which is said already."""
    missing, due_until = overdue_hours(settings, at), _due_until(settings, at)
    if not missing or _is_held(settings, missing[0]):
        return []
    cause = Cause(
        key="seals",
        severity="fail",
        about=_span(missing),
        rule="sealed in time",
        observed=f"no seal of {hours_text(len(missing))}, the first {format_utc(missing[0])}",
        expected=f"every hour before {format_utc(due_until)} sealed",
        see=f"tallystick reconcile {format_utc(missing[0])} --plan",
    )
    return [cause]


def overdue_hours(settings: Settings, at: datetime) -> list[datetime]:
    """The hours since the last that is final which should be sealed by now and are not, ascending."""
    sealed = current_seals(read_seals(settings))
    publication = latest_publication(settings)
    start = final_until(sealed, publication.final_until if publication else None) or _first_archived_hour(settings)
    due_until = _due_until(settings, at)
    return [] if start is None else [hour for hour in hours_between(start, due_until) if hour not in sealed]


def hours_to_ask_again(settings: Settings, at: datetime) -> list[datetime]:
    """Those of the overdue hours that no rule holds: counting a held one again would say the same."""
    return [hour for hour in overdue_hours(settings, at) if not _is_held(settings, hour)]


def server_causes(settings: Settings, at: datetime) -> list[Cause]:
    """The click servers that no longer report, together: one network that fails silences them all."""
    silent = {name: mark for name, mark in read_watermarks(settings).items() if mark.state(at) == "silent"}
    if not silent:
        return []
    names = ", ".join(sorted(silent))
    since = min(mark.sent_at for mark in silent.values())
    cause = Cause(
        key="servers",
        severity="fail",
        about=f"click servers {names}",
        rule="watermarks",
        observed=f"{len(silent)} silent, the first since {format_utc(since)}",
        expected="a watermark each second; no hour is sealed beyond a silent server",
        see="tallystick servers list",
        state=names,
    )
    return [cause]


SOURCES: Mapping[str, Callable[[Settings, datetime], Sequence[Cause]]] = {
    "verdicts": verdict_causes,
    "drift": drift_causes,
    "seals": seal_causes,
    "servers": server_causes,
}


def _still_failing(verdicts: Iterable[Verdict], overrides: Iterable[Override]) -> list[Verdict]:
    """Of each rule the verdicts that fail in the newest hour that it judged, and in those right before it."""
    released = {(one.hour, one.rule, one.group, one.observed) for one in overrides}
    found: list[Verdict] = []
    ordered = sorted(verdicts, key=lambda one: (_rule_of(one), one.hour))
    for _, of_rule in groupby(ordered, key=_rule_of):
        hours = [list(rows) for _, rows in groupby(of_rule, key=lambda one: one.hour)]
        bad = [
            [
                one
                for one in rows
                if one.outcome in HOLDING and (one.hour, one.rule, one.group, one.observed) not in released
            ]
            for rows in reversed(hours)
        ]
        found += [one for rows in takewhile(bool, bad) for one in rows]
    return found


def _by_rule(verdicts: Iterable[Verdict]) -> list[list[Verdict]]:
    return [list(rows) for _, rows in groupby(sorted(verdicts, key=_rule_of), key=_rule_of)]


def _rule_of(one: Verdict) -> tuple[str, str]:
    return (one.table_name, one.rule)


def _verdict_cause(verdicts: Sequence[Verdict], *, is_holding: bool) -> Cause:
    last = max(verdicts, key=lambda one: (one.hour, one.group))
    groups = sorted({one.group for one in verdicts if one.hour == last.hour})
    more = f" and {len(groups) - 1} more groups" if len(groups) > 1 else ""
    part = f" of {last.group}" if last.group else ""
    severity: Severity = last.severity
    hour = format_utc(last.hour)
    release = f"; tallystick quality override {hour} {last.rule} lets it go" if is_holding else ""
    return Cause(
        key=f"{last.table_name}.{last.rule}",
        severity=severity,
        about=_span(sorted({one.hour for one in verdicts})),
        rule=last.rule,
        observed=f"{last.observed}{part}{more}" + (" (the check broke)" if last.outcome == "error" else ""),
        expected=f"{last.expected}, tolerance {last.tolerance or 'none'}",
        see=f"tallystick quality show {hour}{release}",
        state=f"{last.outcome}{', held back' if is_holding else ''}",
    )


def _span(hours: Sequence[datetime]) -> str:
    if len(hours) == 1:
        return f"hour {format_utc(hours[0])}"
    return f"{hours_text(len(hours))} from {format_utc(hours[0])} to {format_utc(hours[-1] + HOUR)}"


def _due_until(settings: Settings, at: datetime) -> datetime:
    return hour_of(at - settings.grace - SEAL_SLACK)


def _is_held(settings: Settings, hour: datetime) -> bool:
    attempt = measured_attempts(settings, [hour], {}).get(hour)
    said = read_verdicts(settings, [hour], attempt) if attempt else []
    return bool(blocking(said, read_overrides(settings)))


def _first_archived_hour(settings: Settings) -> datetime | None:
    partitions = open_table(settings, "raw_clicks").partitions()
    hours = [(date.fromisoformat(each["click_date"]), int(each["click_hour"])) for each in partitions]
    return min((datetime.combine(day, time(hour), UTC) for day, hour in hours), default=None)
