"""Disputes: what an advertiser claims of its clicks in a range, what is noted about it, how it ends, what it holds.

Belongs here: the events of a dispute, what is refused, and for how long its hours are held. The ledger is
``warehouse/disputes.py``; what a case is proven with, ``warehouse/pack/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from domain.adjustments import Adjustment
from domain.buckets import HOUR, format_utc, hour_of, hours_between, minute_of
from domain.errors import TallystickError, UsageError
from domain.events import MAX_INT64
from domain.seals import Seal
from domain.texts import check_actor, check_line

EventKind = Literal["opened", "note", "resolved"]
Outcome = Literal["upheld", "rejected", "adjusted"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""The claim is right; the figures stand; the figures were wrong in another way, and were corrected."""


class DisputeRefusedError(TallystickError):
    """A dispute does not take this step: it is resolved, or what its resolution names does not exist."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a dispute is opened with: a half-open UTC range of whole minutes that is over."""

    advertiser_id: int
    start: datetime
    end: datetime
    claim: str
    actor: str
    claimed_clicks: int | None
    opened_at: datetime

    def __post_init__(self) -> None:
        for name, at in (("from", self.start), ("to", self.end)):
            if at != minute_of(at):
                raise UsageError(f"{name} {format_utc(at)}", "a whole UTC minute", "correct it")
        if self.end <= self.start:
            raise UsageError(
                f"a range from {format_utc(self.start)} to {format_utc(self.end)}", "a later end", "correct it"
            )
        if self.end > self.opened_at:
            raise UsageError(f"a range up to {format_utc(self.end)}", "one that is over", "wait, or end it sooner")
        if self.claimed_clicks is not None and not 0 <= self.claimed_clicks <= MAX_INT64:
            raise UsageError(f"{self.claimed_clicks} claimed clicks", f"0 to {MAX_INT64}", "correct it")
        check_line("claim", self.claim)
        check_actor(self.actor)


@dataclass(frozen=True, kw_only=True)
class DisputeEvent:
    """A row of the ledger. What belongs to one kind of event is None in the others."""

    event_number: int
    case_id: str
    kind: EventKind
    recorded_at: datetime
    actor: str
    reason: str
    advertiser_id: int | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    claimed_clicks: int | None = None
    outcome: Outcome | None = None
    adjustment_case_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dispute:
    """A case as its events make it. ``events`` are all of them, in their order."""

    case_id: str
    advertiser_id: int
    start: datetime
    end: datetime
    claim: str
    claimed_clicks: int | None
    opened_at: datetime
    opened_by: str
    events: tuple[DisputeEvent, ...]

    @property
    def resolution(self) -> DisputeEvent | None:
        """The event that ended it."""
        return next((event for event in self.events if event.kind == "resolved"), None)

    @property
    def is_open(self) -> bool:
        return self.resolution is None

    @property
    def hours(self) -> list[datetime]:
        """The hours (starts) that its range touches, ascending."""
        return list(hours_between(hour_of(self.start), self.end))

    def touches(self, start: datetime, end: datetime) -> bool:
        """Whether any minute of its range lies in this one."""
        return self.start < end and start < self.end


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """How a dispute is to end."""

    outcome: str
    reason: str
    actor: str
    resolved_at: datetime
    adjustment_case_id: str | None = None

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise UsageError(f"outcome {self.outcome!r}", f"one of {', '.join(OUTCOMES)}", "correct it")
        check_line("reason", self.reason)
        check_actor(self.actor)
        if self.outcome == "rejected" and self.adjustment_case_id is not None:
            raise UsageError("a rejected dispute with adjustments", "figures that stand", "leave one of them out")


@dataclass(frozen=True)
class Hold:
    """Hours ``[start, end)`` that no retention may touch, until an instant or, while the case is open, for ever.

    What else these hours are judged by is held with them: ``domain/retention.py`` says how far that reaches.
    """

    case_id: str
    start: datetime
    end: datetime
    until_at: datetime | None


def disputes_of(events: Iterable[DisputeEvent]) -> dict[str, Dispute]:
    """All disputes by case, in the order in which they were opened. ``events`` in the order of their numbers."""
    by_case: dict[str, list[DisputeEvent]] = {}
    for event in events:
        by_case.setdefault(event.case_id, []).append(event)
    return {case_id: _dispute(own) for case_id, own in by_case.items()}


def _dispute(events: Sequence[DisputeEvent]) -> Dispute:
    opened = events[0]
    said: dict[str, Any] = {"advertiser_id": opened.advertiser_id, "start": opened.start_at, "end": opened.end_at}
    return Dispute(
        **said,
        case_id=opened.case_id,
        claim=opened.reason,
        claimed_clicks=opened.claimed_clicks,
        opened_at=opened.recorded_at,
        opened_by=opened.actor,
        events=tuple(events),
    )


def dispute_of(disputes: Mapping[str, Dispute], case_id: str) -> Dispute:
    """The dispute of that id; ``UsageError`` if there is none."""
    if case_id not in disputes:
        raise UsageError(f"dispute {case_id!r}", "one that was opened", "see `tallystick dispute list`")
    return disputes[case_id]


def opening(events: Sequence[DisputeEvent], claim: Claim) -> DisputeEvent:
    """The event that opens a dispute behind these. Its case is the next one."""
    opened_count = sum(event.kind == "opened" for event in events)
    return DisputeEvent(
        event_number=len(events) + 1,
        case_id=f"D-{opened_count + 1}",
        kind="opened",
        recorded_at=claim.opened_at,
        actor=claim.actor,
        reason=claim.claim,
        advertiser_id=claim.advertiser_id,
        start_at=claim.start,
        end_at=claim.end,
        claimed_clicks=claim.claimed_clicks,
    )


def noting(events: Sequence[DisputeEvent], case_id: str, actor: str, text: str, at: datetime) -> DisputeEvent:
    """The event that adds a note to a dispute, open or not."""
    dispute_of(disputes_of(events), case_id)
    check_actor(actor)
    check_line("note", text)
    return DisputeEvent(
        event_number=len(events) + 1, case_id=case_id, kind="note", recorded_at=at, actor=actor, reason=text
    )


def resolving(
    events: Sequence[DisputeEvent],
    case_id: str,
    resolution: Resolution,
    *,
    adjustments: Iterable[Adjustment],
    seals: Iterable[Seal],
) -> DisputeEvent:
    """The event that ends a dispute. ``DisputeRefusedError`` if it has ended, or names no correction of its hours."""
    dispute = dispute_of(disputes_of(events), case_id)
    if dispute.resolution is not None:
        raise DisputeRefusedError(
            f"dispute {case_id} was resolved as {dispute.resolution.outcome} at "
            f"{format_utc(dispute.resolution.recorded_at)}",
            "an open one",
            "nothing was changed; open another dispute if there is something new",
        )
    _check_correction(dispute, resolution, adjustments, seals)
    outcome: Any = resolution.outcome
    return DisputeEvent(
        event_number=len(events) + 1,
        case_id=case_id,
        kind="resolved",
        recorded_at=resolution.resolved_at,
        actor=resolution.actor,
        reason=resolution.reason,
        outcome=outcome,
        adjustment_case_id=resolution.adjustment_case_id,
    )


def _check_correction(
    dispute: Dispute, resolution: Resolution, adjustments: Iterable[Adjustment], seals: Iterable[Seal]
) -> None:
    """What a resolution names must be there; an adjusted dispute names adjustments, or a revision came after it."""
    named, hours = resolution.adjustment_case_id, set(dispute.hours)
    if named is not None:
        is_there = any(
            one.case_id == named and one.advertiser_id == dispute.advertiser_id and one.charge_hour in hours
            for one in adjustments
        )
        if not is_there:
            raise DisputeRefusedError(
                f"case {named} adjusts nothing of advertiser {dispute.advertiser_id} in the hours of {dispute.case_id}",
                "adjustments that were written",
                "see docs/periods.md; nothing was changed",
            )
    elif resolution.outcome == "adjusted":
        is_revised = any(s.hour in hours and s.revision > 0 and s.sealed_at >= dispute.opened_at for s in seals)
        if not is_revised:
            raise DisputeRefusedError(
                f"no hour of {dispute.case_id} was revised since it was opened, and no adjustments are named",
                "an adjusted dispute whose figures were corrected",
                "correct them first, or name the case with --adjustment-case",
            )


def holds_of(disputes: Iterable[Dispute], now: datetime, after: timedelta) -> list[Hold]:
    """What is held now: the whole hours of each open dispute, and of each one that ended less than ``after`` ago."""
    held = []
    for dispute in disputes:
        until_at = None if dispute.resolution is None else dispute.resolution.recorded_at + after
        if until_at is None or now < until_at:
            start, end = dispute.hours[0], dispute.hours[-1] + HOUR
            held.append(Hold(dispute.case_id, start, end, until_at))
    return held
