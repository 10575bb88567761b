"""Decides what is to be done with each hour, and why an hour cannot be sealed yet. Loads no Spark.

Belongs here: gathering the facts in the order that makes them a proof (the log's ends first, then what the archive has
reached, then what it holds), and the decision. The judgement over the facts is ``domain/gate.py``; doing it is
``reconcile.py``. ``tallystick reconcile --plan`` and ``tallystick status`` show exactly this plan.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

import pyarrow.dataset as ds

from domain.buckets import HOUR
from domain.gate import GateFacts, Hole, expected_at, reasons_to_wait
from domain.identity import Place, place_of
from domain.seals import Seal, current_seals
from domain.settings import Settings
from quality.slices import Range, in_hours
from spark_jobs.params import HourPlan, ReconcileReceipt, receipt_of_plan
from spark_jobs.quality_gate import held_hours
from spark_jobs.reconcile_archive import ArchiveFindings, look_through_archive
from spark_jobs.reconcile_log import BrokerLog, ClickLog, LogEnds
from spark_jobs.stream_params import LOCK as STREAM_LOCK
from warehouse.layout import dataset_of, open_table
from warehouse.locks import is_locked
from warehouse.logs import LogRow, TopicRecreatedError, read_logs
from warehouse.lost_raw import NO_LONGER_VERIFIABLE, LostRaw
from warehouse.marks import ARCHIVE_QUERY, reached_offsets
from warehouse.periods import read_closed
from warehouse.publications import latest_publication
from warehouse.seals import read_seals

POLL_SECONDS = 0.5
SEALED_NEXT = frozenset({"seal", "revise"})
COUNTED_AGAIN = frozenset({"verify", "revise"})
"""What is done with a sealed hour that needs its raw clicks."""


@dataclass(frozen=True)
class _LogState:
    """The log and the archive at one moment. ``former``: logs of the same topic before it was recreated, and their
    ends, which are as far as they were archived.
    """

    current: LogRow
    ends: LogEnds
    archive_ends: Mapping[int, int]
    former: Mapping[Place, int]

    @property
    def is_caught_up(self) -> bool:
        return all(self.archive_ends.get(partition, 0) >= end for partition, end in self.ends.end_offsets.items())

    @property
    def cut(self) -> dict[Place, int]:
        """End offsets of every partition of every log: how far raw is read for a seal."""
        return {**self.former, **{(self.current.log, p): end for p, end in self.ends.end_offsets.items()}}


def plan(
    settings: Settings,
    hours: Sequence[datetime],
    now: datetime,
    log: ClickLog | None = None,
    archive_wait_seconds: float = 0,
    *,
    is_revising: bool = False,
    is_recounting_held: bool = False,
) -> list[HourPlan]:
    """What is to be done with each hour, in their order. Reads only; the log is asked only if an hour is to be sealed.

    ``is_revising``: sealed hours are counted up to the present ends of the log too, by the gate of an unsealed one. A
    running archive is always a batch behind the log: it gets ``archive_wait_seconds`` to reach the ends that were
    read. ``TopicRecreatedError`` if the log is not the one that was archived, ``LogUnavailableError`` if no broker
    answers, ``PeriodClosedError`` if hours are to be revised and one lies in a closed period. An hour of a closed
    period is never sealed; one that is sealed there is verified. A sealed hour is not counted again after retention
    deleted raw clicks that it rests on. An hour whose newest attempt quality holds back is counted again only if
    ``is_recounting_held``.
    """
    closed = read_closed(settings)
    seals = read_seals(settings)
    sealed = current_seals(seals)
    publication = latest_publication(settings)
    published = publication.seal_number if publication else 0
    if is_revising:
        closed.check_open(hours)
    to_count = [hour for hour in hours if is_revising or (hour not in sealed and not closed.holds(hour))]
    planned = {
        hour: HourPlan(hour, "blocked", reasons=(closed.reason(hour),))
        for hour in hours
        if hour not in sealed and closed.holds(hour)
    }
    if to_count:
        log = log or BrokerLog(settings)
        is_any_due = any(hour + HOUR + settings.grace <= now for hour in to_count)
        state = _read_state(settings, log, archive_wait_seconds if is_any_due else 0)
        planned |= _plan_counted(settings, to_count, now, log=log, state=state, seals=seals)
    raw, lost = dataset_of(open_table(settings, "raw_clicks")), LostRaw(settings)
    for hour in hours:
        if hour in sealed:
            again = _plan_sealed(raw, sealed[hour], published)
            planned[hour] = _plan_revision(again, planned[hour]) if is_revising else again
            horizon_days = sealed[hour].horizon_days
            if is_revising:
                horizon_days = max(horizon_days, settings.final_horizon_days)
            if planned[hour].action in COUNTED_AGAIN and lost.touches(hour, horizon_days):
                planned[hour] = replace(again, action="blocked", cut={}, reasons=(NO_LONGER_VERIFIABLE,))
    if not is_recounting_held:
        planned |= _held(settings, planned, sealed)
    return [planned[hour] for hour in hours]


def _held(
    settings: Settings, planned: Mapping[datetime, HourPlan], sealed: Mapping[datetime, Seal]
) -> dict[datetime, HourPlan]:
    """Those that could be sealed but for what quality said of the newest attempt at them.

    A sealed hour is not asked about: what its next revision would hold is other data, and judged when it is counted.
    """
    ready = [hour for hour, one in planned.items() if one.action in SEALED_NEXT and hour not in sealed]
    reasons = held_hours(settings, ready) if ready else {}
    return {hour: replace(planned[hour], action="blocked", cut={}, reasons=said) for hour, said in reasons.items()}


def receipt_of_waiting(settings: Settings, plans: Sequence[HourPlan]) -> ReconcileReceipt:
    """The receipt where every hour has to wait: nothing was run."""
    publication = latest_publication(settings)
    return ReconcileReceipt(
        hours=tuple(receipt_of_plan(one) for one in plans),
        publication_number=publication.publication_number if publication else None,
        final_until=publication.final_until if publication else None,
        duration_seconds=0.0,
    )


def _read_state(settings: Settings, log: ClickLog, wait_seconds: float) -> _LogState | None:
    """None if nothing was ever archived."""
    ends = log.read_ends()
    logs = [row for row in read_logs(settings) if row.topic == settings.clicks_topic]
    if not logs:
        return None
    *former, current = logs
    if current.topic_id != ends.topic_id:
        raise TopicRecreatedError(
            f"topic {current.topic} has id {ends.topic_id}",
            f"id {current.topic_id}, which the archive reads",
            "connect the right Kafka, or go on with the new topic by `tallystick stream --accept-new-log`",
        )
    archived = {(row.log, p): end for row in former for p, end in _archive_ends(settings, row).items()}
    state = _LogState(current, ends, _archive_ends(settings, current), archived)
    deadline = time.monotonic() + wait_seconds
    while not state.is_caught_up and time.monotonic() < deadline and is_locked(settings, STREAM_LOCK):
        time.sleep(POLL_SECONDS)
        state = replace(state, archive_ends=_archive_ends(settings, current))
    return state


def _archive_ends(settings: Settings, row: LogRow) -> dict[int, int]:
    return {**row.first_offsets, **reached_offsets(settings, ARCHIVE_QUERY, row.log)}


def _plan_counted(
    settings: Settings,
    hours: Sequence[datetime],
    now: datetime,
    *,
    log: ClickLog,
    state: _LogState | None,
    seals: Sequence[Seal],
) -> dict[datetime, HourPlan]:
    if state is None:
        never = ("waits for the archive: it has never run, no log is registered",)
        return {hour: HourPlan(hour, "blocked", reasons=never) for hour in hours}
    findings = look_through_archive(settings, _ranges_to_check(settings, state, seals))
    facts = GateFacts(
        now=now,
        grace=settings.grace,
        hours=hours,
        watermarks=state.ends.watermarks,
        end_offsets=state.ends.end_offsets,
        archive_ends=state.archive_ends,
        holes=_holes(log, state, findings),
    )
    further = _further_reasons(state, findings)
    reasons = {hour: (*waits, *further) for hour, waits in reasons_to_wait(facts).items()}
    cut = {f"{place[0]}:{place[1]}": end for place, end in sorted(state.cut.items())}
    return {
        hour: HourPlan(
            hour, "blocked", reasons=reasons[hour], expected_at=None if further else expected_at(facts, hour)
        )
        if reasons[hour]
        else HourPlan(hour, "seal", cut)
        for hour in hours
    }


def _ranges_to_check(settings: Settings, state: _LogState, seals: Sequence[Seal]) -> dict[Place, Range]:
    """From where the newest seal has looked, or from where the log began, to the cut or as far as the archive is."""
    checked = seals[-1].cut if seals else {}
    begin = {(row.log, p): offset for row in read_logs(settings) for p, offset in row.first_offsets.items()}
    reached = {**state.former, **{(state.current.log, p): end for p, end in state.archive_ends.items()}}
    return {
        place: (checked.get(f"{place[0]}:{place[1]}", begin.get(place, 0)), min(end, reached.get(place, 0)))
        for place, end in state.cut.items()
    }


def _holes(log: ClickLog, state: _LogState, findings: ArchiveFindings) -> list[Hole]:
    return [
        Hole(partition, start, end)
        for (number, partition), (start, end) in findings.gaps
        if number == state.current.log and not log.is_gap_explained(partition, start, end)
    ]


def _further_reasons(state: _LogState, findings: ArchiveFindings) -> list[str]:
    lost = [
        f"the archive has a hole: log {log} partition {partition} lacks offsets {start} to {end - 1}, "
        "and its topic is gone, so nothing can explain it"
        for (log, partition), (start, end) in findings.gaps
        if log != state.current.log
    ]
    doubled = [
        f"the archive holds log {log} partition {p} offset {offset} twice" for log, p, offset in findings.repeats
    ]
    unidentified = [
        f"click_identities lacks log {log} partition {p} offset {offset}, which raw_clicks holds"
        for log, p, offset in findings.unidentified
    ]
    return lost + doubled + unidentified


def _plan_sealed(raw: ds.Dataset, seal: Seal, published: int) -> HourPlan:
    return HourPlan(
        seal.hour,
        "verify" if seal.seal_number <= published else "publish",
        cut=seal.cut,
        seal_number=seal.seal_number,
        late_arrival_count=_count_late_arrivals(raw, seal),
    )


def _plan_revision(sealed: HourPlan, counted: HourPlan) -> HourPlan:
    """Of a sealed hour: up to the ends of today, which are never before those of its seal."""
    behind = [place for place, end in sealed.cut.items() if counted.cut.get(place, 0) < end]
    if counted.action == "blocked":
        return replace(sealed, action="blocked", cut={}, reasons=counted.reasons)
    if behind:
        reason = f"the log ends before the cut of seal {sealed.seal_number} in {', '.join(sorted(behind))}"
        return replace(sealed, action="blocked", cut={}, reasons=(reason,))
    return replace(sealed, action="revise", cut=counted.cut)


def _count_late_arrivals(raw: ds.Dataset, seal: Seal) -> int:
    """Raw rows of the hour that were archived beyond the cut of its seal."""
    log, partition, offset = (ds.field(name) for name in ("log", "partition", "offset"))
    places = [(*place_of(place), end) for place, end in seal.cut.items()]
    is_counted = reduce(
        lambda one, other: one | other,
        ((log == number) & (partition == p) & (offset < end) for number, p, end in places),
        ds.scalar(False),
    )
    return raw.scanner(filter=in_hours([seal.hour]) & ~is_counted).count_rows()
