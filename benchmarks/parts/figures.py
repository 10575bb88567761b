"""From runs to figures: medians, ratios, and where ours spends its time.

Belongs here: arithmetic alone. A ratio above 1 always means that ours is the better one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MILLION = 1_000_000
WARM_POINTS = 2
"""Points that enclose one batch."""


@dataclass(frozen=True)
class Cost:
    """Medians over the runs of one contestant on one topic."""

    runs: int
    wall_seconds: float
    cpu_seconds: float
    events: int

    @property
    def events_per_second(self) -> float:
        return self.events / self.wall_seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        return self.cpu_seconds / self.events * MILLION

    def document(self) -> dict[str, Any]:
        """For the line of figures."""
        return {
            "runs": self.runs,
            "wall_seconds": round(self.wall_seconds, 2),
            "events_per_second": round(self.events_per_second),
            "cpu_seconds_per_million": round(self.cpu_seconds_per_million, 1),
        }


def median_cost(costs: Sequence[tuple[float, float]], events: int) -> Cost:
    """The cost of runs of ``(wall seconds, CPU seconds)`` over so many events each."""
    walls, cpus = zip(*costs, strict=True)
    return Cost(len(costs), statistics.median(walls), statistics.median(cpus), events)


def ratios(ours: Cost, peer: Cost) -> dict[str, float]:
    """How many times as fast as the peer ours is, and how many times the peer's CPU is ours."""
    return {
        "rate": round(ours.events_per_second / peer.events_per_second, 3),
        "cpu": round(peer.cpu_seconds_per_million / ours.cpu_seconds_per_million, 3),
    }


def stage_table(
    stage_seconds: Mapping[str, Iterable[Mapping[str, float]]], events: int
) -> list[tuple[str, str, float, float, float]]:
    """A row per query and stage, the dearest first: seconds, share of the query's stages, microseconds an event."""
    rows = []
    for query, batches in stage_seconds.items():
        sums: dict[str, float] = {}
        for batch in batches:
            for stage, seconds in batch.items():
                sums[stage] = sums.get(stage, 0.0) + seconds
        whole = sum(sums.values())
        for stage, seconds in sorted(sums.items(), key=lambda item: -item[1]):
            share = seconds / whole if whole else 0.0
            rows.append((query, stage, round(seconds, 2), round(share, 3), round(seconds / events * MILLION, 1)))
    return rows


def quantiles(values: Sequence[float], shares: Sequence[float]) -> dict[str, float]:
    """For each share, the smallest value that so many of the values do not exceed; nothing of no values."""
    ordered = sorted(values)
    return {f"p{share * 100:g}": round(ordered[math.ceil(share * len(ordered)) - 1], 3) for share in shares if ordered}


def sustained_rate(points: Sequence[tuple[float, int]]) -> float:
    """Events a second of a query that catches up, from ``(seconds, events behind)`` at each change.

    The first point is where it stood, the second the end of the batch in which its JVM compiled: left out where others
    follow. So is the remainder at the end, less than half a batch, which costs a batch's time for next to nothing.
    """
    warm = list(points[1 if len(points) > WARM_POINTS else 0 :])
    batch_events = warm[0][1] - warm[1][1]
    while len(warm) > WARM_POINTS and 2 * (warm[-2][1] - warm[-1][1]) < batch_events:
        warm.pop()
    (start_seconds, start_behind), (end_seconds, end_behind) = warm[0], warm[-1]
    return (start_behind - end_behind) / (end_seconds - start_seconds)
