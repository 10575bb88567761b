"""The counting rule in plain Python: what became of each raw click, and what the live stream makes of the same log.

Belongs here: the whole rule, written to be read, as the oracle that the engines are held equal to. It keeps everything
in memory and is no engine itself. Parsing is ``domain/parsing.py``; when an hour may be sealed is ``domain/gate.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal, NamedTuple

from domain.buckets import hour_of, minute_of
from domain.identity import LoggedOrder, LogPosition, click_identity
from domain.parsing import ParsedEvent
from domain.verdicts import ClickTarget, Target

RULE_VERSION = 2
"""Goes into each seal. A change of what counts, or of the reason for which a click does not, is another version."""

ExclusionReason = Literal["head", "prefetch", "duplicate", "conflicting_duplicate", "fraud"]
EXCLUSION_REASONS: tuple[ExclusionReason, ...] = ("head", "prefetch", "duplicate", "conflicting_duplicate", "fraud")
LateReason = Literal["late", "hour_sealed"]
NO_VERDICTS: Mapping[Target, str] = MappingProxyType({})
_NOT_A_CLICK: dict[str, ExclusionReason] = {"head": "head", "prefetch": "prefetch"}


@dataclass(frozen=True)
class LoggedEvent:
    """A valid event at its place in the log.

    ``logged_at`` is the append time, made monotone per partition by the archive; the live rule takes the append time as
    the broker gave it. Aware UTC.
    """

    position: LogPosition
    logged_at: datetime
    event: ParsedEvent

    @property
    def order(self) -> LoggedOrder:
        """Of the copies of a click the lowest counts."""
        return LoggedOrder(self.logged_at, *self.position)

    @property
    def identity(self) -> bytes:
        return click_identity(self.event.impression_id, self.event.ad_id)


@dataclass(frozen=True)
class Outcome:
    """What became of one raw click: billable where ``reason`` is None, else excluded.

    A duplicate names its winner, a click that was judged fraud the verdict.
    """

    position: LogPosition
    event: ParsedEvent
    reason: ExclusionReason | None = None
    winner: LogPosition | None = None
    verdict_id: str | None = None

    @property
    def is_billable(self) -> bool:
        return self.reason is None


class CountKey(NamedTuple):
    """What clicks are counted by; the key of the minute tables, in their order."""

    advertiser_id: int
    campaign_id: int
    ad_id: int
    minute: datetime
    country: str
    device: str


class LiveCounts(NamedTuple):
    """The stream's estimate: clicks by key, and the first copies that it refused, each with its reason."""

    counts: dict[CountKey, int]
    late: dict[LogPosition, LateReason]


def final_outcomes(
    events: Iterable[LoggedEvent], horizon: timedelta, verdicts: Mapping[Target, str] = NO_VERDICTS
) -> list[Outcome]:
    """The outcome of every event, in the order of logging. The order in which events are given does not matter.

    A click is a duplicate if any earlier click-kind event of its identity, excluded itself or not, was logged within
    the horizon before it, the horizon's end included; its winner is the earliest such event. A position given twice is
    one event: a log that is read again holds no more clicks.

    ``verdicts``: by target the id of the verdict of fraud in force. They come last and judge only what is billable
    without them: a verdict never makes another copy count.
    """
    seen: dict[bytes, list[LoggedEvent]] = defaultdict(list)
    outcomes = [_judge(logged, seen, horizon) for logged in sorted(_by_position(events), key=lambda e: e.order)]
    return [_without_fraud(outcome, verdicts) for outcome in outcomes]


def count_billable(outcomes: Iterable[Outcome]) -> dict[CountKey, int]:
    """Billable clicks by key; a key without any is absent."""
    return dict(Counter(count_key(outcome.event) for outcome in outcomes if outcome.is_billable))


def live_counts(
    events: Iterable[LoggedEvent],
    horizon: timedelta,
    late_bound: timedelta,
    sealed_hours: Collection[datetime] = (),
) -> LiveCounts:
    """What the stream counts of a whole log, whatever its batches: each partition is read in the order of its offsets.

    The first copy of a click is refused if its hour (start, UTC) is sealed, or if it was clicked more than the bound
    before the newest click among the first copies at lower offsets of its partition. A refused copy still occupies its
    identity.
    """
    seen: dict[bytes, list[LoggedEvent]] = defaultdict(list)
    newest: dict[tuple[int, int], datetime] = {}
    counts: Counter[CountKey] = Counter()
    late: dict[LogPosition, LateReason] = {}
    for logged in _reading_order(events):
        if not _judge(logged, seen, horizon).is_billable:
            continue
        clicked_at, partition = logged.event.clicked_at, logged.position[:2]
        highest = newest.get(partition, clicked_at)
        newest[partition] = max(highest, clicked_at)
        if hour_of(clicked_at) in sealed_hours:
            late[logged.position] = "hour_sealed"
        elif clicked_at < highest - late_bound:
            late[logged.position] = "late"
        else:
            counts[count_key(logged.event)] += 1
    return LiveCounts(dict(counts), late)


def count_key(event: ParsedEvent) -> CountKey:
    """Where a click is counted."""
    return CountKey(
        event.advertiser_id, event.campaign_id, event.ad_id, minute_of(event.clicked_at), event.country, event.device
    )


def _judge(logged: LoggedEvent, seen: dict[bytes, list[LoggedEvent]], horizon: timedelta) -> Outcome:
    """The outcome of the next event of a log, ``seen`` being the click-kind events before it; adds it to them."""
    event = logged.event
    if event.kind in _NOT_A_CLICK:
        return Outcome(logged.position, event, _NOT_A_CLICK[event.kind])
    earlier = seen[logged.identity]
    winner = next((copy for copy in earlier if copy.logged_at >= logged.logged_at - horizon), None)
    earlier.append(logged)
    if winner is None:
        return Outcome(logged.position, event)
    is_conflicting = _dimensions(event) != _dimensions(winner.event)
    return Outcome(logged.position, event, "conflicting_duplicate" if is_conflicting else "duplicate", winner.position)


def _without_fraud(outcome: Outcome, verdicts: Mapping[Target, str]) -> Outcome:
    """Where both its place and the click itself were judged, the verdict on its place is named."""
    click = ClickTarget(outcome.event.impression_id, outcome.event.ad_id)
    verdict_id = verdicts.get(outcome.position, verdicts.get(click))
    if not outcome.is_billable or verdict_id is None:
        return outcome
    return replace(outcome, reason="fraud", verdict_id=verdict_id)


def _dimensions(event: ParsedEvent) -> tuple[int, str, str]:
    """What copies of one click should agree in."""
    return event.campaign_id, event.country, event.device


def _by_position(events: Iterable[LoggedEvent]) -> Collection[LoggedEvent]:
    return {logged.position: logged for logged in events}.values()


def _reading_order(events: Iterable[LoggedEvent]) -> list[LoggedEvent]:
    """By offset within a partition, also where the broker's clock stepped back; partitions interleaved by time."""
    reached: dict[tuple[int, int], datetime] = {}
    keyed: list[tuple[LoggedOrder, LoggedEvent]] = []
    for logged in sorted(_by_position(events), key=lambda e: e.position):
        partition = logged.position[:2]
        reached[partition] = max(reached.get(partition, logged.logged_at), logged.logged_at)
        keyed.append((LoggedOrder(reached[partition], *logged.position), logged))
    return [logged for _, logged in sorted(keyed, key=lambda pair: pair[0])]
