"""The checks that orchestration shows: conservation, rollups, drift, completeness, each for one hour or for several.

Belongs here: judging sealed hours by what the tables hold now, without a JVM. A check that cannot be made raises: an
error is never a failure, nor a pass. What blocks a seal is judged again by the seal itself, whoever runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.dataset as ds

from clicklog.offsets import is_gap_explained
from domain.buckets import day_of, format_utc
from domain.conservation import conservation_violations
from domain.drift import explain, is_over_bar
from domain.errors import UsageError
from domain.identity import Place, place_of
from domain.seals import Seal, current_seals
from domain.settings import Settings
from quality.archive_gaps import find_gaps
from quality.findings import NAMED_AT_MOST, named
from quality.outcome_tallies import read_tallies
from quality.published import PublishedFigures
from quality.slices import Range
from warehouse.layout import dataset_of, open_table
from warehouse.logs import current_log, read_logs
from warehouse.marks import ARCHIVE_QUERY, reached_offsets
from warehouse.publications import latest_publication
from warehouse.seals import read_seals

Severity = Literal["error", "warn"]
Hours = Sequence[datetime]


@dataclass(frozen=True)
class CheckResult:
    """What a check says. ``metadata`` is JSON; its ``violations`` name the first few."""

    name: str
    is_passed: bool
    observed: str
    expected: str
    severity: Severity
    is_blocking: bool
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Judgement:
    """The judgement of one check: it passes if nothing violates what is expected."""

    observed: str
    expected: str
    violations: Sequence[str]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A check by name. ``judge`` reads only, and raises if it cannot tell. An error blocks, a warning does not."""

    name: str
    description: str
    severity: Severity
    judge: Callable[[Settings, Hours], Judgement]

    @property
    def is_blocking(self) -> bool:
        return self.severity == "error"

    def run(self, settings: Settings, hours: Hours) -> CheckResult:
        """The result for these hours (starts, UTC) together."""
        judgement = self.judge(settings, hours)
        violations = named(list(judgement.violations[:NAMED_AT_MOST]), len(judgement.violations))
        return CheckResult(
            name=self.name,
            is_passed=not violations,
            observed=judgement.observed,
            expected=judgement.expected,
            severity=self.severity,
            is_blocking=self.is_blocking,
            metadata={**judgement.metadata, "violations": violations},
        )


def judge_conservation(settings: Settings, hours: Hours) -> Judgement:
    """Law 3, from raw and from the rows of the sealed attempts; and the sums that the seals state."""
    seals = _seals_of(settings, hours)
    tallies = read_tallies(settings, seals)
    raw, billable = sum(t.raw_clicks for t in tallies), sum(t.billable_clicks for t in tallies)
    excluded = sum(sum(t.excluded_clicks.values()) for t in tallies)
    violations = conservation_violations(tallies)
    for seal in seals:
        found = sum(t.billable_clicks for t in tallies if t.hour == seal.hour)
        if found != seal.billable_clicks:
            stated = f"seal {seal.number} states {seal.billable_clicks} billable clicks"
            violations.append(f"hour {format_utc(seal.hour)}: {stated}, its attempt has {found}")
    return Judgement(
        f"{raw:,} raw, {billable:,} billable, {excluded:,} excluded",
        "raw = billable + excluded for every advertiser and hour, exactly",
        violations,
        {"raw_clicks": raw, "billable_clicks": billable, "excluded_clicks": excluded, "tally_count": len(tallies)},
    )


def judge_rollups(settings: Settings, hours: Hours) -> Judgement:
    """Law 9, in the versions that the newest publication names: these hours, and the days that they lie in."""
    publication = latest_publication(settings)
    if publication is None:
        raise UsageError("nothing is published", "a publication", "reconcile an hour first")
    figures = PublishedFigures(settings, publication)
    days = sorted({day_of(hour) for hour in hours})
    violations = [violation for hour in hours for violation in figures.violations("hour", hour)]
    violations += [violation for day in days for violation in figures.violations("day", day)]
    return Judgement(
        f"{len(violations)} of the sums differ in {len(hours)} hours and {len(days)} days",
        "day = sum of its hours, hour = sum of its minutes, for every key",
        violations,
        {"publication_number": publication.number},
    )


def judge_drift(settings: Settings, hours: Hours) -> Judgement:
    """Live against final of each advertiser and hour: within the bar, and nothing without a known cause."""
    seals = _seals_of(settings, hours)
    rows = _drift_rows(settings, seals)
    bar = f"{settings.drift_alert_per_mille} per mille or {settings.drift_floor_clicks} clicks"
    violations = [violation for row in rows for violation in _drift_violations(settings, row)]
    difference = sum(abs(row["difference_clicks"]) for row in rows)
    return Judgement(
        f"live differs by {difference:,} of {sum(row['final_clicks'] for row in rows):,} final clicks",
        f"each advertiser and hour within {bar}, and every difference with a known cause",
        violations,
        {name: sum(row[name] for row in rows) for name in _DRIFT_SUMS},
    )


def judge_completeness(
    settings: Settings, hours: Hours, explains_gap: Callable[[int, int, int], bool] | None = None
) -> Judgement:
    """Every hour sealed, the archive beyond its cut, and no offset missing since the seals before it.

    ``explains_gap`` (partition, start, end) says whether the log itself holds nothing there; the configured Kafka by
    default, which is asked only where there is a gap.
    """
    seals = read_seals(settings)
    current = current_seals(seals)
    violations = [f"hour {format_utc(hour)} is not sealed" for hour in hours if hour not in current]
    sealed = [current[hour] for hour in hours if hour in current]
    violations += _behind_cut(settings, sealed)
    explains_gap = explains_gap or partial(is_gap_explained, settings, settings.clicks_topic)
    log = current_log(settings, settings.clicks_topic)
    ranges = _ranges_since(settings, seals, sealed)
    for (number, partition), (start, end) in find_gaps(settings, ranges):
        if log is None or number != log.log or not explains_gap(partition, start, end):
            violations.append(f"the archive lacks log {number} partition {partition} offsets {start} to {end - 1}")
    offset_count = sum(end - start for start, end in ranges.values())
    return Judgement(
        f"{len(sealed)} of {len(hours)} hours sealed, {offset_count:,} offsets looked at",
        "every hour sealed, every offset up to its cut archived or explained by the log",
        violations,
        {"sealed_hours": len(sealed), "offset_count": offset_count},
    )


_DRIFT_SUMS = (
    "live_clicks",
    "final_clicks",
    "late_clicks",
    "dedup_horizon_clicks",
    "fraud_clicks",
    "missing_clicks",
    "extra_clicks",
)

CONSERVATION = Check("conservation", "raw = billable + excluded", "error", judge_conservation)
ROLLUPS = Check("rollups", "day = sum of hours = sum of minutes", "error", judge_rollups)
DRIFT = Check("drift", "live against final, within the bar and explained", "warn", judge_drift)
COMPLETENESS = Check("completeness", "the archive holds all of the log up to the cut", "error", judge_completeness)
CHECKS = (CONSERVATION, ROLLUPS, DRIFT, COMPLETENESS)


def _seals_of(settings: Settings, hours: Hours) -> list[Seal]:
    current = current_seals(read_seals(settings))
    unsealed = [format_utc(hour) for hour in hours if hour not in current]
    if unsealed:
        raise UsageError(f"no seal of {', '.join(unsealed)}", "sealed hours", "reconcile them first")
    return [current[hour] for hour in hours]


def _drift_rows(settings: Settings, seals: Sequence[Seal]) -> list[dict[str, Any]]:
    attempts = pa.array([seal.attempt for seal in seals], pa.string())
    dates = pa.array(sorted({seal.hour.date() for seal in seals}), pa.date32())
    is_ours = ds.field("click_date").isin(dates) & ds.field("attempt").isin(attempts)
    rows = dataset_of(open_table(settings, "drift")).to_table(filter=is_ours).to_pylist()
    return sorted(rows, key=lambda row: (row["hour"], row["advertiser_id"]))


def _drift_violations(settings: Settings, row: Mapping[str, Any]) -> list[str]:
    causes = ("live_clicks", "final_clicks", "late_clicks", "dedup_horizon_clicks", "fraud_clicks")
    drift = explain(*(row[name] for name in causes))
    who = f"advertiser {row['advertiser_id']}, hour {format_utc(row['hour'])}"
    figures = f"live {drift.live_clicks:,}, final {drift.final_clicks:,}"
    violations = []
    if is_over_bar(drift.live_clicks, drift.final_clicks, settings.drift_alert_per_mille, settings.drift_floor_clicks):
        violations.append(f"{who}: {figures}, a drift of {drift.difference_clicks:+,} is over the bar")
    if not drift.is_explained:
        unexplained = f"{drift.missing_clicks:,} missing and {drift.extra_clicks:,} extra clicks have no known cause"
        violations.append(f"{who}: {figures}, {unexplained}")
    return violations


def _behind_cut(settings: Settings, seals: Sequence[Seal]) -> list[str]:
    ends: dict[Place, int] = {}
    for place, end in ((place_of(text), end) for seal in seals for text, end in seal.cut.items()):
        ends[place] = max(end, ends.get(place, 0))
    looked_at = {
        (log, partition): end
        for log in {log for log, _ in ends}
        for partition, end in reached_offsets(settings, ARCHIVE_QUERY, log).items()
    }
    return [
        f"the archive is at {looked_at.get(place, 0)} of log {place[0]} partition {place[1]}, sealed up to {end}"
        for place, end in sorted(ends.items())
        if looked_at.get(place, 0) < end
    ]


def _ranges_since(settings: Settings, seals: Sequence[Seal], sealed: Sequence[Seal]) -> dict[Place, Range]:
    """Per place what these seals added to the seals before them; at the first seal of a log from its beginning."""
    first = {(row.log, p): offset for row in read_logs(settings) for p, offset in row.first_offsets.items()}
    ranges: dict[Place, Range] = {}
    for seal in sealed:
        before = [other.cut for other in seals if other.sealed_at < seal.sealed_at]
        for text, end in seal.cut.items():
            place = place_of(text)
            start = max((cut.get(text, 0) for cut in before), default=0) or first.get(place, 0)
            lowest, highest = ranges.get(place, (start, end))
            ranges[place] = (min(lowest, start), max(highest, end))
    return ranges
