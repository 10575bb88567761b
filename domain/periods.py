"""Billing periods: UTC calendar months, what a close requires, and the digest that a close certificate carries.

Belongs here: pure rules over seals, publications and closes that were read. Reading and appending closes is
``warehouse/periods.py``; closing one, ``warehouse/closing.py``; what comes after a close, ``domain/adjustments.py``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from domain.buckets import HOUR, format_utc, hours_between
from domain.chain import canonical_json
from domain.errors import TallystickError, UsageError
from domain.publications import Publication, check_publications
from domain.seals import Seal, check_chain, current_seals

MONTHS = 12
_PERIOD = re.compile(r"(2[0-9]{3})-(0[1-9]|1[0-2])", re.ASCII)


class PeriodClosedError(TallystickError):
    """A change would touch a billing period that is closed; such a difference is an adjustment in an open one."""


class CloseRefusedError(TallystickError):
    """A billing period cannot be closed as it is; `reasons` has each of them."""

    def __init__(self, period: Period, reasons: Sequence[str]) -> None:
        super().__init__(
            f"period {period} cannot be closed: {'; '.join(reasons)}",
            "a month that is over, all of it sealed and published",
            "see to the reasons and close it again",
        )
        self.reasons = tuple(reasons)


@dataclass(frozen=True, order=True)
class Period:
    """A UTC calendar month."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    @property
    def start(self) -> datetime:
        """Its first instant."""
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The first instant after it."""
        return self.following.start

    @property
    def following(self) -> Period:
        """The month after."""
        return Period(self.year + self.month // MONTHS, self.month % MONTHS + 1)

    @property
    def hours(self) -> list[datetime]:
        """Its hours (starts), ascending: 672 to 744."""
        return list(hours_between(self.start, self.end))


def parse_period(text: str) -> Period:
    """A period from text such as 2026-11; ``UsageError`` otherwise."""
    found = _PERIOD.fullmatch(text)
    if found is None:
        raise UsageError(f"period {text!r}", "a UTC month such as 2026-11", "correct it")
    return Period(int(found[1]), int(found[2]))


def period_of(at: datetime) -> Period:
    """The period that an aware instant lies in."""
    utc = at.astimezone(UTC)
    return Period(utc.year, utc.month)


@dataclass(frozen=True, kw_only=True)
class PeriodClose:
    """What freezes a period. ``last_seal_number`` is the highest among the seals that hold for its hours."""

    period: Period
    closed_at: datetime
    actor: str
    last_seal_number: int
    root_digest: str
    billable_clicks: int
    hour_count: int

    def certificate(self) -> bytes:
        """The close as JSON for whoever keeps it elsewhere; the same close has the same bytes."""
        said = vars(self) | {"period": str(self.period), "start": self.period.start, "end": self.period.end}
        return canonical_json(said).encode() + b"\n"


@dataclass(frozen=True)
class ClosedPeriods:
    """Which periods are closed, and so which hours no seal may touch any more."""

    periods: frozenset[Period]

    @cached_property
    def closed_until(self) -> datetime | None:
        """The end of the run of closed periods without a hole that starts at the earliest; None if none is closed.

        It never moves back: no period before it can be closed later.
        """
        if not self.periods:
            return None
        period = min(self.periods)
        while period in self.periods:
            period = period.following
        return period.start

    def holds(self, hour: datetime) -> bool:
        """Whether figures of this hour can no longer change: its period is closed, or it lies before closed_until."""
        is_before = self.closed_until is not None and hour < self.closed_until
        return is_before or period_of(hour) in self.periods

    def reason(self, hour: datetime) -> str:
        """Why an hour that is held is not sealed, in words."""
        period = period_of(hour)
        if period in self.periods:
            return f"period {period} is closed: a difference becomes an adjustment, see docs/periods.md"
        return f"period {period} lies before the first closed one, and nothing before closed_until changes"

    def check_open(self, hours: Iterable[datetime]) -> None:
        """``PeriodClosedError`` if figures of any of the hours can no longer change."""
        held = [hour for hour in hours if self.holds(hour)]
        if held:
            raise PeriodClosedError(
                f"hour {format_utc(held[0])} would be sealed, but {self.reason(held[0])}",
                "hours of open periods",
                "leave it out",
            )


def closed_periods(closes: Iterable[PeriodClose]) -> ClosedPeriods:
    """The periods of these closes."""
    return ClosedPeriods(frozenset(close.period for close in closes))


def reasons_against_close(
    period: Period,
    now: datetime,
    *,
    seals: Sequence[Seal],
    publications: Sequence[Publication],
    closed: ClosedPeriods,
    proposed: Sequence[datetime] = (),
    filled: Collection[datetime] = (),
) -> list[str]:
    """Every reason why the period cannot be closed now, in words; empty if it can.

    ``seals`` and ``publications`` are whole ledgers in the order of their chains. Hours of the period: ``proposed``,
    ascending, those for which a revision is proposed; ``filled``, those in which raw has a click.
    """
    if closed.holds(period.start):
        is_closed = period in closed.periods
        return ["it is closed already" if is_closed else "it lies before the first period that was closed"]
    reasons = [*check_chain(seals), *check_publications(publications)]
    if now < period.end:
        reasons.append(f"it is not over before {format_utc(period.end)}")
    sealed = current_seals(seals)
    unsealed = (hour for hour in _hours_to_seal(period, sealed, filled) if hour not in sealed)
    reasons += [f"{run} not sealed" for run in _runs(unsealed)]
    shown = publications[-1].seal_number if publications else 0
    hidden = (hour for hour in period.hours if hour in sealed and sealed[hour].seal_number > shown)
    reasons += [f"{run} sealed, but not published" for run in _runs(hidden)]
    reasons += [
        f"{run} proposed for a revision: apply or dismiss it by `tallystick proposals`" for run in _runs(proposed)
    ]
    earlier = {period_of(hour) for hour in sealed if hour < period.start} - closed.periods
    reasons += [f"period {one} is open, and hours of it are sealed: close it first" for one in sorted(earlier)]
    return reasons


def _hours_to_seal(period: Period, sealed: Collection[datetime], filled: Collection[datetime]) -> Iterable[datetime]:
    """All hours of the period; of the month in which the books begin, those since the first sealed one and any earlier
    one in which somebody clicked.
    """
    begin = min((hour for hour in sealed if hour < period.end), default=period.start)
    return (hour for hour in period.hours if hour >= begin or hour in filled)


def _runs(hours: Iterable[datetime]) -> list[str]:
    """Hours (ascending) as runs, in words: a month of missing hours is one line."""
    runs: list[list[datetime]] = []
    for hour in hours:
        if runs and runs[-1][1] == hour:
            runs[-1][1] = hour + HOUR
        else:
            runs.append([hour, hour + HOUR])
    return [
        f"hour {format_utc(start)} is" if end - start == HOUR else f"hours {format_utc(start)} to {format_utc(end)} are"
        for start, end in runs
    ]


def close_of(period: Period, seals: Sequence[Seal], actor: str, closed_at: datetime) -> PeriodClose:
    """The close of a period whose hours are all sealed, by the seals that hold for them."""
    held = seals_of(period, seals)
    return PeriodClose(
        period=period,
        closed_at=closed_at,
        actor=actor,
        last_seal_number=max(seal.seal_number for seal in held),
        root_digest=root_digest(held),
        billable_clicks=sum(seal.billable_clicks for seal in held),
        hour_count=len(held),
    )


def seals_of(period: Period, seals: Iterable[Seal]) -> list[Seal]:
    """The seals that hold for the hours of the period, by hour."""
    current = current_seals(seal for seal in seals if period.start <= seal.hour < period.end)
    return [current[hour] for hour in sorted(current)]


def root_digest(seals: Iterable[Seal]) -> str:
    """SHA-256 in hex over one line of each seal, by hour; docs/periods.md says how a stranger recomputes it."""
    return hashlib.sha256("".join(f"{_root_line(seal)}\n" for seal in seals).encode()).hexdigest()


def _root_line(seal: Seal) -> str:
    counts = f"{seal.raw_clicks}|{seal.billable_clicks}|{canonical_json(seal.excluded_clicks)}"
    return f"{format_utc(seal.hour)}|{seal.seal_number}|{seal.digest}|{counts}"
