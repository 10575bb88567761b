"""Retention: which partitions of a table may be deleted, and why one that is due may not.

Belongs here: the decision, over ledgers that were read. Which tables there are and for how long each is kept is
``warehouse/tables``; deleting is ``warehouse/retention.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from domain.buckets import DAY, HOUR, day_of, format_utc, hours_between
from domain.disputes import Hold
from domain.errors import SettingError
from domain.periods import ClosedPeriods, period_of
from domain.seals import Seal, current_seals

THIRTEEN_MONTHS_DAYS = 397
"""Of the longest thirteen months: a leap year and a month of 31 days."""
LOGGED_WITHIN = timedelta(days=1)
"""Hardly any click is logged this long after it happened; a recount looks back as far beyond its horizon."""


@dataclass(frozen=True)
class Partition:
    """What a table files together: an hour of a UTC date, or a whole date."""

    day: date
    hour: int | None = None

    def __str__(self) -> str:
        return str(self.day) if self.hour is None else f"{self.day}T{self.hour:02}"

    @property
    def start(self) -> datetime:
        """Its first instant."""
        return datetime.combine(self.day, time(self.hour or 0), UTC)

    @property
    def end(self) -> datetime:
        """The first instant after it."""
        return self.start + (DAY if self.hour is None else HOUR)

    @property
    def hours(self) -> list[datetime]:
        """The hours (starts) that it holds, ascending."""
        return list(hours_between(self.start, self.end))


def parse_partition(text: str) -> Partition:
    """A partition from its text; ``ValueError`` otherwise."""
    day, _, hour = text.partition("T")
    return Partition(date.fromisoformat(day), int(hour) if hour else None)


@dataclass(frozen=True)
class Policy:
    """For how long a table is kept: so many days after the end of a partition, for ever with None.

    ``look_back``: partitions are also needed to judge the clicks of so long afterwards, and so kept longer by it.
    """

    table: str
    kept_days: int | None
    look_back: timedelta = timedelta(0)

    def __str__(self) -> str:
        return "for ever" if self.kept_days is None else f"{self.kept_days} days"

    def is_due(self, partition: Partition, now: datetime) -> bool:
        """Whether it has been kept for as long as it has to be."""
        if self.kept_days is None:
            return False
        return partition.end + timedelta(days=self.kept_days) + self.look_back <= now


def kept_days(declared_days: int | None, setting: str, setting_days: int) -> int | None:
    """Days that a table is kept: what its setting says or, where that is 0, what the table declares.

    ``SettingError`` for a setting under thirteen months.
    """
    if setting_days == 0:
        return declared_days
    if setting_days < THIRTEEN_MONTHS_DAYS:
        raise SettingError(
            f"setting {setting} is {setting_days}",
            f"0, or at least {THIRTEEN_MONTHS_DAYS}: thirteen months",
            "correct it",
        )
    return setting_days


@dataclass(frozen=True)
class Books:
    """What the ledgers say: all seals, up to which of them is published, what is closed, what disputes hold."""

    seals: Sequence[Seal]
    published_up_to: int
    closed: ClosedPeriods
    holds: Sequence[Hold] = ()

    @cached_property
    def sealed(self) -> Mapping[datetime, Seal]:
        """By hour the seal that is in force."""
        return current_seals(self.seals)

    @property
    def is_all_published(self) -> bool:
        """Whether no seal waits for its publication."""
        return not self.seals or self.seals[-1].seal_number == self.published_up_to

    @cached_property
    def _begin(self) -> datetime | None:
        return min(self.sealed, default=None)

    def against_sealed(self, partition: Partition) -> list[str]:
        """Why hours of a partition may still be written, in words; empty if all are sealed and published.

        Of the date on which the books begin, the hours before them count as sealed.
        """
        unsealed, hidden = [], []
        for hour in partition.hours:
            seal = self.sealed.get(hour)
            if seal is None and not self._is_before_books(hour, partition):
                unsealed.append(hour)
            elif seal is not None and seal.seal_number > self.published_up_to:
                hidden.append(hour)
        return [
            *_in_words(partition, unsealed, "not sealed"),
            *_in_words(partition, hidden, "sealed, but not published"),
        ]

    def against_deletion(self, partition: Partition, policy: Policy) -> list[str]:
        """Every reason why a partition that is due may not be deleted, in words; empty if it may."""
        reasons = self.against_sealed(partition)
        needed_until = partition.end + policy.look_back
        open_periods = {
            str(period_of(at)) for at in _days_touched(partition.start, needed_until) if not self.closed.holds(at)
        }
        reasons += [f"period {period} is open" for period in sorted(open_periods)]
        for hold in self.holds:
            logged_until = hold.end + LOGGED_WITHIN if policy.look_back else hold.end
            if hold.start - policy.look_back < partition.end and partition.start < logged_until:
                until = f" until {format_utc(hold.until_at)}" if hold.until_at else ""
                reasons.append(f"dispute {hold.case_id} holds it{until}")
        return reasons

    def _is_before_books(self, hour: datetime, partition: Partition) -> bool:
        """A month in which anything was clicked before the books began is not closed; so nothing was."""
        is_of_first_day = partition.hour is None and self._begin is not None and partition.end > self._begin
        return is_of_first_day and self._begin is not None and hour < self._begin and self.closed.holds(hour)


@dataclass(frozen=True)
class Decision:
    """Of the partitions that are due: which go, and which stay for which reasons."""

    deletable: tuple[Partition, ...]
    refused: Mapping[Partition, tuple[str, ...]]


def decide(partitions: Iterable[Partition], policy: Policy, books: Books, now: datetime) -> Decision:
    """What may be deleted at ``now``; partitions that are not due yet are in neither part."""
    due = sorted((one for one in partitions if policy.is_due(one, now)), key=lambda one: one.start)
    reasons = {one: tuple(books.against_deletion(one, policy)) for one in due}
    return Decision(tuple(one for one in due if not reasons[one]), {one: why for one, why in reasons.items() if why})


def is_lost(hour: datetime, horizon: timedelta, deleted: Collection[datetime]) -> bool:
    """Whether hours were deleted that a count of this one rests on: its own clicks, or earlier copies of them."""
    return any(hour - horizon - LOGGED_WITHIN <= one <= hour + HOUR for one in deleted)


def _days_touched(start: datetime, end: datetime) -> Iterator[datetime]:
    """An instant of each UTC day in ``[start, end)``."""
    at = start
    while at < end:
        yield at
        at = day_of(at) + DAY


def _in_words(partition: Partition, hours: Sequence[datetime], what: str) -> list[str]:
    """Without naming the hours: partitions that stay for the same reasons are then said in one line."""
    if not hours:
        return []
    return [f"it is {what}" if partition.hour is not None else f"{len(hours)} of its hours are {what}"]
