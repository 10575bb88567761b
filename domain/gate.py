"""The completeness gate: why an hour cannot be sealed yet, in words that a person understands.

Belongs here: the judgement over facts that somebody else has gathered. How the facts are read, and in which order
(watermarks first, then the ends of the log), is reconcile's part; without that order the gate proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from domain.buckets import HOUR, format_utc

SILENT_AFTER = timedelta(seconds=30)
"""A click server reports each second; of one that is this far behind nobody knows when it will be level."""


class ServerWatermark(Protocol):
    """The newest report of one click server: all that it accepted before ``accepted_until`` is in the log.

    A closing one says that nothing more is on its way from that server, whatever the instant.
    """

    @property
    def accepted_until(self) -> datetime: ...

    @property
    def is_closing(self) -> bool: ...


@dataclass(frozen=True)
class Hole:
    """Offsets ``[start, end)`` of a partition that the archive should hold, does not, and the log does not explain."""

    partition: int
    start: int
    end: int


@dataclass(frozen=True)
class GateFacts:
    """All that the gate looks at. Offsets are ends: the first offset that is not included.

    ``watermarks``: every server that ever sent one. ``end_offsets``: of the log, read after the watermarks; the cut, if
    the gate opens. ``archive_ends``: how far the archive has looked, per partition; one that it has not begun is absent
    or at the first offset that the log had when it was registered.
    """

    now: datetime
    grace: timedelta
    hours: Sequence[datetime]
    watermarks: Mapping[str, ServerWatermark]
    end_offsets: Mapping[int, int]
    archive_ends: Mapping[int, int]
    holes: Sequence[Hole] = ()


def reasons_to_wait(facts: GateFacts) -> dict[datetime, list[str]]:
    """Per hour (start, UTC) why it cannot be sealed yet; an hour with no reason may be."""
    archive = _archive_reasons(facts)
    return {hour: [*_time_reasons(facts, hour), *_server_reasons(facts, hour), *archive] for hour in facts.hours}


def _time_reasons(facts: GateFacts, hour: datetime) -> list[str]:
    end = hour + HOUR
    if facts.now >= end + facts.grace:
        return []
    return [f"ends at {format_utc(end)}, grace until {format_utc(end + facts.grace)}"]


def _server_reasons(facts: GateFacts, hour: datetime) -> list[str]:
    end = hour + HOUR
    return [
        f"click server {server} has not reported past {format_utc(end)}, last {format_utc(mark.accepted_until)}"
        for server, mark in sorted(facts.watermarks.items())
        if not mark.is_closing and mark.accepted_until < end
    ]


def _archive_reasons(facts: GateFacts) -> list[str]:
    """Reasons that hold every hour up: an event of any hour may stand at any offset."""
    if not facts.end_offsets:
        return ["waits for the log: the end of no partition is known"]
    behind = [
        f"waits for the archive: partition {partition} is at {facts.archive_ends.get(partition, 0)}, "
        f"the log ends at {end}"
        for partition, end in sorted(facts.end_offsets.items())
        if facts.archive_ends.get(partition, 0) < end
    ]
    holed = [
        f"the archive has a hole: partition {hole.partition} lacks offsets {hole.start} to {hole.end - 1}, "
        "which the log does not explain"
        for hole in facts.holes
    ]
    return behind + holed


def expected_at(facts: GateFacts, hour: datetime) -> datetime | None:
    """When the hour may be sealed if all goes on as it does; an archive that is behind is taken to be level by then.

    None where that is up to somebody: a hole in the archive, a click server that is silent.
    """
    end = hour + HOUR
    lags = [
        facts.now - mark.accepted_until
        for mark in facts.watermarks.values()
        if not mark.is_closing and mark.accepted_until < end
    ]
    if facts.holes or any(lag > SILENT_AFTER for lag in lags):
        return None
    return max(facts.now, end + facts.grace, *(end + lag for lag in lags))
