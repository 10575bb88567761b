"""What reconcile asks the log, in the order that makes the answers a proof.

Belongs here: the questions. A click server's watermark is read before the ends of the log: whatever the server
acknowledged before it reported then lies below the ends. Judging the answers is ``domain/gate.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from clicklog.offsets import end_offsets, is_gap_explained
from clicklog.topics import topic_id
from clicklog.watermarks import read_watermarks
from domain.gate import ServerWatermark
from domain.settings import Settings


@dataclass(frozen=True)
class LogEnds:
    """The log at one moment: its topic's id, every server's watermark, and the end of each partition read after
    them.
    """

    topic_id: str
    watermarks: Mapping[str, ServerWatermark]
    end_offsets: Mapping[int, int]


class ClickLog(Protocol):
    """The log of clicks as reconcile sees it. Each call blocks for a bounded time; reading only, repeatable."""

    def read_ends(self) -> LogEnds:
        """Watermarks first, then the ends. ``LogUnavailableError`` if no broker answers."""
        ...

    def is_gap_explained(self, partition: int, start: int, end: int) -> bool:
        """Whether the log itself holds no record in ``[start, end)``."""
        ...


class BrokerLog:
    """The clicks topic of the configured Kafka."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def read_ends(self) -> LogEnds:
        """See ``ClickLog``."""
        watermarks = read_watermarks(self._settings)
        topic = self._settings.clicks_topic
        return LogEnds(topic_id(self._settings, topic), watermarks, end_offsets(self._settings, topic))

    def is_gap_explained(self, partition: int, start: int, end: int) -> bool:
        """See ``ClickLog``."""
        return is_gap_explained(self._settings, self._settings.clicks_topic, partition, start, end)
