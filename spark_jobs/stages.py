"""How long each stage of a micro-batch took, for people and for the benchmark."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

BATCHES_KEPT = 200


class StageTimes:
    """Seconds per stage, one dictionary a batch, oldest first; the last few of a stream that never ends."""

    def __init__(self) -> None:
        self.batches: deque[dict[str, float]] = deque(maxlen=BATCHES_KEPT)

    def start_batch(self) -> None:
        """From here on stages belong to a new batch."""
        self.batches.append({})

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time spent inside to the stage of the newest batch."""
        started = time.perf_counter()
        try:
            yield
        finally:
            stages = self.batches[-1]
            stages[name] = stages.get(name, 0.0) + time.perf_counter() - started
