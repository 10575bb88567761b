"""Sending a plan straight to the log, in order, as fast as it goes.

Belongs here: handing records to the producer, and the state of the log before and after. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clicklog.offsets import end_offsets
from clicklog.producer import ClickProducer, partition_of
from domain.settings import Settings
from traffic.event import PlannedEvent

FLUSH_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class LogState:
    """The end offset of every partition of the clicks topic."""

    end_offsets: dict[int, int]

    @property
    def is_empty(self) -> bool:
        return not any(self.end_offsets.values())

    def partition_of(self, key: bytes) -> int:
        """Where a record of this key goes."""
        return partition_of(key, len(self.end_offsets))


def look_at_log(settings: Settings) -> LogState:
    """The log as it is now; the topic must exist."""
    return LogState(end_offsets(settings, settings.clicks_topic))


def send_to_log(settings: Settings, events: Iterable[PlannedEvent], look_at: Callable[[PlannedEvent], None]) -> None:
    """Sends all records and returns when every one is acknowledged; ``UndeliveredError`` otherwise.

    ``look_at`` gets each record right before it is sent. Records of one key reach their partition in this order, and
    none twice, since the producer is idempotent.
    """
    producer = ClickProducer(settings)
    for event in events:
        look_at(event)
        producer.send(event.key, event.value)
    producer.flush(FLUSH_TIMEOUT_SECONDS)
